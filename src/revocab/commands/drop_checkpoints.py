"""Remove checkpoints of a finished training that nothing is to read any more (``keep``)."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.closed import Closed
from revocab.command import Command, Nothing
from revocab.io import write_json
from revocab.output import remove_own
from revocab.training.outputs.checkpoints import step_folder
from revocab.training.recipe import DropJob


class Inputs(Closed):
    manifest: Path = Field(description="manifest.json of the training's folder")


def run(inputs: Inputs, job: DropJob, machine: Nothing, out: Path) -> None:
    folders = [step_folder(inputs.manifest.parent, step) for step in job.steps]
    # Said first: after a kill in the middle, what is missing is known to be missing on purpose.
    write_json(out, {"removed": [folder.as_posix() for folder in folders]})
    for folder in folders:
        gone = folder.with_name(f".{folder.name}.dropped")  # at no moment half a checkpoint
        if folder.is_dir():
            folder.rename(gone)
        remove_own(gone)
        if gone.is_dir():  # somebody's own files, which stay
            gone.rename(folder)


COMMAND = Command(run, out="JSON file to write", writes="file")
