"""What a task file may ask of its rows that the harness has no key for.

Rows that are asked in several variants, tasks that are split by a field of their rows, and examples
that are the same for every item; what is kept of items for a score by a measure (``metadata``:
``variants``, ``mean_over``, ``shots``, ``measure``).
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revocab.errors import RevocabError
from revocab.evaluation.metrics import CATEGORIES, TOGETHER
from revocab.evaluation.multiple_choice.task_keys import Metadata, Shots
from revocab.evaluation.resampling import category_weights, together

if TYPE_CHECKING:
    from datasets import Dataset
    from lm_eval.api.task import Task
    from lm_eval.tasks.manager import TaskDict


def fields_of(metadata: Mapping[str, Any]) -> list[str]:
    read = Metadata(**metadata)
    named = (read.mean_over, read.measure and read.measure.together)
    return [name.split(".")[0] for name in named if name]


def value_of(row: Mapping[str, Any], field: str) -> Any:
    """Return a field of a row, which may be a dotted path; raise ``KeyError`` without it."""
    try:
        return functools.reduce(lambda fields, name: fields[name], field.split("."), row)
    except TypeError:
        raise KeyError(field) from None


def with_parts(
    path: str | Path, loaded: TaskDict, config: dict[str, Any], metadata: Metadata
) -> TaskDict:
    """Return a loaded task with its variants, and as a group of tasks where it has parts.

    Raises :class:`RevocabError` for fixed examples out of the split that is scored.
    """
    task = next(iter(loaded["tasks"].values()))
    if metadata.shots is not None and config.get("fewshot_split") in (None, config["test_split"]):
        raise RevocabError(
            f"{path}: metadata.shots: the first rows of the split that is scored would be examples"
            " of themselves; name another one as fewshot_split, or leave shots out"
        )
    if metadata.variants:
        rows = {config["test_split"]: with_variants(task.eval_docs, metadata.variants)}
        task = same_task(config, config["task"], {**task.dataset, **rows})
        loaded = {"tasks": {task.task_name: task}, "groups": {}}
    return split_task(path, task, config, metadata.mean_over) if metadata.mean_over else loaded


def with_variants(rows: Dataset, variants: Mapping[str, list[Any]]) -> Dataset:
    """Return each row once for every value of a further field, one after another.

    So a limited number of items keeps a row's variants together.
    """
    ((field, values),) = variants.items()
    if field in rows.column_names:
        raise RevocabError(
            f"metadata.variants: the rows have a field {field!r}; give the variants another name"
        )
    repeated = rows.select([i for i in range(len(rows)) for _ in values])
    return repeated.add_column(field, values * len(rows))


def same_task(config: dict[str, Any], name: str, splits: Mapping[str, Any]) -> Task:
    from datasets import DatasetDict
    from lm_eval.api.task import ConfigurableTask

    fixed = {
        "task": name,
        "dataset_kwargs": None,
        "custom_dataset": functools.partial(returned, DatasetDict(splits)),
        "metadata": {"version": config["metadata"]["version"]},
    }
    return ConfigurableTask(config={**config, **fixed})


def split_task(path: str | Path, whole: Task, config: dict[str, Any], field: str) -> TaskDict:
    """Return a task as a group of tasks, one per value of a row field, with unweighted means.

    ``field`` may be a dotted path (``metadata.subject``). The harness aggregates, as for MMLU.
    Raises :class:`RevocabError`, naming the task file at ``path``, for a row without such a field.
    """
    from lm_eval.api.group import Group
    from lm_eval.config.group import AggMetricConfig

    test, shots = config["test_split"], config.get("fewshot_split")
    rows = {test: whole.eval_docs}
    parts = {test: places(path, rows[test], field)}
    if shots not in (None, test):
        rows[shots] = whole.dataset[shots]
        has_field = field.split(".", maxsplit=1)[0] in rows[shots].column_names
        parts[shots] = places(path, rows[shots], field) if has_field else {}
    metrics = [
        AggMetricConfig(metric=metric["metric"], weight_by_size=False)
        for metric in config["metric_list"]
    ]
    version = {"version": config["metadata"]["version"]}
    group = Group(config["task"], aggregate_metric_list=metrics, metadata=version)
    for value in sorted(parts[test]):
        own = {
            split: of.select(parts[split].get(value, [])) if parts[split] else of
            for split, of in rows.items()
        }
        task = same_task(config, f"{config['task']}_{value}", own)
        task.part = value
        group.add(task)
    tasks = {task.task_name: task for task in group.get_all_tasks()}
    return {"tasks": tasks, "groups": {group.name: group}}


def places(path: str | Path, rows: Iterable[Any], field: str) -> dict[str, list[int]]:
    numbers: dict[str, list[int]] = {}
    for i, row in enumerate(rows):
        try:
            numbers.setdefault(str(value_of(row, field)), []).append(i)
        except KeyError:
            raise RevocabError(
                f"{path}: metadata.mean_over: row {i + 1} has no {field!r}"
            ) from None
    return numbers


def returned(value: Any, /, **_: Any) -> Any:
    """Return ``value``: what the harness calls to get a data set that is already there."""
    return value


class FixedShots:
    """Stands for the harness's sampler; the examples of every item are the same rows, in order."""

    def __init__(self, rows: Dataset, shots: Shots):
        self.rows = rows
        self.shots = shots

    def sample(self, n: int, eval_doc: Any = None, **_: Any) -> list[dict[str, Any]]:
        """Return ``n`` rows; raise :class:`RevocabError` where there are fewer."""
        first = self.shots.first
        if first + n > len(self.rows):
            raise RevocabError(
                f"{n} examples from row {first} on were asked for, its split of examples has"
                f" {len(self.rows)} rows; ask with fewer (shots, most_shots)"
            )
        rows = [self.rows[i] for i in range(first, first + n)]
        return rows[::-1] if self.shots.reverse else rows

    def set_rnd(self, seed: int | None) -> FixedShots:
        return self


#: Under these names what a measure needs of an item stands beside its scores.
LABELS, GROUP, CHOICES = "labels", "group", "choices"


def noted(task: Task, doc: Any, results: Sequence[tuple[float, bool]]) -> dict[str, Any]:
    """Return what the task's measure needs of an item, by the log-likelihoods of its choices.

    Raises :class:`RevocabError` for an item without the field of its group, or whose gold label is
    none of its choices.
    """
    measure = task.measure
    if measure is None or measure.categories:
        return {}
    if measure.together:
        try:
            return {GROUP: str(value_of(doc, measure.together))}
        except KeyError:
            raise RevocabError(
                f"metadata.measure: a row has no {measure.together!r} (it has: {', '.join(doc)})"
            ) from None
    gold = task.doc_to_target(doc)
    if type(gold) is not int or not 0 <= gold < len(results):
        raise RevocabError(
            f"metadata.measure: labels: doc_to_target gives {gold!r} for a row; the number of a"
            f" choice is needed, 0 to {len(results) - 1}"
        )
    scores = [score for score, _ in results]
    # Of equal choices the first, as the harness has it.
    return {LABELS: [gold, scores.index(max(scores))], CHOICES: len(results)}


def measured_items(tasks: Sequence[Task]) -> dict[str, Any] | None:
    """Return the metric of tasks' measure and what is kept of their items; None without a measure.

    ``tasks`` are the parts of one. Raises :class:`RevocabError` where categories and parts differ.
    """
    measure = tasks[0].measure
    if measure is None:
        return None
    scores = [item for task in tasks for item in task.item_scores]
    if measure.labels:
        kept = {"by_part": False, "values": [item[LABELS] for item in scores]}
        kept |= {"choices": max(item[CHOICES] for item in scores)}
        return {"metric": measure.labels, "parts": [len(scores)], **kept}
    accuracies = [float(item["acc"]) for item in scores]
    if measure.together:
        values = together(accuracies, [item[GROUP] for item in scores])
        return {"metric": TOGETHER.name, "parts": [len(values)], "by_part": False, "values": values}
    try:
        weights = category_weights([task.part for task in tasks], measure.categories)
    except ValueError as error:
        raise RevocabError(f"metadata.measure: categories: {error}") from None
    sizes = [len(task.item_scores) for task in tasks]
    return {"metric": CATEGORIES.name, "parts": sizes, "by_part": weights, "values": accuracies}
