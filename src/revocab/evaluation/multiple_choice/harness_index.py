"""The harness's list of the tasks it ships, remembered between processes.

Reading its 14,000 task files takes ten seconds, more than scoring a small model on twelve tasks.
What was read is kept in the user's cache folder and read from there by the next process.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from revocab.io import read_json, write_text


def cache_file() -> Path:
    """Return where the list of the installed harness is kept (``XDG_CACHE_HOME`` moves it)."""
    import lm_eval.tasks

    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "revocab"
    shipped = Path(lm_eval.tasks.__file__).parent
    # A file added to or removed from the package by hand shows in the times of its folders only.
    newest = max(one.stat().st_mtime_ns for one in (shipped, *shipped.iterdir()))
    return folder / f"harness-tasks-{newest}.json"


def plain(cfg: Any) -> bool:
    """Return whether JSON gives a configuration back as it is."""
    try:
        return json.loads(json.dumps(cfg)) == cfg
    except (TypeError, ValueError):
        return False


def as_rows(index: dict[str, Any], root: Path) -> list[list[Any]]:
    """Return an index as JSON-able rows; a configuration that JSON would change is left out."""
    return [
        [
            name,
            entry.kind.name,
            str(entry.yaml_path.relative_to(root)) if entry.yaml_path else None,
            sorted(entry.tags),
            entry.cfg if plain(entry.cfg) else False,
        ]
        for name, entry in index.items()
    ]


def from_rows(rows: Iterable[list[Any]], root: Path) -> dict[str, Any]:
    """Return the index of which ``rows`` were made, in the same order."""
    from lm_eval.tasks._index import Entry, Kind
    from lm_eval.tasks._yaml_loader import load_yaml

    index = {}
    for name, kind, path, tags, known in rows:
        place = root / path if path else None
        cfg = known
        if known is False:
            cfg = load_yaml(place, resolve_func=False, recursive=True)
        index[name] = Entry(name=name, kind=Kind[kind], yaml_path=place, tags=set(tags), cfg=cfg)
    return index


@contextmanager
def remembered_index() -> Iterator[None]:
    """Let the harness list its tasks from the cache inside the block; fill it where it is empty."""
    import lm_eval.tasks
    from lm_eval.tasks._index import TaskIndex

    root = Path(lm_eval.tasks.__file__).parent
    original = TaskIndex.build

    def build(paths: Iterable[Path], **options: Any) -> dict[str, Any]:
        paths = list(paths)
        if paths != [root] or options:
            return original(paths, **options)
        path = cache_file()
        if path.is_file():
            return from_rows(read_json(path), root)
        index = original(paths)
        write_text(path, json.dumps(as_rows(index, root)))
        return index

    TaskIndex.build = staticmethod(build)
    try:
        yield
    finally:
        TaskIndex.build = staticmethod(original)
