"""What an option may be at most, in one place: each ceiling is far above any use, and low enough
that listing, planning or generating as much does not take a machine down.
"""

from __future__ import annotations

from typing import Any, NamedTuple

#: Each is planned, has a row in tables, and several jobs of the workflow.
RUNS = 1_000
#: Of one training, and of all runs: each is listed in records, and may be scored.
CHECKPOINTS = 10_000
ALL_CHECKPOINTS = 1_000_000
#: Of one training: each is listed, and costs a pass over the held-out text.
HELDOUT_LOSSES = 100_000


class Ceiling(NamedTuple):
    """The largest value of some options, and why."""

    most: int
    why: str
    options: tuple[str, ...]


CEILINGS = (
    Ceiling(2**62, "generators of random numbers take 64 bits", ("seed", "seeds", "fit_seed")),
    Ceiling(10**14, "there is no more text", ("tokens", "hold", "rows", "stages")),
    Ceiling(10**15, "there is no more text", ("limit_bytes", "heldout_bytes")),
    Ceiling(10**8, "no training is as long", ("steps",)),
    Ceiling(
        10**7,
        "no vocabulary is as large",
        ("vocabulary_size", "size", "add", "donor_top", "anchors", "neighbours", "top_k", "k"),
    ),
    Ceiling(
        10**7,
        "as much text is generated",
        ("documents", "parallel", "questions", "items", "conversations", "number"),
    ),
    Ceiling(
        10**7,
        "no model reads as much at once",
        ("sequence_length", "context_length", "heldout_length", "max_new_tokens", "new_tokens"),
    ),
    Ceiling(
        10**6,
        "no model has as many",
        ("hidden_size", "intermediate_size", "layers", "heads", "kv_heads", "dimension", "rank"),
    ),
    Ceiling(10**6, "each resamples every item", ("resamples",)),
    Ceiling(10**6, "nothing is done as often", ("repeats", "epochs", "prompts", "shots")),
    Ceiling(10**9, "no machine holds as many", ("buckets", "batch_size", "words")),
)
#: Of all other options.
COUNT = Ceiling(10**12, "nothing is counted as far", ())


def check_ceiling(option: str, value: Any) -> None:
    """Raise ``ValueError`` for a number, also in a list or mapping, above the option's ceiling."""
    inner = list(value.values()) if isinstance(value, dict) else value
    several = inner if isinstance(inner, list) else [inner]
    most, why, _ = next((one for one in CEILINGS if option in one.options), COUNT)
    if any(isinstance(number, int) and number > most for number in several):
        raise ValueError(f"give at most {most:,}: {why}")
