"""Text in the scripts of some languages alone: letters of other scripts and emoji go."""

from __future__ import annotations

from collections.abc import Sequence
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
def others(scripts: Sequence[str]) -> regex.Pattern[str]:
    """Return the pattern of what text in these scripts is without: other letters, and emoji.

    Raises :class:`ValueError` for a name that is no script of Unicode's.
    """
    import regex

    return regex.compile(rf"{EMOJI}|{_outside(scripts)}", regex.VERSION1)


@cache
def letters_of_others(scripts: Sequence[str]) -> regex.Pattern[str]:
    """Return the pattern of one letter of another script."""
    import regex

    return regex.compile(_outside(scripts), regex.VERSION1)


def _outside(scripts: Sequence[str]) -> str:
    import regex

    kept = ""
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
        kept += rf"\p{{Script={name}}}"
    return f"[^{kept}]"


def in_scripts(text: str, scripts: Sequence[str]) -> str:
    return others(tuple(scripts)).sub("", text)
