"""The micro batch to start with on a GPU, from the memory that it has free."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from revocab.training.estimates.memory import StepOptions, shape_of, starting_micro_batch

if TYPE_CHECKING:
    from revocab.training.loop.trainer import RecipeTrainer
    from revocab.training.run import TrainingRun


def probed_micro_batch(trainer: RecipeTrainer, run: TrainingRun) -> int | None:
    """Return the micro batch that should fit on this process' GPU; None without one."""
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
