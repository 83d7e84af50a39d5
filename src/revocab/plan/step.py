"""One job of the workflow: the command, its inputs and what decides its output."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from revocab.closed import Job

#: Bytes of one argument above which a text goes as a file: Linux takes 128 KiB, and no more.
LONGEST_ARGUMENT = 64 * 1024


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
    """One job. ``inputs`` have the command's names for them; those that are None are left out."""

    #: Name of the module in ``commands/`` and of the script.
    command: str
    #: The file or folder that the command writes.
    out: str
    job: Job
    inputs: Mapping[str, Given] = field(default_factory=dict)
    #: Files that the job reads and does not name, or waits for.
    also: tuple[str, ...] = ()
    #: Where its arguments stand that are too long for a command line: ``PREFIX.job.json``.
    prefix: str = ""

    def texts(self) -> dict[str, str]:
        """Return inputs and job as JSON, by the name of their flag."""
        return dict(self._texts)

    @cached_property
    def _texts(self) -> dict[str, str]:
        given = {name: paths(one) for name, one in self.inputs.items() if one}
        inputs = json.dumps(given, ensure_ascii=False, separators=(",", ":"))
        return {"inputs": inputs, "job": self.job.canonical()}

    def given(self) -> dict[str, str]:
        """Return what stands on the command line for each text: itself, or a file's path."""
        return {
            name: f"{self.prefix}.{name}.json" if is_long(text) else text
            for name, text in self.texts().items()
        }

    def long(self) -> dict[str, str]:
        """Return the texts that are files, by path; the rule ``write_argument`` writes them."""
        texts, given = self.texts(), self.given()
        return {given[name]: text for name, text in texts.items() if given[name] != text}

    def files(self) -> dict[str, list[str]]:
        """Return the files that must be there first, by the name of the input, each once."""
        found = {
            name: list(dict.fromkeys(file for one in artefacts(given) for file in one.files))
            for name, given in self.inputs.items()
        }
        more = {"also": list(self.also), "arguments": list(self.long())}
        return {**found, **{name: files for name, files in more.items() if files}}

    def arguments(self) -> list[str]:
        """Return the command's arguments, apart from the machine's."""
        flags = [word for name, text in self.given().items() for word in (f"--{name}", text)]
        return [*flags, "--out", self.out]


def is_long(text: str) -> bool:
    """Return whether a text is too long for one argument of a command."""
    return len(text.encode()) > LONGEST_ARGUMENT
