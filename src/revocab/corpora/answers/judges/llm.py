"""A chat model as judge: it is asked to grade a conversation from 1 to 5.

Tikhomirov and Chernyshev 2024 (LEP) keep answers with at least 4 of 5 points for grammar and
relevance; the wording here is our own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import Field

from revocab.corpora.answers.options import MESSAGES, Judge, JudgeInputs, JudgeOptions, Row, Verdict
from revocab.evaluation.options import GenerationOptions
from revocab.limits import Positions
from revocab.training.chat.messages import Message

WORST, BEST = 1, 5
#: What the judge is asked, before and after the conversation.
QUESTION = (
    "Below is a conversation between a user and an assistant. Grade the assistant's answers: are"
    " they grammatical, and do they answer what was asked?"
)
SCALE = (
    f"Answer with one number from {WORST} (wrong, or not what was asked) to {BEST} (correct and"
    " complete), and nothing else."
)
NUMBER = re.compile(r"\d+")


class LlmOptions(JudgeOptions, GenerationOptions):
    """Which grades are good enough, and how they are generated."""

    kind: Literal["llm"]
    threshold: int = Field(
        default=4, ge=WORST, le=BEST, description="least grade of a conversation that is kept"
    )
    max_new_tokens: Positions = Field(default=8, description="maximum tokens of a grade")


def question(row: Row) -> list[Message]:
    conversation = "\n\n".join(
        f"{message['role'].capitalize()}: {message['content']}" for message in row[MESSAGES]
    )
    return [{"role": "user", "content": f"{QUESTION}\n\n{conversation}\n\n{SCALE}"}]


def grade(answer: str) -> int | None:
    first = NUMBER.search(answer)
    number = int(first.group()) if first else 0
    return number if WORST <= number <= BEST else None


def judge(rows: Sequence[Row], options: LlmOptions, inputs: JudgeInputs) -> Iterator[Verdict]:
    from revocab.corpora.answers.answer import RecordedGenerator

    assert inputs.model is not None  # needs_model
    model = RecordedGenerator(inputs.model, options, inputs.machine, inputs.records)
    prompts = [model.chat.encode(model.chat.text(question(row))) for row in rows]
    fits = [len(prompt) <= model.room for prompt in prompts]
    able = [prompt for prompt, fitting in zip(prompts, fits, strict=True) if fitting]
    outputs = iter(model.generate(able) if able else [])
    model.generator.close()
    for fitting in fits:
        points = grade(next(outputs).text) if fitting else None
        if points is None:
            yield Verdict(False, None, "no grade" if fitting else "too long")
        else:
            good = points >= options.threshold
            yield Verdict(good, float(points), "" if good else "low grade")


JUDGE = Judge(options=LlmOptions, judge=judge, needs_model=True)
