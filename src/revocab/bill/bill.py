"""The bill of an experiment: of each training, of inference and the disk, and in all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from revocab.bill.amounts import Amount, carbon, device_hours, energy, total
from revocab.bill.device import BillOptions, speed_of
from revocab.bill.disk import disk_of
from revocab.bill.inference import inference_of
from revocab.bill.peak import peaks_of
from revocab.bill.sizes import Sizes
from revocab.bill.stated import Compared, compared
from revocab.bill.trainings import Training, hours_of, trainings_of
from revocab.plan.plan import Plan


@dataclass(frozen=True)
class Bill:
    """What an experiment costs; what is not known is listed, and counted as nothing."""

    experiment: str
    trainings: list[Training]
    #: Device hours of each training; none where no device is named and nothing was measured.
    hours: Mapping[str, Amount]
    disk: list[Amount]
    #: Of the whole experiment, by name.
    totals: Mapping[str, Amount]
    stated: list[Compared]
    unknown: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {
            "experiment": self.experiment,
            "trainings": {
                training.name: {
                    **{name: told(amount) for name, amount in training.amounts.items()},
                    "micro_batch": training.micro_batch,
                    "processes": training.processes,
                    "layout": training.layout,
                    "device hours": told(self.hours[training.name])
                    if training.name in self.hours
                    else None,
                }
                for training in self.trainings
            },
            "disk": {amount.name: told(amount) for amount in self.disk},
            "totals": {name: told(amount) for name, amount in self.totals.items()},
            "stated": [
                {**entry.statement.model_dump(), "counted": entry.counted,
                 "difference": entry.difference}
                for entry in self.stated
            ],
            "unknown": dict(self.unknown),
            "notes": dict(self.notes),
        }  # fmt: skip


def told(amount: Amount) -> dict[str, Any]:
    return {"value": amount.value, "unit": amount.unit, "formula": amount.formula}


def bill_of(plan: Plan, options: BillOptions) -> Bill:
    """Return the bill; raise :class:`RevocabError` for ids in ``options`` that the file has not."""
    sizes = Sizes(plan, options.shape, options.vocabulary)
    trainings = list(trainings_of(plan, sizes, options))
    hours = hours_of(plan, trainings, options)
    inferred = list(inference_of(plan, sizes))
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
        sizes.unknown[f"items of {', '.join(tasks)}"] = f"give {key}"
    return Bill(
        plan.experiment.experiment, trainings, hours, disk, totals, stated,
        sizes.unknown, sizes.notes,
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
    wall: Amount = Amount(
        "hours with all devices busy", "hours",
        [[(every.value, "hours")]], [(options.devices, "devices")],
    )  # fmt: skip
    amounts = [*parts, every, wall]
    watts = options.stated("watts")
    if watts:
        amounts.append(energy("energy", every.value, watts))
        if options.carbon is not None:
            amounts.append(carbon("CO2", amounts[-1].value, options.carbon))
    return amounts
