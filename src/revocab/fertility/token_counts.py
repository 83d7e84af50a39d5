"""Count the tokens of texts: how many, how many of them unknown, how many only bytes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import chain

from revocab.errors import RevocabError
from revocab.heavy_types import PreTrainedTokenizerFast, ndarray
from revocab.tokenizers.alphabets import from_byte_level
from revocab.tokenizers.canonical import BYTE_TOKEN
from revocab.tokenizers.encoding import encode_batches
from revocab.tokenizers.load import tokenizer_style

UNKNOWN, BYTE = 1, 2


@dataclass(frozen=True)
class TokenCounts:
    """Tokens of each text, int64 [texts]; of them the unknown token, and byte tokens."""

    tokens: ndarray
    unknown: ndarray
    bytes_: ndarray


def token_classes(tokenizer: PreTrainedTokenizerFast) -> ndarray:
    """Return each id's class, uint8 [largest id + 1]: :data:`UNKNOWN`, :data:`BYTE`, or 0.

    A byte token is ``<0xNN>``, or a byte-level token that ends inside a character.
    """
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


def count_token_classes(tokenizer: PreTrainedTokenizerFast, documents: list[str]) -> TokenCounts:
    """Return the tokens of each text, and of them unknown ones and bytes; uses every core."""
    import numpy as np

    classes = token_classes(tokenizer)
    parts: dict[str, list[ndarray]] = {"tokens": [], "unknown": [], "bytes_": []}
    for batch in encode_batches(tokenizer.backend_tokenizer, documents):
        lengths = np.fromiter(map(len, batch), np.int64, len(batch))
        ids = chain.from_iterable(encoding.ids for encoding in batch)
        kinds = classes[np.fromiter(ids, np.int32, int(lengths.sum()))]
        ends = np.concatenate([[0], np.cumsum(lengths)])
        parts["tokens"].append(lengths)
        for name, kind in (("unknown", UNKNOWN), ("bytes_", BYTE)):
            before = np.concatenate([[0], np.cumsum(kinds == kind)])
            parts[name].append(np.diff(before[ends]))
    nothing = np.zeros(0, np.int64)
    return TokenCounts(**{name: np.concatenate([nothing, *parts[name]]) for name in parts})


def share_split(tokenizer: PreTrainedTokenizerFast, frequencies: Counter[str]) -> float | None:
    """Return the share of running words of more than one token; None where there is no word.

    Words without a letter are left out. Each stands after a space, as inside a sentence.
    """
    words = [word for word in frequencies if any(map(str.isalpha, word))]
    total = sum(frequencies[word] for word in words)
    if not total:
        return None
    backend = tokenizer.backend_tokenizer
    start = backend.encode("a", add_special_tokens=False).tokens[:1]
    # A tokenizer that drops spaces begins a word with every text, too.
    drops_spaces = type(backend.model).__name__ in ("WordPiece", "WordLevel")
    spaced = "" if not start or start[0].startswith(("▁", "Ġ")) or drops_spaces else " "
    batches = encode_batches(backend, [spaced + word for word in words])
    counts = [len(encoding) for batch in batches for encoding in batch]
    split = sum(frequencies[word] for word, count in zip(words, counts, strict=True) if count > 1)
    return split / total
