"""The page of ``benchmarks/gpu.py``: its records as tables of Markdown."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter


def gib(count):
    return f"{count / 2**30:.2f}"


def share(value):
    return "" if value is None else f"{value:.1%}"


def training(record):
    for way in ("ours", "plain"):
        row = {"model": record["of"], "trained": "new rows" if record["new_rows_alone"] else "all"}
        own, whole = record[way], record if way == "ours" else {}
        if own is None:
            yield {**row, "by": way, "tokens/s": "out of memory"}
            continue
        yield {
            **row,
            "by": way,
            "tokens/s": f"{own['tokens_per_second']:,.0f}",
            "ours / plain": f"{whole['ratio']:.3f}" if "ratio" in whole else "",
            "of the measured peak": share(whole.get("share_of_measured_peak")),
            "of the data sheet's": share(whole.get("share_of_data_sheet_peak")),
            "peak GiB": gib(own["peak_memory_bytes"]),
            "micro batch": f"{own['micro_batch']} of {record['rows']}",
            "activations": "computed again" if own["recomputed"] else "kept",
        }


def initialisation(record):
    (rows, width), (target, _) = record["source"], record["helper"]
    for own in record["methods"]:
        yield {
            "model": record["of"],
            "method": own["method"],
            "from": f"{rows:,} x {width:,}",
            "to": f"{target:,} rows, {record['new']:,} new",
            "on": own["on"],
            "seconds": f"{own['seconds']:.2f}",
            "GiB": gib(own["memory"]),
        }


def serving(record):
    for own in (record["before"], record["after"]):
        row = {"model": record["of"], "vocabulary": f"{own['vocabulary']:,}"}
        for what in ("scoring", "generation"):
            row[f"{what}, tokens/s"] = f"{own[what]['tokens_per_second']:,.0f}"
            row[f"{what}, head"] = share(own[what]["head_share"])
            row[f"{what}, peak GiB"] = gib(own[what]["peak_memory_bytes"])
        yield row


def longer(record):
    for corpus, rows in groupby(sorted(record["heldout_bits_per_byte"]), itemgetter(0)):
        _, first, *_, last = [corpus, *(bits for _, _, bits in rows)]
        yield {
            "run": record["of"],
            "held-out text": corpus,
            "bits per byte at 0": f"{first:.3f}",
            "at the end": f"{last:.3f}",
            "tokens": f"{record['times']} times",
            "tokens/s": f"{record['timing']['tokens_per_second']:,.0f}",
        }


SECTIONS = {
    "training": (
        training,
        "Training: random weights and tokens, packed rows, bfloat16. `ours` is the package's"
        " trainer; `plain` a loop of torch: float32 weights under autocast, full logits, fused"
        " AdamW.",
    ),
    "initialisation": (
        initialisation,
        "Initialisation: one matrix of random values, memory beside the inputs.",
    ),
    "serving": (
        serving,
        "Scoring and generation: transformers, bfloat16, random weights, before and after a new"
        " vocabulary. The head is its product, and in scoring the log-softmax. That the same text"
        " has fewer tokens comes on top.",
    ),
    "longer": (longer, "The trainings of the experiment, on more text."),
}


def table(rows):
    heads = list(max(rows, key=len))
    lines = [heads, ["---"] * len(heads), *([row.get(head, "") for head in heads] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def page(records):
    """Return the page of a folder's records."""
    lines = ["# Measured by benchmarks/gpu.py"]
    done = [record for record in records if record["status"] == "measured"]
    for record in done:
        if record["kind"] == "device":
            sheet = record["data_sheet_peak"]
            lines += [
                f"    {record['command']}",
                f"{record['device']}, torch {record['torch']}, transformers"
                f" {record['transformers']}, Python {record['python']}. Peak in bfloat16:"
                f" {record['measured_peak'] / 1e12:,.2f} TFLOP/s ({record['measured_how']})"
                + (f", {sheet / 1e12:,.0f} ({record['data_sheet']})." if sheet else ".")
                + ("" if record["cuda"] else " Seconds are the processor's."),
            ]
    for kind, (rows_of, note) in SECTIONS.items():
        rows = [
            {**row, "device": record["device"]}
            for record in done
            if record["kind"] == kind
            for row in rows_of(record)
        ]
        lines += [note, table(rows)] if rows else []
    without = [
        {"part": record["part"], "outcome": record["status"], "why": record["reason"]}
        for record in records
        if record["status"] != "measured"
    ]
    lines += ["Not measured:", table(without)] if without else []
    return "\n\n".join(lines) + "\n"
