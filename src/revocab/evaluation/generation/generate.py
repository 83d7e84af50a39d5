"""What checkpoints write on stored prompts, and how it is scored.

Of a kind with candidates nothing is generated: the likeliest of given texts are taken as the
answer. A candidate stands where an answer would, after the label if that begins the answer. It is
worth the mean log-probability of the answer's first M tokens, where M is the number of tokens of
the shortest of the prompt's candidates, so that none is judged by its length. Ties: the earlier
candidate first. As in the code that LEP's authors released (docs/papers.md, 3.13).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from revocab.device import checkpoint_on, deciding
from revocab.errors import RevocabError, all_of, naming, refused
from revocab.evaluation.generation.kind import find_kind, metrics
from revocab.evaluation.generation.prompts import asks_itself, begun, layout_of, messages, render
from revocab.evaluation.inference.chat_prompts import ChatFormat
from revocab.evaluation.inference.decoding import Output, TextGenerator
from revocab.evaluation.inference.engine import Engine, choose_engine
from revocab.evaluation.metrics import COMET, COMET_APART, NO_COMET, UNKNOWN, Row
from revocab.evaluation.options import AskingAll, Generating, GenerationHardware
from revocab.evaluation.records import Records, code_hash, model_hash, module_hash, versions
from revocab.evaluation.resampling import SCORE_COLUMNS, first_sum, score_columns
from revocab.io import read_jsonl, sha256, write_csv, write_json, write_jsonl
from revocab.models.folder import check_model_folder
from revocab.models.load import loading, quiet_loading
from revocab.output import ResumableFolder
from revocab.training.chat.layout import Languages
from revocab.training.chat.messages import ASSISTANT

COLUMNS = (*SCORE_COLUMNS, "engine", "limit", "reason")
#: What score_comet writes beside the outputs.
NEIGHBOURS = ("comet*", ".comet*")
#: What every row of prompts has.
KEYS = ("id", "kind", "direction", "shots", "query", "references")


def generate_checkpoints(
    run: str,
    models: Mapping[int, Path],
    prompts: Mapping[str, Path],
    out: Path,
    options: Generating,
) -> None:
    """Write ``step-NNNNNN/<task>.jsonl`` per checkpoint and task, ``scores.csv``, manifest last; a
    killed run continues with the first output that is missing or was made from other inputs.
    """
    problems = [each for folder in models.values() for each in refused(check_model_folder, folder)]
    rows_of_tasks = all_of((partial(read_prompts, path) for path in prompts.values()), problems)
    tasks = dict(zip(prompts, rows_of_tasks, strict=True))
    names = {output_path(Path(), step, task).as_posix() for step in models for task in prompts}
    output = ResumableFolder(
        out,
        "generated text",
        [*models.values(), *prompts.values()],
        names=(*names, "scores.csv", "manifest.json", f"{Finished.NAME}/*"),
        neighbours=NEIGHBOURS,
    )
    output.hold()
    (out / "manifest.json").unlink(missing_ok=True)
    quiet_loading()
    engine = choose_engine(options.engine, "generation")
    finished = Finished(out, engine, options)
    scores: list[Row] = []
    for step, folder in sorted(models.items()):
        generate_checkpoint(step, folder, prompts, tasks, finished)
        values = []
        for name, rows in tasks.items():
            keys = {"run": run, "step": step, "task": name, "engine": engine.name}
            outputs = list(read_jsonl(output_path(out, step, name)))
            columns = find_kind(rows[0]["kind"]).columns()
            for row in score_rows(rows, outputs, options):
                scores.append({**keys, **row})
                if row["metric"] in columns and row["value"] is not None:
                    values.append(f"{name} {row['metric']} {row['value']:.1f}")
        print(f"{run} step {step}: {', '.join(values)}", file=sys.stderr, flush=True)
    write_csv(out / "scores.csv", COLUMNS, scores)
    libraries = ("torch", "transformers", "sacrebleu", "rouge_score", *engine.libraries)
    decided = options.model_dump(exclude={*GenerationHardware.model_fields})
    manifest = {
        "run": run,
        "steps": sorted(models),
        "prompts": {name: sha256(path) for name, path in prompts.items()},
        "options": {**decided, "engine": engine.name},
        "numbers": finished.shared["numbers"],
        "versions": versions(*libraries),
    }
    write_json(out / "manifest.json", manifest)
    output.finish()


def read_prompts(path: Path) -> list[Row]:
    """Return a task's stored prompts; raise :class:`RevocabError` for what is none."""
    rows = list(read_jsonl(path))
    for number, row in enumerate(rows, 1):
        if missing := [key for key in KEYS if key not in row]:
            raise RevocabError(
                f"{path}, row {number}: no {', '.join(missing)}; give a file that revocab"
                " build_prompts wrote"
            )
    if not rows:
        raise RevocabError(f"{path}: no rows; build its prompts again")
    return rows


def output_path(out: Path, step: int, task: str) -> Path:
    return out / f"step-{step:06d}" / f"{task}.jsonl"


class Finished(Records):
    """The checksum of each output that is there, recorded with all that the output was made from.

    It outlives the scores: a further task or checkpoint costs itself alone.
    """

    NAME = ".finished"

    def __init__(self, out: Path, engine: Engine, options: Generating):
        super().__init__(out / self.NAME)
        self.engine, self.options = engine, options
        self.shared = {
            "engine": engine.name,
            "numbers": deciding(options.device, options.dtype, options.batch_size),
            "max_new_tokens": options.max_new_tokens,
            "context_length": options.context_length,
            **options.model_dump(include={"decoding"}),
            "chat": options.model_dump(include=set(AskingAll.model_fields)),
            "code": [code_hash(), module_hash(engine.module)],
            "libraries": versions(*engine.libraries),
        }

    def made_from(self, folder: Path, prompts: Path, kind: str) -> dict[str, Any]:
        own = {"kind": module_hash(find_kind(kind).options.__module__)}
        return {"model": model_hash(folder), "prompts": sha256(prompts), **own, **self.shared}


# Scores -------------------------------------------------------------------------------------------


def score_rows(prompts: Sequence[Row], outputs: Sequence[Row], options: Generating) -> list[Row]:
    """Return one row per metric, without its keys; ``reason`` tells what was shortened."""
    first, number = prompts[0], len(outputs)
    shots = max(options.shots_of(len(row["shots"])) for row in prompts)
    fewer = sum(row["shots_used"] < shots for row in outputs)
    unfit = sum(row["finish_reason"] == "prompt_too_long" for row in outputs)
    notes = [f"{fewer} of {number} prompts with fewer shots"] if fewer else []
    notes += [f"{unfit} of {number} prompts too long, scored as empty"] if unfit else []
    known = {"items": number, "shots": shots, "limit": options.limit}
    return [
        {**score, **known, "reason": "; ".join(filter(None, [score["reason"], *notes]))}
        for score in task_scores(first["kind"], first["direction"], outputs, options.comet_apart)
    ]


def task_scores(
    kind: str, languages: Languages, outputs: Sequence[Row], comet_apart: bool = False
) -> list[Row]:
    """Return a row per metric: ``metric``, ``value``, ``stderr``, ``low``, ``high``, ``reason``."""
    scores: list[Row] = []
    for name, items in find_kind(kind).items(outputs, languages).items():
        row: Row = {**score_columns(items, metrics().get(name, UNKNOWN).high)}
        values = items.counts_NK[:, 0]
        if row["stderr"] is not None and items.score is first_sum:
            row["stderr"] = float(values.std(ddof=1)) / math.sqrt(len(values)) or row["stderr"]
        scores.append({"metric": name, **row, "reason": ""})
    if find_kind(kind).comet:  # it is computed in an environment of its own
        empty = dict.fromkeys(("value", "stderr", "low", "high"))
        why = COMET_APART if comet_apart else NO_COMET
        scores.append({"metric": COMET, **empty, "reason": why})
    return scores


# One checkpoint -----------------------------------------------------------------------------------


def generate_checkpoint(
    step: int,
    folder: Path,
    files: Mapping[str, Path],
    tasks: Mapping[str, list[Row]],
    finished: Finished,
) -> None:
    """Write what is not yet there of one checkpoint; load it only if something is missing, and fit
    the prompts of all tasks before the first is generated.
    """
    missing = {}
    for name, rows in tasks.items():
        path = output_path(finished.folder.parent, step, name)
        parts = finished.made_from(folder, files[name], rows[0]["kind"])
        if not path.is_file() or finished.read(parts) != sha256(path):
            missing[name] = (path, parts)
    if not missing:
        return
    options = finished.options
    generator = load_generator(folder, finished.engine, options)
    sizes_and_counts = all_of(
        partial(naming(f"{name}, {folder}")(needs), generator, tasks[name], options)
        for name in missing
    )
    sizes, counts = zip(*sizes_and_counts, strict=True)
    generator.expected = max(sizes), max(counts)
    for name, (path, parts) in missing.items():
        with naming(f"{name}, {folder}"):
            write_jsonl(path, generate_task(generator, tasks[name], options))
        finished.write(parts, sha256(path))
    generator.close()


def load_generator(folder: Path, engine: Engine, options: Generating) -> TextGenerator:
    assert engine.generation is not None  # or it would not have been chosen
    with loading(folder):
        checkpoint = checkpoint_on(
            folder, options.device, options.dtype, options.batch_size, options.gpus
        )
        generator = engine.generation(checkpoint, options.context_length)
    usual = Generating.model_fields["context_length"].default  # cut to what a model has
    if usual != options.context_length > generator.context_length:
        raise RevocabError(
            f"{folder}: context_length: received {options.context_length:,}, and the model reads"
            f" {generator.context_length:,} tokens at once; give at most as many"
        )
    generator.decoding = options.decoding
    if options.chat is not None:
        tokenizer = generator.tokenizer
        generator.chat = ChatFormat(tokenizer, folder, options.chat, options.chat_template)
        generator.eos = sorted({*generator.eos, *generator.chat.ends})
    return generator


def needs(engine: TextGenerator, rows: Sequence[Row], options: Generating) -> tuple[int, int]:
    """Return the most tokens of a prompt with its answer, and how many prompts a task has.

    Raises :class:`RevocabError` where none fits.
    """
    if candidates := find_kind(rows[0]["kind"]).candidates:
        room = min(options.context_length, engine.context_length)
        return room, max(len(row["query"][candidates]) for row in rows)
    fitted, most = fitted_to(engine, rows, options)
    sizes = [len(ids) for _, ids, _, fits in fitted if fits]
    return max(sizes) + most, len(sizes)


def generate_task(engine: TextGenerator, rows: Sequence[Row], options: Generating) -> list[Row]:
    """Return the output rows of one task, in the order of its prompts: ``shots_used`` may be fewer,
    to leave room for the answer, and what is too long without any (``finish_reason``
    prompt_too_long) has an empty output.
    """
    kind = find_kind(rows[0]["kind"])
    if kind.candidates:
        return [chosen_row(engine, row, options) for row in rows]
    fitted, most = fitted_to(engine, rows, options)
    # In a chat end tokens alone end an answer.
    stop = None if engine.chat else layout_of(rows[0]).end
    answers = iter(engine.generate([ids for _, ids, _, fits in fitted if fits], most, stop))
    outputs = []
    for row, (text, ids, shots, fits) in zip(rows, fitted, strict=True):
        answer = next(answers) if fits else Output("", 0, "prompt_too_long")
        special = engine.chat.special_tokens(answer.ids) if engine.chat else {}
        output = output_row(row, text, len(ids), answer, shots, special)
        outputs.append(output | kind.counts({**output, "max_new_tokens": most}, engine.encode_text))
    return outputs


def output_row(
    row: Row, prompt: str, prompt_tokens: int, answer: Output, shots: int, more: Row
) -> Row:
    """Return what is stored of an output, with what a kind's metrics need of the query."""
    return {
        "id": row["id"],
        "prompt": prompt,
        "output": answer.text,
        "references": row["references"],
        "prompt_tokens": prompt_tokens,
        "output_tokens": answer.tokens,
        "finish_reason": answer.finish_reason,
        "shots_used": shots,
        **more,
        **{name: row["query"][name] for name in find_kind(row["kind"]).stored},
    }


def fitted_to(
    engine: TextGenerator, rows: Sequence[Row], options: Generating
) -> tuple[list[tuple[str, list[int], int, bool]], int]:
    """Return of each row its prompt, token ids, as many shots as fit, and whether it fits; and the
    most tokens of an answer.

    Raises :class:`RevocabError` where no prompt leaves room for its answer.
    """
    most = rows[0].get("max_new_tokens", options.max_new_tokens)
    room = min(options.context_length, engine.context_length) - most
    fitted = []
    for row in rows:
        shots = options.shots_of(len(row["shots"]))
        text, ids = encoded_prompt(engine, row, shots)
        while shots and len(ids) > room:
            shots -= 1
            text, ids = encoded_prompt(engine, row, shots)
        fitted.append((text, ids, shots, len(ids) <= room))
    if not any(fits for *_, fits in fitted):
        shortest = min(len(ids) for _, ids, *_ in fitted)
        raise RevocabError(
            f"no prompt of this task fits: the shortest without examples has {shortest} tokens, "
            f"and {room} are left beside the answer; raise evaluation.generation.context_length, "
            "lower max_new_tokens, or leave the task out"
        )
    return fitted, most


def encoded_prompt(engine: TextGenerator, row: Row, shots: int) -> tuple[str, list[int]]:
    if engine.chat is None:
        text = render(row, shots)
        return text, engine.encode(text)
    text = engine.chat.text(messages(row, shots, turns=engine.chat.turns))
    return text, engine.chat.encode(text)


# Candidates ---------------------------------------------------------------------------------------

#: Token ids of a prompt with a candidate, and how many of them come before the answer.
Encoded = tuple[list[int], int]


def chosen_row(engine: TextGenerator, row: Row, options: Generating) -> Row:
    """Return the output row of a prompt: as many candidates as there are right answers, best first.

    ``likelihoods`` are the candidates' in their order, ``chosen`` the places of the output's; there
    are none of a prompt that is too long with a candidate (``finish_reason`` prompt_too_long).
    """
    room = min(options.context_length, engine.context_length)
    shots = options.shots_of(len(row["shots"]))
    texts = row["query"][find_kind(row["kind"]).candidates]
    encoded = [encode(engine, row, shots, text) for text in texts]
    longest = max(len(ids) for ids, _ in encoded)
    likelihoods = mean_log_probabilities(engine, encoded) if longest <= room else []
    best = sorted(range(len(likelihoods)), key=lambda at: -likelihoods[at])
    chosen = best[: len(row["references"])]
    text = "\n".join(texts[at] for at in chosen)
    answer = Output(text, 0, "chosen" if likelihoods else "prompt_too_long")
    prompt, _ = prompt_with(engine, row, shots)
    more = {"likelihoods": likelihoods, "chosen": chosen}
    return output_row(row, prompt, longest, answer, shots, more)


def mean_log_probabilities(engine: TextGenerator, encoded: Sequence[Encoded]) -> list[float]:
    """Return each answer's mean over as many tokens as the shortest answer has."""
    tokens = min(len(ids) - start for ids, start in encoded)
    # Answers that begin alike are equal to the last bit: padded otherwise they would not be.
    answers: dict[tuple[int, ...], dict[tuple[int, ...], float]] = {}
    pairs = [(tuple(ids[:start]), tuple(ids[start : start + tokens])) for ids, start in encoded]
    for context, answer in pairs:
        answers.setdefault(context, {})[answer] = 0.0
    for context, sums in answers.items():
        values = engine.log_probabilities(list(context), list(map(list, sums)))
        sums.update(zip(sums, values, strict=True))
    return [answers[context][answer] / tokens for context, answer in pairs]


def encode(engine: TextGenerator, row: Row, shots: int, candidate: str) -> Encoded:
    """Return a prompt with a candidate, split before the token of the answer's first character."""
    text, answer = prompt_with(engine, row, shots, candidate)
    first = len(text) - len(answer)
    if not text.endswith(answer):
        raise RevocabError(
            f"item {row['id']}: the chat template changes the end of an answer, {answer[-60:]!r}; "
            "leave chat out, or give another template"
        )
    read = engine.tokenizer(
        text, add_special_tokens=engine.chat is None, return_offsets_mapping=True
    )
    start = next(at for at, (_, end) in enumerate(read["offset_mapping"]) if end > first)
    return read["input_ids"], start


def prompt_with(
    engine: TextGenerator, row: Row, shots: int, candidate: str | None = None
) -> tuple[str, str]:
    """Return a prompt as text with its answer so far, which ends it: its label, and a candidate."""
    layout = layout_of(row)
    label = begun(row["query"]) if asks_itself(row) else layout.answer_label
    tail = "" if candidate is None else f"{layout.before_text}{candidate}"
    if engine.chat is None:
        return f"{render(row, shots)}{tail}", f"{label}{tail}".strip()
    conversation = messages(row, shots, turns=engine.chat.turns)
    if conversation[-1]["role"] == ASSISTANT:
        conversation, answer = conversation[:-1], f"{label}{tail}".strip()
    else:  # the label is the question's
        answer = candidate or ""
    if answer:
        conversation = [*conversation, {"role": ASSISTANT, "content": answer}]
    return engine.chat.text(conversation), answer
