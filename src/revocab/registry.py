"""How kinds of things are found: every module of a package defines one under the same name."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any

from revocab.errors import RevocabError
from revocab.extensions import beside, files_in, is_twice


def found_in(
    package: ModuleType, attribute: str, name: Callable[[Any], str] = attrgetter("name")
) -> dict[str, Any]:
    """Return what every module of a package has under ``attribute``, one or a tuple of several, by
    its name, sorted.

    A user's own modules count as those of the package (:mod:`revocab.extensions`). Raises
    :class:`RevocabError` for one of these without the attribute, and for a name that stands twice.
    """
    folder = Path(str(package.__file__)).parent
    own = beside(folder)
    if own is not None and str(own.absolute()) not in package.__path__:
        package.__path__.append(str(own.absolute()))
    kinds: dict[str, Any] = {}
    places: dict[str, Path] = {}
    for module, file in files_in(folder, ".py").items():
        if module == "__init__":
            continue
        loaded = importlib.import_module(f"{package.__name__}.{module}")
        if not hasattr(loaded, attribute):
            raise RevocabError(f"{file}: defines no {attribute}, as every file of {folder} does")
        found = getattr(loaded, attribute)
        for kind in found if isinstance(found, tuple) else (found,):
            if name(kind) in kinds:
                raise RevocabError(is_twice(name(kind), places[name(kind)], file))
            kinds[name(kind)], places[name(kind)] = kind, file
    return dict(sorted(kinds.items()))
