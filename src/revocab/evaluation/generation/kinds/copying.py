"""Copying a text given in the prompt: does a model use its new tokens, and use them right?

    Copia il testo parola per parola.
    Testo: Il gatto dorme sul tappeto.
    Copia: Il gatto dorme sul tappeto.

    Testo: …
    Copia:

After Tikhomirov and Chernyshev, "Facilitating large language model Russian adaptation with Learned
Embedding Propagation" (section DaruCopy), whose data is not used: any text will do. A model that
copies well but writes more tokens than its tokenizer needs has not learned its vocabulary
(``copy_ratio``, sentences); one that loses the text confuses tokens (``copied``, paragraphs).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from revocab.corpora.documents import COPY, INSTRUCTION, TEXT, WORDS, Unit
from revocab.corpora.documents import units as units_of
from revocab.errors import RevocabError
from revocab.evaluation.generation.kind import GenerationKind, OneLanguage
from revocab.evaluation.metrics import Metric, Row, mean_metric
from revocab.training.chat.layout import Languages, Layout

if TYPE_CHECKING:
    from revocab.evaluation.resampling import Items

#: A copy is one from this share of the original's tokens on: the rest is room for spacing.
COPIED = 0.99


class Copying(OneLanguage):
    """Sentences or paragraphs of any text, word for word."""

    kind: Literal["copying"]
    unit: Literal["sentence", "paragraph", "text"] = Field(
        description="unit to copy; text: each row's text as it is, however long"
    )

    def usable(self, rows: list[Row], where: str) -> list[Row]:
        if self.unit == "text":
            return rows
        originals = units(rows, self.unit, self.direction[0])
        if not originals:
            low, high = WORDS[self.unit]
            raise RevocabError(f"{where}: no {self.unit} of {low} to {high} words to copy")
        return originals


def units(rows: Sequence[Row], unit: Unit, language: str) -> list[Row]:
    """Return sentences or paragraphs of fitting lengths, without repeats, of each row's ``text``
    or, in parallel text, the field of the language.
    """
    ids: dict[str, str] = {}
    for row in rows:
        text = str(row.get("text") or row.get(language) or "")
        for number, line in units_of(text, unit):
            ids.setdefault(line, f"{row['id']}.{number}")
    return [{"id": number, "text": line} for line, number in ids.items()]


def common_length(first: Sequence[int], second: Sequence[int]) -> int:
    """Return the length of the longest common subsequence of two token sequences, bit-parallel
    (Hyyrö, "Bit-Parallel LCS-length Computation Revisited", 2004).
    """
    positions: dict[int, int] = {}
    for at, token in enumerate(first):
        positions[token] = positions.get(token, 0) | 1 << at
    mask = (1 << len(first)) - 1
    row = mask
    for token in second:
        matched = row & positions.get(token, 0)
        row = ((row + matched) | (row - matched)) & mask
    return len(first) - row.bit_count()


def counts(row: Row, encode: Callable[[str], list[int]]) -> dict[str, int]:
    original, written = encode(row["references"][0]), encode(row["output"])
    return {
        "reference_tokens": len(original),
        "writable_tokens": min(len(original), row["max_new_tokens"]),
        "copied_tokens": common_length(original, written),
    }


def is_released_copy(original: str, written: str) -> bool:
    """Return whether what was written is a copy by the code that LEP's authors released.

    Characters in the blocks that difflib finds in both, over those of the *output*: a copy that
    breaks off is one, too.
    """
    original, written = original.strip(), written.strip()
    if written in original:  # one block
        return bool(written)
    # Blocks cannot have more of a character than either text has, which is cheaper to count.
    most, least = sum((Counter(original) & Counter(written)).values()), COPIED * len(written)
    if most < least:
        return False
    blocks = SequenceMatcher(None, original, written, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks) >= least


def tokens_written(row: Row) -> int:
    return row["output_tokens"] - (row["finish_reason"] == "eos")


def copy_ratio(rows: Sequence[Row], languages: Languages) -> Items:
    """Return items whose score is 100 × tokens of all originals / tokens generated for them.

    Above 100: fewer tokens were written than the originals have, so text is missing.
    """
    import numpy as np

    from revocab.evaluation.resampling import Items

    return Items.of(
        [[row["reference_tokens"], row["output_tokens"]] for row in rows],
        lambda sums_RK: 100 * sums_RK[:, 0] / np.maximum(sums_RK[:, 1], 1),
    )


def copy_length(row: Row) -> float:
    """Return the percentage that the shorter of original and copy is of the longer; 0 where nothing
    was written. Of an original no more counts than may be written.
    """
    pair = row["writable_tokens"], tokens_written(row)
    return 100.0 * min(pair) / max(1, *pair)


KIND = GenerationKind(
    options=Copying,
    layout=Layout(instruction=INSTRUCTION, labels=(TEXT, COPY)),
    fields=("text",),
    texts=lambda row, languages: [row["text"], row["text"]],
    counts=counts,
    metrics=(
        Metric("copy_ratio", "Copy ratio", 0, math.inf, copy_ratio),
        mean_metric(
            "copied",
            "Copied",
            lambda row: 100.0 * (row["copied_tokens"] > COPIED * row["reference_tokens"]),
        ),
        mean_metric("copy_length", "Copy length", copy_length),
        # The percentage of an original's tokens that came back in order.
        mean_metric(
            "copied_tokens",
            "Copied tokens",
            lambda row: 100.0 * row["copied_tokens"] / max(1, row["reference_tokens"]),
        ),
        mean_metric(
            "copied_released",
            "Copied, as released",
            lambda row: 100.0 * is_released_copy(row["references"][0], row["output"]),
        ),
        # As the code of LEP's authors counts them.
        mean_metric(
            "characters_per_token",
            "Characters per token",
            lambda row: len(row["output"]) / (1 + tokens_written(row)),
            math.inf,
        ),
    ),
    in_tables=("copy_ratio", "copied", "copied_released"),
    caption="Copy ratio: 100 × the tokens of the originals over those generated; above 100, text "
    f"is missing. Copied: per cent of texts of which more than {COPIED:.0%} of the tokens come "
    f"back; as released by LEP's authors: per cent of outputs of which {COPIED:.0%} of the "
    "characters are of the text, also where it breaks off.",
    place=30,
)
