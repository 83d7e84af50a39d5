"""Prepare a corpus from files or the Hub: deduplicate documents and hold some of them out."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.closed import Closed
from revocab.command import Command, Nothing
from revocab.corpora.options import CorpusJob


class Inputs(Closed):
    files: list[Path] = Field(
        default_factory=list,
        description=".jsonl, .txt or .tsv (also .gz, .zst), .parquet, or a folder of such files",
    )


def run(inputs: Inputs, job: CorpusJob, machine: Nothing, out: Path) -> str:
    from revocab.corpora.prepare import prepare, skipped_counts

    made = prepare(inputs.files, job, out)
    train, held = (
        f"{made[split]['documents']:,} documents ({made[split]['bytes']:,} bytes)"
        for split in ("train", "heldout")
    )
    left_out = skipped_counts(made["skipped"])
    more = "" if job.heldout_bytes else "; --heldout-bytes keeps text to measure on (pack_heldout)"
    return (
        f"{out}: {train} to train on, {held} held out; left out: {left_out}\n"
        f"next: --corpora {job.corpus}={out} of revocab fertility, tokenizer or pack{more}"
    )


COMMAND = Command(run)
