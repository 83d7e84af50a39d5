"""What an initialisation is given: models and tokenizers, a method with its options."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field, field_validator

from revocab.closed import Closed, Folder, Id, Job, Language, OfKinds, any_of, kind_of, look_up
from revocab.command_line import flag_of
from revocab.errors import refuse
from revocab.initialise.method import Method, MethodOptions, methods
from revocab.limits import Seed, Width
from revocab.models.hub_or_folder import model_field, tokenizer_field
from revocab.vocabulary.intersection import Identity

#: What fills further tensors with a row per token where the method of embedding and head cannot.
TABLES = "fvt"
#: What a method may need beside source and target (:meth:`Method.needs`): its key, and what it is.
NEEDED = {
    "helper": (
        "helper",
        "a model that has many of the target's tokens, ideally with the target tokenizer",
    ),
    "fasttext": ("vectors", "a folder written by train_auxiliary, for auxiliary fasttext"),
    "file": ("vectors", "a file of vectors by token text (docs/methods.md), for auxiliary file"),
}


class InitInputs(Closed):
    """Models and tokenizers; which of them are needed depends on the method."""

    source: Path = model_field("model folder (safetensors)")
    source_tokenizer: Folder | None = tokenizer_field(
        "tokenizer folder of the source; default: the model folder", default=None
    )
    target_tokenizer: Folder | None = tokenizer_field(
        "target tokenizer folder; not for lapt", default=None
    )
    pairs: Folder | None = Field(
        default=None, description="folder written by intersect; default: computed"
    )
    helper: Path | None = model_field(
        "helper model folder; its tokenizer may differ from the target's", default=None
    )
    helper_pairs: Folder | None = Field(
        default=None,
        description="folder written by intersect for the helper's tokenizer and "
        "the target's; default: computed",
    )
    adapted: Path | None = model_field(
        "folder of a trained model with the target's tokens; for lep", default=None
    )
    base: Path | None = model_field(
        "folder of the model that it was adapted from; for lep", default=None
    )
    vectors: Path | None = Field(
        default=None,
        description="folder written by train_auxiliary, for --auxiliary fasttext; file of vectors "
        "by token text, for --auxiliary file",
    )

    def check(self, method: Method, options: MethodOptions) -> None:
        """Raise :class:`RevocabError` naming all that the method needs and lacks, all that it has
        and does not read, and all that is not there.
        """
        needed: dict[str, str] = {}
        if not method.keeps_vocabulary:
            needed["target_tokenizer"] = "the new vocabulary"
        if (beside := method.needs(options)) is not None:
            needed |= [NEEDED[beside]]
        if method.needs_donor:
            needed["adapted"] = "a model with the target's tokens, trained"
            needed["base"] = "the model that it was adapted from"
        problems = [
            f"method {method.name!r} needs {flag_of(key)}, {what}"
            for key, what in needed.items()
            if getattr(self, key) is None
        ]
        read = {"source", "source_tokenizer", "pairs", "helper_pairs", *needed}
        problems += [
            f"{flag_of(key)}: method {method.name!r} does not read it; leave it out"
            for key, value in self
            if value is not None and key not in read
        ]
        problems += [
            f"{flag_of(key)}: {value}: no such {'file or ' * (key == 'vectors')}folder; correct the"
            " path, or name a model or tokenizer on the Hub (OWNER/NAME)"
            for key, value in self
            if value is not None and key in read and not value.exists()
        ]
        refuse(problems)


class ChosenMethod(MethodOptions, OfKinds):
    """A method that makes a model, with its options."""

    named_by: ClassVar[str] = "method"

    method: Id

    @classmethod
    def kinds(cls) -> dict[str, Method]:
        return {name: method for name, method in methods().items() if method.trains}

    @field_validator("tables", check_fields=False)
    @classmethod
    def _fills_tables(cls, tables: str | None) -> str | None:
        own = str(kind_of(cls))
        # What can fill them with a row per token, beside a method or as it.
        able = [
            name
            for name, method in methods().items()
            if method.fills_tables and (name == own or method.needs(method.options()) is None)
        ]
        if tables is not None and tables not in able:
            raise ValueError(
                "fills no further tensors with a row per token; those that do: "
                f"{', '.join(sorted(able))}"
            )
        return tables


class InitJob(ChosenMethod, Job):
    """A method with its options, and what else decides the new rows."""

    identity: Identity = Field(
        default="bytes", description="when two tokens count as the same (docs/tokenizers.md)"
    )
    seed: Seed = Field(default=0, description="seed of random draws")
    languages: list[Language] = Field(
        default_factory=list, description="languages of the model, such as it en, for its card"
    )


class ScaleOptions(Closed):
    """Widths of the matrices."""

    hidden_size: Width = Field(default=4096, description="width of the source")
    #: Width of the helper's rows.
    helper_hidden_size: Width = 2560


if TYPE_CHECKING:
    AnyMethod = ChosenMethod
else:
    AnyMethod = any_of(ChosenMethod)


class ScaleJob(ScaleOptions, Job):
    """Methods to measure, by the name of their row."""

    methods: dict[Id, AnyMethod]
    identity: Identity = "bytes"
    seed: Seed


def find_method(name: str) -> Method:
    return look_up("method", name, methods(), "method")


def table_method(method: Method, options: MethodOptions) -> tuple[Method, MethodOptions]:
    """Return what fills further tensors with a row per token, and its options."""
    name = getattr(options, "tables", None) or (method.name if method.fills_tables else TABLES)
    if name == method.name:
        return method, options
    return methods()[name], methods()[name].options()
