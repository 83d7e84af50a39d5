"""Prepare a corpus from files or the Hub: deduplicate documents and hold some of them out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from revocab.answering.options import CONVERSATIONS, MESSAGES
from revocab.closed import Closed
from revocab.command import Command, Nothing
from revocab.corpora.options import CorpusJob
from revocab.corpora.source import Form
from revocab.rule import Artefact, Plan, Rule, Step


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


def planned(plan: Plan, corpus: str) -> Step:
    entry = plan.experiment.corpora[corpus]
    files = plan.source(entry.source)
    own: dict[str, Any] = {"source": entry.source.form}
    if entry.answers is not None:
        judged = entry.answers.judge is not None
        folder = plan.paths.judged(corpus) if judged else plan.paths.answers(corpus)
        files = [Artefact.file(f"{folder}/{CONVERSATIONS}")]
        # Roles and conditions are of the questions, which were read with them.
        own = {"source": Form(), "messages_field": MESSAGES, "message_roles": {}, "keep": {}}
    job = CorpusJob.of(entry, corpus=corpus, **own)
    return Step(plan.paths.corpus(corpus), job, {"files": files})


RULE = Rule(COMMAND, planned, lambda plan: plan.experiment.corpora, lasting=True)
