"""Text in the tokens that a vocabulary really makes of it, in stretches that new tokens keep to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from revocab.heavy_types import Tokenizer
from revocab.tokenizer_building.editable import EditableVocabulary
from revocab.tokenizer_building.pretokens import CutPretokens
from revocab.tokenizers.encoding import encode_batches


def cut_text(vocabulary: EditableVocabulary, documents: Sequence[str]) -> tuple[CutPretokens, int]:
    """Return distinct stretches of a text's tokens with their counts, and the number of tokens.

    A stretch ends with its pre-token, and where a token begins with a space: no new token reaches
    over either (:func:`revocab.tokenizer_building.pretokens.is_word_part`). Unlike
    :func:`~revocab.tokenizer_building.pretokens.count_pretokens`, which the trainer counts with,
    this is the whole text, its spaces and added tokens as the tokenizer itself takes them.
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
