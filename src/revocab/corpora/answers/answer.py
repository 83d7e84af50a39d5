"""A model's own answers to the questions of conversations, and those that a judge finds good.

What a model gives for prompts is recorded piece by piece: a killed job goes on from there.
"""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from revocab.corpora.answers.options import (
    CONVERSATIONS,
    MESSAGES,
    AnswerJob,
    JudgeInputs,
    JudgeJob,
    Verdict,
    judges,
)
from revocab.corpora.documents import RowFilter, field_of
from revocab.corpora.source import origin, place, read_numbered
from revocab.device import deciding
from revocab.errors import RevocabError, refuse
from revocab.evaluation.generation.generate import load_generator
from revocab.evaluation.inference.chat_prompts import ChatFormat, ChatOptions, template_text
from revocab.evaluation.inference.decoding import Output
from revocab.evaluation.inference.engine import choose_engine
from revocab.evaluation.options import AnswerHardware, Generating, GenerationOptions
from revocab.evaluation.records import (
    Parts,
    Records,
    code_hash,
    digest,
    model_hash,
    module_hash,
    versions,
)
from revocab.io import read_jsonl, sha256, write_json, write_jsonl
from revocab.models.folder import check_model_folder
from revocab.models.load import quiet_loading
from revocab.output import OutputFolder
from revocab.training.chat.messages import (
    ASSISTANT,
    Message,
    MessageReader,
    answers,
    checked_messages,
    is_answered,
)

#: Batches of a piece: what a killed job loses at most.
BATCHES = 8
#: Fields of a question's row that its answer's row has, too, for judges.
COPIED_FIELDS = ("checks",)

Prompts = Sequence[list[int]]


@contextmanager
def recording(output: OutputFolder) -> Iterator[tuple[Path, Records]]:
    """Yield the folder that takes the output's place at the end, and records that last until then.

    What a failed or killed call has recorded is there again for the next one; a call that fails
    before anything is recorded leaves nothing.
    """
    with output.replaced(resume=True) as folder:
        records = Records(folder / "records")
        try:
            yield folder, records
        except BaseException:
            if not records.folder.is_dir():
                shutil.rmtree(folder)
            raise
        shutil.rmtree(records.folder, ignore_errors=True)


def recorded(
    records: Records,
    made_from: Parts,
    batch_size: int,
    prompts: Prompts,
    make: Callable[[Prompts], list[Any]],
) -> list[Any]:
    """Return what ``make`` gives for each prompt (JSON values), in order, stored piece by piece.

    Longest prompts first, in whole batches: transformers then makes the batches that it makes of
    all prompts at once, with the same results, to the bit. ``made_from`` is what else they depend
    on.
    """
    order = sorted(range(len(prompts)), key=lambda at: -len(prompts[at]))
    size = BATCHES * batch_size
    results: dict[int, Any] = {}
    read = 0
    for start in range(0, len(order), size):
        chosen = order[start : start + size]
        piece = [prompts[at] for at in chosen]
        parts = {**made_from, "prompts": digest(piece)}
        values = records.read(parts)
        if values is None:
            values = make(piece)
            records.write(parts, values)
        else:
            read += len(piece)
        results.update(zip(chosen, values, strict=True))
    if read:
        print(f"{read} of {len(prompts)} prompts were answered before", file=sys.stderr)
    return [results[at] for at in range(len(prompts))]


class RecordedGenerator:
    """A chat model that answers, and records what it says."""

    def __init__(
        self,
        model: Path,
        options: GenerationOptions,
        machine: AnswerHardware,
        records: Records,
        chat_template: Path | None = None,
    ):
        """Load the model."""
        chat = ChatOptions()
        self.options, self.batch_size, self.records = options, machine.batch_size, records
        self.engine = choose_engine(options.engine, "generation")
        generating = Generating(
            **options.model_dump(include=set(GenerationOptions.model_fields)),
            **machine.model_dump(),
            chat=chat,
            chat_template=template_text(chat_template, chat),
        )
        self.generator = load_generator(model, self.engine, generating)
        self.made_from = {
            "model": model_hash(model),
            "ends": list(self.generator.eos),
            "numbers": deciding(machine.device, machine.dtype, machine.batch_size),
            "max_new_tokens": options.max_new_tokens,
            **options.model_dump(include={"decoding"}),
            "engine": self.engine.name,
            "code": [code_hash(), module_hash(self.engine.module)],
            "libraries": versions(*self.engine.libraries),
        }

    @property
    def chat(self) -> ChatFormat:
        assert self.generator.chat is not None  # loaded for chat
        return self.generator.chat

    @property
    def room(self) -> int:
        length = min(self.options.context_length, self.generator.context_length)
        return length - self.options.max_new_tokens

    def generate(self, prompts: Prompts) -> list[Output]:
        def make(piece: Prompts) -> list[Any]:
            outputs = self.generator.generate(piece, self.options.max_new_tokens, None)
            return [asdict(output) for output in outputs]

        values = recorded(self.records, self.made_from, self.batch_size, prompts, make)
        return [Output(**value) for value in values]


# Answering ----------------------------------------------------------------------------------------


@dataclass
class Dialogue:
    """A conversation that is being answered: what is still to be asked, and what was said."""

    id: str
    #: Messages up to each answer, in order.
    turns: list[list[Message]]
    fields: dict[str, Any] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    #: How each answer ended.
    answers: list[dict[str, Any]] = field(default_factory=list)

    def take(self, output: Output, special: Mapping[str, Any]) -> None:
        self.messages += [*self.turns.pop(0), {"role": ASSISTANT, "content": output.text}]
        reason = output.finish_reason
        self.answers.append({"finish_reason": reason, "tokens": output.tokens, **special})
        if reason != "eos":
            self.turns.clear()


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
        at = f"{where}, row {row['id']}"
        value = field_of(row, job.messages_field, at, "messages_field")
        questions = turns(messages.read(value, f"{at}, field {job.messages_field!r}"))
        if questions:
            more = {key: row[key] for key in COPIED_FIELDS if key in row}
            dialogues.append(Dialogue(row["id"], questions, more))
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
    while waiting := [dialogue for dialogue in dialogues if dialogue.turns]:
        able, prompts = [], []
        for dialogue in waiting:
            prompt = model.chat.encode(model.chat.text([*dialogue.messages, *dialogue.turns[0]]))
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
    chat_template: Path | None,
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
        rows = [
            {"id": talk.id, MESSAGES: talk.messages, "answers": talk.answers, **talk.fields}
            for talk in dialogues
            if talk.answers
        ]
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


# Judging ------------------------------------------------------------------------------------------


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
        good = [row for row, verdict in zip(rows, verdicts, strict=True) if verdict.kept]
        left_out = Counter(verdict.reason for verdict in verdicts if not verdict.kept)
        if not good:
            reasons = ", ".join(f"{reason}: {count}" for reason, count in left_out.most_common())
            raise RevocabError(
                f"{conversations}: judge {judge.name!r} keeps none of {len(rows)} conversations "
                f"({reasons}); change its options, or let another model answer"
            )
        write_jsonl(folder / CONVERSATIONS, good)
        judged_rows = zip(rows, verdicts, strict=True)
        by_row = ({"id": row["id"], **asdict(verdict)} for row, verdict in judged_rows)
        write_jsonl(folder / "verdicts.jsonl.gz", by_row)
        manifest = {
            "judge": job.model_dump(mode="json"),
            **({"model": model_hash(model)} if model else {}),
            "input": sha256(conversations),
            "conversations": len(rows),
            "kept": len(good),
            "left_out": dict(sorted(left_out.items())),
        }
        write_json(folder / "manifest.json", manifest)
