"""A model's own answers to the questions of conversations, through its chat template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from revocab.corpora.answers.options import CONVERSATIONS, MESSAGES, AnswerJob
from revocab.corpora.answers.recorded import RecordedGenerator, recording
from revocab.corpora.documents import RowFilter
from revocab.corpora.source import origin, place, read_numbered
from revocab.errors import RevocabError
from revocab.evaluation.inference.decoding import Output
from revocab.evaluation.options import AnswerHardware
from revocab.evaluation.records import model_hash, versions
from revocab.io import write_json, write_jsonl
from revocab.models.folder import check_model_folder
from revocab.models.load import quiet_loading
from revocab.output import OutputFolder
from revocab.training.chat.messages import ASSISTANT, Message, MessageReader

#: Fields of a question's row that its answer's row has, too, for judges.
KEPT = ("checks",)


@dataclass
class Dialogue:
    """A conversation that is being answered: what is still to be asked, and what was said."""

    id: str
    #: Messages up to each answer, in order.
    turns: list[list[Message]]
    kept: dict[str, Any] = field(default_factory=dict)
    said: list[Message] = field(default_factory=list)
    #: How each answer ended.
    answers: list[dict[str, Any]] = field(default_factory=list)

    def take(self, output: Output, special: Mapping[str, Any]) -> None:
        self.said += [*self.turns.pop(0), {"role": ASSISTANT, "content": output.text}]
        reason = output.finish_reason
        self.answers.append({"finish_reason": reason, "tokens": output.tokens, **special})
        if reason != "eos":
            self.turns.clear()

    def row(self) -> dict[str, Any]:
        return {"id": self.id, MESSAGES: self.said, "answers": self.answers, **self.kept}


def turns(messages: Sequence[Message]) -> list[list[Message]]:
    """Return what is said before each answer, the answers left out; the last may have none."""
    parts: list[list[Message]] = [[]]
    for message in messages:
        if message["role"] != ASSISTANT:
            parts[-1].append(message)
        elif parts[-1]:
            parts.append([])
    return [part for part in parts if part]


def read_dialogues(job: AnswerJob, files: Sequence[Path]) -> list[Dialogue]:
    """Return the conversations of a source, none of them answered.

    Raises :class:`RevocabError` for rows without messages, and where nothing is asked.
    """
    where = place(job.source, files)
    dialogues = []
    messages, wanted = MessageReader(job.message_roles), RowFilter(job.keep)
    rows = read_numbered(job.source, files)
    rows = [row for row in rows if wanted.keeps(row, f"{where}, row {row['id']}")]
    for row in rows[: job.limit]:
        if job.messages_field not in row:
            raise RevocabError(
                f"{where}, row {row['id']}: no field {job.messages_field!r} (the row has: "
                f"{', '.join(sorted(row))}); name the right one with --messages-field "
                "(config: messages_field)"
            )
        named = f"{where}, row {row['id']}, field {job.messages_field!r}"
        asked = turns(messages.read(row[job.messages_field], named))
        if asked:
            kept = {key: row[key] for key in KEPT if key in row}
            dialogues.append(Dialogue(row["id"], asked, kept))
    messages.check()
    wanted.check(where)
    if not dialogues:
        raise RevocabError(f"{where}: nothing is asked; give conversations with questions")
    return dialogues


def needs(model: RecordedGenerator, dialogues: Sequence[Dialogue]) -> int:
    """Return about how many tokens the longest conversation has with all of its answers."""

    def tokens(messages: Sequence[Message]) -> int:
        # Of each message beside its text, what a template writes around it.
        texts = [str(message["content"]) for message in messages]
        return sum(len(model.generator.encode_text(text)) + 32 for text in texts)

    most = model.options.max_new_tokens
    longest = max(sum(tokens(turn) + most for turn in dialogue.turns) for dialogue in dialogues)
    return min(longest, model.room + most)


def answer_all(model: RecordedGenerator, dialogues: Sequence[Dialogue]) -> int:
    """Answer turn after turn; return how many conversations end early for want of room."""
    too_long = 0
    while asked := [dialogue for dialogue in dialogues if dialogue.turns]:
        able, prompts = [], []
        for dialogue in asked:
            prompt = model.chat.encode(model.chat.text([*dialogue.said, *dialogue.turns[0]]))
            if len(prompt) <= model.room:
                able.append(dialogue)
                prompts.append(prompt)
            else:
                dialogue.turns.clear()
                too_long += 1
        outputs = model.generate(prompts) if prompts else []
        for dialogue, output in zip(able, outputs, strict=True):
            dialogue.take(output, model.chat.special_tokens(output.ids))
    return too_long


def answer_folder(
    model: Path,
    files: Sequence[Path],
    job: AnswerJob,
    machine: AnswerHardware,
    out: Path,
    chat_template: Path | None = None,
) -> None:
    """Write conversations whose answers are a model's own, in the order of their source.

    Each row has ``messages``, and for each of its ``answers`` how it ended. A killed call's answers
    are recorded beside ``out``, and the next one goes on from them. Raises :class:`RevocabError` as
    its parts do, and if no question leaves room for an answer.
    """
    output = OutputFolder(out, "answered conversations", [model, *files])
    check_model_folder(model)
    dialogues = read_dialogues(job, files)
    quiet_loading()
    with recording(output) as (folder, records):
        answering = RecordedGenerator(model, job, machine, records, chat_template)
        answering.generator.expected = needs(answering, dialogues), len(dialogues)
        too_long = answer_all(answering, dialogues)
        answering.generator.close()
        rows = [dialogue.row() for dialogue in dialogues if dialogue.answers]
        if not rows:
            raise RevocabError(
                f"{place(job.source, files)}: no question leaves room for {job.max_new_tokens} "
                "tokens of an answer; raise context_length, or lower max_new_tokens"
            )
        write_jsonl(folder / CONVERSATIONS, rows)
        answers = [answer for row in rows for answer in row["answers"]]
        manifest = {
            "model": model_hash(model),
            "source": origin(job.source, files),
            "options": {**job.model_dump(mode="json"), "engine": answering.engine.name},
            "conversations": len(rows),
            "answers": len(answers),
            "ended": sum(answer["finish_reason"] == "eos" for answer in answers),
            "prompts_too_long": too_long,
            "versions": versions(*answering.engine.libraries),
        }
        write_json(folder / "manifest.json", manifest)
