"""Languages of the papers' stand-ins: the world's Italian, written in other letters.

A model of English spells them in pieces or in bytes, as in real text; nothing is said in them.
"""

from __future__ import annotations

from collections.abc import Callable

LATIN = "abcdefghijklmnopqrstuvwxyz"
#: Six and twenty letters by script.
LETTERS = {
    "arabic": "ابجدهوزحطيكلمنسعفصقرشتثخذض",
    "cyrillic": "абцдефгхийклмнопярстужвшыз",
    "greek": "αβγδεζηθικλμνξοπρστυφχψωϊϋ",
    "hangul": "가나다라마바사아자차카타파하거너더러머버서어저처커터",
    "latin": LATIN,
}


def written_in(script: str, turned: int = 0) -> Callable[[str], str]:
    """Return what exchanges a text's letters for a script's, which are ``turned`` so many places.

    Languages of one script differ in the turn.
    """
    letters = LETTERS[script][turned:] + LETTERS[script][:turned]
    table = str.maketrans(LATIN + LATIN.upper(), letters + letters.upper())
    return lambda text: text.translate(table)
