"""Conversations that a judge keeps: a file in, a folder of those kept and all verdicts out."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from revocab.corpora.answers.judge import JudgeInputs, JudgeJob, Verdict, judges
from revocab.corpora.answers.options import CONVERSATIONS, MESSAGES
from revocab.corpora.answers.recorded import recording
from revocab.errors import RevocabError, refuse
from revocab.evaluation.options import AnswerHardware
from revocab.evaluation.records import model_hash
from revocab.io import read_jsonl, sha256, write_json, write_jsonl
from revocab.output import OutputFolder
from revocab.training.chat.messages import answers, checked_messages, is_answered


def read_conversations(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file of conversations.

    Raises :class:`RevocabError` listing rows that are none, and for a file without any.
    """
    if not path.is_file():
        raise RevocabError(f"{path}: no such file; give a file of conversations (.jsonl, .gz)")
    rows = [{**row, "id": str(row.get("id", n))} for n, row in enumerate(read_jsonl(path))]
    problems = [] if rows else [f"{path}: no rows"]
    for row in rows:
        where = f"{path}, row {row['id']}"
        try:
            if not answers(checked_messages(row.get(MESSAGES), f"{where}, {MESSAGES!r}")):
                problems.append(f"{where}: no answer in {MESSAGES!r}; answer it first")
        except RevocabError as error:
            problems += error.problems
    refuse(problems)
    return rows


def judge_folder(
    conversations: Path, model: Path | None, job: JudgeJob, machine: AnswerHardware, out: Path
) -> None:
    """Write the conversations that a judge keeps, as they are, and ``verdicts.jsonl.gz`` of all.

    What a judging model gives is recorded beside ``out`` until the folder is whole: the call after
    a killed one goes on from there, and so does one with another threshold where none was kept.
    A model may end an answer at once: what has no text is left out, and asked of no judge. Raises
    :class:`RevocabError` for options that are wrong, for a model that is needed or of no use, and
    if none is kept.
    """
    output = OutputFolder(out, "judged conversations", [conversations, *([model] if model else [])])
    judge = judges()[job.kind]
    if (model is not None) != judge.needs_model:
        what = "needs a model that judges; give --model" if model is None else "uses no --model"
        raise RevocabError(f"judge {judge.name!r} {what}")
    rows = read_conversations(conversations)
    with recording(output) as (folder, records):
        able = [row for row in rows if is_answered(row[MESSAGES])]
        judged = iter(judge.judge(able, job, JudgeInputs(model, machine, records)))
        silent = Verdict(False, None, "empty answer")
        verdicts = [next(judged) if is_answered(row[MESSAGES]) else silent for row in rows]
        kept = [row for row, verdict in zip(rows, verdicts, strict=True) if verdict.kept]
        left_out = Counter(verdict.reason for verdict in verdicts if not verdict.kept)
        if not kept:
            reasons = ", ".join(f"{reason}: {count}" for reason, count in left_out.most_common())
            raise RevocabError(
                f"{conversations}: judge {judge.name!r} keeps none of {len(rows)} conversations "
                f"({reasons}); change its options, or let another model answer"
            )
        write_jsonl(folder / CONVERSATIONS, kept)
        by_row = (
            {"id": row["id"], **asdict(verdict)}
            for row, verdict in zip(rows, verdicts, strict=True)
        )
        write_jsonl(folder / "verdicts.jsonl.gz", by_row)
        manifest = {
            "judge": job.model_dump(mode="json"),
            **({"model": model_hash(model)} if model else {}),
            "input": sha256(conversations),
            "conversations": len(rows),
            "kept": len(kept),
            "left_out": dict(sorted(left_out.items())),
        }
        write_json(folder / "manifest.json", manifest)
