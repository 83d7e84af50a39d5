"""What the numbers of an experiment cannot say: said first, of final averages, and last, of all."""

from __future__ import annotations

import math
from collections.abc import Iterator

from revocab.evaluation.generation.kind import find_kind
from revocab.evaluation.metric import COMET_METRICS
from revocab.evaluation.over_seeds import level_of, reach_of_both
from revocab.io import read_json
from revocab.languages import language_label
from revocab.report import notes
from revocab.report.results import Results
from revocab.report.values.task_scores import TaskScore
from revocab.tokenizer_building.training_text import shortage
from revocab.training.data.packed_folder import repetition

ONE_SEED = (
    "Each run was trained with one seed, so these averages do not show how much another seed would "
    "change."
)


def final_accuracies(results: Results) -> list[str]:
    """Return one note on the final averages of every group and language; none without two runs."""
    tasks = results.experiment.evaluation.multiple_choice.tasks.values()
    lines: list[str] = []
    lone = True
    for group, settings in results.experiment.runs.items():
        runs = [run for run in results.group(group) if run.trains]
        lone = lone and all(len(results.replicates(run)) == 1 for run in runs)
        for language in dict.fromkeys(task.language for task in tasks):
            average = TaskScore.average(language)
            cells = [average.cell(results, run) for run in runs]
            averages = [(c.value, c.stderr) for c in cells if c.value is not None and c.stderr]
            if len(averages) > 1:
                lines.append(line(f"{settings.label}, {language_label(language)}", averages))
    if not lines:
        return []
    return [f"Final accuracies: {' '.join([*lines, *([ONE_SEED] if lone else [])])}"]


def line(name: str, averages: list[tuple[float, float]]) -> str:
    """Return the sentence on averages with their standard errors over items, as fractions.

    Two averages on the same items vary together, so that the reach of independent ones is an upper
    bound.
    """
    values = [value for value, _ in averages]
    spread = max(values) - min(values)
    level = level_of(math.comb(len(averages), 2))
    reach = reach_of_both(math.sqrt(2) * max(error for _, error in averages), 0.0, 1, level)
    verdict = (
        "they do not rank the methods" if spread < reach else "only larger differences rank methods"
    )
    return (
        f"{name}: {len(averages)} runs end within {100 * spread:.1f} points of each other, and "
        f"the items alone can make two of them differ by up to {100 * reach:.1f} (95 %, all pairs "
        f"at once): {verdict}."
    )


def limitations(results: Results) -> list[str]:
    parts = (of_models, of_texts, of_scores, of_runs)
    return [*notes.synthetic(results), *(line for part in parts for line in part(results))]


def of_models(results: Results) -> Iterator[str]:
    built = [name for name, model in results.experiment.models.items() if model.pretrain]
    what = "is a small stand-in" if len(built) == 1 else "are small stand-ins"
    if built:
        yield (
            f"The model{'s' * (len(built) > 1)} {', '.join(built)} {what} pretrained here: scores "
            "compare methods and do not transfer to models of billions of parameters."
        )


def of_texts(results: Results) -> Iterator[str]:
    """Yield which corpora had less text than tokenizers and trainings asked of them."""
    for name in results.experiment.tokenizers:
        manifest = results.json("tokenizers", name, "manifest.json") or {}
        for parts in manifest.values():
            described = parts.values() if isinstance(parts, dict) else ()
            text = described and all(isinstance(part, dict) and "of" in part for part in described)
            if text and (caution := shortage(parts)):
                yield f"Tokenizer {name}: {caution}."
    for path in sorted(results.root.glob("packed/*/manifest.json")):
        for corpus, packed in read_json(path)["corpora"].items():
            if caution := repetition(corpus, packed):
                yield f"Training rows {path.parent.name}: {caution}."


def of_scores(results: Results) -> Iterator[str]:
    evaluation = results.experiment.evaluation
    limit = evaluation.multiple_choice.limit
    if limit and evaluation.multiple_choice.tasks:
        yield f"Multiple-choice tasks use their first {limit} items only: see the standard errors."
    tasks = evaluation.generation.tasks
    limits = [f"{task} {entry.limit}" for task, entry in tasks.items() if entry.limit]
    if limits:
        yield f"Generation uses only some of its queries: {', '.join(limits)}."
    translated = any(find_kind(entry.kind).comet_source for entry in tasks.values())
    if translated and not evaluation.generation.comet_model:
        yield "COMET-22 is not configured; chrF++ and BLEU are shown next to its empty column."
    for key, metric in COMET_METRICS.items():
        empty = [
            name
            for name, table in results.experiment.tables.items()
            if getattr(table, "metric", None) == metric.name
        ]
        if empty and not getattr(evaluation.generation, key):
            yield (
                f"{metric.label} is not configured: {', '.join(empty)} have dashes in its place; "
                f"evaluation.generation.{key} names its model."
            )


def of_runs(results: Results) -> Iterator[str]:
    """Yield what one seed cannot show, and what equal steps of different tokenizers are not."""
    groups = results.experiment.runs
    shown = [run for group in groups for run in results.group(group, evaluated=False)]
    trained = [run for run in shown if run.trains]
    lone = [run for run in trained if len(results.replicates(run)) == 1]
    if lone:
        which = "One seed per run" if len(lone) == len(trained) else "One seed for most runs"
        yield (
            f"{which}: the standard errors are over items, not over training runs. Small "
            "differences between methods may be due to chance."
        )
    if len({run.target for run in trained}) > 1:
        yield (
            "Equal tokens are not equal text: runs with different tokenizers see different amounts "
            "of text in the same number of steps. Bits per byte compares them."
        )
