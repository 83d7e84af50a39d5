"""Text in a tokenizer's tokens: how many, how many only bytes, and the fewest that there can be.

A splitter cuts text into pre-tokens, and no token reaches over a cut: tokens >= pre-tokens,
whatever is added (``tokenizers/alphabets.py``, also for splitters that cut words at marks).
Without a splitter (SentencePiece's ``▁`` files) the limit is what the trainer joins: neighbouring
tokens that may be one (:func:`revocab.vocabulary.building.training_text.is_word_part`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any

from revocab.errors import RevocabError
from revocab.heavy_types import PreTrainedTokenizerFast, Tokenizer, ndarray
from revocab.vocabulary.building.editable import EditableVocabulary
from revocab.vocabulary.building.training_text import CutPretokens, is_word_part
from revocab.vocabulary.tokenizers.alphabets import from_byte_level, pretokens_only, repair_splitter
from revocab.vocabulary.tokenizers.canonical import BYTE_TOKEN
from revocab.vocabulary.tokenizers.encoding import (
    Coverage,
    SpecialTexts,
    Unseen,
    encode_batches,
    text_encoder,
)
from revocab.vocabulary.tokenizers.load import tokenizer_style

if TYPE_CHECKING:
    from revocab.vocabulary.fertility import Text


UNKNOWN, BYTE = 1, 2


@dataclass(frozen=True)
class TokenCounts:
    """Tokens of each text, int64 [texts]; of them the unknown token, and byte tokens."""

    tokens: ndarray
    unknown: ndarray
    bytes_: ndarray
    #: How many symbols of each text have no token and vanish, int64 [texts].
    lost: ndarray
    #: Texts of special tokens in all of it, and what no token stands for.
    special_texts: int = 0
    unseen: Unseen = field(default_factory=Unseen)

    def unknown_rate(self, texts: Any = ...) -> float:
        """Return the share of unknown tokens; a symbol that vanishes counts as one."""
        lost = int(self.lost[texts].sum())
        tokens = int(self.tokens[texts].sum()) + lost
        return (int(self.unknown[texts].sum()) + lost) / tokens


def token_classes(tokenizer: PreTrainedTokenizerFast) -> ndarray:
    """Return each id's class, uint8: :data:`UNKNOWN`; :data:`BYTE`, also of a part of one; or 0."""
    import numpy as np

    vocabulary = tokenizer.get_vocab()
    try:
        style = tokenizer_style(tokenizer)
    except RevocabError:  # a family without byte tokens, such as whole words
        style = None
    classes = np.zeros(max(vocabulary.values(), default=-1) + 1, np.uint8)
    added = tokenizer.added_tokens_decoder
    for token, number in vocabulary.items():
        if style == "byte_level":
            data = None if number in added else from_byte_level(token)
            try:
                if data is not None:
                    data.decode()
            except UnicodeDecodeError:
                classes[number] = BYTE
        elif BYTE_TOKEN.fullmatch(token):
            classes[number] = BYTE
    if tokenizer.unk_token_id is not None:
        classes[tokenizer.unk_token_id] = UNKNOWN
    return classes


def count_token_classes(
    tokenizer: PreTrainedTokenizerFast, documents: Sequence[str]
) -> TokenCounts:
    """Return the tokens of each text, and of them unknown ones and bytes; uses every core."""
    import numpy as np

    classes = token_classes(tokenizer)
    special = SpecialTexts(tokenizer.backend_tokenizer)
    coverage = Coverage(text_encoder(tokenizer.backend_tokenizer))
    unseen, lost = Unseen(), np.zeros(len(documents), np.int64)
    done = 0
    parts: dict[str, list[ndarray]] = {"tokens": [], "unknown": [], "bytes_": []}
    for batch in encode_batches(tokenizer.backend_tokenizer, documents):
        ids_of = [encoding.ids for encoding in batch]
        lengths = np.fromiter(map(len, ids_of), np.int64, len(batch))
        kinds = classes[np.fromiter(chain.from_iterable(ids_of), np.int32, int(lengths.sum()))]
        for number, ids in enumerate(ids_of, done):
            missed, vanished = coverage.missed(documents[number], ids)
            unseen.add(missed, f"document {number + 1}")
            lost[number] = vanished
        done += len(batch)
        ends = np.concatenate([[0], np.cumsum(lengths)])
        parts["tokens"].append(lengths)
        for name, kind in (("unknown", UNKNOWN), ("bytes_", BYTE)):
            before = np.concatenate([[0], np.cumsum(kinds == kind)])
            parts[name].append(np.diff(before[ends]))
    nothing = np.zeros(0, np.int64)
    counts = {name: np.concatenate([nothing, *parts[name]]) for name in parts}
    spelt_specials = sum(map(special.count, documents))
    return TokenCounts(**counts, special_texts=spelt_specials, unseen=unseen, lost=lost)


def share_split(tokenizer: PreTrainedTokenizerFast, frequencies: Counter[str]) -> float | None:
    """Return the share of running words (with a letter) of several tokens, each after a space."""
    words = [word for word in frequencies if any(map(str.isalpha, word))]
    total = sum(frequencies[word] for word in words)
    if not total:
        return None
    backend = tokenizer.backend_tokenizer
    start = text_encoder(backend).encode("a", add_special_tokens=False).tokens[:1]
    # A tokenizer that drops spaces begins a word with every text, too.
    drops_spaces = type(backend.model).__name__ in ("WordPiece", "WordLevel")
    spaced = "" if not start or start[0].startswith(("▁", "Ġ")) or drops_spaces else " "
    batches = encode_batches(backend, [spaced + word for word in words])
    counts = [len(encoding) for batch in batches for encoding in batch]
    split = sum(frequencies[word] for word, count in zip(words, counts, strict=True) if count > 1)
    return split / total


def cut_text(vocabulary: EditableVocabulary, documents: Sequence[str]) -> tuple[CutPretokens, int]:
    """Return distinct stretches of a text's tokens with their counts, and the number of tokens.

    A stretch ends with its pre-token, and where a token begins with a space: no new token reaches
    over either. Unlike that of :func:`.count_pretokens`, this is the whole text, its spaces and
    added tokens as the tokenizer itself takes them.
    """
    starts = {token for token in vocabulary.ids if vocabulary.text(token)[:1].isspace()}
    stretches: Counter[tuple[str, ...]] = Counter()
    total = 0
    for batch in encode_batches(vocabulary.backend, documents, ids_only=False):
        for encoding in batch:
            total += len(encoding)
            stretch: list[str] = []
            last = None
            for token, word in zip(encoding.tokens, encoding.word_ids, strict=True):
                if stretch and (word != last or token in starts):
                    stretches[tuple(stretch)] += 1
                    stretch = []
                stretch.append(token)
                last = word
            if stretch:
                stretches[tuple(stretch)] += 1
    ordered = sorted(stretches)
    return CutPretokens([*map(list, ordered)], [stretches[key] for key in ordered]), total


def count_tokens(backend: Tokenizer, documents: Sequence[str]) -> int:
    return sum(len(text) for batch in encode_batches(backend, documents) for text in batch)


#: A text this close to its floor cannot get much cheaper.
NEAR_FLOOR = 1.15
#: So much of each corpus is counted.
COUNTED_BYTES = 4_000_000
FLOOR_COLUMNS = (
    "tokenizer", "corpus", "documents", "words", "tokens", "floor_tokens", "joined_floor_tokens",
    "has_splitter", "tokens_per_word", "floor", "joined_floor",
)  # fmt: skip


@dataclass(frozen=True)
class Floor:
    """The fewest tokens of a text."""

    tokens: int
    #: The same with marks joined to words; None where the splitter needs no such repair, or no
    #: repair is exact.
    repaired_tokens: int | None
    #: Whether the floor is the splitter's, or what the trainer joins where there is no splitter.
    has_splitter: bool


def measure_floor(tokenizer: PreTrainedTokenizerFast, documents: Sequence[str]) -> Floor:
    """Return the floor of texts.

    Raises :class:`RevocabError` for a tokenizer without a splitter that cannot be extended.
    """
    backend = tokenizer.backend_tokenizer
    state = json.loads(backend.to_str())
    splitter = pretokens_only(state)
    if count_tokens(splitter, ["a a"]) > 1:
        repair, repaired = repair_splitter(backend), None
        if repair.works:
            joined = pretokens_only({**state, "pre_tokenizer": repair.splitter})
            repaired = count_tokens(joined, documents)
        return Floor(count_tokens(splitter, documents), repaired, has_splitter=True)
    vocabulary = EditableVocabulary.read(tokenizer)
    words, _ = cut_text(vocabulary, documents)
    is_fallback, spelt = vocabulary.style == "byte_fallback", dict[str, bytes]()
    for piece in {piece for word in words.pieces for piece in word}:
        byte = BYTE_TOKEN.fullmatch(piece) if is_fallback else None
        spelt[piece] = bytes([int(byte[1], 16)]) if byte else vocabulary.text(piece)
    runs = (joined_runs([spelt[piece] for piece in word]) for word in words.pieces)
    tokens = sum(fewest * count for fewest, count in zip(runs, words.counts, strict=True))
    return Floor(tokens, None, has_splitter=False)


def joined_runs(pieces: Sequence[bytes]) -> int:
    """Return how many are left of pieces where all neighbours are joined that may be.

    Whatever lies inside what may be joined may be joined itself, so going from left to right, as
    far as each goes, leaves the fewest.
    """
    runs, run = 0, b""
    for piece in pieces:
        if run and is_word_part(run + piece):
            run += piece
        else:
            runs, run = runs + 1, piece
    return runs


def measure_floors(
    tokenizers: Mapping[str, PreTrainedTokenizerFast],
    corpora: Sequence[Text],
    words: Mapping[str, Sequence[int]],
) -> list[dict[str, Any]]:
    """Return a row (:data:`FLOOR_COLUMNS`) of each tokenizer on the first documents of each corpus.

    ``words`` has those of each document; ``floor`` and ``joined_floor`` are tokens per word, the
    fewest with the splitter as it is, and with marks joined to words; None where there is none.
    """
    rows = []
    for text in corpora:
        ends = accumulate(len(document.encode()) for document in text.documents)
        documents = text.documents[: 1 + sum(end < COUNTED_BYTES for end in ends)]
        counted = sum(words[text.corpus][: len(documents)])
        for name, tokenizer in tokenizers.items():
            tokens = count_tokens(tokenizer.backend_tokenizer, documents)
            try:
                fewest, repaired, split = astuple(measure_floor(tokenizer, documents))
            except RevocabError:  # no splitter, and no vocabulary that new tokens are added to
                fewest = repaired = split = None
            counts = (tokens, fewest, repaired)
            rates = [None if count is None or not counted else count / counted for count in counts]
            values = (name, text.corpus, len(documents), counted, *counts, split, *rates)
            rows.append(dict(zip(FLOOR_COLUMNS, values, strict=True)))
    return rows
