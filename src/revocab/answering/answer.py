"""A model's own answers to the questions of conversations, through its chat template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from revocab.answering.options import CONVERSATIONS, MESSAGES, AnswerHardware, AnswerJob
from revocab.answering.recorded import Generate, recorded_generation, recording
from revocab.chat.messages import ASSISTANT, Message, checked_messages
from revocab.corpora.source import origin, place, read_numbered
from revocab.errors import RevocabError
from revocab.evaluation.generation.generate import load_generator
from revocab.evaluation.inference.chat_prompts import ChatOptions, template_text
from revocab.evaluation.inference.decoding import Output, TextGenerator
from revocab.evaluation.inference.engine import choose_engine
from revocab.evaluation.options import Generating
from revocab.evaluation.records import model_hash, versions
from revocab.io import write_json, write_jsonl
from revocab.models.folder import check_model_folder
from revocab.models.load import quiet_loading
from revocab.output import OutputFolder

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
        """Add an answer; one that did not end is the last."""
        self.said += [*self.turns.pop(0), {"role": ASSISTANT, "content": output.text}]
        reason = output.finish_reason
        self.answers.append({"finish_reason": reason, "tokens": output.tokens, **special})
        if reason != "eos":
            self.turns.clear()

    def row(self) -> dict[str, Any]:
        """Return the conversation as it is written."""
        return {"id": self.id, MESSAGES: self.said, "answers": self.answers, **self.kept}


def turns(messages: Sequence[Message]) -> list[list[Message]]:
    """Return what is said before each answer, the answers left out; the last may have none."""
    found: list[list[Message]] = [[]]
    for message in messages:
        if message["role"] != ASSISTANT:
            found[-1].append(message)
        elif found[-1]:
            found.append([])
    return [one for one in found if one]


def read_dialogues(job: AnswerJob, files: Sequence[Path]) -> list[Dialogue]:
    """Return the conversations of a source, none of them answered.

    Raises :class:`RevocabError` for rows without messages, and where nothing is asked.
    """
    where = place(job.source, files)
    found = []
    for row in read_numbered(job.source, files, job.limit):
        if job.messages_field not in row:
            raise RevocabError(
                f"{where}, row {row['id']}: no field {job.messages_field!r} (the row has: "
                f"{', '.join(sorted(row))}); name the right one with --messages-field "
                "(config: messages_field)"
            )
        named = f"{where}, row {row['id']}, field {job.messages_field!r}"
        asked = turns(checked_messages(row[job.messages_field], named))
        if asked:
            found.append(Dialogue(row["id"], asked, {key: row[key] for key in KEPT if key in row}))
    if not found:
        raise RevocabError(f"{where}: nothing is asked; give conversations with questions")
    return found


def answer_all(
    generator: TextGenerator, generate: Generate, dialogues: Sequence[Dialogue], job: AnswerJob
) -> int:
    """Answer every conversation, turn after turn; the model reads its own earlier answers.

    ``generate`` is the generator's, or one that records outputs. Returns how many end early
    because a prompt leaves no room for an answer.
    """
    assert generator.chat is not None  # loaded for chat
    room = min(job.context_length, generator.context_length) - job.max_new_tokens
    too_long = 0
    while asked := [one for one in dialogues if one.turns]:
        prompts = []
        for one in asked:
            text = generator.chat.text([*one.said, *one.turns[0]])
            prompts.append(generator.chat.encode(text))
        fits = [len(prompt) <= room for prompt in prompts]
        for one, fitting in zip(asked, fits, strict=True):
            if not fitting:
                one.turns.clear()
                too_long += 1
        able = [one for one, fitting in zip(asked, fits, strict=True) if fitting]
        given = [prompt for prompt, fitting in zip(prompts, fits, strict=True) if fitting]
        outputs = generate(given) if given else []
        for one, output in zip(able, outputs, strict=True):
            one.take(output, generator.chat.special_tokens(output.ids))
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
    engine = choose_engine(job.engine, "generation")
    chat = ChatOptions()
    options = Generating(
        **job.model_dump(include=set(Generating.model_fields)),
        **machine.model_dump(),
        chat=chat,
        chat_template=template_text(chat_template, chat),
    )
    quiet_loading()
    generator = load_generator(model, engine, options)
    with recording(output) as (folder, records):
        generate = recorded_generation(
            generator, engine, model, job.max_new_tokens, machine.batch_size, records
        )
        too_long = answer_all(generator, generate, dialogues, job)
        generator.close()
        rows = [one.row() for one in dialogues if one.answers]
        if not rows:
            raise RevocabError(
                f"{place(job.source, files)}: no question leaves room for {job.max_new_tokens} "
                "tokens of an answer; raise context_length, or lower max_new_tokens"
            )
        write_jsonl(folder / CONVERSATIONS, rows)
        manifest = {
            "model": model_hash(model),
            "source": origin(job.source, files),
            "options": {**job.model_dump(mode="json"), "engine": engine.name},
            "conversations": len(rows),
            "answers": sum(len(row["answers"]) for row in rows),
            "ended": sum(one["finish_reason"] == "eos" for row in rows for one in row["answers"]),
            "prompts_too_long": too_long,
            "versions": versions(*engine.libraries),
        }
        write_json(folder / "manifest.json", manifest)
