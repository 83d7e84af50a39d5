"""Links in folders that somebody else made: which of them may be followed, and copies of files.

A folder, or a file beside an experiment, may be a link to any file of this machine. Followed and
copied, a ``README.md`` would carry a private file into a folder that is published later. What
reads a file of a user's calls :func:`check_file`, :func:`check_links` or :func:`files_in_tree`
first.
A folder that is named may itself be a link.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from revocab.errors import RevocabError, refuse

#: Some versions of the Hub's client keep one store for all repositories of a cache:
#: ``CACHE/blobs/ab/ab…``, to which a repository's own ``blobs/`` links.
_STORED = re.compile(r"[0-9a-f]{64}")
#: Endings of the small files of a model or tokenizer.
DOCUMENTS = (".json", ".md", ".txt", ".jinja", ".model", ".tiktoken")
#: How the folders of repositories in the Hub's cache begin.
_CACHED = ("models--", "datasets--")


def _in_blobs(home: Path, name: str, real: Path) -> bool:
    """Tell whether a link leads to a blob of its own Hub repository, and to nothing else."""
    # CACHE/models--X, where the folder is in one of its snapshots in the Hub's cache.
    parents = (parent.parent for parent in home.parents if parent.name == "snapshots")
    repository = next((path for path in parents if path.name.startswith(_CACHED)), None)
    if repository is None:
        return False
    blobs = repository / "blobs"
    if real.parent == blobs:
        return True
    store = repository.parent / "blobs"
    stored = _STORED.fullmatch(real.name) and real.parent == store / real.name[:2]
    first = Path(os.path.normpath((home / name).parent / (home / name).readlink()))
    return bool(stored) and first.parent == blobs


def link_problems(folder: Path, names: Iterable[str | Path]) -> Iterator[str]:
    """Yield what is wrong with the links among the files ``names`` of ``folder``.

    A link may lead to a file in the same folder, or from a snapshot in the Hub's cache into its own
    repository's ``blobs/``. Every other one is refused, and so is one that leads to no file; names
    that are no links pass. ``folder`` itself may be a link.
    """
    home = Path(os.path.realpath(folder))
    for name in map(str, names):
        if not (home / name).is_symlink():
            continue
        real = Path(os.path.realpath(home / name))
        if real.exists() and not (real.is_relative_to(home) or _in_blobs(home, name, real)):
            yield (
                f"{folder / name}: a link out of its folder, to {real}; links are followed within "
                "the folder and, in the Hub's cache, into the repository's own blobs/; put the "
                "file itself there, or name the file that it leads to"
            )
        elif not real.is_file():
            yield (
                f"{folder / name}: a link to {(home / name).readlink()}, which is not a file; fetch"
                " it again, or remove the link"
            )


def check_links(folder: Path, names: Iterable[str | Path]) -> None:
    refuse(link_problems(folder, names))


def check_file(path: str | Path) -> None:
    """Raise :class:`RevocabError` for a file that is a link out of the folder in which it lies."""
    path = Path(path)
    check_links(path.parent, [path.name])


def check_documents(folder: Path) -> None:
    """Raise :class:`RevocabError` for settings, tokenizer files and templates of a folder that are
    links out of it; nothing where there is no such folder.
    """
    paths = [*folder.glob("*"), *folder.glob("additional_chat_templates/*")]
    paths = [
        path
        for path in paths
        if path.suffix in DOCUMENTS and path.suffix != ".md" and path.is_symlink()
    ]
    check_links(folder, [path.relative_to(folder) for path in paths])


def is_within(path: Path, folder: Path) -> bool:
    """Tell whether what a path leads to lies in a folder, or is it."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def files_in_tree(folder: Path) -> list[Path]:
    """Return the files in a folder and its folders, sorted.

    Raises :class:`RevocabError` for links out of it and links that lead nowhere, and where folders
    go while they are listed; the files of a linked folder within are listed under their own names
    alone.
    """
    try:
        paths = sorted(folder.rglob("*"))
    except FileNotFoundError as error:
        raise RevocabError(
            f"{error.filename}: gone while {folder} was listed; run again when nothing changes it"
        ) from None
    own = (path.is_dir() and is_within(path, folder) for path in paths)
    links = [path for path, inner in zip(paths, own, strict=True) if not inner]
    check_links(folder, [path.relative_to(folder) for path in links if path.is_symlink()])
    return [path for path in paths if path.is_file()]


def link_or_copy(source: Path, out: Path) -> None:
    """Hard-link ``source`` as ``out``; copy where the file system does not allow it."""
    source = source.resolve()  # the Hub's cache holds symbolic links
    try:
        os.link(source, out)
    except OSError:
        shutil.copyfile(source, out)


def copy_present(folder: Path, names: Iterable[str], out: Path) -> None:
    """Copy those files ``names`` that ``folder`` has; :class:`RevocabError` for links out of it."""
    paths = ((name, folder / name) for name in names)
    present = [name for name, path in paths if path.is_file() or path.is_symlink()]
    check_links(folder, present)
    for name in present:
        (out / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(folder / name, out / name)
