"""Take over another tokenizer: whole (substitute), or what it writes conversations with (adopt).

Adopt: the base with the chat tokens, chat template and end token of another tokenizer, or with a
chat template that is given, and the tokens that it writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from pydantic import Field, field_validator

from revocab.closed import HubId, OneLine, Revision
from revocab.errors import RevocabError, refuse
from revocab.heavy_types import PreTrainedTokenizerFast
from revocab.hub import resolve
from revocab.training.chat.template import end_of_answers, find_template, load_template
from revocab.vocabulary.building.construction import (
    BuildInputs,
    Built,
    Construction,
    ConstructionOptions,
)
from revocab.vocabulary.building.editable import EditableVocabulary
from revocab.vocabulary.tokenizers.canonical import canonical_vocabulary
from revocab.vocabulary.tokenizers.file_ids import FLAGS
from revocab.vocabulary.tokenizers.load import load_tokenizer, tokenizer_style


class SubstituteOptions(ConstructionOptions):
    """Where the tokenizer comes from: exactly one of a folder and a Hub id."""

    folders: ClassVar[tuple[str, ...]] = ("path",)

    hub: HubId | None = Field(default=None, description="repository of the Hub")
    revision: Revision | None = Field(
        default=None, description="commit, tag or branch of the repository"
    )

    def conflict(self, inputs: Mapping[str, Any]) -> str | None:
        if ("path" in inputs) == (self.hub is not None):
            return "exactly one of path, hub must be given"
        if "path" in inputs and self.revision is not None:
            return "revision belongs to hub; a folder has none"
        return None


def build_substitute(inputs: BuildInputs, options: Any) -> Built:
    """Return the tokenizer as it is; raise :class:`RevocabError` if it cannot be used."""
    if path := inputs.places.get("path"):
        tokenizer = load_tokenizer(path)
        origin = {"path": path.name}
    else:
        origin = resolve(options.hub, options.revision, "model")
        tokenizer = load_tokenizer(options.hub, revision=origin["commit"])
    canonical_vocabulary(tokenizer)  # holes and double ids are errors here, not rows later
    return Built(tokenizer, {"alphabet": tokenizer_style(tokenizer), **origin})


class AdoptOptions(ConstructionOptions):
    """The tokenizer that is kept, and what it learns to write conversations with: exactly one of
    ``chat`` and ``template``.
    """

    tokenizers: ClassVar[tuple[str, ...]] = ("base", "chat")
    templates: ClassVar[tuple[str, ...]] = ("template",)
    needs: ClassVar[tuple[str, ...]] = ("base",)

    tokens: list[OneLine] = Field(
        default_factory=list,
        description="the special tokens that the template writes, in the order of their new ids",
    )

    @field_validator("tokens")
    @classmethod
    def _differ(cls, tokens: list[str]) -> list[str]:
        if repeated := sorted({token for token in tokens if tokens.count(token) > 1}):
            raise ValueError(f"tokens name {', '.join(repeated)} more than once")
        return tokens

    def conflict(self, inputs: Mapping[str, Any]) -> str | None:
        if ("chat" in inputs) == ("template" in inputs):
            return "exactly one of chat, template must be given"
        if "chat" in inputs and self.tokens:
            return "tokens belong to template; those of chat are its own"
        return None


def build_adopted(inputs: BuildInputs, options: Any) -> Built:
    """Return the base, its ids unchanged, with the chat tokens at the end.

    Those of a chat tokenizer come in the order of their ids, as special or plain and cut out of the
    text in the same way as there; one that the base has already keeps its id. The chat template and
    end token replace the base's, and so does the chat tokenizer's padding token where it has one;
    the base's beginning token stays, since the base puts it before every text. The end token of a
    template is the special token that ends its answers. Raises :class:`RevocabError` for a chat
    tokenizer without a template or an end token, and for a template that cannot be learned from.
    """
    base = EditableVocabulary.read(inputs.tokenizers["base"])
    if template := inputs.places.get("template"):
        plain = dict.fromkeys(FLAGS, False)
        tokens = [{"id": 0, "content": text, **plain, "special": True} for text in options.tokens]
        grown = with_added_tokens(base, tokens)
        tokenizer = grown.tokenizer()
        tokenizer.chat_template = find_template(template).read_text(encoding="utf-8")
        _end_as_the_template(tokenizer, str(template), options.tokens)
    else:
        chat = inputs.tokenizers["chat"]
        problems = []
        if not isinstance(chat.chat_template, str):
            problems.append("it has no chat template, or several")
        if chat.eos_token is None:
            problems.append("it has no end token (eos)")
        refuse(
            f"construction 'adopt', option chat = {chat.name_or_path}: {problem}; name the"
            " tokenizer of an instruction-tuned model"
            for problem in problems
        )
        # Not those for beginnings and the unknown: the base has its own.
        own = {chat.bos_token, chat.unk_token} - {chat.eos_token, chat.pad_token}
        tokens = [
            {"id": number, "content": token.content, **{key: getattr(token, key) for key in FLAGS}}
            for number, token in sorted(chat.added_tokens_decoder.items())
            if token.content not in own
        ]
        grown = with_added_tokens(base, tokens)
        tokenizer = grown.tokenizer()
        tokenizer.chat_template, tokenizer.eos_token = chat.chat_template, chat.eos_token
        if chat.pad_token is not None:
            tokenizer.pad_token = chat.pad_token
    added = [token for token in grown.ids if token not in base.ids]
    facts = {
        "alphabet": tokenizer_style(tokenizer),
        "options": inputs.recorded(options, nulls=False),
        "base_size": len(base),
        "added": len(added),
        "ids_kept": True,
        "eos": tokenizer.eos_token,
    }
    listed = [{"id": grown.ids[token], "token": token} for token in added]
    return Built(tokenizer, facts, {"added": listed, "dropped": []})


def _end_as_the_template(tokenizer: PreTrainedTokenizerFast, named: str, tokens: list[str]) -> None:
    """Make the token that ends the template's answers the tokenizer's end token.

    Raises :class:`RevocabError` for a template that no model can learn from with these tokens, and
    for tokens that it never writes.
    """
    where = f"construction 'adopt', option template = {named}"
    try:
        template = load_template(tokenizer, find_template(named), named)
    except RevocabError as error:
        raise RevocabError(
            f"{where}: {problem}; 'tokens' names the special tokens that a template writes "
            f"(received: {', '.join(tokens) or 'none'})"
            for problem in error.problems
        ) from None
    unused = [token for token in tokens if token not in template.text]
    if unused:
        raise RevocabError(
            f"{where}: it never writes {', '.join(unused)}; leave that out of 'tokens'"
        )
    tokenizer.eos_token = end_of_answers(template, tokenizer)


def with_added_tokens(
    vocabulary: EditableVocabulary, tokens: list[dict[str, Any]]
) -> EditableVocabulary:
    """Return a vocabulary that also cuts ``tokens`` (of a ``tokenizer.json``) out of every text."""
    known = {token["content"] for token in vocabulary.state["added_tokens"]}
    new = [token for token in tokens if token["content"] not in known]
    missing = [token["content"] for token in new if token["content"] not in vocabulary.ids]
    scores = {}
    if vocabulary.model == "Unigram":
        scores = dict.fromkeys(missing, min(vocabulary.scores.values()))
    grown = vocabulary.plus(missing, scores=scores)
    numbered = [{**token, "id": grown.ids[token["content"]]} for token in new]
    state = {**grown.state, "added_tokens": [*grown.state["added_tokens"], *numbered]}
    return replace(grown, state=state)


CONSTRUCTION = (
    Construction(
        name="substitute",
        summary="another tokenizer, whole",
        citation="de Vries & Nissim 2021, As Good as New (the vocabulary is replaced as a whole)",
        options=SubstituteOptions,
        build=build_substitute,
    ),
    Construction(
        name="adopt",
        summary="the base with another's chat tokens, chat template and end token; base ids stay",
        citation="Tikhomirov and Chernyshev 2024, Facilitating Large Language Model Russian"
        " Adaptation with Learned Embedding Propagation (the instruct model's special tokens are"
        " kept)",
        options=AdoptOptions,
        build=build_adopted,
    ),
)
