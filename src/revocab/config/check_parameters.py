"""Checks that the names, patterns and adapters of stages fit the models that they train.

Only models pretrained here or stored in a folder are checked; a model on the Hub is not here yet.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from revocab.config.check_models import bodies, number_of_blocks
from revocab.config.schema import Experiment
from revocab.errors import RevocabError
from revocab.models.changes.blocks import ADDED_BLOCKS
from revocab.models.folder import ModelFolder
from revocab.models.parameters import parameter_names
from revocab.training.adapters.lora import LORA, layer_of, lora_problems
from revocab.training.stage import Stage
from revocab.training.stages import MATRICES, PATTERNS


def check_parameters(experiment: Experiment) -> Iterator[str]:
    e = experiment
    trained = {(model.pretrain.recipe, name) for name, model in e.models.items() if model.pretrain}
    trained |= {(run.recipe, run.source) for run in e.expanded.values() if run.recipe and run.made}
    for recipe, model in sorted(trained):
        stages = e.recipes[recipe].stages if recipe in e.recipes else None
        names, width, expanded = parameters_of(e, model) if stages else ([], 0, False)
        for stage in stages or () if names else ():
            for problem in stage_problems(stage, names, width, expanded=expanded):
                yield f"recipes.{recipe}.stages.{stage.name}.{problem} (model {model!r})"


def parameters_of(experiment: Experiment, model: str) -> tuple[list[str], int, bool]:
    """Return the names of a model's parameters, its width, and whether block expansion made it.

    The list of names is empty if they are not known.
    """
    *changed, root = bodies(experiment, model)
    entry = experiment.models.get(root)
    try:
        if entry is not None and entry.pretrain:
            blocks = number_of_blocks(experiment, model)
            shape = entry.pretrain.architecture.model_copy(update={"layers": blocks})
            return parameter_names(shape), shape.hidden_size, len(changed) > 0
        if entry is not None and entry.path and not changed:
            folder = ModelFolder(Path(entry.path))
            expanded = ADDED_BLOCKS in folder.config
            return list(folder.tensors), folder.text_config["hidden_size"], expanded
    except (RevocabError, KeyError):
        pass  # reported for the model, or by the job that reads its folder
    return [], 0, False


def stage_problems(stage: Stage, names: list[str], width: int, *, expanded: bool) -> Iterator[str]:
    for key, parts in (("train", stage.train), ("groups", stage.groups)):
        for part in parts:
            if part == ADDED_BLOCKS and not expanded:
                yield f"{key}: {part!r}: block expansion did not make the model; train one it made"
            known = part in (LORA, ADDED_BLOCKS, *MATRICES)
            if not known and not any(re.search(PATTERNS.get(part, part), name) for name in names):
                yield f"{key}: {part!r} fits no parameter; name a group, or correct the pattern"
    blocks = [layer for layer in map(layer_of, names) if layer is not None]
    if stage.distil and blocks:
        yield from stage.distil.layer_problems(1 + max(blocks))
    if stage.lora:
        linear = [name.removesuffix(".weight") for name in names if name.endswith("_proj.weight")]
        yield from (f"lora.{problem}" for problem in lora_problems(stage.lora, linear))
        if stage.lora.rank > width:
            yield f"lora.rank: {stage.lora.rank} is more than the {width} dimensions; lower it"
