"""Held-out losses of runs by language and step: per byte, or per token of a reference tokenizer;
and how far a training has come at each step.

Loss per token cannot be compared between tokenizers, since they cut the same text into different
numbers of tokens. The nats of the whole text can: divided by its bytes they give bits per byte,
divided by the tokens of one reference tokenizer a loss in the unit of that tokenizer (L times
N / N_reference, as in appendix B of Gosal et al.). Both rank models alike.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

from revocab.closed import Step
from revocab.io import number, read_json
from revocab.report.annotations import Results, Run


def heldout_curve(
    results: Results,
    run: Run,
    language: str,
    reference: str | None = None,
    *,
    answers: bool = False,
) -> dict[int, float]:
    """Return the loss on all held-out text of a language by step, ascending. Answers in
    conversations do not count, or with ``answers`` they alone. In bits per byte; with
    ``reference``, in nats per token of that tokenizer on the same text. A step at which a text has
    no loss, or no count of tokens, is left out.
    """
    # The length of windows changes no count. Bytes are part of the key, so that counts of another
    # text, left in the folder, are not taken.
    files = results.root.glob(f"heldout/{reference}--*/manifest.json") if reference else ()
    counts = {
        (corpus, count["bytes"]): count["tokens"]
        for file in sorted(files)
        for corpus, count in read_json(file)["corpora"].items()
    }
    sums: dict[int, list[float]] = {}
    corpora = results.experiment.corpora
    for row in results.heldout(run)[0]:
        in_conversations = row["corpus"] in corpora and corpora[row["corpus"]].holds_conversations
        if row["language"] != language or in_conversations != answers:
            continue
        bits = math.nan if row["bits_per_byte"] is None else row["bits_per_byte"]
        size = counts.get((row["corpus"], row["bytes"]), math.nan) if reference else row["bytes"]
        total = sums.setdefault(row["step"], [0.0, 0.0])
        total[0] += bits * row["bytes"]
        total[1] += size
    unit = math.log(2) if reference else 1.0
    losses = {step: bits * unit / size for step, (bits, size) in sorted(sums.items()) if size}
    return {step: loss for step, loss in losses.items() if not math.isnan(loss)}


def loss_at(run: Run, curve: Mapping[int, float], step: Step) -> float | None:
    """Return a run's loss at a step; None if it has none there. A number may be a step at which
    only held-out loss was measured. A run that is not trained has step 0, whatever is wanted.
    """
    if isinstance(step, int) and run.trains:
        return curve.get(step)
    return next((curve[at] for at in run.select([step]) if at in curve), None)


Progress = Literal["steps", "bytes", "flops"]


def training_progress(results: Results, run: Run, over: Progress) -> dict[int, float]:
    """Return how far each step of a run is, 0 included: steps, megabytes, or 10¹² operations. Bytes
    are those of the tokens trained on: tokens times loss per token over loss per byte, which of
    each stage is its own ratio. Operations are those of a token, which ``timing.json`` records as a
    mean over all steps, times tokens; a run without that record has step 0 alone.
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
