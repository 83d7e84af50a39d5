"""What a training will take, from its settings and the shape of its model: nothing is run.

Assumed: every number of the model is stored as its folder stores it; a resume state holds float32
weights, two moments of what is trained, and vocabulary adapters with theirs; three states stand on
the disk while the oldest is being replaced; arithmetic is counted as in
:mod:`revocab.training.machine.costs`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from revocab.training.adapters.opening import matrices_of
from revocab.training.estimates.memory import (
    FLOAT,
    StepOptions,
    shape_of,
    starting_micro_batch,
    step_bytes,
)
from revocab.training.machine.costs import adapter_flops, mean_flops_per_token
from revocab.training.outputs.resume_state import KEPT

if TYPE_CHECKING:
    import torch

    from revocab.training.loop.trainer import RecipeTrainer
    from revocab.training.recipe import VocabularyAdapters
    from revocab.training.run import Settings, TrainingRun


@dataclass(frozen=True)
class TrainingEstimate:
    """What one training takes; sizes in bytes."""

    tokens: int
    flops: float
    #: On each device.
    memory: int
    micro_batch: int
    checkpoints: int
    states: int

    @property
    def disk(self) -> int:
        return self.checkpoints + self.states

    def seconds(self, flops_per_second: float) -> float:
        return self.flops / flops_per_second


def estimate(
    model: Any,
    stored: torch.dtype,
    settings: Settings,
    length: int,
    machine: Mapping[str, Any],
    processes: int = 1,
    free: int | None = None,
    source_rows: int = 0,
) -> TrainingEstimate:
    """Return the estimate of a training on rows of ``length`` tokens.

    ``model`` may be on the meta device; adapters are its own already. ``machine`` are the machine
    options of ``train_model``. ``free`` are the bytes of a device; without them and without a
    ``micro_batch`` the whole share of a step is taken at once. ``source_rows`` are those that
    vocabulary adapters combine.
    """
    plan = settings.plan
    groups = plan.groups(model)
    adapted = adapted_shapes(model, settings.adapter)
    adapters = sum(rows * source_rows for rows, _ in adapted)
    shape = shape_of(model, groups, len(plan.stages), adapters)
    options = StepOptions(
        length,
        settings.precision,
        bool(machine.get("activation_checkpointing")),
        processes if machine.get("fsdp") else 1,
    )
    size, passes = settings.micro_batch(machine.get("micro_batch"), processes)
    if free is not None and not machine.get("micro_batch"):
        size = starting_micro_batch(free, shape, options, size * passes)
    tokens = settings.steps * settings.batch_size * length
    own = plan.ends[0] * sum(adapter_flops(rows, source_rows, width) for rows, width in adapted)
    return TrainingEstimate(
        tokens=tokens,
        flops=tokens * mean_flops_per_token(model, groups, plan, length) + own,
        memory=step_bytes(shape, options, size),
        micro_batch=size,
        checkpoints=len(settings.checkpoint_steps) * shape.parameters * stored.itemsize,
        states=(KEPT + 1) * FLOAT * (shape.parameters + 2 * shape.trained + 3 * shape.adapters),
    )


def adapted_shapes(model: Any, given: VocabularyAdapters | None) -> list[tuple[int, int]]:
    """Return rows and width of what each adapter makes: of a shared one, of both side by side."""
    shapes = [(len(one), one.shape[1]) for _, one in matrices_of(model)] if given else []
    if given and given.shared:
        return [(shapes[0][0], sum(width for _, width in shapes))]
    return shapes


def probed_micro_batch(trainer: RecipeTrainer, run: TrainingRun) -> int | None:
    """Return the micro batch that should fit on this process' GPU; None without one."""
    import torch

    if trainer.args.device.type != "cuda":
        return None
    args = trainer.args
    adapted = (one.weights for one in trainer.vocabulary_adapters.values())
    adapters = sum(len(one) * one.source_rows for one in adapted)
    shape = shape_of(trainer.model, trainer.groups, len(trainer.plan.stages), adapters)
    options = StepOptions(
        trainer.packed.sequence_length,
        trainer.settings.precision,
        run.activation_checkpointing,
        args.world_size if args.fsdp else 1,
    )
    # As if the model, which may be on the device already, were not there.
    free = torch.cuda.mem_get_info(args.device)[0] + torch.cuda.memory_reserved(args.device)
    return starting_micro_batch(free, shape, options, trainer.micro.share)
