"""``revocab preflight``: what may go wrong in a training of days, tried in minutes before it."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revocab.errors import RevocabError
from revocab.flags import Parser
from revocab.io import read_json, write_json
from revocab.plan.plan import Plan
from revocab.plan.show import add_experiment, flags_of, planned
from revocab.rule import Artefact, Step
from revocab.training.run import Settings
from revocab.workflow.launch import described, nodes_and_tasks, rehearsed, resources_of
from revocab.workflow.rehearsal import Rehearsal, step_of
from revocab.workflow.status import duration

if TYPE_CHECKING:
    from revocab.training.estimates import TrainingEstimate

#: Steps, if not asked for.
STEPS = 20


def preflight(words: Sequence[str]) -> str:
    """Return the report of ``RUN [--configfile FILE …] [--profile FOLDER] [--steps N] …``.

    Raises :class:`RevocabError` for a run that is not trained, for inputs that are not made yet,
    and for whatever fails, with the end of the log; its folder is then kept.
    """
    arguments = parser().parse_args(words)
    plan = planned(arguments)
    if arguments.run not in plan.trained:
        known = ", ".join(plan.trained) or "none"
        raise RevocabError(f"{arguments.run!r}: not a run that is trained (trained here: {known})")
    if arguments.steps < 2:
        raise RevocabError(f"--steps: {arguments.steps}; give 2 or more, half come before the kill")
    check_inputs(plan, arguments.run, flags_of(arguments.configfile, arguments.config))

    def resources(rule: str) -> Mapping[str, Any]:
        return resources_of(arguments.profile, rule) if arguments.profile else {}

    step = plan.step("adapt_model", run=arguments.run)
    asked = settings_of(step).usable(dict(resources("adapt_model")))
    lines = [f"preflight of {arguments.run}", *estimate_lines(estimate_of(step, asked))]
    if arguments.estimate:
        return "\n".join(lines)
    tried = rehearsed(asked, os.environ)
    check_devices(tried)
    scratch = scratch_folder(arguments.run, arguments.scratch, nodes_and_tasks(tried)[0])
    lines += started_lines(asked, tried)
    total = settings_of(step).steps
    steps = max(2, min(arguments.steps, total) // 2 * 2)
    rehearsal = Rehearsal(
        plan, arguments.run, scratch, steps, steps == total,
        lambda rule: tried if rule == "adapt_model" else resources(rule),
    )  # fmt: skip
    try:
        for part in (rehearsal.kill, rehearsal.resume, rehearsal.score, rehearsal.generate):
            lines += timed(part)
        timing = read_json(rehearsal.out / "timing.json")
        lines += measured_lines(plan, step, timing, tried)
    except RevocabError as error:
        raise RevocabError([*error.problems, f"passed before: {'; '.join(lines[1:])}"]) from None
    write_json(record := plan.paths.preflight(arguments.run), timing)
    shutil.rmtree(scratch)
    lines.append(line("", f"kept in {record}; revocab plan counts with this speed"))
    return "\n".join(lines)


def parser() -> Parser:
    made = Parser(prog="revocab preflight", description=__doc__)
    made.add_argument("run", help="id of a run that is trained")
    made.add_argument("--profile", type=Path, metavar="FOLDER", help="what training is given")
    made.add_argument("--steps", type=int, default=STEPS, help=f"steps (default: {STEPS})")
    made.add_argument(
        "--scratch", type=Path, metavar="FOLDER",
        help="where a folder is made for it, and removed if all passes (default: as TMPDIR says)",
    )  # fmt: skip
    made.add_argument("--estimate", action="store_true", help="print the estimate, run nothing")
    add_experiment(made)
    return made


def check_inputs(plan: Plan, run: str, flags: Sequence[str]) -> None:
    """Raise :class:`RevocabError` naming what has to be made first, and how."""
    asked = []
    for rule, name in (("score_multiple_choice", "tasks"), ("generate_text", "prompts")):
        if step := step_of(plan, rule, run):
            asked += step.files()[name][:1]
    training = plan.step("adapt_model", run=run).files()
    needed = [file for files in training.values() for file in files]
    missing = [file for file in [*needed, *asked] if not Path(file).exists()]
    if missing:
        command = " ".join(["revocab run --cores N", *flags, "--", *missing])
        raise RevocabError(f"{', '.join(missing)}: not there yet; make them first: {command}")


def timed(part: Callable[[], str | None]) -> list[str]:
    begin = time.perf_counter()
    done = part()
    return [line("passed", f"{done} ({duration(time.perf_counter() - begin)})")] if done else []


def line(name: str, text: str) -> str:
    return f"  {name:<11}{text}"


def size(number: float) -> str:
    for unit in ("B", "kB", "MB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:,.1f} GB"


def settings_of(step: Step) -> Settings:
    assert isinstance(step.job, Settings)
    return step.job


def estimate_of(step: Step, resources: Mapping[str, Any]) -> TrainingEstimate:
    import torch

    from revocab.models.shape import load_shape
    from revocab.training.adapters.lora import Adapters
    from revocab.training.estimates import estimate
    from revocab.training.outputs.checkpoints import stored_dtype

    model, packed = step.inputs["model"], step.inputs["packed"]
    assert isinstance(model, Artefact) and isinstance(packed, Artefact)
    settings, shape = settings_of(step), load_shape(model.path)
    with torch.device("meta"):
        Adapters(shape, settings.plan, settings.seed)
    free = torch.cuda.mem_get_info()[0] if torch.cuda.is_available() else None
    length = read_json(f"{packed.path}/manifest.json")["sequence_length"]
    processes = math.prod(nodes_and_tasks(resources))
    dtype = stored_dtype(Path(model.path))
    source = step.inputs.get("source")
    read = load_shape(source.path) if isinstance(source, Artefact) else None
    return estimate(shape, dtype, settings, length, resources, processes, free, read)


def scratch_folder(run: str, parent: Path | None, nodes: int) -> Path:
    if parent is None and nodes > 1:
        raise RevocabError(f"--scratch: give a folder that all {nodes} nodes see")
    if parent is not None:
        parent.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=f"preflight-{run}-", dir=parent))


def check_devices(resources: Mapping[str, Any]) -> None:
    """Raise :class:`RevocabError` if this machine has GPUs, but fewer than a training asks for."""
    import torch

    nodes, tasks = nodes_and_tasks(resources)
    there = torch.cuda.device_count()
    if nodes == 1 and 0 < there < tasks:
        raise RevocabError(
            f"the profile gives a training {tasks} GPUs of a node, but there are {there} here; run"
            " revocab preflight on a machine that has them, or with a profile for this one"
        )


def started_lines(asked: Mapping[str, Any], tried: Mapping[str, Any]) -> list[str]:
    lines = [line("processes", described(tried))]
    nodes = nodes_and_tasks(asked)[0]
    if nodes_and_tasks(tried)[0] == nodes:
        return lines
    return [
        *lines,
        line("not tried", f"{nodes} nodes: times are those of one; start revocab preflight within"),
        line("", "an allocation of them (salloc; docs/machines.md shows how) to try all"),
    ]


def estimate_lines(estimate: TrainingEstimate) -> list[str]:
    disk = f"{size(estimate.checkpoints)} of checkpoints, {size(estimate.states)} of resume states"
    return [
        line("estimated", f"{estimate.tokens:,} tokens, {estimate.flops:.2e} operations"),
        line("", f"memory of a device {size(estimate.memory)}, micro batch {estimate.micro_batch}"),
        line("", f"disk {size(estimate.disk)}: {disk}"),
    ]


def measured_lines(
    plan: Plan, step: Step, timing: Mapping[str, Any], resources: Mapping[str, Any]
) -> list[str]:

    settings = settings_of(step)
    minutes = float(resources.get("state_minutes") or 1)
    whole = whole_seconds(settings, timing, minutes)
    memory = {"host": timing["peak_memory_bytes"], "device": timing["peak_device_memory_bytes"]}
    peaks = [f"{name} {size(value)}" for name, value in memory.items() if value]
    lines = [
        line(
            "measured",
            f"{timing['tokens_per_second']:,.0f} tokens per second,"
            f" {timing['processes']} x {timing['device'].partition(':')[0]}",
        ),
        line("", f"memory: {', '.join(peaks)}, micro batch {timing['micro_batch']}"),
        line("in all", f"{duration(whole)} for this run, at the speed of its first steps"),
    ]
    others = [settings_of(plan.step("adapt_model", run=run)) for run in plan.trained]
    rows = sum(other.steps * other.batch_size for other in others)
    every = whole * rows / (settings.steps * settings.batch_size)
    return [
        *lines,
        line("", f"{duration(every)} for all {len(others)} trainings, if they are alike"),
    ]


def whole_seconds(settings: Settings, timing: Mapping[str, Any], state_minutes: float) -> float:
    """Return the seconds of a whole training, from what one process measured (``timing.json``).

    States are saved at checkpoints and every ``state_minutes``.
    """

    def each(name: str, number: str) -> float:
        return timing[f"{name}_seconds"] / timing[number] if timing[number] else 0.0

    training = settings.steps * each("training", "steps")
    checkpoints = len(settings.checkpoint_steps)
    states = checkpoints + training / (60 * state_minutes)
    return (
        training
        + checkpoints * each("export", "exports")
        + len(settings.heldout_steps) * each("evaluation", "evaluations")
        + states * each("state", "states")
    )
