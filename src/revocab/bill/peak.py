"""The most that lies on the disk at once, and the least that it can be held to.

The scheduler runs jobs in any order in which each has what it reads. So at the peak of a training
all may be there that does not stand on it, and what it stands on is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from revocab.bill.amounts import Amount, Factor
from revocab.bill.disk import checkpoint_bytes, dropped, packings, rows_of, start_of
from revocab.bill.sizes import Sizes
from revocab.bill.trainings import Training
from revocab.plan.plan import Plan
from revocab.rule import JOIN

MOST, LEAST = "disk at its peak", "disk at its peak, at least"
#: Stages that are there before anything is trained.
FIRST = ("text", "tokenizers", "models")


@dataclass(frozen=True)
class Piece:
    """What a job leaves on the disk until the end, or until ``keep`` removes it."""

    job: str
    size: float


def peaks_of(
    plan: Plan, sizes: Sizes, stages: Sequence[Amount], trainings: Sequence[Training]
) -> list[Amount]:
    """Return both bounds: of each training the peak, and of all of these the largest.

    Scores are not counted beside a training, as trainings go first; when all are done, what
    ``keep`` removes may be the last to go.
    """
    first: list[list[Factor]] = [
        [(stage.value, f"B of {stage.name}")] for stage in stages if stage.name in FIRST
    ]
    end = [[(stage.value, f"B of {stage.name}")] for stage in stages]
    removed = sum(dropped(plan, training) * checkpoint_bytes(training) for training in trainings)
    most = [Amount(MOST, "B", [*end, [(removed, "B that keep removes")]])]
    least = [Amount(LEAST, "B", end)]
    pieces = [*pieces_of(plan, sizes, trainings)]
    for training in trainings:
        job, before = training.job, plan.waits_for(training.job)
        own: list[Factor] = [(peak_of(training), f"B of {training.name} and its states")]
        beside = [p for p in pieces if p.job != job and job not in plan.waits_for(p.job)]
        for amounts, name, present in (
            (most, MOST, beside), (least, LEAST, [p for p in beside if p.job in before]),
        ):  # fmt: skip
            others: list[Factor] = [(sum(p.size for p in present), "B of other jobs")]
            amounts.append(Amount(name, "B", [*first, own, others]))
    return [max(amounts, key=lambda amount: amount.value) for amounts in (most, least)]


def peak_of(training: Training) -> float:
    """Return the most that a training has of checkpoints and states."""
    size = checkpoint_bytes(training)
    last = training.checkpoints
    return max(number * size + training.states(number) for number in (last - 1, last))


def pieces_of(plan: Plan, sizes: Sizes, trainings: Sequence[Training]) -> Iterator[Piece]:
    for ids in packings(plan):
        packed = Amount("", "B", [*rows_of(plan, sizes, *ids)])
        yield Piece(JOIN.join(["pack_tokens", *ids]), packed.value)
    for run in plan.runs.values():
        if run.made:
            start = Amount("", "B", [*start_of(sizes, run)])
            yield Piece(JOIN.join(["init_embeddings", run.id]), start.value)
    for training in trainings:
        yield Piece(training.job, training.checkpoints * checkpoint_bytes(training))
