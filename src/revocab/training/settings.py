"""What one training run is asked to do, and the fingerprint that ties a resume state to it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from revocab.errors import RevocabError
from revocab.training.schedule import SCHEDULES, learning_rate_factor

#: Names accepted by a recipe's ``precision``.
PRECISIONS = ("float32", "bfloat16")


@dataclass(frozen=True)
class Settings:
    """The recipe of a run; names and meaning as ``Recipe`` in the config.

    ``weight_decay`` is in torch's AdamW convention (an update multiplies by
    ``1 - lr_t * weight_decay``) and applies to every parameter, norms and embeddings included, as
    in the published recipe.
    """

    steps: int
    batch_size: int
    learning_rate: float
    checkpoint_every: int
    seed: int
    warmup_steps: int = 0
    schedule: str = "cosine"
    final_learning_rate_share: float = 0.1
    adam_beta1: float = 0.9
    adam_beta2: float = 0.95
    adam_epsilon: float = 1e-8
    weight_decay: float = 0.0
    gradient_clip: float = 1.0
    precision: str = "float32"

    def __post_init__(self) -> None:
        problems = [
            f"--{name.replace('_', '-')}: {getattr(self, name)}; give 1 or more"
            for name in ("steps", "batch_size", "checkpoint_every")
            if getattr(self, name) < 1
        ]
        for name, allowed in (("schedule", SCHEDULES), ("precision", PRECISIONS)):
            if getattr(self, name) not in allowed:
                problems.append(
                    f"--{name}: {getattr(self, name)}; give one of {', '.join(allowed)}"
                )
        if not 0 <= self.warmup_steps <= self.steps:
            problems.append(
                f"--warmup-steps: {self.warmup_steps}; give 0 to {self.steps} (--steps)"
            )
        if problems:
            raise RevocabError(problems)

    def factor(self, step: int) -> float:
        """Return the learning-rate factor of the update after ``step`` updates."""
        return learning_rate_factor(
            step,
            schedule=self.schedule,
            steps=self.steps,
            warmup_steps=self.warmup_steps,
            final_share=self.final_learning_rate_share,
        )

    def micro_batch(self, requested: int | None, processes: int) -> tuple[int, int]:
        """Return (sequences per process and pass, passes per step) that make up ``batch_size``.

        Raises :class:`RevocabError` if the batch does not divide.
        """
        micro = requested or max(1, self.batch_size // processes)
        passes, rest = divmod(self.batch_size, micro * processes)
        if rest or passes == 0:
            raise RevocabError(
                f"--batch-size: {self.batch_size} is no multiple of micro batch {micro} x "
                f"{processes} processes; give a --micro-batch that divides it"
            )
        return micro, passes


def fingerprint(settings: Settings, inputs: Mapping[str, Any]) -> str:
    """Return a hash of the recipe and of the checksums of its inputs.

    Number of processes and micro batch are left out: a run may go on with other devices.
    """
    text = json.dumps({"settings": asdict(settings), "inputs": dict(inputs)}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
