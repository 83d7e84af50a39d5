"""What an experiment costs, from its file alone: time, memory and disk of its trainings, memory of
its inference. Text, scores and figures are small beside weights and rows, and are not counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import Field

from revocab.costs.devices import BYTES_PER_TOKEN, HOUR, Device
from revocab.costs.model import (
    FLOAT,
    USED,
    Memory,
    Outline,
    cached_numbers,
    flops_per_token,
    operations,
    parameters_of,
)
from revocab.costs.sizes import Config, Sizes
from revocab.experiment import options as job_options
from revocab.experiment.expand import Run
from revocab.experiment.layout import Layout
from revocab.io import read_json
from revocab.limits import Count, NotNegative, Size
from revocab.models.change import ModelReference
from revocab.training.recipe import ANSWERS
from revocab.training.resume_state import KEPT
from revocab.training.run import Settings, largest_divisor

#: Ways to lay a training out, each with less memory than the one before: whether activations are
#: computed again, and whether weights are sharded over the devices.
LAYOUTS = {
    "": (False, False), "recomputed": (True, False),
    "sharded": (False, True), "sharded, recomputed": (True, True),
}  # fmt: skip
TOO_LARGE = "too large for a device"

#: Texts whose keys and values are counted; engines that batch by themselves fill what is left.
TEXTS = 8
#: Device memory where nothing says what a device has: that of the machines that papers use.
USUAL = 80e9
#: Rules that load a run's checkpoints; others load a model for a corpus.
OF_RUNS = (
    "score_multiple_choice", "generate_text", "measure_efficiency", "measure_adoption",
    "measure_heldout",
)  # fmt: skip

#: Vocabularies up to this size are packed in two bytes a token, larger ones in four.
SHORT_IDS = 65_536
#: Bytes of a tokenizer.json for each token.
TOKENIZER = 56
#: Tokens are held out in four bytes, and windows are filled by half.
HELDOUT = 8
#: Bytes of a start's figures and report, of card and settings beside weights, of a line of losses.
DIAGNOSTICS, CARD, LOSS_LINE = 210_000, 15_000, 87
LEAST = "disk at the peak, at least"
#: Before the name of a stand-in that is trained; other trainings are called as their runs.
OF_MODEL = "models."
#: Something that lies on the disk: a training by its name, a start of a run (RUN,), packed rows by
#: tokenizer, mixture and recipe.
Left = str | tuple[str, ...]


class CostOptions(Device):
    """The machine that costs are for; sizes that the experiment's files do not tell."""

    devices: Count = Field(default=1, description="number of devices")
    watts: NotNegative | None = Field(default=None, description="power of one device")
    carbon: NotNegative | None = Field(default=None, description="grams of CO2 per kWh")
    shape: dict[str, Path] = Field(
        default_factory=dict, description="config.json of models whose sizes are not known, by id"
    )
    vocabulary: dict[str, Size] = Field(
        default_factory=dict, description="tokens of tokenizers whose size is not known, by id"
    )


@dataclass(frozen=True)
class Training:
    """One training: a run's, or a stand-in's; sizes in bytes."""

    name: str
    #: How it fits into a device's memory; empty where that takes nothing, or is not known.
    layout: str
    #: Devices that its batch can be divided among, and rows of a pass.
    processes: int
    micro_batch: int
    steps: int
    tokens: int
    #: Operations, held-out losses included.
    flops: float
    parameters: int
    #: Of each device.
    memory: int
    exports: int
    #: Weights of one checkpoint, and all of its folder.
    weights: int
    checkpoint: int
    resume_state: int
    #: Of one device; None where none is named and nothing was measured.
    hours: float | None = None

    def states(self, exported: int) -> int:
        """Return the bytes of states as soon as so many checkpoints are exported.

        A state follows each but the last; two are kept, beside one that is being written.
        """
        most = KEPT + (exported < self.exports)
        return min(exported, self.exports - 1, most) * self.resume_state


@dataclass(frozen=True)
class Costs:
    """What an experiment costs; what is assumed, or counted as nothing, is listed."""

    experiment: str
    trainings: list[Training]
    #: Bytes of each job that runs a model and trains none, and among how many devices.
    inference: dict[str, tuple[float, int | None]]
    #: Bytes by stage of the workflow, without resume states.
    disk: dict[str, float]
    #: Of the whole experiment, with units.
    totals: dict[str, tuple[float, str]]
    assumed: Mapping[str, str]
    unknown: Mapping[str, str]

    def as_json(self) -> dict[str, Any]:
        values = asdict(self)
        values["trainings"] = {entry.pop("name"): entry for entry in values["trainings"]}
        return values


def costs_of(layout: Layout, options: CostOptions) -> Costs:
    """Raise :class:`RevocabError` for ids in ``options`` that the file has not."""
    sizes = Sizes(layout, options.shape, options.vocabulary)
    trainings = timed(layout, [*trainings_of(layout, sizes, options)], options)
    memory = options.number("memory")
    inference = {
        f"{rule}: {name}": (size, devices_for(size, memory) if memory else None)
        for rule, names in modelled(layout).items()
        for name in names
        if (size := memory_of(layout, sizes, rule, name)) is not None
    }
    disk = disk_of(layout, sizes, trainings)
    most, least = peaks_of(layout, sizes, disk, trainings)
    totals = {
        "tokens of training": (sum(item.tokens for item in trainings), "tokens"),
        "FLOP of training": (sum(item.flops for item in trainings), "FLOP"),
        "disk at the end": (sum(disk.values()), "B"),
        "disk at the peak, at most": (most, "B"),
        LEAST: (least, "B"),
        **times_of(trainings, options),
    }
    name = layout.experiment.experiment
    return Costs(name, trainings, inference, disk, totals, sizes.assumed, sizes.unknown)


# --- trainings ------------------------------------------------------------------------------------


def trainings_of(layout: Layout, sizes: Sizes, options: CostOptions) -> Iterator[Training]:
    experiment = layout.experiment
    for model in layout.stand_ins:
        settings = job_options.pretraining(experiment, model)
        if config := sizes.model(model):
            yield training_of(layout, f"{OF_MODEL}{model}", settings, config, None, options)
    for run in layout.trained:
        entry, settings = layout.runs[run], job_options.run_training(experiment, run)
        reads_source = experiment.recipes[str(entry.recipe)].reads_source
        source = sizes.referred(entry.source) if reads_source else None
        if config := sizes.run(entry):
            yield training_of(layout, run, settings, config, source, options)


def folder_of(layout: Layout, training: str) -> str:
    model = training.removeprefix(OF_MODEL)
    return layout.paths.run(model) if model == training else layout.paths.model(model)


def training_of(
    layout: Layout,
    name: str,
    settings: Settings,
    config: Config,
    source_config: Config | None,
    options: CostOptions,
) -> Training:
    *_, recipe = layout.packing(folder_of(layout, name))
    length = layout.experiment.recipes[recipe].sequence_length
    outline = Outline(config, settings.plan)
    source_rows = 0 if source_config is None else Outline(source_config).config.vocab_size
    groups = settings.plan.groups(outline)
    processes = largest_divisor(settings.batch_size, options.devices)
    free = options.number("memory")
    plain = Memory.of(outline, groups, settings, length, outline.itemsize, source_rows=source_rows)
    fitting = TOO_LARGE
    for name_of_layout, (recomputed, sharded) in LAYOUTS.items():
        if sharded and (processes == 1 or not settings.can_be_sharded):
            continue
        memory = replace(plain, recomputed=recomputed, shards=processes if sharded else 1)
        rows = memory.largest(int(free), settings.batch_size // processes) if free else 1
        if memory.step(rows) <= USED * (free or math.inf):
            fitting = name_of_layout
            break
    tokens = settings.steps * settings.batch_size * length
    own = flops_per_token(outline, groups, settings, length, source_rows=source_rows)
    heldout = tokens_held_out(layout) * len(settings.heldout_steps)
    weights = plain.parameters * outline.itemsize
    return Training(
        name, fitting, processes, rows, settings.steps, tokens,
        flops=tokens * own + heldout * operations(outline).flops(length),
        parameters=plain.parameters,
        memory=memory.step(rows),
        exports=len(settings.checkpoint_steps),
        weights=weights,
        checkpoint=weights + plain.vocabulary * TOKENIZER + CARD,
        resume_state=memory.resume_state,
    )  # fmt: skip


def tokens_held_out(layout: Layout) -> float:
    corpora = layout.experiment.corpora
    return sum(corpora[name].heldout_bytes for name in layout.heldout_corpora) / BYTES_PER_TOKEN


# --- time -----------------------------------------------------------------------------------------


def timed(layout: Layout, trainings: Sequence[Training], options: CostOptions) -> list[Training]:
    """Return trainings with their hours: without a named device as measured there, or first."""
    speeds = {item.name: options.speed for item in trainings}
    for name in speeds if options.speed is None else ():
        file = Path(folder_of(layout, name), "timing.json")
        if file.is_file():  # operations a second of one device
            timing = read_json(file)
            speeds[name] = float(timing["model_flops_per_second"] / timing["processes"])
    first = next(filter(None, speeds.values()), None)
    if first is None:
        return [*trainings]
    return [
        replace(item, hours=item.flops / (speeds[item.name] or first) / HOUR) for item in trainings
    ]


def times_of(trainings: Sequence[Training], options: CostOptions) -> dict[str, tuple[float, str]]:
    """Return device hours, time, energy and CO2; nothing where a training's time is not known."""
    hours = [item.hours for item in trainings if item.hours is not None]
    if not hours:
        return {}
    every = sum(hours)
    totals = {
        "device hours": (every, "hours"),
        "hours with all devices busy": (every / options.devices, "hours"),
    }
    if watts := options.number("watts"):
        energy = every * watts / 1000
        totals["energy"] = (energy, "kWh")
        if options.carbon is not None:
            totals["CO2"] = (energy * options.carbon / 1000, "kg CO2")
    return totals


# --- inference ------------------------------------------------------------------------------------


def modelled(layout: Layout) -> dict[str, list[str]]:
    """Return the runs or corpora for which each rule loads a model."""
    evaluated = [run.id for run in layout.evaluated()]
    return {
        "score_multiple_choice": [*filter(layout.choice_tasks, evaluated)],
        "generate_text": [*filter(layout.generation_tasks, evaluated)],
        "measure_efficiency": layout.timed,
        "measure_adoption": layout.adopting,
        "measure_heldout": layout.measured,
        "answer_prompts": layout.answered,
        "judge_answers": layout.judged,
    }


def memory_of(layout: Layout, sizes: Sizes, rule: str, name: str) -> float | None:
    """Return the bytes that a rule's job holds at once: weights as stored, or in float32 for
    held-out losses, and the keys and values of some full contexts. None: sizes are not known.
    """
    context = layout.experiment.evaluation.generation.context_length
    if rule in OF_RUNS:
        config = sizes.run(layout.runs[name])
    else:
        answers = layout.experiment.corpora[name].answers
        assert answers is not None  # or there is no such job
        model = answers.model if rule == "answer_prompts" else answers.judge_model
        config, context = sizes.referred(model) if model else None, answers.context_length
    if config is None:
        return None
    outline = Outline(config)
    if rule == "measure_heldout":
        return FLOAT * parameters_of(outline)
    numbers = parameters_of(outline) + TEXTS * context * cached_numbers(outline.config)
    return outline.itemsize * numbers


def devices_for(memory: float | None, each: float) -> int:
    """Return among how many devices of ``each`` bytes a model is divided: a power of two, since
    heads are divided evenly; 1 where the memory is not known.
    """
    count = 1
    while memory is not None and memory > USED * each * count:
        count *= 2
    return count


# --- disk -----------------------------------------------------------------------------------------


def disk_of(layout: Layout, sizes: Sizes, trainings: Sequence[Training]) -> dict[str, float]:
    """Return the bytes of weights and packed rows by stage of the workflow, without resume states;
    models in a folder are linked, and a stand-in is counted before it is trained.
    """
    fetched = [name for name, entry in layout.experiment.models.items() if not entry.path]
    models = [config for name in fetched if (config := sizes.model(name))]
    return {
        "packed rows": sum(packed_bytes(layout, sizes, *ids) for ids in packings(layout)),
        "models": sum(map(folder_bytes, models)),
        "starts of runs": sum(start_bytes(sizes, run) for run in layout.runs.values()),
        "checkpoints": sum(
            (item.exports - dropped(layout, item)) * item.checkpoint + item.steps * LOSS_LINE
            for item in trainings
        ),
    }


def packings(layout: Layout) -> Iterable[tuple[str, str, str]]:
    return dict.fromkeys(map(layout.packing, layout.trainings))


def packed_bytes(layout: Layout, sizes: Sizes, tokenizer: str, mixture: str, recipe: str) -> float:
    entry, vocabulary = layout.experiment.recipes[recipe], sizes.vocabulary(tokenizer)
    if vocabulary is None:
        return 0
    width = 2 if vocabulary <= SHORT_IDS else 4
    # Of conversations, where each begins and what is learned are packed as well.
    each = width + 2 if entry.loss == ANSWERS else width
    tokens = entry.steps * entry.batch_size * entry.sequence_length
    return tokens * each + tokens_held_out(layout) * HELDOUT


def start_bytes(sizes: Sizes, run: Run) -> float:
    if not run.made or not (config := sizes.run(run)):
        return 0
    return folder_bytes(config) + (0 if run.keeps_vocabulary else DIAGNOSTICS)


def folder_bytes(config: Config) -> float:
    outline = Outline(config)
    return parameters_of(outline) * outline.itemsize + outline.config.vocab_size * TOKENIZER + CARD


def dropped(layout: Layout, training: Training) -> int:
    return len(layout.dropped(training.name)) if training.name in layout.runs else 0


def peaks_of(
    layout: Layout, sizes: Sizes, disk: Mapping[str, float], trainings: Sequence[Training]
) -> tuple[float, float]:
    """Return the most that lies on the disk at once, and the least that it can be held to.

    The scheduler runs jobs in any order in which each has what it reads. So at the peak of a
    training all may be there that does not stand on it, and what it stands on is; when all are
    done, what ``keep`` removes may be the last to go.
    """
    first, end = disk["models"], sum(disk.values())
    removed = sum(dropped(layout, item) * item.checkpoint for item in trainings)
    most, least = end + removed, end
    #: What lies there until the end, or until ``keep`` removes it; trainings by their names.
    left: dict[Left, float] = {ids: packed_bytes(layout, sizes, *ids) for ids in packings(layout)}
    left |= {(run.id,): start_bytes(sizes, run) for run in layout.runs.values() if run.made}
    left |= {item.name: item.exports * item.checkpoint for item in trainings}
    needs = {name: stands_on(layout, name) for name in left}
    for item in trainings:
        last = item.exports
        own = max(count * item.checkpoint + item.states(count) for count in (last - 1, last))
        beside = {
            name: size
            for name, size in left.items()
            if name != item.name and item.name not in needs[name]
        }
        needed = sum(size for name, size in beside.items() if name in needs[item.name])
        most = max(most, first + own + sum(beside.values()))
        least = max(least, first + own + needed)
    return most, least


def stands_on(layout: Layout, name: Left) -> set[Left]:
    """Return the packed rows, starts of runs and trainings without which something is not made."""
    experiment, found = layout.experiment, set[Left]()

    def of_model(model: ModelReference | None) -> Iterator[Left]:
        if model is None:
            return
        if not isinstance(model, str):
            yield from of_run(model.run)
        elif experiment.models[model].pretrain:
            yield f"{OF_MODEL}{model}"
        elif change := experiment.models[model].change():
            yield from of_model(change[1].model)

    def of_run(run: str) -> Iterator[Left]:
        entry = layout.runs[run]
        yield from [run] if entry.trains else [(run,)] if entry.made else of_model(entry.source)

    def direct(name: Left) -> Iterator[Left]:
        if isinstance(name, str):
            yield layout.packing(folder_of(layout, name))
            yield from [(name,)] if name in layout.runs else ()
        elif len(name) == 1:
            run = layout.runs[name[0]]
            yield from of_model(None if run.start else run.source)
            yield from of_model(run.helper)
            for other in filter(None, (run.start, run.donor)):
                yield from of_run(other[0])
        else:
            for corpus in job_options.packing(layout, *name[1:]).shares:
                if answers := experiment.corpora[corpus].answers:
                    yield from of_model(answers.model)

    waiting = [*direct(name)]
    while waiting:
        if (needed := waiting.pop()) not in found:
            found.add(needed)
            waiting += direct(needed)
    return found
