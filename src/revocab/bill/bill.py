"""The bill of an experiment: of each training, of inference and the disk, and in all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import Field

from revocab import yaml_file
from revocab.bill.amounts import KILO, Amount, device_hours, short, total
from revocab.bill.device import BillOptions, speed_of
from revocab.bill.disk import disk_of, peaks_of
from revocab.bill.inference import ITEMS, inference_of
from revocab.bill.serving import devices_for, serving_of
from revocab.bill.sizes import Sizes
from revocab.bill.trainings import Training, hours_of, trainings_of
from revocab.closed import Closed, OneLine, checked
from revocab.errors import RevocabError, refuse
from revocab.plan.plan import Plan

#: What a paper states of its costs, as data with the place, beside its other values.
FILE = "costs.yaml"


class Statement(Closed):
    """A cost that a paper states; without a ``value``, it does not state it."""

    what: OneLine = Field(description="name of the number in a bill, such as device hours")
    value: Annotated[float, Field(gt=0)] | None = None
    unit: OneLine
    where: OneLine
    note: OneLine | None = None


class Statements(Closed):
    """The file of a paper's costs."""

    costs: list[Statement]


@dataclass(frozen=True)
class Compared:
    """A statement with what is counted; None where the bill has no such number."""

    statement: Statement
    counted: float | None

    @property
    def difference(self) -> float | None:
        stated = self.statement.value
        return None if stated is None or self.counted is None else self.counted / stated - 1

    def told(self) -> str:
        stated = self.statement
        theirs = "not stated" if stated.value is None else short(stated.value, stated.unit)
        ours = "no" if self.counted is None else short(self.counted, stated.unit)
        apart = "" if self.difference is None else f" ({self.difference:+.0%})"
        note = f"; {stated.note}" if stated.note else ""
        return f"{stated.what}: {theirs} ({stated.where}); counted: {ours}{apart}{note}"


@dataclass(frozen=True)
class Bill:
    """What an experiment costs; what is assumed, or counted as nothing, is listed."""

    experiment: str
    trainings: list[Training]
    #: Device hours of each training; none where no device is named and nothing was measured.
    hours: Mapping[str, Amount]
    #: Memory of each job that runs a model and trains none, and among how many devices.
    inference: list[tuple[Amount, int | None]]
    disk: list[Amount]
    #: Of the whole experiment, by name.
    totals: Mapping[str, Amount]
    stated: list[Compared]
    assumed: Mapping[str, str]
    unknown: Mapping[str, str]
    notes: Mapping[str, str]

    def as_json(self) -> dict[str, Any]:
        return {
            "experiment": self.experiment,
            "trainings": {
                training.name: {
                    **{name: told(amount) for name, amount in training.amounts.items()},
                    "micro_batch": training.micro_batch,
                    "processes": training.processes,
                    "layout": training.layout,
                    "device hours": told(self.hours.get(training.name)),
                }
                for training in self.trainings
            },
            "inference": {
                amount.name: {"memory": told(amount), "devices": devices}
                for amount, devices in self.inference
            },
            "disk": {amount.name: told(amount) for amount in self.disk},
            "totals": {name: told(amount) for name, amount in self.totals.items()},
            "stated": [
                {**entry.statement.model_dump(), "counted": entry.counted,
                 "difference": entry.difference}
                for entry in self.stated
            ],
            "assumed": dict(self.assumed),
            "unknown": dict(self.unknown),
            "notes": dict(self.notes),
        }  # fmt: skip


def told(amount: Amount | None) -> dict[str, Any] | None:
    if amount is None:
        return None
    return {"value": amount.value, "unit": amount.unit, "formula": amount.formula}


def bill_of(plan: Plan, options: BillOptions) -> Bill:
    """Return the bill; raise :class:`RevocabError` for ids in ``options`` that the file has not."""
    sizes = Sizes(plan, options.shape, options.vocabulary)
    trainings = list(trainings_of(plan, sizes, options))
    hours = hours_of(plan, trainings, options)
    inferred = list(inference_of(plan, sizes))
    each = options.stated("memory")
    serving = [
        (memory, devices_for(memory, each) if each else None) for memory in serving_of(plan, sizes)
    ]
    disk = disk_of(plan, sizes, trainings)
    amounts = [
        total("tokens of training", [training.amounts["tokens"] for training in trainings]),
        total(
            "FLOP of training",
            [Amount(training.name, "FLOP", [[training.flops]]) for training in trainings],
        ),
        total("tokens of inference", [tokens for tokens, _ in inferred]),
        total("FLOP of inference", [flops for _, flops in inferred]),
        total("disk at the end", disk),
        *peaks_of(plan, sizes, disk, trainings),
    ]
    totals = {amount.name: amount for amount in amounts if amount.unit}
    totals |= {amount.name: amount for amount in times(totals, hours, len(trainings), options)}
    stated = list(compared(plan.experiment.paper_values, totals))
    for key in dict.fromkeys(sizes.untold.values()):
        tasks = [task for task, asked in sizes.untold.items() if asked == key]
        sizes.assumed[f"{ITEMS:,} items of each of {', '.join(tasks)}"] = f"give {key}"
    return Bill(
        plan.experiment.experiment, trainings, hours, serving, disk, totals, stated,
        sizes.assumed, sizes.unknown, sizes.notes,
    )  # fmt: skip


def times(
    totals: Mapping[str, Amount], hours: Mapping[str, Amount], trainings: int, options: BillOptions
) -> list[Amount]:
    """Return device hours, time, energy and CO2; nothing where a training's time is not known."""
    if not hours or len(hours) < trainings:
        return []
    parts = [total("device hours of training", hours.values())]
    speed = speed_of(options) or next(iter(hours.values())).over[:-1]  # but for seconds an hour
    if "FLOP of inference" in totals:
        flops = totals["FLOP of inference"].value
        parts.append(device_hours("device hours of inference", flops, speed))
    every = total("device hours", parts)
    busy, devices = [[(every.value, "hours")]], [(options.devices, "devices")]
    amounts = [*parts, every, Amount("hours with all devices busy", "hours", busy, devices)]
    watts = options.stated("watts")
    if watts:
        used = Amount("energy", "kWh", [[(every.value, "hours"), (watts, "W")]], [KILO])
        amounts.append(used)
        if options.carbon is not None:
            emitted = [[(used.value, "kWh"), (options.carbon, "g")]]
            amounts.append(Amount("CO2", "kg CO2", emitted, [KILO]))
    return amounts


def stated_by(folder: str | None) -> list[Statement]:
    """Return what the paper of a folder states; nothing where there is no such file."""
    file = Path(folder or "", FILE)
    if folder is None or not file.is_file():
        return []
    try:
        value, problems = yaml_file.read(file)
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise RevocabError(f"{file}: not valid YAML ({' '.join(str(error).split())})") from None
    refuse(problems)
    return checked(Statements, value, f"{file}: ").costs


def compared(folder: str | None, counted: Mapping[str, Amount]) -> Iterator[Compared]:
    for statement in stated_by(folder):
        amount = counted.get(statement.what)
        yield Compared(statement, amount.value if amount else None)
