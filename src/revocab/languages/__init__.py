"""Languages as data: one YAML file each, ``<id>.yaml``. Dropping a file here adds a language."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import yaml

from revocab.closed import Closed, OneLine, checked

FOLDER = Path(__file__).parent


class Language(Closed):
    """What readers and models are told of a language."""

    name: OneLine
    #: Hexadecimal colours of its corpora in figures, the first also its own; none: any.
    colours: tuple[OneLine, ...] = ()


@cache
def languages() -> dict[str, Language]:
    """Return every language by id.

    Raises :class:`RevocabError` naming the file whose keys are wrong.
    """
    return {
        path.stem: checked(Language, yaml.safe_load(path.read_text(encoding="utf-8")), str(path))
        for path in sorted(FOLDER.glob("*.yaml"))
    }


def language_label(language: str) -> str:
    """Return a language's English name, or its id where no file names it."""
    found = languages().get(language)
    return found.name if found else language


def language_colours(language: str) -> tuple[str, ...]:
    """Return the colours of a language's corpora, none where no file gives any."""
    found = languages().get(language)
    return found.colours if found else ()
