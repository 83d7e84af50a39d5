"""``revocab plan``: the bill of an experiment, from its file alone, before anything runs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence

from revocab.bill.amounts import short
from revocab.bill.bill import Bill, bill_of
from revocab.bill.device import BillOptions, told
from revocab.closed import plain
from revocab.command import of_flags
from revocab.config.checks import all_warnings
from revocab.flags import Parser, add_flag, leaves, value_of
from revocab.plan.given import add_experiment, planned


def plan(words: Sequence[str]) -> str:
    """Return the bill of ``--configfile FILE … [--gpu NAME] …``, as text or JSON.

    Raises :class:`RevocabError` for a device that is not known, and for what ``read`` refuses.
    """
    arguments = parser().parse_args(words)
    fields = dict(leaves(BillOptions))
    values = {
        key: value_of(key, plain(field.annotation), getattr(arguments, key))
        for key, field in fields.items()
        if hasattr(arguments, key)
    }
    options = of_flags(BillOptions, values)
    plan_shown = planned(arguments)
    for warning in all_warnings(plan_shown.experiment):
        print(f"warning: {warning}", file=sys.stderr)
    bill = bill_of(plan_shown, options)
    if arguments.json:
        return json.dumps(bill.as_json(), indent=2)
    return "\n".join(lines_of(bill, options, explain=arguments.explain))


def parser() -> Parser:
    made = Parser(
        prog="revocab plan FILE.yaml",
        description="Print what an experiment costs, from its file alone, before anything runs.",
        allow_abbrev=False,
    )
    for key, field in leaves(BillOptions):
        add_flag(made, key, field)
    made.add_argument("--explain", action="store_true", help="print the formula of every number")
    made.add_argument("--json", action="store_true", help="print JSON")
    add_experiment(made)
    return made


def lines_of(bill: Bill, options: BillOptions, *, explain: bool) -> Iterator[str]:
    yield f"{bill.experiment}: {told(options)}"
    if bill.trainings:
        yield from table(bill)
    yield from inference_lines(bill)
    for amount in (*bill.disk, *bill.totals.values()):
        yield f"  {amount.name:<28}{short(amount.value, amount.unit)}"
    if bill.stated:
        yield "beside what the paper states:"
        yield from (f"  {entry.told()}" for entry in bill.stated)
    if explain:
        for training in bill.trainings:
            yield f"{training.name}:"
            yield from (f"  {amount.told()}" for amount in training.amounts.values())
        yield "in all:"
        memories = [memory for memory, _ in bill.inference]
        amounts = (*bill.hours.values(), *memories, *bill.disk, *bill.totals.values())
        yield from (f"  {amount.told()}" for amount in amounts)
    for title, entries in (
        ("assumed:", bill.assumed),
        ("unknown, counted as zero:", bill.unknown),
        ("notes:", bill.notes),
    ):
        if entries:
            yield title
            yield from (f"  {name}: {why}" for name, why in entries.items())


def inference_lines(bill: Bill) -> Iterator[str]:
    """Yield the most memory of a job of inference, and which jobs need several devices."""
    memories = [memory for memory, _ in bill.inference]
    if memories:
        most = max(memories, key=lambda memory: memory.value)
        yield f"  {'memory of inference':<28}{short(most.value, 'B')} at most ({most.name})"
    counts = sorted({devices for _, devices in bill.inference if devices and devices > 1})
    for count in counts:
        names = [memory.name for memory, devices in bill.inference if devices == count]
        jobs = ", ".join(name.removeprefix("memory of ") for name in names)
        yield f"  {f'on {count} devices':<28}{jobs}"


def table(bill: Bill) -> Iterator[str]:
    width = max(len(training.name) for training in bill.trainings) + 2
    heads = ("tokens", "FLOP", "device h", "memory", "rows", "checkpoints", "a state")
    yield f"  {'training':<{width}}" + "".join(f"{head:>13}" for head in heads)
    for training in bill.trainings:
        amounts, hours = training.amounts, bill.hours.get(training.name)
        cells = [
            short(amounts["tokens"].value, ""),
            short(training.flops, ""),
            f"{hours.value:,.3g}" if hours else "-",
            short(amounts["memory"].value, "B"),
            str(training.micro_batch),
            short(amounts["checkpoints"].value, "B"),
            short(amounts["a resume state"].value, "B"),
        ]
        line = f"  {training.name:<{width}}" + "".join(f"{cell.strip():>13}" for cell in cells)
        yield f"{line}  {training.layout}".rstrip()
