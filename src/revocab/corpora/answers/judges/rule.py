"""Rules: answers end as the chat template says, and are in the language, length and form wanted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from pydantic import Field, field_validator

from revocab.corpora.answers.options import MESSAGES, Judge, JudgeInputs, JudgeOptions, Row, Verdict
from revocab.errors import refuse
from revocab.evaluation.generation.kinds import instructions
from revocab.training.chat.messages import answers


class RuleOptions(JudgeOptions):
    """What a conversation must be."""

    kind: Literal["rule"]
    ended: bool = Field(
        default=True,
        description="every answer ends with an end token and has no other special token",
    )
    checks: dict[str, Any] = Field(
        default_factory=dict,
        description="what every answer must be, as instruction tasks check it: language: it",
    )
    own_checks: bool = Field(
        default=True, description="the last answer passes the checks that its row brings"
    )

    @field_validator("checks")
    @classmethod
    def _known(cls, checks: dict[str, Any]) -> dict[str, Any]:
        problems = list(instructions.problems(checks, "every answer")) if checks else []
        if problems:
            raise ValueError("; ".join(problems))
        return checks


def judge(rows: Sequence[Row], options: RuleOptions, inputs: JudgeInputs) -> Iterator[Verdict]:
    """Yield a verdict per conversation; the first rule that is broken is the reason.

    Raises :class:`RevocabError` for a row that does not say how its answers ended, and for checks
    of a row that there are not.
    """
    problems: list[str] = []
    for row in rows:
        where = f"row {row['id']}"
        if options.ended and "answers" not in row:
            problems.append(
                f"{where}: does not say how its answers ended, because no model answered it here; "
                "set ended=false"
            )
        if options.own_checks and "checks" in row:
            problems += instructions.problems(row["checks"], where)
    refuse(problems)
    for row in rows:
        reason = broken_rule(row, options)
        yield Verdict(not reason, float(not reason), reason)


def broken_rule(row: Row, options: RuleOptions) -> str:
    texts = answers(row[MESSAGES])
    if options.ended and any(
        answer["finish_reason"] != "eos" or answer["other_special_tokens"]
        for answer in row["answers"]
    ):
        return "ended"
    for name, wanted in options.checks.items():
        if not all(instructions.passes(answer, {name: wanted}) for answer in texts):
            return name
    for name, wanted in row.get("checks", {}).items() if options.own_checks else ():
        if not instructions.passes(texts[-1], {name: wanted}):
            return name
    return ""


JUDGE = Judge(options=RuleOptions, judge=judge)
