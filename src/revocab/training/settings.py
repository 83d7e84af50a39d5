"""What one training run is asked to do, and the fingerprint that ties a resume state to it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from revocab.errors import RevocabError
from revocab.training.schedule import SCHEDULES
from revocab.training.stages import Plan, Stage

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
    #: Empty: one stage that trains everything at the rates above.
    stages: tuple[Stage, ...] = ()

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
        problems += [line for stage in self.stages for line in stage.problems()]
        total = sum(stage.steps for stage in self.stages)
        if self.stages and total != self.steps:
            problems.append(f"--stage: {total} steps in all, but --steps is {self.steps}; mend one")
        if problems:
            raise RevocabError(problems)

    @property
    def plan(self) -> Plan:
        """The stages, or the one stage that a recipe without stages is."""
        whole = Stage(
            name="everything",
            steps=self.steps,
            learning_rate=self.learning_rate,
            warmup_steps=self.warmup_steps,
            schedule=self.schedule,
            final_learning_rate_share=self.final_learning_rate_share,
            weight_decay=self.weight_decay,
        )
        return Plan(self.stages or (whole,))

    def factor(self, step: int) -> float:
        """Return the learning-rate factor of the update after ``step`` updates."""
        return self.plan.factor(step)

    def described(self) -> dict[str, Any]:
        """Return the settings as plain data; stages only where there are some."""
        values = asdict(self)
        return {key: value for key, value in values.items() if key != "stages" or value}

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
    text = json.dumps({"settings": settings.described(), "inputs": dict(inputs)}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
