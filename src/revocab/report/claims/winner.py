"""Which run of a group ends best on held-out text, and whether it is ahead of every other.

The winner is picked by the losses that are then compared. Its intervals therefore hold for all
pairs of the group's runs at once, whichever run had won.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import comb

from revocab.evaluation.over_seeds import FEWEST_SEEDS, SeedInterval, paired_interval
from revocab.languages import language_label
from revocab.report.annotations import Run
from revocab.report.claim import Claim, ClaimKind
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
            verdict(leads),
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
    """Return the lead over the next run, and over which of the others it may be chance."""
    (next_best, second), over = others[0], leads[0]
    words = f"next {method_label(second)} {next_best:.4f}; lead {next_best - best:.4f}, "
    if over is None:
        words += f"without an interval, which takes {FEWEST_SEEDS} seeds"
    else:
        at_once = f", for all {pairs} pairs of runs at once," if pairs > 1 else ""
        words += f"95 % interval over {over.seeds} seeds{at_once} {over.low:.4f} to {over.high:.4f}"
    unsure = [
        method_label(run)
        for (_, run), lead in zip(others[1:], leads[1:], strict=True)
        if lead is None or lead.low <= 0
    ]
    return f"{words}; its lead over {', '.join(unsure)} may be chance" if unsure and over else words


def verdict(leads: Sequence[SeedInterval | None]) -> bool | None:
    if any(lead is not None and lead.low <= 0 for lead in leads):
        return False
    return None if None in leads else True


CLAIMS = ClaimKind("winner", place=0, find=find)
