"""Corpora, the tokenizers made of them, and models."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, create_model, model_serializer, model_validator

from revocab.closed import (
    Closed,
    HubId,
    MixtureId,
    OneLine,
    RecipeId,
    Revision,
    TokenizerId,
    any_of,
    exactly_one,
)
from revocab.corpora.answers.options import AnswerOptions, JudgeOptions
from revocab.corpora.documents import CorpusOptions
from revocab.corpora.source import Source
from revocab.limits import POSITIONS
from revocab.models.change import ChangeOptions, ModelReference, changes
from revocab.models.parameters import Architecture
from revocab.vocabulary.building.construction import ConstructionEntry, constructions

if TYPE_CHECKING:
    JudgeChoice = JudgeOptions
else:
    JudgeChoice = any_of(JudgeOptions)


class OwnAnswers(AnswerOptions):
    """Answers of a model in place of those that conversations have."""

    model: ModelReference
    chat_template: OneLine | None = Field(
        default=None,
        description="Jinja file by which it is asked, or the name of a template of the package; "
        "default: its own",
    )
    judge: JudgeChoice | None = Field(default=None, description="which answers are kept; none: all")
    #: The model of a judge that has one.
    judge_model: ModelReference | None = None


class Corpus(CorpusOptions):
    """Documents of one language."""

    source: Source
    #: Left out of what is written where there are none, as before there was a choice.
    answers: OwnAnswers | None = Field(default=None, exclude_if=lambda value: value is None)


#: Constructions that a tokenizer has a key for; `substitute` is what ``hub`` and ``path`` say.
BUILT = {name: kind for name, kind in constructions().items() if name != "substitute"}


class TokenizerPlace(Closed):
    """A place to take a tokenizer from as it is; or one construction."""

    #: Repository of the Hub.
    hub: HubId | None = None
    #: Its commit, tag or branch; none: looked up once, and told.
    revision: Revision | None = None
    #: Folder or file.
    path: OneLine | None = None

    @model_validator(mode="after")
    def _one_way(self) -> TokenizerPlace:
        return exactly_one(self, ("hub", "path", *BUILT))

    def construction(self) -> tuple[str, ConstructionEntry]:
        for name in BUILT:
            options = getattr(self, name)
            if options is not None:
                return name, options
        substitute: Any = constructions()["substitute"].entry
        return "substitute", substitute(hub=self.hub, revision=self.revision, path=self.path)


if TYPE_CHECKING:

    class Tokenizer(TokenizerPlace):
        """A tokenizer, with one key per construction."""

        def __getattr__(self, name: str) -> Any:
            """Return the options of a construction, or None."""

else:
    #: One key per construction in the registry, so that a new one needs no line here.
    Tokenizer = create_model(
        "Tokenizer",
        __base__=TokenizerPlace,
        __doc__="A tokenizer: from the Hub, from a folder, or built here by one construction.",
        **{name: (kind.entry | None, None) for name, kind in BUILT.items()},
    )


class Pretraining(Closed):
    """A stand-in model pretrained here."""

    architecture: Architecture
    mixture: MixtureId
    recipe: RecipeId
    context_length: Annotated[int, Field(ge=16), POSITIONS] = Field(
        default=2048, description="number of positions"
    )


class ChangedModel(ChangeOptions):
    """A model made of another one, its body, by one change; the options are the change's."""

    model: ModelReference


class ModelPlace(Closed):
    """A place to take a model from, or one way to make it."""

    tokenizer: TokenizerId
    #: Repository of the Hub.
    hub: HubId | None = None
    #: Its commit, tag or branch; none: looked up once, and told.
    revision: Revision | None = None
    #: Folder with the model.
    path: OneLine | None = None
    pretrain: Pretraining | None = None
    #: Embedding, head and tokenizer alone are fetched, for a helper: of any architecture, without
    #: its code.
    vocabulary_only: bool = Field(default=False, exclude_if=lambda value: not value)

    @model_validator(mode="after")
    def _one_place(self) -> ModelPlace:
        if self.vocabulary_only and self.hub is None:
            raise ValueError("vocabulary_only is for a model from the Hub; remove it")
        return exactly_one(self, ("hub", "path", "pretrain", *changes()))

    @model_serializer(mode="wrap")
    def _without_changes(self, dump: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        """Leave out the changes that a model is not made by: a new kind alters no record."""
        unused = {name for name in changes() if getattr(self, name) is None}
        return {key: value for key, value in dump(self).items() if key not in unused}

    def change(self) -> tuple[str, ChangedModel] | None:
        own = {name: getattr(self, name) for name in changes()}
        return next(((name, change) for name, change in own.items() if change is not None), None)


def _entry(options: type[ChangeOptions]) -> type[ChangedModel]:
    bases: Any = (ChangedModel, options)
    return create_model(options.__name__.replace("Options", "Entry"), __base__=bases)


if TYPE_CHECKING:

    class Model(ModelPlace):
        """A model, with one key per change."""

        def __getattr__(self, name: str) -> Any:
            """Return the options of a change, or None."""

else:
    #: One key per change in the registry, so that a new one needs no line here.
    Model = create_model(
        "Model",
        __base__=ModelPlace,
        __doc__="A causal language model: from the Hub, from a folder, pretrained here, or made of "
        "another model by one change.",
        **{name: (_entry(change.options) | None, None) for name, change in changes().items()},
    )
