"""Text in a tokenizer's tokens: how many, how many only bytes, in which stretches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

from revocab.errors import RevocabError
from revocab.heavy_types import PreTrainedTokenizerFast, Tokenizer, ndarray
from revocab.vocabulary.building.editable import EditableVocabulary
from revocab.vocabulary.building.pretokens import CutPretokens
from revocab.vocabulary.tokenizers.alphabets import from_byte_level
from revocab.vocabulary.tokenizers.canonical import BYTE_TOKEN
from revocab.vocabulary.tokenizers.encoding import SpecialTexts, encode_batches, text_encoder
from revocab.vocabulary.tokenizers.load import tokenizer_style
from revocab.vocabulary.tokenizers.unseen import Coverage, Unseen

if TYPE_CHECKING:
    pass


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

    def unknown_rate(self, kept: Any = ...) -> float:
        """Return the share of unknown tokens; a symbol that vanishes counts as one."""
        lost = int(self.lost[kept].sum())
        tokens = int(self.tokens[kept].sum()) + lost
        return (int(self.unknown[kept].sum()) + lost) / tokens


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
    found = sum(map(special.count, documents))
    return TokenCounts(**counts, special_texts=found, unseen=unseen, lost=lost)


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
    over either. Unlike :func:`~revocab.vocabulary.building.pretokens.count_pretokens`, this is the
    whole text, its spaces and added tokens as the tokenizer itself takes them.
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
