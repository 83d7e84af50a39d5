"""Copying: parts or the whole of any text, and the question that asks for one word for word.

After Tikhomirov and Chernyshev 2024, "Facilitating large language model Russian adaptation with
Learned Embedding Propagation": models are scored on it (section DaruCopy) and calibrated on it
(section Case study: Self-calibration), on texts that must differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from revocab.languages import fill
from revocab.training.chat.messages import ASSISTANT, Message

Unit = Literal["sentence", "paragraph", "article"]

#: Fewest and most words of a unit. The longest articles and their copies take some 8,000 tokens,
#: the rows of LEP's self-calibration.
WORDS: dict[str, tuple[int, int]] = {
    "sentence": (5, 50),
    "paragraph": (40, 200),
    "article": (40, 2000),
}
#: What is asked, in the words of a language: the instruction, and what text and copy are called.
INSTRUCTION, TEXT, COPY = "<<copy>>", "<<text>>", "<<copied>>"

#: The space between sentences: after a stop, or a stop and a closing mark, and before a letter.
SENTENCE_END = re.compile(r"(?:(?<=[.!?…])|(?<=[.!?…][\"'»”’)])) +(?=[\"'«“‘(]?[^\W\d_])")
#: A stop after one of these, or after an initial, ends no sentence.
ABBREVIATION = re.compile(
    r"(?:^|[\s('’])(?:[^\W\d_]|sigg?|dott|prof|avv|ing|on|artt?|pp|cfr|es|fig|mrs?|ms|dr|st|vs)\.$",
    re.IGNORECASE,
)


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, each on one line. A stop after an abbreviation ends none."""
    merged: list[str] = []
    for part in SENTENCE_END.split(" ".join(text.split())):
        if merged and ABBREVIATION.search(merged[-1]):
            merged[-1] += f" {part}"
        else:
            merged.append(part)
    return [sentence for sentence in merged if sentence]


def units(text: str, unit: Unit) -> Iterator[tuple[int, str]]:
    """Yield the sentences or paragraphs that are neither too short nor too long, each as one line,
    with its number among all of the text; or the whole, a line for each of its paragraphs.
    """
    low, high = WORDS[unit]
    if unit == "article":
        lines = [line for line in (" ".join(part.split()) for part in text.split("\n")) if line]
        if low <= len(" ".join(lines).split()) <= high:
            yield 0, "\n".join(lines)
        return
    parts = sentences(text) if unit == "sentence" else text.split("\n")
    for number, part in enumerate(parts):
        words = part.split()
        if low <= len(words) <= high:
            yield number, " ".join(words)


def copying_task(text: str, language: str) -> list[Message]:
    """Return a conversation: a text to copy, and the copy.

    It asks as generation tasks of kind ``copying`` do through a chat template. Raises
    :class:`RevocabError` for a language that lacks the words.
    """
    instruction, label, copy_label = fill((INSTRUCTION, TEXT, COPY), language)
    question = f"{instruction}\n{label}: {text}\n{copy_label}:"
    return [{"role": "user", "content": question}, {"role": ASSISTANT, "content": text}]
