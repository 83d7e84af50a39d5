"""The loop of a training: steps on accelerate, losses and held-out losses, exports and states."""

from __future__ import annotations

import math
import os
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from statistics import fmean
from types import MethodType
from typing import TYPE_CHECKING, Any

import torch
from accelerate import Accelerator, DistributedDataParallelKwargs
from accelerate.state import AcceleratorState
from accelerate.utils import (
    DistributedType,
    FullyShardedDataParallelPlugin,
    broadcast_object_list,
    set_seed,
)
from safetensors.torch import load_model
from tqdm import tqdm

from revocab.costs.model import Memory
from revocab.errors import RevocabError
from revocab.models.token_rows import filled_anew, padded_matrices
from revocab.training import checkpoints, resume_state
from revocab.training.heldout_loss import check_heldout, heldout_rows
from revocab.training.lora import Adapters, frozen_linear, hold_in_16_bits, plain_name
from revocab.training.loss import next_token_loss
from revocab.training.records import ADAPTER, HELDOUT, LOSSES, LossTables
from revocab.training.resume_state import LOST_AT_MOST, Request, Saving
from revocab.training.run import MicroBatch, TrainingRun
from revocab.training.vocabulary_adapter import AdapterAdamW, drop_other_rows, placed

if TYPE_CHECKING:
    from revocab.training.stages import PeakRates
    from revocab.training.train import TrainingInputs

#: Steps whose losses are read at once: reading one makes the CPU wait for a GPU.
STEPS_PER_READING = {"cpu": 1, "cuda": 10}
#: Steps whose mean a loss is compared with, and how many of a stage there must be first.
WINDOW, FIRST = 50, 10


def accelerator_of(run: TrainingRun) -> Accelerator:
    """Return what runs the model on this process's device; under a launcher, join the others."""
    cuda, distributed = torch.cuda.is_available(), "WORLD_SIZE" in os.environ
    if run.fsdp and not distributed:
        print("--fsdp: nothing is sharded in one process; start several", file=sys.stderr)
    plugin = None
    if run.fsdp and distributed:
        plugin = FullyShardedDataParallelPlugin(
            fsdp_version=2,
            auto_wrap_policy="transformer_based_wrap",
            state_dict_type="SHARDED_STATE_DICT",
            activation_checkpointing=run.activation_checkpointing,
            reshard_after_forward=True,
            cpu_ram_efficient_loading=False,
        )
    AcceleratorState._reset_state(reset_partial_state=True)  # of a training before, in this process
    accelerator = Accelerator(
        cpu=not cuda,
        mixed_precision="bf16" if run.settings.precision == "bfloat16" else "no",
        dynamo_backend="inductor" if run.compile else None,
        fsdp_plugin=plugin,
        kwargs_handlers=[DistributedDataParallelKwargs(find_unused_parameters=False)],
    )
    if plugin is not None:  # on accelerators it is there; accelerate does not know it on CPUs
        accelerator.state.distributed_type = DistributedType.FSDP
        accelerator.state.fsdp_plugin = plugin
    return accelerator


class Training:
    """A training that follows :class:`~revocab.training.run.Settings` to the letter.

    Held-out losses are measured at each of ``settings.heldout_steps``: before the first step (0),
    between steps, and at every checkpoint before its resume state is saved; the loss rows up to
    the step are written by then. ``tables`` is ``None`` in a process that does not write.
    """

    def __init__(
        self,
        run: TrainingRun,
        inputs: TrainingInputs,
        accelerator: Accelerator,
        tables: LossTables | None,
        micro: MicroBatch,
    ):
        self.run, self.inputs, self.tables, self.micro = run, inputs, tables, micro
        self.accelerator, self.device = accelerator, accelerator.device
        self.settings = settings = run.settings
        self.packed = inputs.packed
        self.plan = settings.plan
        self.heldout_steps = {*settings.heldout_steps}
        self.checkpoint_steps = {*settings.checkpoint_steps}
        self.sharded = resume_state.sharding(accelerator) is not None
        self.parallel = accelerator.num_processes > 1 or self.sharded
        self.saving = Saving(run.state_minutes, keeps_time=tables is not None)
        self.watch = LossWatch(run.stop_at_rise)
        #: Updates that are made.
        self.step = 0
        #: Of the last step that was read.
        self.last_loss: float | None = None
        #: Seconds of each evaluation, export and state of this process.
        self.seconds: dict[str, list[float]] = {"evaluation": [], "export": [], "state": []}
        #: Seconds spent on steps of this process, fetching data included, and how many these are.
        self.step_seconds, self.steps, self._since = 0.0, 0, 0.0
        #: When the first step began, in seconds since the epoch.
        self.first_step: float | None = None
        self._losses: list[torch.Tensor] = []
        self._pending: list[tuple[int, torch.Tensor, torch.Tensor, float]] = []
        self._pending_moved: list[tuple[int, torch.Tensor]] = []
        self._stage: int | None = None

        model = inputs.model
        self.adapters = Adapters(
            model, self.plan, settings.seed, parallel=self.parallel, sharded=self.sharded
        )
        self.groups = self.plan.groups(model)
        self.vocabulary_adapters = placed(model, self.groups, inputs.vocabulary_adapters)
        trained = {id(parameter) for group in self.groups for parameter in group.parameters}
        for parameter in model.parameters():
            parameter.requires_grad_(id(parameter) in trained)
        if settings.precision == "bfloat16" and not self.sharded:  # which wants one type in a layer
            hold_in_16_bits(model, frozen_linear(model, self.groups, len(self.plan.stages)))
        if run.activation_checkpointing and not self.sharded:  # there it is the plugin's
            # Up to transformers 5.22 it had another name.
            name = "activation_checkpointing_enable"
            getattr(model, name, model.gradient_checkpointing_enable)()
        # Inside forward: what wraps a call of it (autocast, DDP, FSDP) covers the loss, too.
        model.forward = MethodType(next_token_loss, model)
        # One group of parameters for each set of rates; decay spares none.
        self.optimizer = AdapterAdamW(
            [{"params": group.parameters} for group in self.groups],
            self.vocabulary_adapters,
            betas=(settings.adam_beta1, settings.adam_beta2),
            eps=settings.adam_epsilon,
            weight_decay=0.0,
            fused=True,
        )
        #: The model as it is called: wrapped, compiled or sharded.
        self.model: Any = model

    @property
    def source_rows(self) -> int:
        """Rows of the source that vocabulary adapters combine; 0: none does."""
        adapters = self.inputs.vocabulary_adapters.values()
        return max((adapter.weights.source_rows for adapter in adapters), default=0)

    def choose_micro_batch(self, recorded: int | None = None) -> None:
        """Take the size that an earlier start ended with, or as many sequences as should fit."""
        memory = Memory.of(
            self.inputs.model, self.groups, self.settings, self.packed.sequence_length,
            self.inputs.dtype.itemsize,
            source_rows=self.source_rows,
            recomputed=self.run.activation_checkpointing,
            shards=self.accelerator.num_processes if self.sharded else 1,
        )  # fmt: skip
        size = recorded
        if size is None and self.run.micro_batch is None and self.device.type == "cuda":
            free = torch.cuda.mem_get_info(self.device)[0] + torch.cuda.memory_reserved(self.device)
            size = memory.largest(free, self.micro.share)
        (self.micro.size,) = broadcast_object_list([size or self.micro.size])
        if self.tables is not None:
            self.micro.record()

    # The loop ------------------------------------------------------------------------------------

    def train(self, state: Path | None = None) -> None:
        """Make the steps that are left, from a resume state or from the first."""
        set_seed(self.settings.seed)
        # A data loader of torch's draws one, and models with dropout go on from there.
        torch.empty((), dtype=torch.int64).random_()
        self._prepare(state)
        bar = tqdm(
            total=self.settings.steps,
            initial=self.step,
            disable=self.tables is None,
            desc="training",
            bar_format="{l_bar}{bar:20}| {n_fmt}/{total_fmt} steps [{elapsed}{postfix}]",
            mininterval=1.0,
            maxinterval=60.0,
        )
        with bar:
            if self.step == 0:
                bar.set_postfix_str("measuring held-out text")
                self.measure()
            self.saving.saved()
            self._start_clock()
            request = Request.NOTHING
            while self.step < self.settings.steps and request < Request.STOP:
                self.enter_stage()
                self.gradients(self._batch())
                norm, moved = self.clip()
                rate = self.table_rate()
                self.optimizer.step()
                self.model.zero_grad()
                self.step += 1
                request = self.saving.agreed(self.device)
                self.finish_step(norm, moved, rate)
                measured = self.step in self.heldout_steps
                saved = request > Request.NOTHING or self.step in self.checkpoint_steps
                if measured or saved:  # waits for a GPU's steps, and is part of their time
                    self.write_rows()
                now = time.perf_counter()
                self.step_seconds += now - self._since
                self.steps, self._since = self.steps + 1, now
                if measured or saved:
                    if measured:
                        bar.set_postfix_str("measuring held-out text")
                        self.measure()
                    if saved:
                        self.save_state()
                    self._start_clock()
                bar.set_postfix_str(self.progress(), refresh=False)
                bar.update()

    def _prepare(self, state: Path | None) -> None:
        """Wrap and place the model, and load a state: whole weights before, sharded ones after."""
        model = self.inputs.model
        if state is not None:
            self.step = resume_state.step_of(state)
            if not self.sharded:
                load_model(model, state / resume_state.WEIGHTS)
        # FSDP shards parameters, which the optimizer then has in place of the whole ones; a group
        # that had these still would keep the whole model in every process.
        for group in self.groups:
            group.parameters = []
        self.model, _ = self.accelerator.prepare(model, self.optimizer)
        for group, entry in zip(self.groups, self.optimizer.param_groups, strict=True):
            group.parameters = entry["params"]
        self.model.zero_grad()
        if state is None:
            return
        # The optimizer keeps what the state's stage keeps; over sharded weights the shape of its
        # state is found by a step without gradients, of the parameters that are trained.
        stage = self.plan.index(self.step - 1)
        self.optimizer.adapt(self.plan.stages[stage].adapter is not None, begin=False)
        entries = zip(self.optimizer.param_groups, self._rates(stage), strict=True)
        frozen = [p for entry, rates in entries if rates is None for p in entry["params"]]
        for parameter in frozen:
            parameter.requires_grad_(False)
        resume_state.load(state, self.accelerator, self.model, self.optimizer)
        for parameter in frozen:
            parameter.requires_grad_(True)

    def _batch(self) -> dict[str, torch.Tensor]:
        """Return this process's share of the next step's rows."""
        begin = self.step * self.settings.batch_size
        begin += self.accelerator.process_index * self.micro.share
        batch = self.packed.batch(range(begin, begin + self.micro.share))
        return {name: values.to(self.device) for name, values in batch.items()}

    def gradients(self, batch: dict[str, torch.Tensor]) -> None:
        """Add up the gradients of micro batches; processes exchange them in the last pass.

        Where memory runs out, all of it is done again with a smaller micro batch. (accelerate's
        find_executable_batch_size collects garbage at each call, and does not know that sizes have
        to divide the batch, or that other processes wait.)
        """
        self.model.train()
        while True:
            passes, size = self.micro.share // self.micro.size, self.micro.size
            try:
                for number in range(passes):
                    part = slice(number * size, (number + 1) * size)
                    last = number == passes - 1
                    with nullcontext() if last else self.accelerator.no_sync(model=self.model):
                        # Without a name, which would hold a failed pass while it is made again.
                        rows = {name: values[part] for name, values in batch.items()}
                        (self.loss(rows) / passes).backward()
                return
            except torch.OutOfMemoryError:
                pass  # what the error holds of the failed pass is free only outside of this block
            print(self.micro.halve(), file=sys.stderr)
            self._losses = []
            self.model.zero_grad()
            torch.cuda.empty_cache()

    def loss(self, part: dict[str, torch.Tensor]) -> torch.Tensor:
        """Return the loss of one micro batch and keep it for the table.

        The step's loss is the mean over its micro batches on all processes. Of conversations
        each is its share of the step's mean over learned tokens, times their number.
        """
        loss = self.model(**part)
        if "predicted" in part:
            loss = loss * (self.settings.batch_size / len(part["input_ids"]))
        self._losses.append(loss.detach())
        return loss

    def enter_stage(self) -> None:
        """Make the stage of the coming update the current one; set the update's rates.

        Frozen parameters have no gradient, so that AdamW passes them by: neither moments nor decay
        touch them. A stage begins with no moments. Over several processes gradients of frozen
        parameters are made and dropped, since what wraps the model fixes what has one.
        """
        number = self.plan.index(self.step)
        begins = self.step == self.plan.begins[number]
        if number != self._stage:
            self._stage = number
            self.adapters.enter(number, merge=begins)
            for group, rates in zip(self.groups, self._rates(number), strict=True):
                for parameter in group.parameters:
                    parameter.requires_grad_(self.parallel or rates is not None)
                    parameter.grad = None
        if begins and self.step > 0:
            self.optimizer.state.clear()
        adapted = self.plan.stages[number].adapter is not None
        self.optimizer.adapt(adapted, begin=self.step == 0)
        for entry, group in zip(self.optimizer.param_groups, self.groups, strict=True):
            rates = group.rates[number]
            entry["lr"] = self.plan.learning_rate(group.rates, self.step)
            entry["weight_decay"] = 0.0 if rates is None else rates.weight_decay

    def _rates(self, stage: int) -> list[PeakRates | None]:
        return [group.rates[stage] for group in self.groups]

    def table_rate(self) -> float:
        """Return the learning rate for losses.csv: of the first group at the stage's own rate.

        Where no group has that, it is the rate of the first group that is trained.
        """
        assert self._stage is not None  # enter_stage was called
        own = self.plan.stages[self._stage].learning_rate
        peaks = [(n, rates) for n, rates in enumerate(self._rates(self._stage)) if rates]
        at = [n for n, rates in peaks if rates.learning_rate == own]
        return self.optimizer.param_groups[(at or [peaks[0][0]])[0]]["lr"]

    def clip(self) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Clip the gradient; return its norm, and how far adapters' shared rows have moved."""
        assert self._stage is not None  # enter_stage was called
        for entry, rates in zip(self.optimizer.param_groups, self._rates(self._stage), strict=True):
            if rates is None:  # those of several processes; of one there are none
                for parameter in entry["params"]:
                    parameter.grad = None
            elif rates.new_rows:
                assert self.inputs.new_V is not None  # load_inputs read it
                drop_other_rows(entry["params"], self.inputs.new_V)
        most = self.settings.gradient_clip
        if self.optimizer.adapting:
            return self.optimizer.clip(most)
        norm = self.accelerator.clip_grad_norm_(self.model.parameters(), most)
        return (norm.full_tensor() if hasattr(norm, "full_tensor") else norm), None

    # Tables, held-out losses, exports and states -------------------------------------------------

    def finish_step(self, norm: torch.Tensor, moved: torch.Tensor | None, rate: float) -> None:
        """Note what the step just made says; write rows when it is time to read the device."""
        self._pending.append((self.step, torch.stack(self._losses).mean(), norm, rate))
        self._losses = []
        if moved is not None:
            self._pending_moved.append((self.step, moved))
        if len(self._pending) >= STEPS_PER_READING[self.device.type]:
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
            if self.steps:
                speed = self.steps * per_step / self.step_seconds
                self.tables.scalar("train/tokens_per_second", speed, rows[-1][0])

    def measure(self) -> None:
        """Append the held-out losses of the model as it stands; export it at a checkpoint.

        Processes share the batches. Nothing is exported of a model whose losses or weights are not
        finite.
        """
        with self._timed("evaluation"):
            model = self.model if self.sharded else self.inputs.model
            rows = heldout_rows(model, self.inputs.heldout, self.step, through_forward=self.sharded)
            check_heldout(rows)
            if self.tables is not None:
                self.tables.append(HELDOUT, rows)
        if self.step in self.checkpoint_steps:
            with self._timed("export"):
                self._export(rows)

    def _export(self, heldout: list[tuple[Any, ...]]) -> None:
        run, inputs, step = self.run, self.inputs, self.step
        folder, packed = checkpoints.step_folder(run.out, step), inputs.packed.manifest
        described = run.settings.described()
        texts = checkpoints.provenance_and_card(
            run.model, described, packed, inputs.checksums, step, heldout
        )
        if packed.get("chat_template") is not None:
            texts[checkpoints.CHAT_TEMPLATE] = packed["chat_template"]
        matrices = padded_matrices(inputs.model)
        padded = {plain_name(name): rows for name, rows in matrices.items()}
        if self.sharded:
            checkpoints.export_sharded(
                checkpoints.sharded_weights(self.model), inputs.dtype, run.model, folder,
                writes=self.tables is not None, padded=padded, texts=texts,
            )  # fmt: skip
        elif self.tables is not None:
            weights = inputs.model.state_dict()
            whole = filled_anew(self.adapters.merged(weights), padded)
            checkpoints.export(inputs.model, whole, inputs.dtype, run.model, folder, texts)
            folder, stage = checkpoints.adapter_folder(run.out, step), self.plan.index(step - 1)
            self.adapters.export(weights, self.groups, stage, inputs.dtype, folder)

    def save_state(self) -> None:
        """Save what a killed run goes on from, unless the run is over."""
        if self.step < self.settings.steps:
            with self._timed("state"):
                model = self.model if self.sharded else self.inputs.model
                root = self.run.out / "state"
                resume_state.save(
                    root, self.step, self.accelerator, model, self.optimizer, self.tables
                )
        self.saving.saved(self.seconds["state"][-1] if self.seconds["state"] else 0.0)

    # Time ----------------------------------------------------------------------------------------

    def _start_clock(self) -> None:
        self._since = time.perf_counter()
        self.first_step = self.first_step or time.time()

    @contextmanager
    def _timed(self, what: str) -> Iterator[None]:
        begin = time.perf_counter()
        yield
        self.seconds[what].append(time.perf_counter() - begin)

    def progress(self) -> str:
        """Return loss, speed, and the time that is left with what is measured and saved in it."""
        settings, each = self.settings, self.step_seconds / self.steps
        left = each * (settings.steps - self.step)
        for what, steps in (("evaluation", self.heldout_steps), ("export", self.checkpoint_steps)):
            mean = fmean(self.seconds[what] or [0.0])
            left += sum(later > self.step for later in steps) * mean
        left *= 1 + fmean(self.seconds["state"] or [0.0]) / LOST_AT_MOST
        speed = settings.batch_size * self.packed.sequence_length / each
        minutes, rest = divmod(round(left), 60)
        time_left = f"{minutes} min {rest} s" if minutes else f"{rest} s"
        # On a GPU the first losses are read after some steps.
        loss = "" if self.last_loss is None else f"loss {self.last_loss:.3f}, "
        return f"{loss}{speed:,.0f} tokens/s, {time_left} left"


class LossWatch:
    """Stops a training whose loss jumps, while the state before the jump is still there.

    Compares each step's loss with the mean of the steps before it in the same stage. ``rise`` is
    in nats per token; ``None`` compares nothing.
    """

    def __init__(self, rise: float | None = None):
        self.rise = rise
        self._stage: int | None = None
        self._last: deque[float] = deque(maxlen=WINDOW)

    def check(self, step: int, stage: int, loss: float) -> None:
        """Take the loss of ``step``; raise :class:`RevocabError` if it rose by more than ``rise``.

        A stage may begin with other data and parameters: it is compared with nothing before it.
        """
        if self.rise is None:
            return
        if stage != self._stage:
            self._stage = stage
            self._last.clear()
        if len(self._last) >= FIRST and loss > (mean := fmean(self._last)) + self.rise:
            raise RevocabError(
                f"step {step}: loss {loss:.4f} is {loss - mean:.4f} above the mean of the"
                f" {len(self._last)} steps before, stop_at_rise allows {self.rise:g}; the states"
                " and checkpoints before this step are kept: lower learning_rate, which starts"
                " training over, or raise stop_at_rise and run again to go on"
            )
        self._last.append(loss)
