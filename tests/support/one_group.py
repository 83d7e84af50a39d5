"""The small experiment with one group of runs, ``g``, and nothing that shows them."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from revocab.experiment import as_json
from revocab.experiment.load import without_nulls
from revocab.experiment.schema import Experiment
from revocab.experiment.written_out import WrittenOut

SMALL = yaml.safe_load(
    (Path(__file__).parents[1] / "experiments/small.yaml").read_text(encoding="utf-8")
)


def changed(changes: dict[str, Any]) -> dict[str, Any]:
    values = copy.deepcopy(SMALL)
    for key, value in changes.items():
        *sections, last = key.split(".")
        here = values
        for section in sections:
            here = here.setdefault(section, {})
        here[last] = value
    return values


def one_group(methods: dict[str, Any], **group: Any) -> dict[str, Any]:
    values = copy.deepcopy(SMALL)
    del values["tables"], values["figures"]
    values["runs"] = {
        "g": {
            "label": "G", "source": "mistral", "target": "target", "helper": "helper",
            "mixture": "bilingual", "recipe": "train", "methods": methods, **group,
        }
    }  # fmt: skip
    return values


def experiment(sweep: Any = None, /, **run: Any) -> dict[str, Any]:
    entry = {"evaluate": False, **({"for": sweep} if sweep is not None else {}), **run}
    values = one_group({"sava": entry}, recipe="gosal")
    values["models"]["mistral"]["pretrain"]["context_length"] = 4096
    values["models"]["helper"]["pretrain"]["context_length"] = 4096
    values["mixtures"] |= {
        "m9": {"world-it": 0.9, "world-en": 0.1},
        "m3": {"world-it": 0.75, "world-en": 0.25},
        "even": {"world-it": 0.5, "world-en": 0.5},
    }
    values["recipes"]["gosal"] = {
        "sequence_length": 4096, "batch_size": 960, "tokens": 20_000_000_000,
        "warmup_share": 0.01, "learning_rate": 1e-4, "checkpoint_every": 1000,
    }  # fmt: skip
    values["recipes"]["staged"] = {
        "sequence_length": 128, "batch_size": 8, "steps": 10, "learning_rate": 1e-4,
        "checkpoint_every": 5,
        "stages": [{"name": "one", "share": 0.5}, {"name": "two", "share": 0.5}],
    }  # fmt: skip
    return values


def rates(values: dict[str, float]) -> dict[str, Any]:
    return {name: {"recipe": {"learning_rate": value}} for name, value in values.items()}


def of_key(key: str, values: Iterable[Any]) -> dict[str, Any]:
    """Return an axis of values of one key of a run, each its own name."""
    return {str(value): {key: value} for value in values}


def written_out(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values of an experiment, which is not checked, with its runs written out."""
    written = WrittenOut(Experiment.model_validate(without_nulls(values)), values["recipes"])
    assert not written.problems
    return as_json(written.result)["experiment"]
