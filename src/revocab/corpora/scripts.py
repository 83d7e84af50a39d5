"""Text in the scripts of some languages alone: letters of other scripts and emoji go."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import regex

#: Scripts of digits and punctuation, and of marks that take the script of the letter before them.
SHARED = ("Common", "Inherited")
#: One pictograph with its modifiers; signs such as © count when they are asked for as a picture.
PICTOGRAPH = (
    r"(?:[\p{Extended_Pictographic}--[\u00A9\u00AE\u2122]]|[\u00A9\u00AE\u2122](?=\uFE0F))"
    r"[\p{Emoji_Modifier}\uFE0F]*"
)
EMOJI = rf"\p{{Regional_Indicator}}+|{PICTOGRAPH}(?:\u200D{PICTOGRAPH})*"


@cache
def outside(scripts: Sequence[str], *, emoji: bool = True) -> regex.Pattern[str]:
    """Return the pattern of what text in these scripts is without: other letters, and ``emoji``.

    Raises :class:`ValueError` for a name that is no script of Unicode's.
    """
    import regex

    allowed = ""
    for name in (*scripts, *SHARED):
        try:
            regex.compile(rf"\p{{Script={name}}}")
            known = regex.fullmatch(r"[\w -]+", name)
        except regex.error:
            known = None
        if not known:
            raise ValueError(
                f"{name!r} is no script; give Unicode's names, such as Latin, Cyrillic, Greek,"
                " Arabic, Devanagari, Han"
            )
        allowed += rf"\p{{Script={name}}}"
    return regex.compile(f"{EMOJI}|[^{allowed}]" if emoji else f"[^{allowed}]", regex.VERSION1)


@cache
def script_of(letter: str) -> str | None:
    """Return the script whose name the letter's own name in Unicode begins with; else None."""
    import regex

    words = unicodedata.name(letter, "").replace("CJK", "Han").title().split()
    for name in map("_".join, (words[:1], words[:2], words[:3])):
        try:
            if regex.fullmatch(rf"\p{{Script={name}}}", letter):
                return name
        except regex.error:
            continue
    return None


def commonest_script(texts: Iterable[str]) -> str | None:
    """Return the script of most letters; of equally many the first by name; None of no letter."""
    counts = Counter(letter for text in texts for letter in text if letter.isalpha())
    scripts: Counter[str] = Counter()
    for letter, count in counts.items():
        if (script := script_of(letter)) is not None:
            scripts[script] += count
    return min(scripts, key=lambda script: (-scripts[script], script), default=None)


def is_written_in(text: str, script: str) -> bool:
    """Return whether a text has letters of a script, and of no other."""
    rest = outside((script,)).sub("", text)
    return rest == text and outside(()).search(text) is not None
