"""All text becomes tokens here: as plain text, as text with control tokens in it, or as a prompt.

A document that spells a special token (``<|endoftext|>`` in a page on language models) is text: its
characters are cut like any others, as with ``split_special_tokens`` in transformers. Text that a
template wrote is read with its control tokens (``parse``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

    from revocab.heavy_types import PreTrainedTokenizerFast

#: Characters encoded at a time: encodings are some forty times larger than their text.
BATCH_CHARACTERS = 1_000_000
#: What the text of a special token is: text, or that token.
SpecialTokens = Literal["text", "parse"]
TEXT: SpecialTokens = "text"
PARSE: SpecialTokens = "parse"
SPECIAL_TOKENS = (
    "what text that spells a special token becomes: text (ordinary tokens), or parse (that token)"
)
#: So many texts are looked for one by one; of more, only what they begin with.
FEW = 16


def text_encoder(backend: Tokenizer, special_tokens: SpecialTokens = TEXT) -> Tokenizer:
    """Return what encodes text so; it is ``backend`` itself, switched, wherever that is enough.

    With ``text`` no id of a special token comes out but that of unknown words. Models that find
    whole words or pieces in their vocabulary (Unigram, WordLevel) would find ``</s>`` there, too:
    of these a copy is returned in which special tokens are spelt as no text is.
    """
    backend.encode_special_tokens = special_tokens == TEXT
    if special_tokens == PARSE:
        return backend
    model: Any = backend.model
    unknown = getattr(model, "unk_token", None)
    in_model = {
        token.content
        for number, token in backend.get_added_tokens_decoder().items()
        if token.special and token.content != unknown
        if model.token_to_id(token.content) == number
        if number in backend.encode(token.content, add_special_tokens=False).ids
    }
    return _without_pieces(backend, in_model) if in_model else backend


def _without_pieces(backend: Tokenizer, pieces: set[str]) -> Tokenizer:
    """Return a copy whose model does not find ``pieces`` in text; all ids stay."""
    from tokenizers import Tokenizer

    state = json.loads(backend.to_str())
    model, vocabulary = state["model"], state["model"]["vocab"]
    state["added_tokens"] = [
        token for token in state["added_tokens"] if token["content"] not in pieces
    ]

    def spelling(piece: str) -> str:
        return f"\uffff{piece}\uffff" if piece in pieces else piece

    if isinstance(vocabulary, list):
        unknown = model.get("unk_id")
        model["vocab"] = [
            [piece if number == unknown else spelling(piece), score]
            for number, (piece, score) in enumerate(vocabulary)
        ]
    else:
        model["vocab"] = {spelling(piece): number for piece, number in vocabulary.items()}
    if "merges" in model:
        model["merges"] = [pair for pair in model["merges"] if not {*pair, "".join(pair)} & pieces]
    copy: Any = Tokenizer.from_str(json.dumps(state))
    copy.encode_special_tokens = True
    return copy


class SpecialTexts:
    """The texts of a tokenizer's special tokens, found in other text."""

    def __init__(self, backend: Tokenizer):
        added = backend.get_added_tokens_decoder().values()
        special = {token.content for token in added if token.special and token.content}
        texts = sorted(special, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, texts)) or "(?!)")
        #: By first character: a text without any of these, as nearly all are, holds no such token.
        self._beginnings: dict[str, set[str]] = {}
        for text in texts:
            beginning = text if len(texts) <= FEW else text[:3]
            self._beginnings.setdefault(text[0], set()).add(beginning)

    def count(self, text: str) -> int:
        """Return how many special tokens a text spells."""
        for first, beginnings in self._beginnings.items():
            if first in text and any(beginning in text for beginning in beginnings):
                return len(self._pattern.findall(text))
        return 0


def special_sentence(what: str, count: int, special_tokens: SpecialTokens) -> str:
    """Return in words what became of special tokens that a text spells."""
    became = "ordinary tokens" if special_tokens == TEXT else "control tokens (special_tokens)"
    return f"{what}: {count:,} texts of special tokens in it became {became}"


def _batches(documents: Iterable[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for text in documents:
        batch.append(text)
        size += len(text)
        if size >= BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def encode_batches(
    backend: Tokenizer, documents: Iterable[str], *, ids_only: bool = True
) -> Iterator[list[Encoding]]:
    """Yield the encodings of plain text batch by batch; the next is encoded meanwhile."""
    encoder: Any = text_encoder(backend)
    # The fast call gives no offsets, strings and word numbers.
    fast = getattr(encoder, "encode_batch_fast", encoder.encode_batch)
    encode = fast if ids_only else encoder.encode_batch
    with ThreadPoolExecutor(1) as thread:
        waiting = None
        for batch in _batches(documents):
            started = thread.submit(encode, batch, add_special_tokens=False)
            if waiting is not None:
                yield waiting.result()
            waiting = started
        if waiting is not None:
            yield waiting.result()


# What stands after a prompt ---------------------------------------------------------------------


def load_prompt_tokenizer(folder: Path) -> PreTrainedTokenizerFast:
    """Load the tokenizer of a model that is asked: its prompts and contexts go on.

    Tokens that it puts behind a text (eos, sep) end a text in training; behind a prompt they would
    end what the model is to continue. Those before it stay.
    """
    from revocab.vocabulary.tokenizers.load import load_tokenizer

    tokenizer = load_tokenizer(folder)
    if appended_tokens(tokenizer):
        _append_nothing(tokenizer.backend_tokenizer)
    return tokenizer


def appended_tokens(tokenizer: PreTrainedTokenizerFast) -> list[int]:
    """Return the ids that a tokenizer puts behind every text: eos or sep, mostly none."""
    backend = tokenizer.backend_tokenizer
    bare, whole = (backend.encode("a", add_special_tokens=add).ids for add in (False, True))
    begin = next((at for at in range(len(whole)) if whole[at : at + len(bare)] == bare), len(whole))
    return whole[begin + len(bare) :]


def _append_nothing(backend: Any) -> None:
    from tokenizers import Tokenizer

    state = json.loads(backend.to_str())
    # A small tokenizer takes the step in: the vocabulary decides nothing of it.
    small = {
        **state, "added_tokens": [], "normalizer": None, "pre_tokenizer": None, "decoder": None,
        "model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"},
        "post_processor": _nothing_behind(state["post_processor"]),
    }  # fmt: skip
    backend.post_processor = Tokenizer.from_str(json.dumps(small)).post_processor


def _nothing_behind(step: dict[str, Any]) -> dict[str, Any]:
    """Return a post-processor that puts in front of a text what ``step`` does, and nothing behind.

    Those of BERT and RoBERTa become templates.
    """
    kind = step["type"]
    if kind == "Sequence":
        return {**step, "processors": [_nothing_behind(inner) for inner in step["processors"]]}
    if kind in ("BertProcessing", "RobertaProcessing"):
        first, number = step["cls"]
        special = {"SpecialToken": {"id": first, "type_id": 0}}
        parts = [special, {"Sequence": {"id": "A", "type_id": 0}}]
        template = {
            "type": "TemplateProcessing",
            "single": parts,
            "pair": [*parts, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {first: {"id": first, "ids": [number], "tokens": [first]}},
        }
        if kind == "BertProcessing":
            return template
        trimmed = {"type": "ByteLevel", "add_prefix_space": step["add_prefix_space"],
                   "trim_offsets": step["trim_offsets"], "use_regex": True}  # fmt: skip
        return {"type": "Sequence", "processors": [trimmed, template]}
    if kind == "TemplateProcessing":
        step = dict(step)
        for name in ("single", "pair"):
            last = max(at for at, part in enumerate(step[name]) if "Sequence" in part)
            step[name] = step[name][: last + 1]
    return step
