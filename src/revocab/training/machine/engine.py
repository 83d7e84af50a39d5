"""The Trainer's arguments: how a machine carries a recipe out."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import torch
from transformers import TrainingArguments

from revocab.training.run import TrainingRun

#: What transformers calls activation checkpointing; it had another name up to 5.22.
CHECKPOINTING = (
    "activation_checkpointing"
    if "activation_checkpointing" in TrainingArguments.__dataclass_fields__
    else "gradient_checkpointing"
)


def training_arguments(run: TrainingRun, share: int, root: Path) -> TrainingArguments:
    """Return the Trainer's arguments for a run; states go under ``root``.

    The Trainer hands over the ``share`` of a step that a process has; the trainer divides it.
    """
    settings = run.settings
    cuda = torch.cuda.is_available()
    distributed = "WORLD_SIZE" in os.environ
    sharded = run.fsdp and distributed
    if run.fsdp and not distributed:
        print("--fsdp: nothing is sharded in one process; start several", file=sys.stderr)
    return TrainingArguments(
        fsdp=sharded or None,  # type: ignore[arg-type]  # declared as text; True is taken
        fsdp_config={
            "version": 2,
            "state_dict_type": "SHARDED_STATE_DICT",
            "activation_checkpointing": run.activation_checkpointing,
        }
        if sharded
        else None,
        **{CHECKPOINTING: run.activation_checkpointing and not sharded},
        torch_compile=run.compile,
        output_dir=str(root),
        max_steps=settings.steps,
        per_device_train_batch_size=share,
        max_grad_norm=settings.gradient_clip,
        bf16=settings.precision == "bfloat16",
        seed=settings.seed,
        data_seed=settings.seed,
        save_strategy="steps",
        save_steps=settings.checkpoint_every,
        logging_strategy="no",
        logging_nan_inf_filter=False,
        report_to="none",
        disable_tqdm=True,
        remove_unused_columns=False,
        average_tokens_across_devices=False,
        dataloader_pin_memory=cuda,
        use_cpu=not cuda,
        ddp_backend="gloo" if distributed and not cuda else None,
        ddp_find_unused_parameters=False,
    )
