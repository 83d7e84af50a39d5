"""Runs: methods applied to source models, one by one or several at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    WrapSerializer,
    create_model,
    field_validator,
    model_serializer,
    model_validator,
)

from revocab.closed import (
    Closed,
    CorpusId,
    Id,
    MixtureId,
    ModelId,
    OneLine,
    RecipeId,
    RunStep,
    TokenizerId,
    any_of,
)
from revocab.evaluation.inference.chat_prompts import ChatOptions
from revocab.initialise.method import methods
from revocab.initialise.options import ChosenMethod, ScaleOptions
from revocab.initialise.reading.fasttext import FastTextOptions
from revocab.limits import Seed, ShotCount, StepNumber, Steps, Tokens


class Layered(Closed):
    """Settings of which a null, said, is another thing than nothing said."""

    @model_serializer(mode="wrap")
    def _as_said(self, dump: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        """Leave out nulls that nobody said, so that what is written reads back the same."""
        keys = self.model_fields_set
        return {key: value for key, value in dump(self).items() if value is not None or key in keys}


#: By name of a value, what a run has there.
Axis = Annotated[dict[Id, dict[Id, Any]], Field(min_length=1)]


class Sweep(Closed):
    """Several runs in place of one: for every combination of a value of each axis, and each seed.

    At a value a run has keys of a run, and under ``recipe`` also options of its recipe.
    """

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[Id, Axis] = Field(init=False)
    others: ClassVar[Any] = Axis

    #: One run for each of these seeds in its place.
    seed: list[Seed] | None = Field(default=None, min_length=1)
    #: Tokens of one corpus that every run sees: its steps are those tokens over the corpus' share.
    hold: dict[Id, Tokens] | None = Field(default=None, min_length=1, max_length=1)

    @property
    def axes(self) -> dict[str, dict[str, dict[str, Any]]]:
        return self.__pydantic_extra__

    @model_validator(mode="after")
    def _sweeps(self) -> Sweep:
        if not (self.axes or self.seed or self.hold):
            raise ValueError("names no axis, seed or hold; give one, or null for one run")
        return self

    @field_validator("seed")
    @classmethod
    def _differ(cls, seeds: list[int] | None) -> list[int] | None:
        if seeds and len(set(seeds)) < len(seeds):
            raise ValueError("a seed is given twice; give each once")
        return seeds


class Swept(Layered):
    """What may have a sweep: a run, or each run of a group; a run's null undoes its group's.

    None in a validated experiment, which has the runs in their place
    (:mod:`revocab.experiment.written_out`).
    """


if TYPE_CHECKING:
    Several = Swept
else:
    #: Python keeps the word ``for`` to itself, so that no line of a class can name the key.
    SWEEP = Field(default=None, description="several runs in its place; null: not the group's")
    Several = create_model("Several", __base__=Swept, **{"for": (Sweep | None, SWEEP)})


class NamedMethod(Layered, ChosenMethod):
    """A method with its options, of which those that a file has are written."""

    @property
    def options(self) -> dict[str, Any]:
        """Return the options that are written."""
        written = self.model_dump(mode="json", exclude_unset=True)
        known = methods()[self.method].options.model_fields
        return {key: written[key] for key in known if written.get(key) is not None}

    @model_serializer(mode="wrap")
    def _as_said(self, dump: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        """Leave out nulls that nobody said, and the defaults of options; these stand last."""
        keys, options = self.model_fields_set, methods()[self.method].options.model_fields
        stated = {
            key: value
            for key, value in dump(self).items()
            if key in keys or not (value is None or key in options)
        }
        return {**{key: stated[key] for key in stated if key not in options}, **stated}


def name_methods(entries: Any) -> Any:
    """Return entries by name with their methods named: by default, each is called after its own."""
    if not isinstance(entries, dict):
        return entries
    return {
        name: {"method": name, **entry} if isinstance(entry, dict) else entry
        for name, entry in entries.items()
    }


def unnamed(entries: dict[str, NamedMethod], dump: Callable[[Any], dict[str, Any]]) -> Any:
    """Return what is written of entries: a method after which an entry is called goes unsaid."""
    return {
        name: {key: value for key, value in entry.items() if (key, value) != ("method", name)}
        for name, entry in dump(entries).items()
    }


class RunMethod(Several, NamedMethod):
    """One run of a group: a method, and what it has of its own in place of its group's."""

    #: In place of the group's.
    target: TokenizerId | None = None
    #: In place of the group's.
    helper: ModelId | None = None
    #: In place of the group's.
    mixture: MixtureId | None = None
    #: Null: the run is made and not trained, and scored at step 0.
    recipe: RecipeId | None = None
    #: Begins from another run's checkpoint in place of the group's source model.
    start: RunStep | None = None
    #: A run that a method reads beside the source model.
    donor: RunStep | None = None
    #: Of random draws, of fits and of the order of rows; none: the experiment's.
    seed: Seed | None = None
    #: The name, in its group, of the runs that differ from it in their seed alone.
    replicate_of: Id | None = None
    #: Where it stands in a sweep: by axis, the name of its value there.
    axes: dict[Id, Id] | None = None
    #: False for ablations of which only the losses are shown.
    evaluate: bool = True


if TYPE_CHECKING:
    RunEntry = RunMethod
    ScaleEntry = NamedMethod
else:
    RunEntry = any_of(RunMethod)
    ScaleEntry = any_of(NamedMethod)
#: Entries by their names, which may be those of their methods.
Named = (BeforeValidator(name_methods), WrapSerializer(unnamed))


class Reference(Closed):
    """A model that is only scored, beside a group's runs."""

    model: ModelId
    #: Its name in tables.
    label: OneLine
    #: Step for which a paper published values of a reference of its run's name; none: step 0.
    paper_step: StepNumber = 0


class Chat(ChatOptions):
    """How a group's models are asked through a chat template."""

    template: OneLine | None = Field(
        default=None,
        description="for all of them: a Jinja file, or a template of the package by its name; none:"
        " each model's own",
    )


class RunGroup(Several):
    """Every method applied to one source model: a grid with ids ``<group>-<name>``.

    Runs may give target, helper, mixture and recipe of their own.
    """

    #: Its name in tables.
    label: OneLine
    source: ModelId
    #: Tokenizer that its runs get.
    target: TokenizerId | None = None
    #: Model that methods read besides the source, if they need one.
    helper: ModelId | None = None
    #: Shares of the text that its runs are trained on.
    mixture: MixtureId | None = None
    #: How its runs are trained.
    recipe: RecipeId | None = None
    #: When two tokens count as the same.
    identity: Literal["bytes", "marker"] = "bytes"
    #: On whose tasks the runs are scored; a task in two languages needs both. None: on every task.
    languages: list[Id] | None = Field(default=None, min_length=1)
    #: Ask the group's models through their chat templates; none: as plain text.
    chat: Chat | None = None
    #: At most so many examples in the prompts of its models; none: as many as each task has.
    most_shots: ShotCount | None = None
    #: Its runs by name: each a method, called after it unless `method` says which.
    methods: Annotated[dict[Id, RunEntry], *Named] = Field(default_factory=dict)
    references: dict[Id, Reference] = Field(default_factory=dict)
    #: Steps here, and for each the step of a longer training whose published values stand beside;
    #: a step that is not named stands for itself.
    paper_steps: dict[Steps, Steps] = Field(default_factory=dict)

    def setting(self, name: str, key: str) -> Any:
        """Return what the run ``name`` says of itself under ``key``, null included, else what the
        group says.
        """
        entry = self.methods[name]
        return getattr(entry if key in entry.model_fields_set else self, key)

    @property
    def asking(self) -> tuple[Chat | None, int | None]:
        return self.chat, self.most_shots

    def says(self, name: str, key: str) -> bool:
        """Return whether the run ``name`` or the group says anything, be it null, under ``key``."""
        return key in self.methods[name].model_fields_set | self.model_fields_set


class AuxiliaryVectors(FastTextOptions):
    """What methods compare tokens in: fastText vectors, trained once per target tokenizer, for runs
    with ``auxiliary: fasttext``, and a file for those with ``auxiliary: file``.
    """

    #: Best in both languages: one space then holds source and target tokens.
    corpora: list[CorpusId] = Field(default_factory=list)
    vectors: OneLine | None = Field(
        default=None, description="file of vectors by token text (docs/methods.md)"
    )


class Scale(ScaleOptions):
    """Time and memory of every method at a real model's embedding shape, with random weights."""

    source_tokenizer: TokenizerId
    target_tokenizer: TokenizerId
    #: What is measured, by name.
    methods: Annotated[dict[Id, ScaleEntry], *Named] = Field(min_length=1)
