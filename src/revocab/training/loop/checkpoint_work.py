"""What is done with the weights between steps: held-out losses, and exports."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from revocab.models.token_rows import filled_anew, padded_matrices
from revocab.training.adapters import lora
from revocab.training.outputs import checkpoints
from revocab.training.outputs.card import documents
from revocab.training.outputs.loss_tables import HELDOUT, LossTables

if TYPE_CHECKING:
    from revocab.training.loop.trainer import RecipeTrainer
    from revocab.training.run import TrainingRun
    from revocab.training.train import TrainingInputs


class CheckpointWork:
    """What is done between steps: held-out losses, and at a checkpoint the weights are exported."""

    def __init__(self, run: TrainingRun, inputs: TrainingInputs, tables: LossTables | None):
        self.run = run
        self.inputs = inputs
        self.tables = tables
        self.evaluations = self.exports = 0
        self.evaluation_seconds = 0.0
        self.before_training = 0.0
        #: Rows of ``heldout.csv`` of the step that is done now.
        self.heldout_now: list[tuple[Any, ...]] = []
        self.export_seconds = 0.0

    def evaluate(self, trainer: RecipeTrainer, step: int) -> None:
        """Append the held-out losses of the model as it stands; processes share the batches."""
        from revocab.training.loop.heldout_loss import check_heldout, heldout_rows

        begin = time.perf_counter()
        sharded = trainer.is_fsdp_enabled
        model = trainer.model_wrapped if sharded else self.inputs.model
        rows = heldout_rows(model, self.inputs.heldout, step, through_forward=sharded)
        check_heldout(rows)
        self.heldout_now = rows
        if self.tables is not None:
            self.tables.append(HELDOUT, rows)
        self.evaluations += 1
        self.evaluation_seconds += time.perf_counter() - begin

    def __call__(self, trainer: RecipeTrainer, step: int) -> None:
        """Evaluate after ``step``, 0 being the model before training; export a checkpoint.

        Nothing is exported of a model whose losses or weights are not finite.
        """
        self.evaluate(trainer, step)
        if step == 0:
            self.before_training = self.evaluation_seconds
        if step not in self.run.settings.checkpoint_steps:
            return
        begin = time.perf_counter()
        self.export(trainer, step)
        self.exports += 1
        self.export_seconds += time.perf_counter() - begin

    def export(self, trainer: RecipeTrainer, step: int) -> None:
        from revocab.training.outputs.sharded_export import export_sharded, sharded_weights

        run, dtype, writes = self.run, self.inputs.dtype, self.tables is not None
        folder = checkpoints.step_folder(run.out, step)
        packed = self.inputs.packed.manifest
        asked, checksums = run.settings.described(), self.inputs.checksums
        texts = documents(run.model, asked, packed, checksums, step, self.heldout_now)
        if packed.get("chat_template") is not None:
            texts[checkpoints.CHAT_TEMPLATE] = packed["chat_template"]
        padded_rows = padded_matrices(self.inputs.model)
        padded = {lora.plain_name(name): rows for name, rows in padded_rows.items()}
        if trainer.is_fsdp_enabled:
            weights = sharded_weights(trainer.model_wrapped)
            export_sharded(
                weights, dtype, run.model, folder, writes=writes, padded=padded, texts=texts
            )
        elif writes:
            weights = trainer.accelerator.get_state_dict(trainer.model_wrapped)
            adapters = trainer.adapters
            whole = filled_anew(adapters.merged(weights), padded)
            checkpoints.export(self.inputs.model, whole, dtype, run.model, folder, texts)
            folder, stage = checkpoints.adapter_folder(run.out, step), trainer.plan.index(step - 1)
            adapters.export(weights, trainer.groups, stage, dtype, folder)
