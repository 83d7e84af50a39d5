"""What is measured on checkpoints and tokenizers."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from revocab.config.schema.base import Closed, Id, Line, Step, exactly_one
from revocab.config.schema.data import Source


class Task(Closed):
    """A multiple-choice task: a prompt template over data rows, or a task the harness ships."""

    family: Id
    language: Id
    template: Id | None = Field(default=None, description="file name in config/tasks, no ending")
    data: Source | None = None
    harness: Line | None = Field(default=None, description="task name in lm-evaluation-harness")
    revision: Line | None = Field(default=None, description="of a harness task's Hub data set")
    shots: int | None = Field(default=None, ge=0, description="none: as for all tasks")

    @model_validator(mode="after")
    def _one_kind(self) -> Task:
        exactly_one(self, ("template", "harness"))
        if self.template is None and self.data is not None:
            raise ValueError("data belongs to a template; a harness task brings its own")
        if self.harness is None and self.revision is not None:
            raise ValueError("revision pins a harness task; a template's goes under data.hub")
        return self


class MultipleChoice(Closed):
    """Multiple-choice scoring with lm-evaluation-harness."""

    tasks: dict[Id, Task]
    shots: int = Field(default=0, ge=0)
    limit: int | None = Field(default=None, ge=1, description="items per task; none: all")
    engine: Literal["hf", "vllm"] = "hf"
    #: What happens to a prompt longer than the model's context: stop and say which, or cut its
    #: beginning as the harness does, and count how many.
    long_prompts: Literal["error", "cut"] = "error"


class GenerationTask(Closed):
    """A generative task: queries from ``test``, shots drawn per item from ``pool``."""

    kind: Literal["translation", "question_answering", "copying"]
    unit: Literal["sentence", "paragraph"] | None = Field(
        default=None, description="what is copied"
    )
    direction: list[Id] = Field(min_length=1, max_length=2)
    shots: int = Field(ge=0)
    limit: int | None = Field(default=None, ge=1)
    pool: Source
    test: Source
    pool_limit: int | None = Field(default=None, ge=1, description="use only the first n pool rows")

    @model_validator(mode="after")
    def _unit_of_copying(self) -> GenerationTask:
        if (self.kind == "copying") != (self.unit is not None):
            raise ValueError("unit (sentence or paragraph) goes with kind copying, and only there")
        return self


class Generation(Closed):
    """Greedy generation."""

    engine: Literal["auto", "transformers", "vllm"] = "auto"
    max_new_tokens: int = Field(default=512, ge=1)
    context_length: int = Field(default=2048, ge=16)
    steps: list[Step] = Field(default=["first", "last"])
    #: A COMET model (Hub id or checkpoint path); none leaves COMET empty, with the reason.
    comet_model: Line | None = None
    xcomet_model: Line | None = None
    tasks: dict[Id, GenerationTask]


class Significance(Closed):
    """How runs of a group are compared item by item, where a table asks for it."""

    resamples: int = Field(default=1000, ge=100)


class Efficiency(Closed):
    """Speed and memory of models on the same held-out text of a corpus."""

    corpus: Id
    prompts: int = Field(default=16, ge=1)
    prompt_characters: int = Field(default=1000, ge=20)
    new_tokens: int = Field(default=64, ge=2)
    batch_size: int = Field(default=8, ge=1)
    repeats: int = Field(default=3, ge=1, description="the median counts")


class Evaluation(Closed):
    """What is measured on checkpoints."""

    heldout: list[Id]
    multiple_choice: MultipleChoice
    generation: Generation
    significance: Significance = Field(default_factory=Significance)
    efficiency: Efficiency | None = None


class ParallelText(Closed):
    """Text that says the same in several languages, one field each; the first is the reference."""

    source: Source
    languages: list[Id] = Field(min_length=2)


class Fertility(Closed):
    """Report on tokenizers (Table 2, Figure 1): which tokenizers on which corpora."""

    tokenizers: list[Id]
    corpora: list[Id]
    #: What a word is; ``nltk`` takes its rules where its sentence data is absent.
    splitter: Literal["nltk", "nltk_rules", "unicode"] = "nltk"
    parallel: ParallelText | None = None
    limit_documents: int | None = Field(default=None, ge=1)
    limit_bytes: int | None = Field(default=None, ge=1)


class Similarity(Closed):
    """Table 7 and Figure 8: anchors of each kind, and how rows are projected on them."""

    anchors: int = Field(default=128, ge=1)
    relative: Literal["dot", "cosine"] = "dot"
