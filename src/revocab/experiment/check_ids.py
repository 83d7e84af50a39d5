"""Ids: they must refer to something, and names made from them must be unique.

Ids hold no "--", which joins them in the folders of packings, held-out tokens and intersections, so
those names are unambiguous. Names of runs and of rows in the score table can collide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

from revocab.closed import Refers, unknown
from revocab.experiment.expand import BASE, run_id
from revocab.experiment.schema import Experiment
from revocab.report.runs import text_languages
from revocab.training.stages import Stage

#: The section that defines each kind of thing.
SECTIONS = {
    "corpus": "corpora",
    "tokenizer": "tokenizers",
    "model": "models",
    "mixture": "mixtures",
    "recipe": "recipes",
}
#: Where an id is used, the id, and the kind of thing that it should name.
Reference = tuple[str, str, str]


def wrong_references(experiment: Experiment) -> Iterator[tuple[str, str]]:
    """Yield each key at which an id names nothing, or the same twice, and the problem."""
    evaluation, measured = experiment.evaluation, experiment.fertility
    known: dict[str, Collection[str]] = {
        **{what: getattr(experiment, section) for what, section in SECTIONS.items()},
        "run group": experiment.runs,
        "run": experiment.index.ids,
        "task": [*evaluation.multiple_choice.tasks, *evaluation.generation.tasks],
        "generation task": evaluation.generation.tasks,
        "language with tasks": {t.language for t in evaluation.multiple_choice.tasks.values()},
        "language with held-out text": text_languages(experiment),
        "corpus under fertility.corpora": measured.corpora,
        "tokenizer under fertility.tokenizers": measured.tokenizers,
        "label in parameters": [model.label for model in experiment.parameters],
    }
    for (key, value, what), times in Counter(references(experiment)).items():
        if value not in known[what]:
            yield key, unknown(key, value, known[what], what)
        elif times > 1:
            yield key, f"{key}: names {value!r} {times} times; name it once"


def references(experiment: Experiment) -> Iterator[Reference]:
    yield from _in_model(experiment, "")
    for name, tokenizer in experiment.tokenizers.items():
        built, options = tokenizer.construction()
        for option, mixture in options.named(options.mixtures):
            yield from (
                (f"tokenizers.{name}.{built}.{option}", corpus, "corpus") for corpus in mixture
            )
        for option, other in options.named(options.tokenizers):
            yield f"tokenizers.{name}.{built}.{option}", other, "tokenizer"


def _in_model(model: BaseModel, key: str) -> Iterator[Reference]:
    for name, kind in _fields_with_ids(type(model)):
        inner = f"{key}.{name}" if key else name
        yield from _in_value(getattr(model, name, None), kind, inner)


@cache
def _fields_with_ids(model: type[BaseModel]) -> list[tuple[str, Any]]:
    """Return the fields of a model in whose values ids may stand, with their marked types."""
    fields = []
    for name, field in model.model_fields.items():
        kind: Any = field.annotation
        for metadata in field.metadata:
            kind = Annotated[kind, metadata]
        if _may_hold_ids(kind):
            fields.append((name, kind))
    return fields


def _may_hold_ids(kind: Any) -> bool:
    if isinstance(kind, Refers) or kind is Any:
        return True
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return True
    marks = getattr(kind, "__metadata__", ())
    return any(map(_may_hold_ids, (*get_args(kind), *marks)))


def _in_value(value: Any, kind: Any, key: str) -> Iterator[Reference]:
    inner = get_args(kind)
    if isinstance(value, BaseModel):
        yield from _in_model(value, key)
    elif get_origin(kind) is Annotated:
        if isinstance(value, str):
            yield from ((key, value, mark.to) for mark in inner if isinstance(mark, Refers))
        yield from _in_value(value, inner[0], key)
    elif get_origin(kind) in (Union, UnionType):
        for member in inner:
            yield from _in_value(value, member, key)
    elif isinstance(value, list | tuple) and inner:
        for number, item in enumerate(value):
            name = item.name if isinstance(item, Stage) else number
            place = f"{key}.{name}" if isinstance(item, BaseModel | tuple) else key
            yield from _in_value(item, inner[0], place)
    elif isinstance(value, dict) and inner:
        for name, item in value.items():
            yield from _in_value(name, inner[0], key)
            yield from _in_value(item, inner[1], f"{key}.{name}")


# --- names ----------------------------------------------------------------------------------------


def run_names(experiment: Experiment) -> Iterator[tuple[str, str]]:
    for name, group in experiment.runs.items():
        yield run_id(name, BASE), f"the base model of runs.{name}"
        own = [f"methods.{method}" for method in group.methods if method != BASE]  # refused as such
        for key in [*own, *(f"references.{reference}" for reference in group.references)]:
            yield run_id(name, key.partition(".")[2]), f"runs.{name}.{key}"


def task_names(experiment: Experiment) -> Iterator[tuple[str, str]]:
    """Yield (name, place in the file) of everything that is a ``task`` in the score table."""
    e = experiment.evaluation
    for section in ("multiple_choice", "generation"):
        for task in getattr(e, section).tasks:
            yield task, f"evaluation.{section}.tasks.{task}"
    for corpus in dict.fromkeys(e.heldout):
        yield f"heldout_{corpus}", f"the held-out loss on evaluation.heldout {corpus!r}"
    for language in sorted({task.language for task in e.multiple_choice.tasks.values()}):
        yield f"average_{language}", f"the average over tasks in {language!r}"
    helpers = [group.helper for group in experiment.runs.values() if group.helper]
    for other in dict.fromkeys([*helpers, *(run for run, _ in run_names(experiment))]):
        yield f"similarity_{other}", f"the similarity to {other!r}"


def check_names(experiment: Experiment) -> Iterator[str]:
    for what, names in (("run", run_names(experiment)), ("task", task_names(experiment))):
        places: dict[str, list[str]] = {}
        for name, place in names:
            places.setdefault(name, []).append(place)
        yield from (
            f"{' and '.join(keys)}: both are {what} {name!r}, so their results would be mixed up;"
            " rename one of them"
            for name, keys in places.items()
            if len(keys) > 1
        )
