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
#: Of one training, over all its steps: their order is laid out in memory.
ROWS = 10**8
#: Of one training: steps of the largest models are below a third of it.
TOKENS_PER_STEP = 2 * 10**8
#: Corpora, tokenizers, tables, … of an experiment: each is looked at with all others.
ENTRIES = 1_000
#: Ids of tokens: lists of all of them are made.
LARGEST_VOCABULARY = 10**7
#: Numbers of a ``config.json`` by how their keys read, and what they are at most: models are built
#: of them, if on no device.
MODEL_SIZES = {
    r"(n|num)_(\w+_)?(layers?|blocks)": 1_000,
    r"(n|num)_(\w+_)?(experts|heads?)": 100_000,
    r"(\w+_)?vocab_size(_\w+)?": LARGEST_VOCABULARY,
    r"n_positions|n_ctx|(\w+_)?max_position_embeddings": 10**8,
    r"n_embd|n_inner|d_\w+|(\w+_)?(head|ffn)_dim|(\w+_)?(hidden|intermediate)_size": 10**6,
}
#: Of a weight of embedding or head: those of real models are below 1,000.
LARGEST_WEIGHT = 1e9
#: Characters of a YAML file; the longest that is shipped has 33,000.
YAML_CHARACTERS = 2_000_000
#: Characters of a document: a long book has three million. Each takes 240 bytes of memory where
#: tokens are counted, 150 where near duplicates are looked for.
DOCUMENT_CHARACTERS = 10_000_000


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
VOCABULARY = at_most(LARGEST_VOCABULARY, "no vocabulary is as large")
GENERATED = at_most(10**7, "as much text is generated")
POSITIONS = at_most(10**8, "no model reads as much at once")
WIDTH = at_most(10**6, "no model has as many")
LAYERS = at_most(1_000, "no model has as many layers")
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
Layers = Annotated[int, Field(ge=1), LAYERS]
#: Dimensions, heads.
Width = Annotated[int, Field(ge=1), WIDTH]
Times = Annotated[int, Field(ge=1), OFTEN]
#: Examples in a prompt.
ShotCount = Annotated[int, Field(ge=0), at_most(10_000, "no prompt holds as many")]
#: Rows of a batch or a step.
BatchSize = Annotated[int, Field(ge=1), at_most(10**6, "no step reads as many rows")]
Buckets = Annotated[int, Field(ge=1), HELD]

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
