"""Adapted models end better than the base model in the adapted language."""

from __future__ import annotations

from collections.abc import Iterator

from revocab.languages import language_label
from revocab.report.adapted_language import adapted_language
from revocab.report.claim import Claim, ClaimKind
from revocab.report.names import method_label
from revocab.report.results import Record, Results
from revocab.report.scores import AVERAGE, average_task


def find(results: Results) -> Iterator[Claim]:
    """Yield whether all adapted models of a group beat their base model's average."""
    for group in results.experiment.runs:
        language = adapted_language(results, group)
        if language is None:
            continue
        task = average_task(language)
        base = results.base(group)
        level = results.scores.get(base.id, 0, task, AVERAGE)
        found = []
        for run in results.group(group):
            score = results.scores.get(run.id, run.steps[-1], task, AVERAGE)
            if run.trains and score:
                found.append((method_label(run), score))
        if level and found:
            listed = ", ".join(f"{name} {percent(score)}" for name, score in found)
            yield Claim(
                f"{base.label}: at the last checkpoint every adapted model beats the base model's "
                f"{language_label(language)} average",
                f"base {percent(level)}; {listed}",
                all(score["value"] > level["value"] for _, score in found),
            )


def percent(score: Record) -> str:
    """Return an average in per cent with its standard error over items, where that is known."""
    error = f"±{100 * score['stderr']:.2f}" if score["stderr"] else ""
    return f"{100 * score['value']:.2f}{error}"


CLAIMS = ClaimKind("beats-base", place=5, find=find)
