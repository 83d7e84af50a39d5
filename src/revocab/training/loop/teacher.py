"""The source model, from which some stages learn: loaded for these alone, frozen, and checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from revocab.errors import refuse
from revocab.models.load import check_model, load_causal_lm
from revocab.models.shape import load_shape
from revocab.training.loop.distillation import has_own_head, hidden_states_lesson
from revocab.training.machine.head import PLAIN_HEADS, has_plain_head
from revocab.training.run import Settings


class Teacher:
    """The source model, on the device during the stages that learn from it."""

    def __init__(self, settings: Settings, folder: Path | None):
        self.stages = settings.plan.stages
        self.folder = folder
        self.dtype = getattr(torch, settings.precision)
        self.model: Any = None
        self.stage = self.stages[0]

    def enter(self, number: int, device: torch.device) -> None:
        """Load the model for stage ``number``, or let go of it."""
        self.stage = self.stages[number]
        if self.stage.distil is None or self.folder is None:
            self.model = None
        elif self.model is None:
            self.model = load_causal_lm(self.folder, dtype=self.dtype, device=str(device))
            self.model.eval().requires_grad_(False)

    def shape(self) -> Any | None:
        """Return the model without weights, if a stage learns from it."""
        if self.folder is None or not any(stage.distil for stage in self.stages):
            return None
        return load_shape(self.folder)

    def lesson(self, batch: dict[str, torch.Tensor]) -> dict[str, Any]:
        """Return what the student's forward takes of a batch of a lesson; others as they are.

        See :meth:`revocab.training.data.taught_rows.TaughtRows.__getitems__`.
        """
        if "source_ids" not in batch:
            return batch
        assert self.stage.distil is not None  # nothing else has a source model
        lesson = hidden_states_lesson(self.model, batch, self.stage.distil)
        return {**{name: batch[name] for name in ("input_ids", "predicted")}, "lesson": lesson}


def check_teacher(model: Any, folder: Path, settings: Settings) -> None:
    """Raise :class:`RevocabError` for a source folder that cannot teach ``model``, and for stages
    that name layers which neither has.

    Hidden states are compared between models of one shape alone.
    """
    from transformers import AutoConfig

    check_model(folder)
    source = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    own, other = model.config.get_text_config(), source.get_text_config()
    stages = {stage.name: stage.distil for stage in settings.plan.stages if stage.distil}
    problems: list[str] = []
    for name, distil in stages.items():
        lacks = distil.layer_problems(own.num_hidden_layers)
        problems += [f"stage {name}: {problem}" for problem in lacks]
    problems += [
        f"--source {folder}: {key} is {getattr(other, key, None)}, and the model's"
        f" {getattr(own, key, None)}; give the model that --model was made from"
        for key in ("model_type", "hidden_size", "num_hidden_layers")
        if getattr(other, key, None) != getattr(own, key, None)
    ]
    if has_own_head(model) and not has_plain_head(model):
        problems.append(
            f"stage {next(iter(stages))}: distil trains a head of its own by cross-entropy, and"
            f" knows how of {', '.join(sorted(PLAIN_HEADS))}, not of {own.model_type}; leave out"
            " distil, or train a model with one matrix for both"
        )
    refuse(problems)
