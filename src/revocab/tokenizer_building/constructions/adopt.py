"""Adopt: the base with the chat tokens, chat template and end token of another tokenizer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from revocab.errors import RevocabError
from revocab.tokenizer_building.construction import (
    BuildInputs,
    Built,
    Construction,
    ConstructionOptions,
)

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

    from revocab.tokenizer_building.editable import EditableVocabulary


class AdoptOptions(ConstructionOptions):
    """The tokenizer that is kept, and the one whose conversations it learns to write."""

    tokenizers: ClassVar[tuple[str, ...]] = ("base", "chat")

    base: str
    #: The tokenizer of an instruction-tuned model.
    chat: str


def build(inputs: BuildInputs, options: Any) -> Built:
    """Return the base, its ids unchanged, with the chat tokenizer's added tokens at the end.

    They come in the order of their ids, as special or plain and cut out of the text in the same way
    as there; one that the base has already keeps its id. The chat tokenizer's template and end
    token replace the base's, and so does its padding token where it has one; the base's beginning
    token stays, since the base puts it before every text. Raises :class:`RevocabError` for a chat
    tokenizer without a template or an end token.
    """
    from revocab.tokenizer_building.editable import EditableVocabulary
    from revocab.tokenizers.load import tokenizer_style

    chat = inputs.tokenizers["chat"]
    _check_chat(chat)
    base = EditableVocabulary.read(inputs.tokenizers["base"])
    grown = with_added_tokens(base, _added_tokens(chat))
    tokenizer = grown.tokenizer()
    tokenizer.chat_template = chat.chat_template
    tokenizer.eos_token = chat.eos_token
    if chat.pad_token is not None:
        tokenizer.pad_token = chat.pad_token
    added = [token for token in grown.ids if token not in base.ids]
    facts = {
        "alphabet": tokenizer_style(tokenizer),
        "options": options.model_dump(mode="json"),
        "base_size": len(base),
        "added": len(added),
        "ids_kept": True,
        "eos": chat.eos_token,
    }
    listed = [{"id": grown.ids[token], "token": token} for token in added]
    return Built(tokenizer, facts, {"added": listed, "dropped": []})


def with_added_tokens(
    vocabulary: EditableVocabulary, tokens: list[dict[str, Any]]
) -> EditableVocabulary:
    """Return a vocabulary that cuts ``tokens`` out of every text before anything else.

    ``tokens`` are entries of ``added_tokens`` in ``tokenizer.json``; those that are added tokens of
    the vocabulary already stay as they are.
    """
    known = {token["content"] for token in vocabulary.state["added_tokens"]}
    new = [token for token in tokens if token["content"] not in known]
    missing = [token["content"] for token in new if token["content"] not in vocabulary.ids]
    scores = {}
    if vocabulary.model == "Unigram":
        lowest = min(vocabulary.scores.values())
        scores = dict.fromkeys(missing, lowest)
    grown = vocabulary.plus(missing, scores=scores)
    numbered = [{**token, "id": grown.ids[token["content"]]} for token in new]
    state = {**grown.state, "added_tokens": [*grown.state["added_tokens"], *numbered]}
    return replace(grown, state=state)


def _added_tokens(chat: PreTrainedTokenizerFast) -> list[dict[str, Any]]:
    """Return the added tokens of a tokenizer as ``tokenizer.json`` has them, by ascending id.

    Its beginning and unknown tokens are left out: the base has its own.
    """
    own = {chat.bos_token, chat.unk_token} - {chat.eos_token, chat.pad_token}
    return [
        {
            "id": number,
            "content": token.content,
            "single_word": token.single_word,
            "lstrip": token.lstrip,
            "rstrip": token.rstrip,
            "normalized": token.normalized,
            "special": token.special,
        }
        for number, token in sorted(chat.added_tokens_decoder.items())
        if token.content not in own
    ]


def _check_chat(chat: PreTrainedTokenizerFast) -> None:
    problems = []
    if not isinstance(chat.chat_template, str):
        problems.append("it has no chat template, or several")
    if chat.eos_token is None:
        problems.append("it has no end token (eos)")
    if problems:
        raise RevocabError(
            f"construction 'adopt', option chat = {chat.name_or_path}: {one}; name the tokenizer of"
            " an instruction-tuned model"
            for one in problems
        )


CONSTRUCTION = Construction(
    name="adopt",
    summary="the base with the chat tokens, chat template and end token of another; base ids stay",
    citation="Tikhomirov and Chernyshev 2024, Facilitating Large Language Model Russian Adaptation"
    " with Learned Embedding Propagation (the instruct model's special tokens are kept)",
    options=AdoptOptions,
    build=build,
)
