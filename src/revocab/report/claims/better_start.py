"""Methods that use the source model's rows start better than random rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from revocab.evaluation.over_seeds import SeedInterval, paired_interval
from revocab.languages import language_label
from revocab.report.claim import Claim, ClaimKind
from revocab.report.results import Results
from revocab.report.results.adapted_language import adapted_language

if TYPE_CHECKING:
    from revocab.config.expand import Run

#: Runs that must be better than the run called ``random``.
BETTER = ("sava", "fvt")


def find(results: Results) -> Iterator[Claim]:
    """Yield whether the runs of :data:`BETTER` have fewer held-out bits per byte than random, in
    the adapted language at the first checkpoint: with seeds, by the interval over these.
    """
    for group in results.experiment.runs:
        runs = {run.name: run for run in results.group(group, evaluated=False) if run.trains}
        language = adapted_language(results, group)
        if "random" not in runs or language is None:
            continue
        random = at_first_checkpoint(results, runs["random"], language)
        where = f"held-out {language_label(language)} bits per byte at the first checkpoint"
        for name in BETTER:
            if name not in runs:
                continue
            value = at_first_checkpoint(results, runs[name], language)
            if value is not None and random is not None:
                over = over_seeds(results, runs[name], runs["random"], language)
                numbers = f"{value:.4f} against {random:.4f}"
                if over:
                    numbers += (
                        f"; difference {over.difference:.4f}, 95 % interval over {over.seeds} "
                        f"seeds {over.low:.4f} to {over.high:.4f}"
                    )
                yield Claim(
                    f"{results.base(group).label}: {where}, {name} < random",
                    numbers,
                    (over.high < 0) if over else value < random,
                )


def over_seeds(results: Results, run: Run, other: Run, language: str) -> SeedInterval | None:
    """Return the difference of two runs at the first checkpoint over the seeds that both have.

    None for fewer than two.
    """
    losses = [
        {
            one.seed: loss
            for one in results.replicates(each)
            if (loss := at_first_checkpoint(results, one, language)) is not None
        }
        for each in (run, other)
    ]
    seeds = [seed for seed in losses[0] if seed in losses[1]]
    return paired_interval(*[[one[seed] for seed in seeds] for one in losses])


def at_first_checkpoint(results: Results, run: Run, language: str) -> float | None:
    """Return held-out bits per byte of a run at its first checkpoint, None if not measured."""
    return results.heldout_by_language(run, language).get(run.select()[0])


CLAIMS = ClaimKind("better-start", place=3, find=find)
