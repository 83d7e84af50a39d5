"""What decides a model's own answers and what is taken from them: options, and judges.

A judge of answered conversations is a file in ``judges/``. The schema of an experiment file is made
of these options, so nothing here or at the top of a judge's file imports torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from revocab.closed import Id, Job, OfKinds, OneLine, kind_of
from revocab.corpora.documents import Condition
from revocab.corpora.source import Form
from revocab.evaluation.options import GenerationOptions
from revocab.extensions import found_in
from revocab.limits import Count
from revocab.training.chat.messages import Role

if TYPE_CHECKING:
    from revocab.evaluation.options import AnswerHardware
    from revocab.evaluation.records import Records

#: The conversations, in the folders of both commands.
CONVERSATIONS = "conversations.jsonl.gz"
#: The field of their rows that has the messages.
MESSAGES = "messages"
#: A conversation: ``id``, ``messages`` and, where a model answered here, ``answers``.
Row = Mapping[str, Any]


class AnswerOptions(GenerationOptions):
    """How questions are answered, greedily, through the model's chat template."""

    limit: Count | None = Field(default=None, description="answer only the first N conversations")


class AnswerJob(AnswerOptions, Job):
    """Answers of one model, and where the questions come from."""

    source: Form = Field(default=Form(), description="form of the files, or a Hub data set")
    messages_field: OneLine = Field(
        default=MESSAGES, description="field of a row that contains the messages"
    )
    message_roles: dict[OneLine, Role] = Field(
        default_factory=dict,
        exclude_if=lambda names: not names,
        description="whose the messages of a role are, beside the usual names of roles",
    )
    keep: dict[OneLine, Condition] = Field(
        default_factory=dict,
        exclude_if=lambda conditions: not conditions,
        description="answer only rows whose fields are as said, such as {score: {min: 8}}",
    )


class JudgeOptions(OfKinds):
    """Base of a judge's options; each narrows ``kind`` to its own name."""

    kind: Id

    @classmethod
    def kinds(cls) -> dict[str, Judge]:
        return judges()


class JudgeJob(JudgeOptions, Job):
    """A judge with its options."""


@dataclass(frozen=True)
class Verdict:
    """What a judge says of one conversation."""

    kept: bool
    #: By the judge's own measure; None: it gave none.
    score: float | None
    #: Why a conversation is left out: one of few, as they are counted.
    reason: str = ""


@dataclass(frozen=True)
class JudgeInputs:
    """What a judge may use beside conversations and options."""

    #: The model of a judge that has one.
    model: Path | None
    machine: AnswerHardware
    #: Where a model's results are kept, so that a killed job goes on from them.
    records: Records


@dataclass(frozen=True, kw_only=True)
class Judge:
    """A judge: one file in ``judges/`` with one object ``JUDGE``."""

    options: type[JudgeOptions]
    #: Returns one verdict per conversation, in order.
    judge: Callable[[Sequence[Row], Any, JudgeInputs], Iterable[Verdict]]
    needs_model: bool = False

    @property
    def name(self) -> str:
        return kind_of(self.options)


@cache
def judges() -> dict[str, Judge]:
    from revocab.corpora.answers import judges as package

    return found_in(package, "JUDGE")
