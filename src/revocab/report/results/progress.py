"""How far a training has come at each of its steps: in steps, bytes of text, or operations."""

from __future__ import annotations

import math
from typing import Literal

from revocab.io import number
from revocab.report.annotations import Results, Run

Progress = Literal["steps", "bytes", "flops"]


def training_progress(results: Results, run: Run, over: Progress) -> dict[int, float]:
    """Return how far each step of a run is, 0 included: steps, megabytes, or 10¹² operations.

    Bytes are those of the tokens trained on: tokens times loss per token over loss per byte, which
    of each stage is its own ratio. Operations are those of a token, which ``timing.json`` records
    as a mean over all steps, times tokens; a run without that record has step 0 alone.
    """
    places, seen, before = {0: 0.0}, 0.0, 0
    first = results.replicates(run)[0]  # all of them have the same rows
    timing = results.json("runs", first.id, "timing.json") if over == "flops" else None
    each = (timing or {}).get("flops_per_token")
    for row in results.csv("runs", first.id, "losses.csv"):
        step, tokens = int(row["step"]), int(row["tokens"])
        if over == "bytes":
            loss, bits = number(row["loss"]), number(row["bits_per_byte"])
            seen += (tokens - before) * loss / (bits * math.log(2)) if loss and bits else 0.0
            before = tokens
            places[step] = seen / 1e6
        elif over == "steps":
            places[step] = float(step)
        elif each is not None:
            places[step] = tokens * each / 1e12
    return places
