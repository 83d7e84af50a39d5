"""``transformers.Trainer`` with our loss, optimizer, order of data, tables and checkpoints."""

from __future__ import annotations

import math
import os
import shutil
import sys
import time
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import SequentialSampler
from transformers import Trainer, TrainingArguments
from transformers.trainer_callback import PrinterCallback

from revocab.errors import RevocabError
from revocab.training.adapters.lora import Adapters
from revocab.training.adapters.opening import placed
from revocab.training.adapters.vocabulary_adapter import AdapterAdamW, drop_other_rows
from revocab.training.data.packed_rows import as_collated
from revocab.training.loop.checkpoint_work import CheckpointWork
from revocab.training.loop.loss import forward_to_loss
from revocab.training.loop.step_callback import Clock, LossWatch, Saving, StepCallback
from revocab.training.machine.frozen import frozen_linear, hold_in_16_bits
from revocab.training.machine.micro_batch import MicroBatch
from revocab.training.outputs import resume_state
from revocab.training.outputs.loss_tables import ADAPTER, LOSSES, LossTables
from revocab.training.outputs.resume_state import PREFIX
from revocab.training.run import TrainingRun

if TYPE_CHECKING:
    from revocab.training.train import TrainingInputs

#: Steps whose losses are read at once: reading one makes the CPU wait for a GPU.
STEPS_PER_READING = {"cpu": 1, "cuda": 10}

#: What transformers calls it; up to 5.22 it had another name.
CHECKPOINTING = "activation_checkpointing"
if CHECKPOINTING not in TrainingArguments.__dataclass_fields__:
    CHECKPOINTING = "gradient_checkpointing"


class RecipeTrainer(Trainer):
    """A Trainer that follows :class:`~revocab.training.run.Settings` to the letter.

    ``work(trainer, step)`` is called at each of ``settings.heldout_steps``: before the first step
    (0), between steps, and at every checkpoint before its resume state is saved; the loss rows up
    to ``step`` are written by then. ``tables`` is ``None`` in a process that does not write.
    """

    def __init__(
        self,
        run: TrainingRun,
        inputs: TrainingInputs,
        args: TrainingArguments,
        tables: LossTables | None,
        micro: MicroBatch,
    ):
        model, settings = inputs.model, run.settings
        self.settings = settings
        self.tables = tables
        self.work = CheckpointWork(run, inputs, tables)
        self.micro = micro
        self.saving = Saving(run.state_minutes, keeps_time=tables is not None)
        self.watch = LossWatch(run.stop_at_rise)
        self.packed = inputs.packed
        self.new_V = inputs.new_V
        self.clock = Clock()
        #: Seconds that each resume state took.
        self.state_seconds: list[float] = []
        self._pending: list[tuple[int, torch.Tensor, torch.Tensor, float]] = []
        self._moved: torch.Tensor | None = None
        self._pending_moved: list[tuple[int, torch.Tensor]] = []
        self._losses: list[torch.Tensor] = []
        self._norm = torch.zeros(())
        #: Of the last step that was read.
        self.last_loss: float | None = None
        self.plan = settings.plan
        self.checkpoints = {*settings.checkpoint_steps}
        self.between = {*settings.heldout_steps} - self.checkpoints
        self.adapters = Adapters(
            model, self.plan, settings.seed, parallel=args.world_size > 1, sharded=bool(args.fsdp)
        )
        self.groups = self.plan.groups(model)
        self.vocabulary_adapters = placed(model, self.groups, inputs.vocabulary_adapters)
        trained = {id(parameter) for group in self.groups for parameter in group.parameters}
        for parameter in model.parameters():
            parameter.requires_grad_(id(parameter) in trained)
        if args.bf16 and not args.fsdp:  # which wants all of a layer in one type
            hold_in_16_bits(model, frozen_linear(model, self.groups, len(self.plan.stages)))
        self.stage: int | None = None
        forward_to_loss(model)
        super().__init__(
            model=model,
            args=args,
            train_dataset=self.packed,
            data_collator=as_collated,
            callbacks=[StepCallback(self)],
        )
        self.remove_callback(PrinterCallback)

    def create_accelerator_and_postprocess(self) -> None:
        """Let FSDP have CPU processes too: accelerate knows it on accelerators only."""
        super().create_accelerator_and_postprocess()
        plugin = self.args.fsdp_plugin_args
        if plugin and not self.is_fsdp_enabled:
            from accelerate.utils import DistributedType, FullyShardedDataParallelPlugin

            state = self.accelerator.state
            state.distributed_type = DistributedType.FSDP
            state.fsdp_plugin = FullyShardedDataParallelPlugin(**plugin)
            self.is_fsdp_enabled = True

    # What the Trainer asks for -------------------------------------------------------------------

    def _get_train_sampler(self, train_dataset: Any = None) -> SequentialSampler:
        return SequentialSampler(train_dataset or self.packed)

    def create_optimizer(self, model: Any = None) -> torch.optim.Optimizer:
        """Make AdamW with one group of parameters for each set of rates; decay spares none.

        The rate of 1 is a unit: the schedule's factors are the learning rates themselves.
        """
        if self.optimizer is None:
            settings = self.settings
            self.optimizer = AdapterAdamW(
                [{"params": group.parameters} for group in self.groups],
                self.vocabulary_adapters,
                lr=1.0,
                betas=(settings.adam_beta1, settings.adam_beta2),
                eps=settings.adam_epsilon,
                weight_decay=0.0,
                fused=True,
            )
        return self.optimizer

    def create_scheduler(self, num_training_steps: int, optimizer: Any = None) -> Any:
        if self.lr_scheduler is None:
            self.lr_scheduler = torch.optim.lr_scheduler.LambdaLR(
                optimizer or self.create_optimizer(),
                [partial(self.plan.learning_rate, group.rates) for group in self.groups],
            )
            self._created_lr_scheduler = True
        return self.lr_scheduler

    def training_step(
        self, model: Any, inputs: dict[str, torch.Tensor], num_items_in_batch: Any = None
    ) -> torch.Tensor:
        """Make the gradients of this process' share of a step; return its loss.

        Where memory runs out, the step is made again with a smaller micro batch.
        """
        model.train()
        inputs = self._prepare_inputs(inputs)
        while True:
            try:
                return self._accumulate(model, inputs)
            except torch.OutOfMemoryError:
                pass  # what the error holds of the failed pass is free only outside of this block
            print(self.micro.halve(), file=sys.stderr)
            self._losses = []
            for parameter in model.parameters():
                parameter.grad = None
            torch.cuda.empty_cache()

    def _accumulate(self, model: Any, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        """Add up the gradients of micro batches; processes exchange them in the last pass."""
        passes, size = self.micro.share // self.micro.size, self.micro.size
        total = torch.zeros((), device=self.args.device)
        for number in range(passes):
            part = {
                name: values[number * size : (number + 1) * size] for name, values in inputs.items()
            }
            last = number == passes - 1
            with nullcontext() if last else self.accelerator.no_sync(model=model):
                with self.compute_loss_context_manager():
                    loss = self.compute_loss(model, part) / passes
                self.accelerator.backward(loss)
            total += loss.detach()
        return total

    def compute_loss(  # type: ignore[override]  # what else the Trainer passes is not used
        self, model: Any, inputs: dict[str, torch.Tensor], **_: Any
    ) -> torch.Tensor:
        """Return the loss of one micro batch and keep it for the table.

        The step's loss is the mean over its micro batches on all processes. Of conversations
        each is its share of the step's mean over learned tokens, times their number.
        """
        loss = model(**inputs)
        if "predicted" in inputs:
            loss = loss * (self.settings.batch_size / len(inputs["input_ids"]))
        self._losses.append(loss.detach())
        return loss

    def enter_stage(self, step: int) -> None:
        """Make the stage of the update after ``step`` updates the current one.

        Frozen parameters have no gradient, so that AdamW passes them by: neither moments nor decay
        touch them. A stage begins with no moments. Over several processes gradients of frozen
        parameters are made and dropped, since what wraps the model fixes what has one.
        """
        number = self.plan.index(step)
        if number != self.stage:
            self.stage = number
            self.adapters.enter(number, merge=step == self.plan.begins[number])
            for group, rates in zip(self.groups, self._rates(number), strict=True):
                for parameter in group.parameters:
                    parameter.requires_grad_(self.args.world_size > 1 or rates is not None)
                    parameter.grad = None
        if self.optimizer is None:
            return
        adamw = self._adamw()
        if step == self.plan.begins[number] > 0:
            adamw.state.clear()
        adamw.adapt(self.plan.stages[number].adapter is not None, begin=step == 0)
        for entry, rates in zip(self.optimizer.param_groups, self._rates(number), strict=True):
            entry["weight_decay"] = 0.0 if rates is None else rates.weight_decay

    def _adamw(self) -> AdapterAdamW:
        """Return the optimizer itself, below accelerate's wrapper."""
        held: Any = self.optimizer
        return getattr(held, "optimizer", held)

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        """Load a state into an optimizer that keeps what the state's stage keeps.

        Over sharded weights the shape of a state is found by a step without gradients.
        """
        frozen: list[torch.nn.Parameter] = []
        if checkpoint is not None:
            stage = self.plan.index(resume_state.step_of(Path(checkpoint)) - 1)
            self._adamw().adapt(self.plan.stages[stage].adapter is not None, begin=False)
            entries = zip(self._adamw().param_groups, self._rates(stage), strict=True)
            for entry, rates in entries:
                frozen += entry["params"] if rates is None else ()
        for parameter in frozen:
            parameter.requires_grad_(False)
        super()._load_optimizer_and_scheduler(checkpoint)
        for parameter in frozen:
            parameter.requires_grad_(True)

    def _rates(self, stage: int) -> list[Any]:
        return [group.rates[stage] for group in self.groups]

    def shown_rate(self) -> float:
        """Return the learning rate of the table: of the first group at the stage's own rate."""
        assert self.stage is not None and self.optimizer is not None  # enter_stage was called
        own = self.plan.stages[self.stage].learning_rate
        rates = self._rates(self.stage)
        at = [n for n, peak in enumerate(rates) if peak is not None and peak.learning_rate == own]
        trained = [n for n, peak in enumerate(rates) if peak is not None]
        return self.optimizer.param_groups[(at or trained)[0]]["lr"]

    def _clip_grad_norm(self, model: Any) -> torch.Tensor:
        assert self.stage is not None and self.optimizer is not None  # enter_stage was called
        for entry, rates in zip(self.optimizer.param_groups, self._rates(self.stage), strict=True):
            if rates is None:  # those of several processes; of one there are none
                for parameter in entry["params"]:
                    parameter.grad = None
            elif rates.new_rows:
                assert self.new_V is not None  # load_inputs read it
                drop_other_rows(entry["params"], self.new_V)
        if self._adamw().adapting:
            norm, self._moved = self._adamw().clip(self.settings.gradient_clip)
        else:
            norm, self._moved = super()._clip_grad_norm(model), None
        self._norm = norm.full_tensor() if hasattr(norm, "full_tensor") else norm
        return norm

    def floating_point_ops(self, inputs: Any) -> int:
        """Return 0: counting parameters again at every step costs time and is not used."""
        return 0

    # Our tables and checkpoints ------------------------------------------------------------------

    def finish_step(self, step: int, learning_rate: float) -> None:
        """Note the loss of the step just made; write rows when it is time to read the device."""
        self._pending.append((step, torch.stack(self._losses).mean(), self._norm, learning_rate))
        self._losses = []
        if self._moved is not None:
            self._pending_moved.append((step, self._moved))
        every = STEPS_PER_READING[self.args.device.type]
        if len(self._pending) >= every or self.control.should_save:
            self.write_rows()

    def write_rows(self) -> None:
        """Write pending rows; raise :class:`RevocabError` if a loss or gradient is not finite,
        or a loss rises as ``watch`` does not allow."""
        if not self._pending:
            return
        losses = torch.stack([row[1] for row in self._pending]).float()
        losses = self.accelerator.reduce(losses, "mean").tolist()
        rows = []
        per_step = self.settings.batch_size * self.packed.sequence_length
        for (step, _, norm, rate), loss in zip(self._pending, losses, strict=True):
            if not (math.isfinite(loss) and math.isfinite(norm)):
                raise RevocabError(
                    f"step {step}: loss is {loss} at learning rate {rate:g}, gradient norm "
                    f"{float(norm):g}; the weights at the start were finite, so training diverged."
                    " Lower learning_rate or gradient_clip, or raise warmup_steps, which starts"
                    " training over; checkpoints and state of earlier steps are kept"
                )
            stage = self.plan.index(step - 1)
            self.watch.check(step, stage, loss)
            bits = self.packed.bits_per_byte(stage, loss)
            rows.append((step, step * per_step, loss, bits, rate, float(norm)))
        moved = [(step, float(loss)) for step, loss in self._pending_moved]
        self._pending, self._pending_moved = [], []
        self.last_loss = rows[-1][2]
        if self.tables is not None:
            self.tables.append(LOSSES, rows)
            if moved:
                self.tables.append(ADAPTER, moved)
            if self.clock.training:
                rate = self.clock.steps * per_step / self.clock.training
                self.tables.scalar("train/tokens_per_second", rate, rows[-1][0])

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        """Export and evaluate at a checkpoint; save the resume state, unless the run is over."""
        step = self.state.global_step
        self.write_rows()
        if step in self.checkpoints:
            self.work(self, step)
        if step < self.settings.steps:
            begin = time.perf_counter()
            folder = Path(str(self.args.output_dir)) / f"{PREFIX}{step}"
            if self.args.should_save:
                shutil.rmtree(folder, ignore_errors=True)
            self.accelerator.wait_for_everyone()
            super()._save_checkpoint(model, trial)
            self.accelerator.wait_for_everyone()
            if self.args.should_save:
                assert self.tables is not None
                (folder / "training_args.bin").unlink(missing_ok=True)  # a pickle nobody reads
                self.tables.copy_to(folder)
                resume_state.seal(folder)
                resume_state.prune(folder.parent)
            self.state_seconds.append(time.perf_counter() - begin)
        self.saving.saved(self.state_seconds[-1] if self.state_seconds else 0.0)
        self.clock.start()


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
    checkpointing: dict[str, Any] = {CHECKPOINTING: run.activation_checkpointing and not sharded}
    return TrainingArguments(
        fsdp=sharded or None,  # type: ignore[arg-type]  # declared as text; True is taken
        fsdp_config={
            "version": 2,
            "state_dict_type": "SHARDED_STATE_DICT",
            "activation_checkpointing": run.activation_checkpointing,
        }
        if sharded
        else None,
        **checkpointing,
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
