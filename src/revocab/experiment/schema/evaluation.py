"""What is measured on checkpoints and tokenizers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field, model_validator

from revocab.closed import (
    Closed,
    CorpusId,
    Id,
    Language,
    OneLine,
    Step,
    TokenizerId,
    any_of,
    exactly_one,
)
from revocab.corpora.source import ANY, Kind, Source
from revocab.evaluation.embedding_similarity import EmbeddingSimilarityOptions
from revocab.evaluation.generation.kind import PromptOptions
from revocab.evaluation.metrics import COMET_METRICS
from revocab.evaluation.multiple_choice.tasks import TaskOptions
from revocab.evaluation.options import (
    AdoptionOptions,
    EfficiencyOptions,
    GenerationOptions,
    ScoringOptions,
    SignificanceOptions,
)
from revocab.limits import POSITIONS
from revocab.vocabulary.fertility import FertilityOptions


class Task(TaskOptions):
    """A multiple-choice task: a prompt template over data rows, or a task the harness ships."""

    #: What tables call it, in every language (families.yaml has labels and metrics).
    family: Id
    #: Language of its items.
    language: Language
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

    templates: OneLine | None = Field(
        default=None,
        description="folder of the experiment's own templates, searched before the package's",
    )
    #: Checkpoints that are scored; none: all, and the model before training of untrained runs.
    steps: list[Step] | None = Field(default=None, min_length=1)
    tasks: dict[Id, Task] = Field(default_factory=dict)


class TaskText(Source):
    """Where the texts of a generation task come from."""

    heldout: CorpusId | None = Field(
        default=None, description="a corpus: what it holds out, which no training reads"
    )

    @model_validator(mode="after")
    def _one_place(self) -> TaskText:
        return exactly_one(self, (*ANY, "heldout"))

    @property
    def kind(self) -> Kind:
        return "path" if self.heldout else super().kind


class GenerationTask(PromptOptions):
    """A generation task: queries from ``test``, shots drawn from ``pool``."""

    pool: TaskText
    test: TaskText
    score: OneLine | None = Field(
        default=None,
        description="metric that is the task's score in means; default: the first of its kind",
    )
    taught_by: CorpusId | None = Field(
        default=None,
        description="a corpus of parallel text: asked as that asks, in place of layout",
    )


if TYPE_CHECKING:
    AnyGenerationTask = GenerationTask
else:
    AnyGenerationTask = any_of(GenerationTask)


class Generation(GenerationOptions):
    """Greedy generation."""

    #: Checkpoints that are asked; ``all``: every one.
    steps: list[Step] = Field(default=["first", "last"])
    #: A COMET model (Hub id or checkpoint path); none leaves COMET empty, with the reason.
    comet_model: OneLine | None = None
    #: The same for xCOMET.
    xcomet_model: OneLine | None = None
    #: The tasks, by id.
    tasks: dict[Id, AnyGenerationTask] = Field(default_factory=dict)

    @property
    def comet_models(self) -> dict[str, str]:
        named = {metric.name: getattr(self, key) for key, metric in COMET_METRICS.items()}
        return {metric: model for metric, model in named.items() if model}


class Efficiency(EfficiencyOptions):
    """Speed and memory of models on the same held-out text of a corpus."""

    corpus: CorpusId


class Adoption(AdoptionOptions):
    """Whether models write their new tokens, after prompts of a corpus's held-out text."""

    corpus: CorpusId


class Evaluation(Closed):
    """What is measured on checkpoints."""

    #: Corpora on whose held-out text the loss is measured.
    heldout: list[CorpusId] = Field(default_factory=list)
    #: Tokens of a held-out window of runs that are not trained; none: as in trained runs near them.
    heldout_length: Annotated[int, Field(ge=2), POSITIONS] | None = None
    multiple_choice: MultipleChoice = Field(default_factory=MultipleChoice)
    generation: Generation = Field(default_factory=Generation)
    significance: SignificanceOptions = Field(default_factory=SignificanceOptions)
    efficiency: Efficiency | None = None
    adoption: Adoption | None = None


class ParallelText(Closed):
    """Text that says the same in several languages, one field each; the first is the reference."""

    source: Source
    #: A field of the source each.
    languages: list[Language] = Field(min_length=2)


class Fertility(FertilityOptions):
    """Report on tokenizers (Table 2, Figure 1): which tokenizers on which corpora."""

    #: Tokenizers that are measured.
    tokenizers: list[TokenizerId] = Field(default_factory=list)
    #: Corpora on which they are measured.
    corpora: list[CorpusId] = Field(default_factory=list)
    parallel: ParallelText | None = None


class Similarity(EmbeddingSimilarityOptions):
    """Table 7 and Figure 8."""
