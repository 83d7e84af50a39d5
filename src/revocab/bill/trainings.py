"""What each training of an experiment takes, as amounts with their formulas."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from revocab.bill.amounts import Amount, Factor, device_hours
from revocab.bill.device import BYTES_PER_TOKEN, BillOptions, speed_of
from revocab.bill.outline import Outline
from revocab.bill.sizes import Sizes
from revocab.io import read_json
from revocab.plan.plan import Plan
from revocab.rule import Artefact, Step
from revocab.training import estimates
from revocab.training.machine.costs import adapter_flops, teacher_flops
from revocab.training.machine.micro_batch import largest_divisor
from revocab.training.machine.operations import operations
from revocab.training.outputs.resume_state import KEPT
from revocab.training.run import Settings

#: Ways to lay a training out, each with less memory than the one before.
LAYOUTS: Mapping[str, Mapping[str, int]] = {
    "": {},
    "recomputed": {"activation_checkpointing": 1},
    "sharded": {"fsdp": 1},
    "sharded, recomputed": {"fsdp": 1, "activation_checkpointing": 1},
}
TOO_LARGE = "too large for a device"


@dataclass(frozen=True)
class Training:
    """One training: a run's, or a stand-in's."""

    name: str
    job: str
    #: How it fits into a device's memory; empty where that asks nothing, or is not known.
    layout: str
    #: Devices that its batch can be divided among.
    processes: int
    #: Rows of a pass.
    micro_batch: int
    steps: int
    checkpoints: int
    vocabulary: int
    amounts: Mapping[str, Amount]

    @property
    def flops(self) -> float:
        return self.amounts["training"].value + self.amounts["held-out losses"].value

    def states(self, exported: int) -> float:
        """Return the bytes of states as soon as so many checkpoints are exported.

        A state follows each but the last; two are kept, beside one that is being written.
        """
        most = KEPT + (exported < self.checkpoints)
        return min(exported, self.checkpoints - 1, most) * self.amounts["a resume state"].value


def trainings_of(plan: Plan, sizes: Sizes, options: BillOptions) -> Iterator[Training]:
    for model in plan.stand_ins:
        step, config = plan.step("pretrain_stand_in", model=model), sizes.model(model)
        if config is not None:
            yield training_of(plan, f"models.{model}", step, config, None, options)
    for run in plan.trained:
        entry, step = plan.runs[run], plan.step("adapt_model", run=run)
        config = sizes.run(entry)
        source = sizes.referred(entry.source) if step.inputs.get("source") else None
        if config is not None:
            yield training_of(plan, run, step, config, source, options)


def training_of(
    plan: Plan,
    name: str,
    step: Step,
    config: Mapping[str, Any],
    source: Mapping[str, Any] | None,
    options: BillOptions,
) -> Training:
    settings, packed = step.job, step.inputs["packed"]
    assert isinstance(settings, Settings) and isinstance(packed, Artefact)
    length = plan.experiment.recipes[packed.path.rpartition("--")[2]].sequence_length
    outline = Outline(config, settings.plan)
    origin = None if source is None else Outline(source)
    processes = largest_divisor(settings.batch_size, options.devices)
    stated = options.stated("memory")
    memory = None if stated is None else int(stated)
    whole = processes == 1 or not settings.can_be_sharded
    machine_flags, fitting = {} if memory else {"micro_batch": 1}, TOO_LARGE
    for layout, machine in LAYOUTS.items():
        if whole and machine.get("fsdp"):
            continue
        flags = {**machine, **machine_flags}
        guess = estimates.estimate(
            outline, outline, settings, length, flags, processes, memory, origin
        )
        laid_out = estimates.StepOptions(
            length, settings.precision, "activation_checkpointing" in machine,
            processes if "fsdp" in machine else 1,
        )  # fmt: skip
        if guess.memory <= estimates.USED * (memory or math.inf):
            fitting = layout
            break
    amounts = amounts_of(plan, settings, outline, guess.micro_batch, origin, laid_out)
    return Training(
        name, step.name, fitting, processes, guess.micro_batch, settings.steps,
        len(settings.checkpoint_steps),
        outline.config.vocab_size, {amount.name: amount for amount in amounts},
    )  # fmt: skip


def amounts_of(
    plan: Plan,
    settings: Settings,
    outline: Outline,
    micro_batch: int,
    source: Outline | None,
    laid_out: estimates.StepOptions,
) -> Iterator[Amount]:
    batch, stages = settings.batch_size, settings.plan
    length = laid_out.sequence_length
    groups = stages.groups(outline)
    source_rows = 0 if source is None else source.config.vocab_size
    read: list[Factor] = [(settings.steps, "steps"), (batch, "rows"), (length, "tokens")]
    yield Amount("tokens", "tokens", [read])
    products: list[list[Factor]] = []
    for number, stage in enumerate(stages.stages):
        tokens = (stage.steps * batch * length, "tokens")
        own = operations(outline, groups, number)
        products += [
            [tokens, 2, (own.forward, "weights")],
            [tokens, 2, (own.passed, "passed by gradients")],
            [tokens, 2, (own.trained, "trained")],
            [tokens, 4, (own.width, "wide"), (length, "positions")],
            [tokens, 2, (own.gradients, "wide with gradients"), (length, "positions")],
        ]
        if stage.distil and source is not None:
            taught = (teacher_flops(source, stage, length), "FLOP of the source model")
            products.append([tokens, taught])
    adapted = 0
    for rows, wide in estimates.adapted_shapes(outline, settings.adapter):
        step = (adapter_flops(rows, source_rows, wide), "FLOP of an adapter")
        products.append([(stages.ends[0], "steps"), step])
        adapted += rows * source_rows
    yield Amount("training", "FLOP", products)
    passes = (len(settings.heldout_steps), "times")
    text = (tokens_held_out(plan), "tokens held out")
    each: Factor = (operations(outline).flops(length), "FLOP")
    yield Amount("held-out losses", "FLOP", [[text, passes, each]])
    yield parameters_of(outline)
    shape = estimates.shape_of(outline, groups, len(stages.stages), outline.itemsize, adapted)
    stored: Factor = (outline.itemsize, "B")
    checkpoints: Factor = (len(settings.checkpoint_steps), "checkpoints")
    halves = estimates.halves(shape, laid_out)
    yield Amount("checkpoints", "B", [[checkpoints, (shape.parameters, "weights"), stored]])
    single: Factor = (estimates.FLOAT, "B")
    yield Amount(
        "a resume state", "B",
        [
            [single, (shape.parameters - halves, "weights")],
            *([[(laid_out.width, "B"), (halves, "weights that never change")]] if halves else []),
            [single, 2, (shape.trained, "trained")],
            [single, 3, (shape.adapters, "of adapters")],
        ],
    )  # fmt: skip
    beside = estimates.teacher_bytes(source, settings)
    pass_tokens: list[Factor] = [(micro_batch, "rows"), (length, "tokens")]
    yield Amount(
        "memory", "B",
        [
            [(estimates.state_bytes(shape, laid_out), "B of weights, gradients, moments")],
            [(estimates.head_bytes(shape, laid_out, micro_batch * length), "B of the head")],
            [*pass_tokens, (estimates.token_bytes(shape, laid_out), "B")],
            *([[(beside, "B of the source model")]] if beside else []),
        ],
    )  # fmt: skip


def parameters_of(outline: Outline) -> Amount:
    """Return how a model's parameters add up: its blocks, then everything else."""
    sizes = {name: weight.numel() for name, weight in outline.named_parameters()}
    blocks = sum(size for name, size in sizes.items() if ".layers." in name)
    layers = outline.config.num_hidden_layers
    rest = [
        [(size, name.rpartition(".")[0])] for name, size in sizes.items() if ".layers." not in name
    ]
    return Amount("parameters", "parameters", [[(layers, "blocks"), blocks / layers], *rest])


def tokens_held_out(plan: Plan) -> float:
    corpora = plan.experiment.corpora
    return sum(corpora[name].heldout_bytes for name in plan.heldout_corpora) / BYTES_PER_TOKEN


def measured(plan: Plan, training: str) -> tuple[str, float] | None:
    """Return the file where a training measured its speed: operations a second and device."""
    model = training.removeprefix("models.")
    folder = plan.paths.run(model) if model == training else plan.paths.model(model)
    file = Path(folder, "timing.json")
    if not file.is_file():
        return None
    timing = read_json(file)
    return str(file), timing["model_flops_per_second"] / timing["processes"]


def hours_of(plan: Plan, trainings: Sequence[Training], options: BillOptions) -> dict[str, Amount]:
    """Return device hours by training: without a named device as measured there, or first."""
    speed, hours = speed_of(options), {}
    records = {item.name: measured(plan, item.name) for item in trainings} if speed is None else {}
    first = next(filter(None, records.values()), None)
    for training in trainings:
        if record := records.get(training.name) or first:
            speed = [(record[1], f"FLOP/s in {record[0]}")]
        if speed:
            hours[training.name] = device_hours(training.name, training.flops, speed)
    return hours
