"""Which job wrote a folder: what another job has written is never taken for what is asked for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from pydantic import ValidationError

from revocab.closed import Job
from revocab.errors import RevocabError
from revocab.folder_claim import JOB_FILE
from revocab.io import read_json

#: Characters of a recorded job that a message shows.
SHOWN = 300


def digest(command: str, job: Job) -> str:
    return hashlib.sha256(f"{command} {job.canonical()}".encode()).hexdigest()[:16]


def recorded(folder: Path) -> str | None:
    """Return the digest of the job that wrote a folder; None where the folder does not say.

    An option that is younger than the folder counts as its default.
    """
    if not (folder / JOB_FILE).is_file():
        return None
    content = read_json(folder / JOB_FILE)
    try:
        command = import_module(f"revocab.commands.{content['command']}").COMMAND
        return digest(content["command"], command.job.model_validate(content["job"]))
    except (AttributeError, ImportError, KeyError, TypeError, ValidationError):
        return "unknown"


def check(made: Mapping[str, str]) -> None:
    """Raise :class:`RevocabError` naming the folders that other jobs have written.

    ``made`` has for each folder the job that is asked for, its name and its digest.
    """
    problems = []
    for folder, asked in made.items():
        name, _, wanted = asked.rpartition(" ")
        if recorded(Path(folder)) not in (None, wanted):
            other = json.dumps(read_json(Path(folder, JOB_FILE)), ensure_ascii=False)
            problems.append(
                f"{folder}: was not written by the job {name} of this experiment but by another"
                f" ({other[:SHOWN]}); start Snakemake again, which makes it anew (move the folder"
                " away before, to keep it)"
            )
    if problems:
        raise RevocabError(problems)
