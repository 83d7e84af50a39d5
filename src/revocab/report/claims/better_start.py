"""Methods that use the source model's rows start better than random rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from revocab.languages import language_label
from revocab.report.claim import Claim, ClaimKind
from revocab.report.results import Results

if TYPE_CHECKING:
    from revocab.config.expand import Run

#: Runs that must be better than the run called ``random``.
BETTER = ("sava", "fvt")


def find(results: Results) -> Iterator[Claim]:
    """Yield whether the runs of :data:`BETTER` have fewer held-out bits per byte than random, in
    the adapted language at the first checkpoint.
    """
    for group in results.experiment.runs:
        runs = {run.name: run for run in results.group(group, evaluated=False) if run.trains}
        if "random" not in runs:
            continue
        language = results.adapted_language(group)
        assert language is not None  # that run is trained
        random = at_first_checkpoint(results, runs["random"], language)
        where = f"held-out {language_label(language)} bits per byte at the first checkpoint"
        for name in BETTER:
            if name not in runs:
                continue
            value = at_first_checkpoint(results, runs[name], language)
            if value is not None and random is not None:
                yield Claim(
                    f"{results.base(group).label}: {where}, {name} < random",
                    f"{value:.4f} against {random:.4f}",
                    value < random,
                )


def at_first_checkpoint(results: Results, run: Run, language: str) -> float | None:
    """Return held-out bits per byte of a run at its first checkpoint, None if not measured."""
    return results.heldout_by_language(run, language).get(run.select()[0])


CLAIMS = ClaimKind("better-start", place=3, find=find)
