"""Where sentences end, by rule: a stop before a letter, but for those of abbreviations."""

from __future__ import annotations

import re

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
