"""How kinds of things are found: in the modules of a package, and in a folder of one's own.

One's own methods, kinds, languages, templates and recipes lie in one folder with the sub-paths that
they would have in the package (``languages/de.yaml``, ``initialise/methods/mine.py``). An
experiment names it (``extensions``), by hand :data:`VARIABLE` does. Its Python is run, so that
nothing is ever found without being named.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any

from revocab.errors import LONGEST_NAME, RevocabError, refuse
from revocab.links import is_within

PACKAGE = Path(__file__).parent
#: Names the folder; jobs get it from the workflow.
VARIABLE = "REVOCAB_EXTENSIONS"


def own_folder() -> Path | None:
    named = os.environ.get(VARIABLE)
    return Path(named) if named else None


def from_here(path: Path) -> str:
    """Return a path relative to the current folder if it lies in it: the same on all machines."""
    inside = path.absolute().is_relative_to(Path.cwd())
    return str(path.absolute().relative_to(Path.cwd()) if inside else path)


def workflow_folder() -> Path:
    """Return the checkout of the package, or the folder in it that ``setup.py`` fills."""
    checkout = PACKAGE.parents[1]
    return checkout if (checkout / "Snakefile").is_file() else PACKAGE / "dag"


def own_or_shipped(path: Path) -> Path:
    """Return a file or folder of the working folder, or the shipped one where there is no such."""
    shipped = workflow_folder() / path
    return shipped if shipped.exists() and not path.exists() else path


def use(folder: object) -> None:
    """Have this process and those that it starts look there as well; before anything is found.

    What an experiment may not name is left to :func:`problems`: none of its Python runs until then.
    """
    if isinstance(folder, str) and is_inside(folder):
        os.environ[VARIABLE] = folder


def beside(folder: Path) -> Path | None:
    """Return the folder among one's own that has the place of a folder of the package."""
    own = own_folder()
    if own is None or not folder.is_relative_to(PACKAGE):
        return None
    place = own / folder.relative_to(PACKAGE)
    files = place.glob("*") if is_within(place, own) else [place]
    refuse(
        f"{file}: a link out of {own}; extensions are read and run from this folder alone, so put"
        " it there"
        for file in sorted(files)
        if not is_within(file, own)
    )
    return place


def files_in(folder: Path, ending: str) -> dict[str, Path]:
    """Return the files of a folder of the package, and of one's own beside it, by stem, sorted.

    Raises :class:`RevocabError` naming both files where a name stands twice.
    """
    files = {path.stem: path for path in folder.glob(f"*{ending}")}
    own = beside(folder)
    mine = {path.stem: path for path in own.glob(f"*{ending}")} if own else {}
    if twice := sorted(files.keys() & mine.keys()):
        raise RevocabError(is_twice(name, files[name], mine[name]) for name in twice)
    return dict(sorted({**files, **mine}.items()))


def is_twice(name: str, first: Path, second: Path) -> str:
    return f"{name!r}: is {first}, and again {second}; rename one"


def found_in(
    package: ModuleType, attribute: str, name: Callable[[Any], str] = attrgetter("name")
) -> dict[str, Any]:
    """Return what every module of a package has under ``attribute``, one or a tuple of several, by
    its name, sorted.

    A user's own modules count as those of the package (:func:`beside`). Raises
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


def is_inside(folder: str) -> bool:
    """Tell whether a folder that an experiment names lies in the one in which it runs, wherever
    links on the way lead.
    """
    path = Path(folder)
    return not path.is_absolute() and ".." not in path.parts and is_within(path, Path())


def problems(folder: object) -> Iterator[str]:
    if not isinstance(folder, str):
        return  # none, or what the schema refuses
    path, name = Path(folder), repr(folder[:LONGEST_NAME])
    if not is_inside(folder):
        yield f"extensions: received {name}; give a folder inside the one in which it runs"
    elif not os.path.isdir(path):  # noqa: PTH112  (which raises for a long name)
        yield f"extensions: {name} is no folder; make it, or correct the path"
    elif own_folder() != path:
        yield (
            f"extensions: {folder!r} is not what {VARIABLE} says ({own_folder() or 'nothing'});"
            f" set it before Python starts: {VARIABLE}={folder}"
        )


def use_that_of(words: Sequence[str]) -> None:
    """Use the folder that the experiment of a command line names, of several files the last."""
    from revocab import yaml_file

    for word in words:
        if word.endswith((".yaml", ".yml")) and Path(word).is_file():
            try:
                values, _ = yaml_file.read(Path(word))
            except Exception:  # said where the file is read for good
                continue
            if isinstance(values, dict):
                use(values.get("extensions"))
