"""Which run of a group ends best on held-out text, and whether it is ahead of every other.

The winner is picked by the losses that are then compared. Its intervals therefore hold for all
pairs of the group's runs at once, whichever run had won.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import comb

from revocab.evaluation.over_seeds import (
    FEWEST_SEEDS,
    SeedInterval,
    all_of,
    paired_interval,
    tell,
)
from revocab.languages import language_label
from revocab.report.annotations import Run
from revocab.report.claim import Claim, ClaimKind, interval_in_words
from revocab.report.names import method_label
from revocab.report.results import Results
from revocab.report.results.adapted_language import adapted_language
from revocab.report.values.losses import HeldoutLoss


def find(results: Results) -> Iterator[Claim]:
    for group, settings in results.experiment.runs.items():
        language = adapted_language(results, group)
        if language is None:
            continue
        loss = HeldoutLoss(language=language, step="last")
        ended = [
            (value, run)
            for run in results.group(group, evaluated=False)
            if run.trains and (value := loss.cell(results, run).value) is not None
        ]
        if len(ended) < 2:
            continue
        (best, winner), *others = sorted(ended, key=lambda pair: pair[0])
        leads, pairs = leads_of(results, loss, winner, [run for _, run in others])
        yield Claim(
            f"{settings.label}: {method_label(winner)} ends best on held-out "
            f"{language_label(language)} text",
            f"{best:.4f} bits per byte; {in_words(best, others, leads, pairs)}",
            all_of(None if lead is None else tell(lead.low, lead.high) for lead in leads),
        )


def leads_of(
    results: Results, loss: HeldoutLoss, winner: Run, others: Sequence[Run]
) -> tuple[list[SeedInterval | None], int]:
    """Return by how much each other run loses, None where seeds are too few to tell; and for how
    many pairs of runs these intervals hold at once.
    """
    ours, *theirs = [loss.by_seed(results, run) for run in (winner, *others)]
    pairs = comb(sum(len(values) >= FEWEST_SEEDS for values in (ours, *theirs)), 2)
    leads: list[SeedInterval | None] = []
    for values in theirs:
        seeds = [seed for seed in ours if seed in values]
        sides = [values[seed] for seed in seeds], [ours[seed] for seed in seeds]
        enough = len(seeds) >= FEWEST_SEEDS
        leads.append(paired_interval(*sides, comparisons=pairs) if enough else None)
    return leads, pairs


def in_words(
    best: float,
    others: Sequence[tuple[float, Run]],
    leads: Sequence[SeedInterval | None],
    pairs: int,
) -> str:
    """Return the lead over the next run and over each other one that it may be by chance, every
    one with its own interval.
    """
    words = []
    for number, ((value, run), lead) in enumerate(zip(others, leads, strict=True)):
        name = f"next {method_label(run)} {value:.4f}; lead" if number == 0 else method_label(run)
        if number == 0 or (lead is not None and lead.low <= 0):
            # An interval is of the seeds that both have, and so is its middle.
            ahead = value - best if lead is None else lead.difference
            ends = None if lead is None else (lead.low, lead.high)
            interval = interval_in_words(ends, lead.seeds if lead else 0, pairs)
            words.append(f"{name} {ahead:.4f}, {interval}")
    few = [method_label(run) for (_, run), lead in zip(others[1:], leads[1:], strict=True)
           if lead is None and leads[0] is not None]  # fmt: skip
    if few:
        words.append(f"{', '.join(few)}: {interval_in_words(None, 0, pairs)}")
    first, *unsure = words
    return f"{first}; may be chance over {'; '.join(unsure)}" if unsure else first


CLAIMS = ClaimKind("winner", place=0, find=find)
