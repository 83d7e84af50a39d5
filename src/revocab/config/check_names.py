"""Names that an experiment's ids are joined into: two things with one name would become one.

Ids hold no "--", which joins them in the folders of packings, held-out tokens and intersections, so
those names are unambiguous. Runs and the rows of the score table have simple joints.
"""

from __future__ import annotations

from collections.abc import Iterator

from revocab.config.lineage import BASE, run_id
from revocab.config.schema import Experiment


def run_names(experiment: Experiment) -> Iterator[tuple[str, str]]:
    """Yield (id, where the file says it) of every run, base models included."""
    for name, group in experiment.runs.items():
        yield run_id(name, BASE), f"the base model of runs.{name}"
        for method in group.methods:
            if method != BASE:  # check_methods refuses it
                yield run_id(name, method), f"runs.{name}.methods.{method}"
        for reference in group.references:
            yield run_id(name, reference), f"runs.{name}.references.{reference}"


def task_names(experiment: Experiment) -> Iterator[tuple[str, str]]:
    """Yield (name, where the file says it) of everything that stands under ``task`` in scores."""
    e = experiment.evaluation
    for task in e.multiple_choice.tasks:
        yield task, f"evaluation.multiple_choice.tasks.{task}"
    for task in e.generation.tasks:
        yield task, f"evaluation.generation.tasks.{task}"
    for corpus in dict.fromkeys(e.heldout):
        yield f"heldout_{corpus}", f"the held-out loss on evaluation.heldout {corpus!r}"
    languages = sorted({task.language for task in e.multiple_choice.tasks.values()})
    for language in languages:
        yield f"average_{language}", f"the average over tasks in {language!r}"
    others = [group.helper for group in experiment.runs.values() if group.helper]
    others += [one for one, _ in run_names(experiment)]
    for other in dict.fromkeys(others):
        yield f"similarity_{other}", f"the similarity to {other!r}"


def check_names(experiment: Experiment) -> Iterator[str]:
    for what, names in (("run", run_names(experiment)), ("task", task_names(experiment))):
        places: dict[str, list[str]] = {}
        for name, place in names:
            places.setdefault(name, []).append(place)
        for name, found in places.items():
            if len(found) > 1:
                yield (
                    f"{' and '.join(found)}: both are {what} {name!r}, and the results of one"
                    " would be taken for the other's; rename one of them"
                )
