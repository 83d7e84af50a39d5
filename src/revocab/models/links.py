"""Links in a model or tokenizer folder: which of them may be followed, and copies that follow them.

A folder that somebody else made may hold links to any file of this machine. Followed and copied, a
``README.md`` would carry a private file into a folder that is published later.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from revocab.errors import refuse

#: Some versions of the Hub's client keep one store for all repositories of a cache:
#: ``CACHE/blobs/ab/ab…``, to which a repository's own ``blobs/`` links.
_STORED = re.compile(r"[0-9a-f]{64}")


def _in_blobs(home: Path, name: str, real: Path) -> bool:
    """Tell whether a link leads to a blob of its own Hub repository, and to nothing else."""
    # CACHE/models--X, where the folder is one of its snapshots in the Hub's cache.
    parents = (parent.parent for parent in home.parents if parent.name == "snapshots")
    repository = next((path for path in parents if path.name.startswith("models--")), None)
    if repository is None:
        return False
    blobs = repository / "blobs"
    if real.parent == blobs:
        return True
    store = repository.parent / "blobs"
    stored = _STORED.fullmatch(real.name) and real.parent == store / real.name[:2]
    first = Path(os.path.normpath(home / (home / name).readlink()))
    return bool(stored) and first.parent == blobs


def link_problems(folder: Path, names: Iterable[str]) -> Iterator[str]:
    """Yield what is wrong with the links among the files ``names`` of ``folder``.

    A link may lead to a file in the same folder, or from a snapshot in the Hub's cache into its own
    repository's ``blobs/``. Every other one is refused, and so is one that leads to no file; names
    that are no links pass. ``folder`` itself may be a link.
    """
    home = Path(os.path.realpath(folder))
    for name in names:
        if not (home / name).is_symlink():
            continue
        real = Path(os.path.realpath(home / name))
        if not real.is_file():
            yield (
                f"{folder / name}: a link to {(home / name).readlink()}, which is not a file; fetch"
                " it again, or remove the link"
            )
        elif not real.is_relative_to(home) and not _in_blobs(home, name, real):
            yield (
                f"{folder / name}: a link out of its folder, to {real}; links are followed within "
                "the folder and, in the Hub's cache, into the repository's own blobs/; put the "
                "file itself there, or remove the link"
            )


def check_links(folder: Path, names: Iterable[str]) -> None:
    refuse(link_problems(folder, names))


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
