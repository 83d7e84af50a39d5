"""What is measured on checkpoints and tokenizers."""

from __future__ import annotations

from pydantic import Field, model_validator

from revocab.closed import Closed, Id, OneLine, Step, exactly_one
from revocab.corpora.source import Source
from revocab.evaluation.embedding_similarity import EmbeddingSimilarityOptions
from revocab.evaluation.options import (
    EfficiencyOptions,
    GenerationOptions,
    PromptOptions,
    ScoringOptions,
    SignificanceOptions,
)
from revocab.evaluation.tasks import TaskOptions
from revocab.fertility.measure import FertilityOptions


class Task(TaskOptions):
    """A multiple-choice task: a prompt template over data rows, or a task the harness ships."""

    family: Id
    language: Id
    data: Source | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Task:
        exactly_one(self, ("template", "harness"))
        if self.template is None and self.data is not None:
            raise ValueError("data belongs to a template; a harness task brings its own")
        if self.harness is None and self.revision is not None:
            raise ValueError("revision pins a harness task; a template's goes under data.hub")
        return self


class MultipleChoice(ScoringOptions):
    """Multiple-choice scoring with lm-evaluation-harness."""

    #: Checkpoints that are scored; none: all, and the model before training of untrained runs.
    steps: list[Step] | None = Field(default=None, min_length=1)
    tasks: dict[Id, Task] = Field(default_factory=dict)


class GenerationTask(PromptOptions):
    """A generative task: queries from ``test``, shots drawn per item from ``pool``."""

    pool: Source
    test: Source

    @model_validator(mode="after")
    def _unit_of_copying(self) -> GenerationTask:
        if (self.kind == "copying") != (self.unit is not None):
            raise ValueError("unit (sentence or paragraph) goes with kind copying, and only there")
        return self


class Generation(GenerationOptions):
    """Greedy generation."""

    steps: list[Step] = Field(default=["first", "last"])
    #: A COMET model (Hub id or checkpoint path); none leaves COMET empty, with the reason.
    comet_model: OneLine | None = None
    xcomet_model: OneLine | None = None
    tasks: dict[Id, GenerationTask] = Field(default_factory=dict)


class Efficiency(EfficiencyOptions):
    """Speed and memory of models on the same held-out text of a corpus."""

    corpus: Id


class Evaluation(Closed):
    """What is measured on checkpoints."""

    heldout: list[Id] = Field(default_factory=list)
    #: Tokens of a held-out window of runs that are not trained; none: as in trained runs near them.
    heldout_length: int | None = Field(default=None, ge=2)
    multiple_choice: MultipleChoice = Field(default_factory=MultipleChoice)
    generation: Generation = Field(default_factory=Generation)
    significance: SignificanceOptions = Field(default_factory=SignificanceOptions)
    efficiency: Efficiency | None = None


class ParallelText(Closed):
    """Text that says the same in several languages, one field each; the first is the reference."""

    source: Source
    languages: list[Id] = Field(min_length=2)


class Fertility(FertilityOptions):
    """Report on tokenizers (Table 2, Figure 1): which tokenizers on which corpora."""

    tokenizers: list[Id] = Field(default_factory=list)
    corpora: list[Id] = Field(default_factory=list)
    parallel: ParallelText | None = None


class Similarity(EmbeddingSimilarityOptions):
    """Table 7 and Figure 8."""
