"""How an experiment asks for a command: for which ids, with which inputs, job and output.

Every rule of the workflow is a :class:`Rule` in the file of its command. What is said there is said
nowhere else: the rules' inputs and params come from it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revocab.closed import Job
from revocab.command import Command
from revocab.extensions import PACKAGE

if TYPE_CHECKING:
    from revocab.plan import Plan as Plan  # noqa: PLC0414 (exported)
else:
    Plan = Any  # so that the files of jobs name the type and load no plan

#: What joins a rule and its ids in the name of a job.
JOIN = "--"


@dataclass(frozen=True)
class Artefact:
    """A file or folder that jobs read: its path, and the files whose presence says it is whole."""

    path: str
    files: tuple[str, ...]

    @classmethod
    def file(cls, path: str) -> Artefact:
        return cls(path, (path,))


#: What an input of a command may be: one artefact, several, or several by id or step.
Given = Artefact | Sequence[Artefact] | Mapping[Any, Artefact] | None


def artefacts(inputs: Given) -> Iterator[Artefact]:
    if isinstance(inputs, Artefact):
        yield inputs
    elif isinstance(inputs, Mapping):
        yield from inputs.values()
    else:
        yield from inputs or ()


def paths(inputs: Given) -> Any:
    if isinstance(inputs, Artefact):
        return inputs.path
    if isinstance(inputs, Mapping):
        return {str(key): artefact.path for key, artefact in inputs.items()}
    return [artefact.path for artefact in inputs or ()]


def near(path: Path) -> str:
    """Return a path relative to the current folder if it lies in it: the same on all machines."""
    inside = path.absolute().is_relative_to(Path.cwd())
    return str(path.absolute().relative_to(Path.cwd()) if inside else path)


def workflow_folder() -> Path:
    """Return the checkout of the package, or the folder in it that ``setup.py`` fills."""
    checkout = PACKAGE.parents[1]
    return checkout if (checkout / "Snakefile").is_file() else PACKAGE / "dag"


def job_script() -> str:
    """Return the script that Python runs for each job; a command's name and arguments follow."""
    return near(workflow_folder() / "scripts/run_job.py")


def own_or_shipped(path: Path) -> Path:
    """Return a file or folder of the working folder, or the shipped one where there is no such."""
    shipped = workflow_folder() / path
    return shipped if shipped.exists() and not path.exists() else path


@dataclass(frozen=True)
class Step:
    """One job. ``inputs`` have the command's names for them; those that are None are left out."""

    #: The file or folder that the command writes.
    out: str
    job: Job = field(default_factory=Job)
    inputs: Mapping[str, Given] = field(default_factory=dict)
    #: Files that the job reads and does not name, or waits for.
    also: Sequence[str] = ()
    #: Name of the module in ``commands/``, and of the job; filled in by the plan.
    command: str = ""
    name: str = ""

    def files(self) -> dict[str, list[str]]:
        """Return the files that must be there first, by the name of the input, each once."""
        read = {
            name: list(dict.fromkeys(file for item in artefacts(value) for file in item.files))
            for name, value in self.inputs.items()
        }
        return {**read, "also": list(self.also)} if self.also else read

    def arguments(self, job: str | None = None) -> list[str]:
        """Return the command's arguments, apart from the machine's; ``job`` stands for its own."""
        places = {name: paths(value) for name, value in self.inputs.items() if value}
        inputs = json.dumps(places, ensure_ascii=False, separators=(",", ":"))
        return ["--inputs", inputs, "--job", job or self.job.canonical(), "--out", self.out]


#: The ids of one job: a text for one wildcard, several in the order of the wildcards.
Ids = str | tuple[str, ...]


def once(plan: Plan) -> Iterable[Ids]:
    """Return the ids of a rule that every experiment has, without wildcards."""
    return [()]


@dataclass(frozen=True)
class Rule:
    """A rule of the workflow."""

    command: Command
    #: Returns the job from the plan and the wildcards, which are its other parameters.
    step: Callable[..., Step]
    #: The ids for which an experiment has such a job, whether its report reads it or not.
    ids: Callable[[Plan], Iterable[Ids]] = once
    #: Its output is a training, or read by one: a cluster's profile keeps it when code has changed.
    lasting: bool = False

    @property
    def name(self) -> str:
        return self.step.__module__.rpartition(".")[2]

    @cached_property
    def wildcards(self) -> list[str]:
        return [*signature(self.step).parameters][1:]

    def known(self, plan: Plan) -> list[tuple[str, ...]]:
        listed = [(ids,) if isinstance(ids, str) else tuple(ids) for ids in self.ids(plan)]
        return list(dict.fromkeys(listed))
