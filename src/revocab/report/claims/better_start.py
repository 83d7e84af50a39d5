"""Methods that use the source model's rows start better than random rows."""

from __future__ import annotations

from collections.abc import Iterator

from revocab.evaluation.over_seeds import tell
from revocab.languages import language_label
from revocab.report.claim import Claim, ClaimKind, interval_in_words
from revocab.report.results import Results
from revocab.report.results.adapted_language import adapted_language
from revocab.report.values.losses import HeldoutLoss
from revocab.report.values.run_value import difference

#: Runs that must be better than the run called ``random``.
BETTER = ("sava", "fvt")


def find(results: Results) -> Iterator[Claim]:
    """Yield whether the runs of :data:`BETTER` have fewer held-out bits per byte than random, in
    the adapted language at the first checkpoint, by intervals over seeds that hold at once.
    """
    for group in results.experiment.runs:
        runs = {run.name: run for run in results.group(group, evaluated=False) if run.trains}
        language = adapted_language(results, group)
        if "random" not in runs or language is None:
            continue
        loss, random = HeldoutLoss(language=language, step="first"), runs["random"]
        where = f"held-out {language_label(language)} bits per byte at the first checkpoint"
        named = [runs[name] for name in BETTER if name in runs]
        for run in named:
            found = difference(results, (loss, random), (loss, run))
            if found is None:
                continue
            values = [loss.cell(results, shown).value or 0.0 for shown in (run, random)]
            interval = found.interval(len(named))
            yield Claim(
                f"{results.base(group).label}: {where}, {run.name} < random",
                f"{values[0]:.4f} against {values[1]:.4f}; "
                + interval_in_words(interval, found.seeds, len(named)),
                None if interval is None else tell(*interval),
            )


CLAIMS = ClaimKind("better-start", place=3, find=find)
