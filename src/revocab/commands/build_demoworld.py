"""Generate the demo's invented bilingual world: documents, parallel text, questions, benchmarks."""

from __future__ import annotations

from pathlib import Path

from revocab.command import Command, Nothing
from revocab.demoworld.build import WorldJob


def run(inputs: Nothing, job: WorldJob, machine: Nothing, out: Path) -> None:
    from revocab.demoworld.build import write_world

    write_world(out, job)


COMMAND = Command(run)
