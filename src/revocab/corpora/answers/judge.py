"""What a judge of answered conversations is, and the registry of those in ``judges/``.

The schema of an experiment file is made of judges' options, so nothing here or at the top of a
judge's file imports torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revocab.closed import Id, Job, OfKinds, kind_of
from revocab.extensions import found_in

if TYPE_CHECKING:
    from revocab.evaluation.options import AnswerHardware
    from revocab.evaluation.records import Records

#: A conversation: ``id``, ``messages`` and, where a model answered here, ``answers``.
Row = Mapping[str, Any]


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
