"""How checkpoints are scored, made to generate, and timed: options with their defaults.

``…Options`` decide results and are part of an experiment file; ``…Hardware`` is the machine's, and
no result depends on it beyond rounding; a ``…Job`` is what a verb reads.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, model_validator

from revocab import limits
from revocab.closed import Closed, Id, Job, Language, OneLine, Revision, Step
from revocab.errors import RevocabError
from revocab.evaluation.inference.chat_prompts import ChatOptions
from revocab.evaluation.inference.decoding import GREEDY, Decoding
from revocab.evaluation.inference.engine import engines_for
from revocab.evaluation.metrics import COMET_METRICS

if TYPE_CHECKING:
    CometMetric = str
    ScoringEngine = str
    GenerationEngine = str
    TimingEngine = str
else:
    CometMetric = Literal[tuple(metric.name for metric in COMET_METRICS.values())]
    ScoringEngine = Literal[tuple(engines_for("multiple_choice"))]
    GenerationEngine = Literal[tuple(engines_for("generation"))]
    TimingEngine = Literal[tuple(engines_for("efficiency"))]


class ExpectedItems(Closed):
    """How many rows a task's data should have, and which commit of a Hub data set has them."""

    number: limits.Count = Field(description="number of rows that the scored split should have")
    revision: Revision | None = Field(
        default=None,
        description="commit expected to have them, named in the warning if the data does not",
    )
    strict: bool = Field(
        default=False,
        description="stop at another number; else published values are shown and not compared",
    )

    def compare(self, task: str, where: str, number: int, advice: str = "") -> None:
        """Warn where a task's data, which ``where`` names, have another number of rows.

        Raises :class:`RevocabError` if that number is a must.
        """
        if number == self.number:
            return
        difference = (
            f"task {task!r}: {where}, has {number:,} items, expected {self.number:,}: another "
            f"version of the data{advice}"
        )
        if self.strict:
            raise RevocabError(f"{difference}; drop 'strict' of the task's 'items' to score these")
        print(
            f"warning: {difference}; published values are not compared with its scores",
            file=sys.stderr,
        )


class Hardware(Closed):
    """Where a model runs, and in which numbers."""

    device: OneLine = Field(default="auto", description="auto, cpu, cuda, cuda:1, ...")
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = Field(
        default="auto", description="auto: float32 on CPU, else as stored"
    )
    gpus: limits.Times = Field(
        default=1, description="GPUs that a model is divided among, for one too large for one"
    )


class Asking(Closed):
    """How the models of one run are asked."""

    chat: ChatOptions | None = Field(
        default=None, description="use the model's chat template; default: plain text"
    )
    most_shots: limits.ShotCount | None = Field(
        default=None,
        description="at most so many examples in a prompt; default: as many as the task has",
    )

    def shots_of(self, shots: int) -> int:
        return shots if self.most_shots is None else min(shots, self.most_shots)


class AskingAll(Asking):
    """The same, when it is known by which template."""

    chat_template: str | None = Field(default=None, description="text; none: each model's own")


class ScoringOptions(Closed):
    """How every multiple-choice task is scored."""

    shots: limits.ShotCount = Field(default=0, description="examples in a prompt")
    limit: limits.Count | None = Field(default=None, description="items per task; default: all")
    engine: ScoringEngine = Field(default="hf", description="hf: transformers")
    long_prompts: Literal["error", "cut"] = Field(
        default="error",
        description="prompts longer than the context: stop and list them, or truncate them on"
        " the left as the harness does and count them",
    )


class ScoringHardware(Hardware):
    """Where and in which batches choices are scored."""

    batch_size: limits.BatchSize = Field(
        default=64, description="choices per batch; some engines choose their own"
    )


class ScoringJob(ScoringOptions, Asking, Job):
    """Scores of one run's checkpoints."""

    run: Id = Field(description="name of the run in the table")


class Scoring(ScoringOptions, AskingAll, ScoringHardware):
    """Both together: what scoring reads."""


class GenerationOptions(Closed):
    """How text is generated. Lengths are in tokens."""

    engine: GenerationEngine = Field(
        default="transformers", description="vllm has an environment of its own"
    )
    max_new_tokens: limits.Positions = Field(default=512, description="maximum tokens of an answer")
    context_length: Annotated[int, Field(ge=16), limits.POSITIONS] = Field(
        default=2048, description="maximum tokens of prompt and answer together"
    )
    #: Left out of what is written where it is greedy, as before there was a choice.
    decoding: Decoding = Field(
        default=GREEDY,
        exclude_if=lambda decoding: decoding == GREEDY,
        description="beams, temperature, top_p, top_k, seed; default: greedy",
    )

    @model_validator(mode="after")
    def _a_prompt_fits_and_the_engine_decodes(self) -> GenerationOptions:
        if self.max_new_tokens >= self.context_length:
            raise ValueError(
                f"max_new_tokens: {self.max_new_tokens} must be less than context_length"
                f" {self.context_length}, or no prompt fits"
            )
        able = [name for name, engine in engines_for("generation").items() if engine.decodes]
        if self.decoding != GREEDY and self.engine not in able:
            raise ValueError(
                f"engine: {self.engine} decodes greedily alone; for beams or a temperature give"
                f" {' or '.join(able)}, or leave decoding out"
            )
        return self


class AnswerHardware(Hardware):
    """Where and in which batches text is generated."""

    batch_size: limits.BatchSize = Field(
        default=32, description="prompts per batch; some engines choose their own"
    )


class GenerationHardware(AnswerHardware):
    """The same, and what comes after."""

    comet_apart: bool = Field(
        default=False, description="COMET scores the outputs in a later job; its empty rows say so"
    )


class GenerationJob(GenerationOptions, Asking, Job):
    """Texts of one run's checkpoints."""

    run: Id = Field(description="name of the run in the table")
    #: Only recorded: the prompts were limited when they were built.
    limit: limits.Count | None = Field(default=None, description="only recorded in the table")


class Generating(GenerationOptions, AskingAll, GenerationHardware):
    """Both together: what generation reads."""

    limit: limits.Count | None = None


class CometHardware(Closed):
    """Where and in which batches COMET scores translations."""

    device: OneLine = Field(default="auto", description="auto, cpu, cuda, cuda:1, ...")
    batch_size: limits.BatchSize = Field(default=16, description="translations per batch")


class CometJob(Job):
    """COMET scores of one run's translations."""

    run: Id = Field(description="name of the run in the table")
    models: dict[CometMetric, OneLine] = Field(
        min_length=1, description="a .ckpt file, a folder that holds one, or a Hub id"
    )


class EfficiencyOptions(Closed):
    """How much is read and written when speed is measured; the median of repeats counts."""

    #: Prompts that are read.
    prompts: limits.Times = 16
    #: Characters of a prompt.
    prompt_characters: Annotated[int, Field(ge=20), limits.POSITIONS] = 1000
    #: Tokens that are written.
    new_tokens: Annotated[int, Field(ge=2), limits.POSITIONS] = 64
    batch_size: limits.BatchSize = Field(default=8, description="prompts per batch")
    repeats: limits.Times = Field(
        default=3, description="repetitions; of reading the median counts, of writing the fastest"
    )


class EfficiencyJob(EfficiencyOptions, Job):
    """Speed and memory of one checkpoint."""

    run: Id
    step: limits.StepNumber
    corpus: Id = Field(description="only recorded")
    language: Language = Field(description="language whose words are counted")
    engine: TimingEngine = "transformers"


#: Checkpoints whose new tokens are counted: as the start leaves them, and trained.
UNTRAINED_AND_TRAINED: list[Step] = [0, "last"]


class AdoptionOptions(Closed):
    """How much a model writes when its new tokens are counted."""

    prompts: limits.Times = Field(default=16, description="windows of the text, evenly spread")
    prompt_tokens: limits.Positions = Field(default=64, description="tokens of a prompt at most")
    written_tokens: limits.Positions = Field(default=32, description="tokens after each prompt")


class AdoptionJob(AdoptionOptions, Job):
    """What the checkpoints of one run write."""

    run: Id
    corpus: Id = Field(description="only recorded")


class SignificanceOptions(Closed):
    """How runs of a group are compared item by item."""

    #: Of the bootstrap and of the permutation test.
    resamples: Annotated[int, Field(ge=100), limits.OFTEN] = 1000


class ComparisonJob(SignificanceOptions, Job):
    """Which runs are compared when."""

    group: Id
    steps: list[Step] = Field(min_length=1, description="first, last or a number")
    seed: limits.Seed = 17
