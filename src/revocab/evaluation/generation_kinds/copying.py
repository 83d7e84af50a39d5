"""Copying a text given in the prompt: does a model use its new tokens, and use them right?

After Tikhomirov and Chernyshev, "Facilitating large language model Russian adaptation with Learned
Embedding Propagation" (section DaruCopy), whose data is not used: any text will do. A model that
copies well but writes more tokens than its tokenizer needs has not learned its vocabulary
(``copy_ratio``, sentences); one that loses the text confuses tokens (``copied``, paragraphs).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal

Unit = Literal["sentence", "paragraph"]

#: Fewest and most words of a unit.
WORDS: dict[str, tuple[int, int]] = {"sentence": (5, 50), "paragraph": (40, 200)}
#: A copy is one from this share of the original's tokens on: the rest is room for spacing.
COPIED = 0.99
#: The space between sentences: after a stop, or a stop and a closing mark, and before a letter.
SENTENCE_END = re.compile(r"(?:(?<=[.!?…])|(?<=[.!?…][\"'»”’)])) +(?=[\"'«“‘(]?[^\W\d_])")
#: A stop after one of these, or after an initial, ends no sentence.
ABBREVIATION = re.compile(
    r"(?:^|[\s('’])(?:[^\W\d_]|sigg?|dott|prof|avv|ing|on|artt?|pp|cfr|es|fig|mrs?|ms|dr|st|vs)\.$",
    re.IGNORECASE,
)

INSTRUCTIONS = {"it": "Copia il testo parola per parola.", "en": "Copy the text word for word."}
LABELS = {"it": ("Testo", "Copia"), "en": ("Text", "Copy")}


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, each on one line. A stop after an abbreviation ends none."""
    found: list[str] = []
    for part in SENTENCE_END.split(" ".join(text.split())):
        if found and ABBREVIATION.search(found[-1]):
            found[-1] += f" {part}"
        else:
            found.append(part)
    return [one for one in found if one]


def units(rows: Sequence[dict[str, Any]], unit: Unit, language: str) -> Iterator[dict[str, Any]]:
    """Yield ``{"id", "text"}`` for the sentences or paragraphs of documents that are neither too
    short nor too long, without repeats.

    A row's text is its ``text`` or, in parallel text, the field of the language.
    """
    low, high = WORDS[unit]
    seen: set[str] = set()
    for row in rows:
        text = str(row.get("text") or row.get(language) or "")
        parts = sentences(text) if unit == "sentence" else text.split("\n")
        for number, part in enumerate(parts):
            line = " ".join(part.split())
            if low <= len(line.split()) <= high and line not in seen:
                seen.add(line)
                yield {"id": f"{row['id']}.{number}", "text": line}


def common_length(first: Sequence[int], second: Sequence[int]) -> int:
    """Return the length of the longest common subsequence of two token sequences.

    Bit-parallel (Hyyrö, "Bit-Parallel LCS-length Computation Revisited", 2004): one big-integer
    addition per token.
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


def copy_counts(original: Sequence[int], written: Sequence[int]) -> dict[str, int]:
    """Return what the metrics need of one copy: the original's tokens, and those found again."""
    return {
        "reference_tokens": len(original),
        "copied_tokens": common_length(original, written),
    }
