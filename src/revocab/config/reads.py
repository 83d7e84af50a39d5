"""What of an experiment each part of the report reads: only a change there runs it again.

The files made of it hold nothing else: a key missing here is an error and not an old number.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from pydantic import BaseModel, create_model

from revocab.closed import Closed, checked
from revocab.config.expand import as_json
from revocab.config.schema import Experiment
from revocab.config.schema.evaluation import Evaluation
from revocab.errors import RevocabError

_SCORES = (
    "experiment",
    "paper_values",
    "runs",
    "evaluation.multiple_choice",
    "evaluation.generation",
)
_SHOWN = (*_SCORES, "world", "corpora", "evaluation.heldout", "fertility")
_TABLES = (*_SHOWN, "tokenizers", "parameters", "similarity", "tables")
#: Keys of an experiment, dotted, that the parts of the report read; all of them read its runs.
READ = {
    "scores": _SCORES,
    "figures": (*_SHOWN, "figures"),
    "tables": _TABLES,
    "checks": (*_TABLES, "figures"),
}


def read_by(part: str, experiment: Experiment) -> dict[str, Any]:
    """Return what ``part`` reads of the experiment and its runs, shaped as :func:`as_json`."""
    content = as_json(experiment)
    whole: dict[str, Any] = content["experiment"]
    found: dict[str, Any] = {}
    for key in READ[part]:
        section, _, rest = key.partition(".")
        if rest:
            found.setdefault(section, {})[rest] = whole[section][rest]
        else:
            found[section] = whole[section]
    return {**content, "experiment": found}


def narrowed(model: type[BaseModel], keys: Iterable[str]) -> type[BaseModel]:
    """Return the closed model of some keys of ``model``; another key is no attribute of it."""
    fields: dict[str, Any] = {
        key: (model.model_fields[key].annotation, model.model_fields[key]) for key in keys
    }
    return create_model(model.__name__, __base__=Closed, **fields)


@cache
def part_models() -> dict[str, type[BaseModel]]:
    """Return the model of what each part reads: an experiment without all other keys."""
    found = {}
    for part, keys in READ.items():
        inner = [key.partition(".")[2] for key in keys if key.startswith("evaluation.")]
        outer = dict.fromkeys(key.partition(".")[0] for key in keys)
        model = narrowed(Experiment, outer)
        evaluation = (narrowed(Evaluation, inner), model.model_fields["evaluation"])
        found[part] = create_model("Experiment", __base__=model, evaluation=evaluation)
    return found


def read_part(values: dict[str, Any], prefix: str) -> Experiment:
    """Return an experiment, or what :func:`read_by` left of one for a part.

    What was left out is no attribute of the result, so that a part which reads more than it says
    fails. Raises :class:`RevocabError` naming every key that is wrong, below ``prefix``.
    """
    given = {key: value for key, value in values.items() if key != "evaluation"}
    inner = values.get("evaluation")
    for model in part_models().values():
        evaluation: Any = model.model_fields["evaluation"].annotation
        keys = set(inner) if isinstance(inner, dict) else set()
        if {*given, "evaluation"} == {*model.model_fields} and keys == {*evaluation.model_fields}:
            return checked(model, values, prefix)
    # It was written with every default: what is missing is no default but an older file.
    missing = [key for key in Experiment.model_fields if key not in values]
    if missing:
        raise RevocabError(f"{prefix}.{key}: required and not given".lstrip(".") for key in missing)
    return checked(Experiment, values, prefix)
