"""With seeds: the order of methods in early held-out loss, each difference with its interval."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from statistics import fmean

from revocab.evaluation.over_seeds import FEWEST_SEEDS, all_of, deviation, paired_interval, tell
from revocab.languages import language_label
from revocab.report.annotations import Run
from revocab.report.claim import Claim, ClaimKind
from revocab.report.names import method_label
from revocab.report.results import Results
from revocab.report.results.adapted_language import adapted_language
from revocab.report.results.heldout_losses import heldout_curve

#: Names of runs, the one expected to be best first.
ORDER = ("sava", "fvt", "random")


def find(results: Results) -> Iterator[Claim]:
    for group in results.experiment.runs:
        named = {run.name: run for run in results.group(group, evaluated=False) if run.trains}
        runs = [named[name] for name in ORDER if name in named]
        language = adapted_language(results, group)
        if language is None or any(len(results.replicates(run)) < FEWEST_SEEDS for run in runs):
            continue
        # By ascending seed, so that those of two runs belong together.
        replicates = [sorted(results.replicates(run), key=lambda run: run.seed) for run in runs]
        curves = [
            [heldout_curve(results, replicate, language) for replicate in of] for of in replicates
        ]
        steps = {step for of in curves for curve in of for step in curve if step}
        if len(runs) > 1 and steps:
            yield claim(results, group, language, runs, curves, min(steps))


def claim(
    results: Results,
    group: str,
    language: str,
    runs: list[Run],
    curves: list[list[dict[int, float]]],
    step: int,
) -> Claim:
    labels = [method_label(run) for run in runs]
    where = f"{results.experiment.runs[group].label}: held-out {language_label(language)}"
    statement = f"{where} bits per byte at step {step}, {' < '.join(labels)}"
    values = [[curve[step] for curve in of if step in curve] for of in curves]
    if len({*map(len, values)}) > 1 or len(values[0]) < FEWEST_SEEDS:
        return Claim(statement, "", None)
    parts = [
        f"{label} {fmean(of):.4f} ± {deviation(of):.4f}"
        for label, of in zip(labels, values, strict=True)
    ]
    pairs = [*pairwise(zip(labels, values, strict=True))]
    verdicts = []
    for (label, of), (other, worse) in pairs:
        # That all are in this order needs each interval by itself; that two are not, all at once.
        alone, at_once = (paired_interval(worse, of, comparisons=n) for n in (1, len(pairs)))
        assert alone is not None and at_once is not None  # at least FEWEST_SEEDS
        parts.append(
            f"{other} − {label} {alone.difference:.4f}, 95 % interval {alone.low:.4f} to "
            f"{alone.high:.4f}"
        )
        verdicts.append(tell(alone.low, at_once.high))
    return Claim(statement, f"{len(values[0])} seeds: {'; '.join(parts)}", all_of(verdicts))


CLAIMS = ClaimKind("early-order", place=4, find=find)
