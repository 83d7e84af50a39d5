"""Find the tokens that two vocabularies share, by what they stand for."""

from __future__ import annotations

from pathlib import Path

from revocab.closed import Closed, Folder
from revocab.command import Command, Nothing
from revocab.intersection.intersect import IntersectionJob
from revocab.models.hub_or_folder import tokenizer_field


class Inputs(Closed):
    source: Folder = tokenizer_field("source tokenizer folder, or .tiktoken file")
    target: Folder = tokenizer_field("target tokenizer folder, or .tiktoken file")


def run(inputs: Inputs, job: IntersectionJob, machine: Nothing, out: Path) -> str:
    from revocab.intersection.intersect import intersect_folders

    report = intersect_folders(inputs.source, inputs.target, job, out).report
    return (
        f"{out}/report.md: {report['overlap']:,} of the target's {report['target_size']:,} tokens"
        f" take a row of the source; {report['missing']:,} are new\n"
        f"next: revocab init METHOD --source MODEL --target-tokenizer {inputs.target} makes rows"
    )


COMMAND = Command(run)
