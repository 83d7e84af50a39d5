"""One job of the workflow: the command, its inputs and what decides its output."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from revocab.closed import Job


@dataclass(frozen=True)
class Artefact:
    """A file or folder that jobs read: its path, and the files whose presence says it is whole."""

    path: str
    files: tuple[str, ...]

    @classmethod
    def file(cls, path: str) -> Artefact:
        """Return the artefact that is one file."""
        return cls(path, (path,))


#: What an input of a command may be: one artefact, several, or several by id or step.
Given = Artefact | Sequence[Artefact] | Mapping[Any, Artefact] | None


def artefacts(given: Given) -> Iterator[Artefact]:
    """Yield the artefacts of one input."""
    if isinstance(given, Artefact):
        yield given
    elif isinstance(given, Mapping):
        yield from given.values()
    else:
        yield from given or ()


def paths(given: Given) -> Any:
    """Return the paths of one input in the form that a command takes."""
    if isinstance(given, Artefact):
        return given.path
    if isinstance(given, Mapping):
        return {str(key): one.path for key, one in given.items()}
    return [one.path for one in given or ()]


@dataclass(frozen=True)
class Step:
    """One job. ``inputs`` are named as the command names them; those that are none are left out."""

    #: Name of the module in ``commands/`` and of the script.
    command: str
    #: The file or folder that the command writes.
    out: str
    job: Job
    inputs: Mapping[str, Given] = field(default_factory=dict)
    #: Files that the job reads and does not name, or waits for.
    also: tuple[str, ...] = ()

    def files(self) -> dict[str, list[str]]:
        """Return the files that must be there first, by the name of the input, each once."""
        found = {
            name: list(dict.fromkeys(file for one in artefacts(given) for file in one.files))
            for name, given in self.inputs.items()
        }
        return {**found, **({"also": list(self.also)} if self.also else {})}

    def arguments(self) -> list[str]:
        """Return the command's arguments but for the machine's."""
        given = {name: paths(one) for name, one in self.inputs.items() if one}
        inputs = json.dumps(given, ensure_ascii=False, separators=(",", ":"))
        return ["--inputs", inputs, "--job", self.job.canonical(), "--out", self.out]
