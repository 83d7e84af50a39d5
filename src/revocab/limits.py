"""Numbers with their bounds, in one place: every option is of one of these types.

Each ceiling is far above any use, and low enough that listing, planning or generating as much does
not take a machine down. A type has the usual minimum; an option with another one takes the ceiling
alone: ``Annotated[int, Field(ge=16), POSITIONS]``. Infinities and NaN are refused everywhere
(:class:`revocab.closed.Closed`).
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

#: Each is planned, has a row in tables, and several jobs of the workflow.
RUNS = 1_000
#: Of one training, and of all runs: each is listed in records, and may be scored.
CHECKPOINTS = 10_000
ALL_CHECKPOINTS = 1_000_000
#: Of one training: each is listed, and costs a pass over the held-out text.
HELDOUT_LOSSES = 100_000


def at_most(most: float, why: str) -> AfterValidator:
    """Return what refuses numbers beyond ``most``, on either side of 0, and says why."""

    def check(number: float) -> float:
        if abs(number) > most:
            raise ValueError(f"give at most {most:,}: {why}")
        return number

    return AfterValidator(check)


COUNTED = at_most(10**12, "nothing is counted as far")
TEXT_BYTES = at_most(10**15, "there is no more text")
TEXT_TOKENS = at_most(10**14, "there is no more text")
OPTIMIZER_STEPS = at_most(10**8, "no training is as long")
VOCABULARY = at_most(10**7, "no vocabulary is as large")
GENERATED = at_most(10**7, "as much text is generated")
POSITIONS = at_most(10**7, "no model reads as much at once")
WIDTH = at_most(10**6, "no model has as many")
OFTEN = at_most(10**6, "nothing is done as often")
HELD = at_most(10**9, "no machine holds as many")

#: numpy's and transformers' generators take 32 bits.
Seed = Annotated[int, Field(ge=0), at_most(2**32 - 1, "generators of random numbers take 32 bits")]
Count = Annotated[int, Field(ge=1), COUNTED]
Bytes = Annotated[int, Field(ge=1), TEXT_BYTES]
Tokens = Annotated[int, Field(ge=1), TEXT_TOKENS]
Steps = Annotated[int, Field(ge=1), OPTIMIZER_STEPS]
#: A checkpoint, or a number of steps that may be none.
StepNumber = Annotated[int, Field(ge=0), OPTIMIZER_STEPS]
Size = Annotated[int, Field(ge=1), VOCABULARY]
Generated = Annotated[int, Field(ge=1), GENERATED]
#: Tokens that a model reads or writes at once.
Positions = Annotated[int, Field(ge=1), POSITIONS]
#: Dimensions, layers, heads.
Width = Annotated[int, Field(ge=1), WIDTH]
Times = Annotated[int, Field(ge=1), OFTEN]
#: Examples in a prompt.
ShotCount = Annotated[int, Field(ge=0), at_most(10_000, "no prompt holds as many")]
BatchSize = Annotated[int, Field(ge=1), HELD]

Share = Annotated[float, Field(gt=0, le=1)]
Positive = Annotated[float, Field(gt=0), at_most(1_000_000, "nothing here is as large")]
Rate = Annotated[float, Field(gt=0), at_most(10, "no training survives it")]
Epsilon = Annotated[float, Field(gt=0), at_most(1, "no update would be left")]
Decay = Annotated[float, Field(ge=0), at_most(100, "no weight survives it")]
NotNegative = Annotated[float, Field(ge=0), at_most(1_000_000, "nothing here is as large")]
Temperature = Annotated[float, Field(gt=0), at_most(100, "every choice is as likely")]
#: What a thing counts in a sum; negative ones are taken away.
Weight = Annotated[float, at_most(1_000_000, "nothing else would be left")]
Flops = Annotated[float, Field(gt=0), at_most(10**21, "no device computes as fast")]
