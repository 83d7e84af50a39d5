"""Methods that use the source model's rows start better than random rows."""

from __future__ import annotations

from collections.abc import Iterator

from revocab.evaluation.over_seeds import paired_interval
from revocab.languages import language_label
from revocab.report.claim import Claim, ClaimKind
from revocab.report.results import Results
from revocab.report.results.adapted_language import adapted_language
from revocab.report.values.losses import HeldoutLoss

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
        loss, random = HeldoutLoss(language=language, step="first"), runs["random"]
        worse = loss.cell(results, random).value
        where = f"held-out {language_label(language)} bits per byte at the first checkpoint"
        for run in [runs[name] for name in BETTER if name in runs]:
            value = loss.cell(results, run).value
            if value is None or worse is None:
                continue
            ours, others = loss.by_seed(results, run), loss.by_seed(results, random)
            seeds = [seed for seed in ours if seed in others]
            over = paired_interval([ours[seed] for seed in seeds], [others[seed] for seed in seeds])
            numbers = f"{value:.4f} against {worse:.4f}"
            if over:
                numbers += (
                    f"; difference {over.difference:.4f}, 95 % interval over {over.seeds} "
                    f"seeds {over.low:.4f} to {over.high:.4f}"
                )
            yield Claim(
                f"{results.base(group).label}: {where}, {run.name} < random",
                numbers,
                (over.high < 0) if over else value < worse,
            )


CLAIMS = ClaimKind("better-start", place=3, find=find)
