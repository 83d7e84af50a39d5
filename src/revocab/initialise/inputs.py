"""What an initialisation is given, and which of it a method needs."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.closed import Closed
from revocab.errors import RevocabError
from revocab.flags import flag_of
from revocab.initialise.method import Method, MethodOptions
from revocab.models.hub_or_folder import model_field, tokenizer_field


class InitInputs(Closed):
    """Models and tokenizers; which of them are needed depends on the method."""

    source: Path = model_field("model folder (safetensors)")
    source_tokenizer: Path | None = tokenizer_field(
        "tokenizer folder of the source; default: the model folder", default=None
    )
    target_tokenizer: Path | None = tokenizer_field(
        "target tokenizer folder; not for lapt", default=None
    )
    pairs: Path | None = Field(
        default=None, description="folder written by intersect_vocabularies; default: computed"
    )
    helper: Path | None = model_field(
        "helper model folder; its tokenizer may differ from the target's", default=None
    )
    helper_pairs: Path | None = Field(
        default=None,
        description="folder written by intersect_vocabularies for the helper's tokenizer and "
        "the target's; default: computed",
    )
    adapted: Path | None = model_field(
        "folder of a trained model with the target's tokens; for lep", default=None
    )
    base: Path | None = model_field(
        "folder of the model that it was adapted from; for lep", default=None
    )
    auxiliary: Path | None = Field(
        default=None,
        description="folder written by train_auxiliary, for auxiliary=fasttext; file of vectors by "
        "token text, for auxiliary=file",
    )

    def check(self, method: Method, options: MethodOptions) -> None:
        """Raise :class:`RevocabError` naming all that the method needs and that is not given."""
        if method.keeps_vocabulary:
            return
        needed = {"target_tokenizer": "the new vocabulary"}
        match method.needs(options):
            case "helper":
                needed["helper"] = (
                    "a model that has many of the target's tokens, ideally with the target"
                    " tokenizer"
                )
            case "fasttext":
                needed["auxiliary"] = "a folder written by train_auxiliary, for auxiliary=fasttext"
            case "file":
                needed["auxiliary"] = (
                    "a file of vectors by token text (docs/methods.md), for auxiliary=file"
                )
        if method.needs_donor:
            needed["adapted"] = "a model with the target's tokens, trained"
            needed["base"] = "the model that it was adapted from"
        problems = [
            f"method {method.name!r} needs {flag_of(key)}, {what}"
            for key, what in needed.items()
            if getattr(self, key) is None
        ]
        if problems:
            raise RevocabError(problems)
