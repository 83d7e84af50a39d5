"""``revocab plan``: what an experiment costs, from its file alone, before anything runs."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from json import dumps
from pathlib import Path

from pydantic import Field

from revocab.costs.devices import known, short
from revocab.costs.experiment import LEAST, TOO_LARGE, CostOptions, Costs, costs_of
from revocab.experiment import read
from revocab.experiment.check_tasks import unasked_layouts
from revocab.experiment.layout import Layout
from revocab.verb import verb


@verb()
def plan(
    configfile: list[Path] = Field(
        default=[Path("config/demos/demo.yaml")], description="an experiment file and its overlays"
    ),
    *,
    config: dict[str, str] = Field(default_factory=dict, description="replace keys of the file"),
    as_json: bool = Field(default=False, alias="json", description="print JSON"),
    options: CostOptions,
) -> str:
    """Print what an experiment costs, from its file alone, before anything runs."""
    layout = Layout(read(*configfile, **config))
    for warning in unasked_layouts(layout.experiment):
        print(f"warning: {warning}", file=sys.stderr)
    costs = costs_of(layout, options)
    if as_json:
        return dumps(costs.as_json(), indent=2)
    return "\n".join(lines_of(costs, options))


def lines_of(costs: Costs, options: CostOptions) -> Iterator[str]:
    peak, memory = options.number("peak"), options.number("memory")
    device = "no device is named: give --gpu NAME, or --peak; times are those measured here"
    if peak is not None:
        source = known("devices")[options.gpu]["source"] if options.gpu else "as given"
        numbers = [f"{short(peak, 'FLOP/s')} x {options.utilisation:g}", f"{options.devices} of it"]
        numbers += [short(memory, "B")] if memory else []
        device = f"{options.gpu or 'a device'} ({', '.join(numbers)}; {source})"
    yield f"{costs.experiment}: {device}"
    if costs.trainings:
        width = max(len(training.name) for training in costs.trainings) + 2
        heads = ("tokens", "FLOP", "device h", "memory", "rows", "checkpoints", "a state")
        yield f"  {'training':<{width}}" + "".join(f"{head:>13}" for head in heads)
        for item in costs.trainings:
            cells = [
                short(item.tokens, ""),
                short(item.flops, ""),
                "-" if item.hours is None else short(item.hours, "hours").removesuffix(" hours"),
                short(item.memory, "B"),
                str(item.micro_batch),
                short(item.exports * item.weights, "B"),
                short(item.resume_state, "B"),
            ]
            line = f"  {item.name:<{width}}" + "".join(f"{cell.strip():>13}" for cell in cells)
            yield f"{line}  {item.layout}".rstrip()
    if costs.inference:
        job, (most, _) = max(costs.inference.items(), key=lambda item: item[1][0])
        yield f"  {'memory of inference':<28}{short(most, 'B')} at most ({job})"
    for count in sorted({count for _, count in costs.inference.values() if count and count > 1}):
        jobs = [job for job, (_, devices) in costs.inference.items() if devices == count]
        yield f"  {f'on {count} devices':<28}{', '.join(jobs)}"
    stages = {name: (size, "B") for name, size in costs.disk.items()}
    for name, (value, unit) in {**stages, **costs.totals}.items():
        yield f"  {name:<28}{short(value, unit)}"
    for title, entries in (("at most:", costs.assumed),
                           ("unknown, counted as zero:", costs.unknown)):  # fmt: skip
        if entries:
            yield title
            yield from (f"  {name}: {why}" for name, why in entries.items())


def machine_problems(layout: Layout) -> tuple[list[str], list[str]]:
    """Return a problem if the disk has less free than the least that the experiment needs, and a
    notice for each training too large for the GPUs here: a profile may start it elsewhere.
    """
    import torch

    count = torch.cuda.device_count()
    memory = torch.cuda.get_device_properties(0).total_memory if count else None
    costs = costs_of(layout, CostOptions(memory=memory, devices=count or 1))
    due, free = costs.totals[LEAST][0], shutil.disk_usage(".").free
    text = f"disk: {short(free, 'B')} free, of at least {short(due, 'B')} needed (revocab plan)"
    return [text] if due > free else [], [
        f"memory: {item.name} needs {short(item.memory, 'B')} a device, of which {count} have"
        f" {short(memory, 'B')}"
        for item in costs.trainings
        if memory and item.layout == TOO_LARGE
    ]
