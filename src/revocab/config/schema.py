"""The closed model of an experiment file: every key, its type, its default, and nothing else."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

#: Ids become file names, wildcards and labels: no shell or path character, and no "--",
#: which joins ids in file names.
Id = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+([._-][a-z0-9]+)*$")]
#: Free text that ends up as one argument of a command line: quoted there, and one line.
Line = Annotated[str, StringConstraints(pattern=r"^[^\n\r\x00]*$", min_length=1)]
Step = Literal["first", "last"] | Annotated[int, Field(ge=0)]


class Closed(BaseModel):
    """Unknown keys are errors; values do not change after validation."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def exactly_one(value: Any, keys: tuple[str, ...]) -> Any:
    """Return ``value`` if exactly one of its ``keys`` is set; else raise ``ValueError``."""
    given = [key for key in keys if getattr(value, key) is not None]
    if len(given) != 1:
        raise ValueError(
            f"exactly one of {', '.join(keys)} must be given, received {', '.join(given) or 'none'}"
        )
    return value


class HubPart(Closed):
    """A data set on the Hugging Face Hub, pinned."""

    id: Line
    name: Line | None = None
    split: Line = "train"
    revision: Line | None = None
    #: Our field name to the data set's field name, where they differ.
    fields: dict[str, Line] = Field(default_factory=dict)


class Source(Closed):
    """Where data comes from: the demo's world, a local file, aligned text files, or the Hub."""

    world: Id | None = None
    path: Line | None = None
    lines: dict[Id, Line] | None = None
    hub: HubPart | None = None

    @model_validator(mode="after")
    def _one_place(self) -> Source:
        return exactly_one(self, ("world", "path", "lines", "hub"))


class World(Closed):
    """Size of the demo's generated bilingual world."""

    seed: int = 17
    documents: int = Field(ge=10)
    parallel: int = Field(ge=20)
    questions: int = Field(ge=20)
    items: int = Field(ge=4)


class Corpus(Closed):
    """Documents of one language. Bytes are UTF-8 bytes of text."""

    language: Id
    source: Source
    text_field: Line = "text"
    limit_documents: int | None = Field(default=None, ge=1)
    limit_bytes: int | None = Field(default=None, ge=1)
    #: About this much text is set aside, by document hash, for held-out loss.
    heldout_bytes: int = Field(default=0, ge=0)


class TokenizerTraining(Closed):
    """A BPE tokenizer trained here. Shares are shares of training bytes."""

    corpora: dict[Id, float]
    alphabet: Literal["byte_fallback", "byte_level"]
    vocabulary_size: int = Field(ge=300)
    limit_bytes: int | None = Field(default=None, ge=1)


class Tokenizer(Closed):
    """A tokenizer: from the Hub, from a folder, or trained here."""

    hub: Line | None = None
    revision: Line | None = None
    path: Line | None = None
    train: TokenizerTraining | None = None

    @model_validator(mode="after")
    def _one_place(self) -> Tokenizer:
        return exactly_one(self, ("hub", "path", "train"))


class Architecture(Closed):
    """The shape of a decoder-only model."""

    family: Literal["mistral", "llama"]
    hidden_size: int = Field(ge=8)
    intermediate_size: int = Field(ge=8)
    layers: int = Field(ge=1)
    heads: int = Field(ge=1)
    kv_heads: int = Field(ge=1)
    tied: bool = False


class Pretraining(Closed):
    """A stand-in model pretrained here."""

    architecture: Architecture
    mixture: Id
    recipe: Id


class Model(Closed):
    """A causal language model: from the Hub, from a folder, or pretrained here."""

    tokenizer: Id
    hub: Line | None = None
    revision: Line | None = None
    path: Line | None = None
    pretrain: Pretraining | None = None

    @model_validator(mode="after")
    def _one_place(self) -> Model:
        return exactly_one(self, ("hub", "path", "pretrain"))


class Recipe(Closed):
    """How training goes. ``weight_decay`` in torch's AdamW convention (docs/deviations.md)."""

    sequence_length: int = Field(ge=8)
    batch_size: int = Field(ge=1, description="sequences per step, over all devices")
    steps: int = Field(ge=1)
    warmup_steps: int = Field(default=0, ge=0)
    learning_rate: float = Field(gt=0)
    schedule: Literal["constant", "cosine"] = "cosine"
    final_learning_rate_share: float = Field(default=0.1, ge=0, le=1)
    adam_beta1: float = Field(default=0.9, ge=0, lt=1)
    adam_beta2: float = Field(default=0.95, ge=0, lt=1)
    adam_epsilon: float = Field(default=1e-8, gt=0)
    weight_decay: float = Field(default=0.0, ge=0)
    gradient_clip: float = Field(default=1.0, gt=0)
    checkpoint_every: int = Field(ge=1)
    precision: Literal["float32", "bfloat16"] = "float32"
    document_start: bool = Field(default=True, description="put bos before each document")
    document_end: bool = Field(default=False, description="put eos after each document")
    repeat_corpora: bool = Field(default=False, description="start a corpus again when it ends")


class RunMethod(BaseModel):
    """One run of a group: the method (default: the run's own name), helper, and method options."""

    model_config = ConfigDict(extra="allow", frozen=True)

    method: Id | None = None
    helper: Id | None = None
    recipe: Id | None = None
    seed: int | None = None
    #: False for ablations of which only the losses are shown.
    evaluate: bool = True

    @property
    def options(self) -> dict[str, Any]:
        """Return the keys that belong to the method itself."""
        return dict(self.model_extra or {})


class RunGroup(Closed):
    """Every method applied to one source model: a grid with ids ``<group>-<name>``."""

    label: Line
    source: Id
    target: Id
    helper: Id | None = None
    mixture: Id
    recipe: Id
    identity: Literal["bytes", "marker"] = "bytes"
    methods: dict[Id, RunMethod]


class Task(Closed):
    """A multiple-choice task: a prompt template over data rows, or a task the harness ships."""

    family: Id
    language: Id
    template: Id | None = Field(default=None, description="file name in config/tasks, no ending")
    data: Source | None = None
    harness: Id | None = Field(default=None, description="task name in lm-evaluation-harness")

    @model_validator(mode="after")
    def _one_kind(self) -> Task:
        exactly_one(self, ("template", "harness"))
        if self.template is None and self.data is not None:
            raise ValueError("data belongs to a template; a harness task brings its own")
        return self


class MultipleChoice(Closed):
    """Multiple-choice scoring with lm-evaluation-harness."""

    tasks: dict[Id, Task]
    shots: int = Field(default=0, ge=0)
    limit: int | None = Field(default=None, ge=1, description="items per task; none: all")


class GenerationTask(Closed):
    """A generative task: queries from ``test``, shots drawn per item from ``pool``."""

    kind: Literal["translation", "question_answering"]
    direction: list[Id] = Field(min_length=1, max_length=2)
    shots: int = Field(ge=0)
    limit: int | None = Field(default=None, ge=1)
    pool: Source
    test: Source
    pool_limit: int | None = Field(default=None, ge=1, description="use only the first n pool rows")


class Generation(Closed):
    """Greedy generation."""

    engine: Literal["auto", "transformers", "vllm"] = "auto"
    max_new_tokens: int = Field(default=512, ge=1)
    context_length: int = Field(default=2048, ge=16)
    steps: list[Step] = Field(default=["first", "last"])
    #: A COMET model (Hub id or checkpoint path); none leaves COMET empty, with the reason.
    comet_model: Line | None = None
    tasks: dict[Id, GenerationTask]


class Evaluation(Closed):
    """What is measured on checkpoints."""

    heldout: list[Id]
    multiple_choice: MultipleChoice
    generation: Generation


class Fertility(Closed):
    """Table 2 and Figure 1: which tokenizers on which corpora."""

    tokenizers: list[Id]
    corpora: list[Id]
    limit_documents: int | None = Field(default=None, ge=1)
    limit_bytes: int | None = Field(default=None, ge=1)


class Similarity(Closed):
    """Table 7 and Figure 8: anchors of each kind, and how rows are projected on them."""

    anchors: int = Field(default=128, ge=1)
    relative: Literal["dot", "cosine"] = "dot"


class ParameterCount(Closed):
    """One row of Table 1, counted on the meta device."""

    label: Line
    vocabulary_size: int
    architecture: Architecture


class Scale(Closed):
    """Time and memory of every method at a real model's embedding shape, with random weights."""

    source_tokenizer: Id
    target_tokenizer: Id
    hidden_size: int = 4096
    helper_hidden_size: int = 2560
    methods: dict[Id, RunMethod]


class ParametersTable(Closed):
    """Table of parameter counts."""

    kind: Literal["parameters"]
    title: Line


class FertilityTable(Closed):
    """Table of fertility by tokenizer and corpus."""

    kind: Literal["fertility"]
    title: Line


class MultipleChoiceTable(Closed):
    """Scores of one group in one language at chosen steps; families in ``columns`` order."""

    kind: Literal["multiple_choice"]
    title: Line
    group: Id
    language: Id
    steps: list[Step] = Field(default=["first", "last"])
    columns: list[Id] | None = None


class GenerationTable(Closed):
    """Generation metrics of one group at chosen steps."""

    kind: Literal["generation"]
    title: Line
    group: Id
    steps: list[Step] = Field(default=["first", "last"])


class SimilarityTable(Closed):
    """Similarity to the helper at the beginning and end of training."""

    kind: Literal["similarity"]
    title: Line
    groups: list[Id]


class PromptsTable(Closed):
    """The prompts in use."""

    kind: Literal["prompts"]
    title: Line
    tasks: list[Id]


Table = Annotated[
    ParametersTable
    | FertilityTable
    | MultipleChoiceTable
    | GenerationTable
    | SimilarityTable
    | PromptsTable,
    Field(discriminator="kind"),
]


class FertilityFigure(Closed):
    """Distribution of fertility over documents."""

    kind: Literal["fertility"]
    title: Line


class AverageScoreFigure(Closed):
    """Average multiple-choice score of a group by step."""

    kind: Literal["average_score"]
    title: Line
    group: Id
    language: Id


class LossFigure(Closed):
    """Training loss of chosen runs by step."""

    kind: Literal["loss"]
    title: Line
    runs: list[Id]


class SimilarityFigure(Closed):
    """Similarity between the runs of a group after training."""

    kind: Literal["similarity"]
    title: Line
    group: Id


Figure = Annotated[
    FertilityFigure | AverageScoreFigure | LossFigure | SimilarityFigure,
    Field(discriminator="kind"),
]


class Experiment(Closed):
    """One experiment file. ``docs/architecture.md`` walks through it."""

    experiment: Id
    title: Line
    seed: int = 17
    #: Folder that ``{data_root}`` stands for in paths; give it with ``--config data_root=FOLDER``.
    data_root: Line | None = None
    #: Folder with the published values (CSV files by table), shown beside ours; none: not shown.
    paper_values: Line | None = None
    world: World | None = None
    corpora: dict[Id, Corpus]
    tokenizers: dict[Id, Tokenizer]
    mixtures: dict[Id, dict[Id, Annotated[float, Field(gt=0, le=1)]]]
    recipes: dict[Id, Recipe]
    models: dict[Id, Model]
    runs: dict[Id, RunGroup]
    evaluation: Evaluation
    fertility: Fertility
    similarity: Similarity = Field(default_factory=Similarity)
    parameters: list[ParameterCount] = Field(default_factory=list)
    #: Extra pairs of tokenizers to intersect, beside those the runs need.
    intersections: list[tuple[Id, Id]] = Field(default_factory=list)
    scale: Scale | None = None
    tables: dict[Id, Table]
    figures: dict[Id, Figure]
