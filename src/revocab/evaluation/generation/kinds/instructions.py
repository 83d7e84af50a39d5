"""Instructions whose answers a rule can check: what tuning and adaptation can break.

Rows are conversations, ``messages`` with ``role`` and ``content``, whose last message may be an
answer, which is not shown; ``checks`` say what the answer must be
(:mod:`revocab.evaluation.generation.instruction_checks`). Through a chat template a model is asked
by the messages themselves; as plain text by a question and a label.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from revocab.errors import RevocabError, refuse
from revocab.evaluation.generation import instruction_checks
from revocab.evaluation.generation.instruction_checks import Group, in_group, passes
from revocab.evaluation.generation.kind import GenerationKind, OneLanguage, Row
from revocab.evaluation.metric import Metric, mean_of
from revocab.training.chat.layout import Languages, Layout
from revocab.training.chat.messages import ASSISTANT, Message, checked_messages

if TYPE_CHECKING:
    from revocab.evaluation.resampling import Items

#: Labels of the groups of checks.
GROUPS: dict[Group, str] = {
    "language": "Language", "length": "Length", "format": "Format", "copy": "Exact text",
    "content": "Content", "refusal": "Refused",
}  # fmt: skip


class Instructions(OneLanguage):
    """Conversations with checks; the direction is the language that asks."""

    kind: Literal["instructions"]


def checked_rows(rows: list[Row], options: Instructions, where: str) -> list[Row]:
    """Return the rows with the usual roles; raise :class:`RevocabError` naming every one that is
    none.
    """
    problems: list[str] = []
    checked = []
    for row in rows:
        place = f"{where}, row {row['id']}"
        try:
            checked.append(
                {**row, "messages": checked_messages(row.get("messages"), f"{place}: messages")}
            )
        except RevocabError as error:
            problems += error.problems
            continue
        if not questions(checked[-1]):
            problems.append(f"{place}: messages: nothing is asked; give a question of role user")
        else:
            problems += instruction_checks.problems(row.get("checks"), place)
    refuse(problems)
    return checked


def is_answered(row: Row) -> bool:
    return row["messages"][-1]["role"] == ASSISTANT


def questions(row: Row) -> list[Message]:
    return row["messages"][:-1] if row["messages"] and is_answered(row) else row["messages"]


def answer(row: Row) -> str:
    return row["messages"][-1]["content"] if is_answered(row) else ""


def conversation(shots: Sequence[Row], query: Row) -> list[Message]:
    return [message for shot in shots for message in shot["messages"]] + questions(query)


def texts(row: Row, languages: Languages) -> list[str]:
    return ["\n".join(message["content"] for message in questions(row)), answer(row)]


# Metrics ------------------------------------------------------------------------------------------


def share(passed: Sequence[bool]) -> Items | None:
    """Return items whose score is the percentage that passed; None where there are none."""
    return mean_of([100.0 * answer_passed for answer_passed in passed]) if passed else None


def ended(rows: Sequence[Row], languages: Languages) -> Items | None:
    return share([row["finish_reason"] == "eos" for row in rows])


def template_tokens(rows: Sequence[Row], languages: Languages) -> Items | None:
    """Return the share of answers that end with the template's own end token, and have no special
    token before it; None where models are not asked through a template.
    """
    asked = [row for row in rows if "template_end" in row]
    return share([row["template_end"] and not row["other_special_tokens"] for row in asked])


def followed(rows: Sequence[Row], languages: Languages) -> Items | None:
    return share([passes(row["output"], row["checks"]) for row in rows])


def followed_in(group: Group, rows: Sequence[Row], languages: Languages) -> Items | None:
    """Return the share of answers that pass their checks of one group, of those that have any."""
    of_group = [(row["output"], in_group(row["checks"], group)) for row in rows]
    return share([passes(output, checks) for output, checks in of_group if checks])


def by_chance(rows: Sequence[Row], languages: Languages) -> Items | None:
    """Return the share of checks passed by the right answers to other questions.

    The chance level of ``followed``: what one gets who knows how answers look and not what is
    asked. An item is the mean over all other answers of the task.
    """
    known = [(row["references"][0], row["checks"]) for row in rows if row["references"][0]]
    if len(known) < 2:
        return None
    values = [
        sum(passes(answer, checks) for j, (answer, _) in enumerate(known) if j != i)
        / (len(known) - 1)
        for i, (_, checks) in enumerate(known)
    ]
    return mean_of([100.0 * value for value in values])


def metric(name: str, label: str, items: Callable[..., Any]) -> Metric:
    return Metric(name, label, 0, 100, items)


KIND = GenerationKind(
    options=Instructions,
    layout=Layout(labels=("<<question>>", "<<answer>>")),
    rows=checked_rows,
    fields=lambda languages: ("messages", "checks"),
    as_given=("messages", "checks"),
    kept=("checks",),
    texts=texts,
    conversation=conversation,
    metrics=(
        metric("ended", "Ended", ended),
        metric("template_tokens", "Template's tokens", template_tokens),
        metric("followed", "Followed", followed),
        *(
            metric(f"followed_{group}", label, partial(followed_in, group))
            for group, label in GROUPS.items()
        ),
        metric("followed_by_chance", "By chance", by_chance),
    ),
    shown=("ended", "template_tokens", "followed", "followed_by_chance"),
    caption="Ended: per cent of answers that an end token ends. Template's tokens: of those asked "
    "through a chat template, per cent that end with its end token and have no other special token."
    " Followed: per cent that pass every check by rule; by chance: of the right answers to the "
    "other questions.",
    place=40,
)
