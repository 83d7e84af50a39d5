"""What is kept of a task's items for the score by its measure (``metadata.measure``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from revocab.errors import RevocabError
from revocab.evaluation.measures import category_weights, together
from revocab.evaluation.metric import CATEGORIES, TOGETHER
from revocab.evaluation.multiple_choice.parts import value_of

if TYPE_CHECKING:
    from lm_eval.api.task import Task

#: Under these names what a measure needs of an item stands beside its scores.
LABELS, GROUP, CHOICES = "labels", "group", "choices"


def noted(task: Task, doc: Any, results: Sequence[tuple[float, bool]]) -> dict[str, Any]:
    """Return what the task's measure needs of an item, by the log-likelihoods of its choices."""
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
