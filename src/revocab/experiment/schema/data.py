"""Corpora, and the tokenizers made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field, create_model, model_validator

from revocab.closed import Closed, HubId, OneLine, Revision, any_of, exactly_one
from revocab.corpora.answers.options import AnswerOptions, JudgeOptions
from revocab.corpora.options import CorpusOptions
from revocab.corpora.source import Source
from revocab.models.change import ModelReference
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
