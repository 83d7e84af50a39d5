"""Generation by many checkpoints, and its scores."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from revocab.device import checkpoint_on, deciding
from revocab.errors import RevocabError, all_of, refuse
from revocab.evaluation.generation.candidates import choose_candidates, output_row
from revocab.evaluation.generation.kind import find_kind
from revocab.evaluation.generation.prompts import layout_of, messages, render
from revocab.evaluation.generation.task_scores import task_scores
from revocab.evaluation.inference.chat_prompts import ChatFormat
from revocab.evaluation.inference.decoding import Output, TextGenerator
from revocab.evaluation.inference.engine import Engine, choose_engine
from revocab.evaluation.options import AskingAll, Generating, GenerationHardware
from revocab.evaluation.records import code_hash, model_hash, module_hash, versions
from revocab.evaluation.resampling import SCORE_COLUMNS
from revocab.io import read_json, read_jsonl, sha256, write_csv, write_json, write_jsonl
from revocab.models.folder import check_model_folder
from revocab.models.load import loading, quiet_loading
from revocab.output import ResumableFolder

COLUMNS = (*SCORE_COLUMNS, "engine", "limit", "reason")
#: What score_comet writes beside the outputs.
NEIGHBOURS = ("comet*", ".comet*")


def generate_checkpoints(
    run: str,
    models: Mapping[int, Path],
    prompts: Mapping[str, Path],
    out: Path,
    options: Generating,
) -> None:
    """Write ``step-NNNNNN/<task>.jsonl`` per checkpoint and task, ``scores.csv``, manifest last.

    A killed run continues with the first output that is missing or was made from other inputs.
    """
    check_arguments(models, prompts, options)
    outputs = {output_path(Path(), step, task).as_posix() for step in models for task in prompts}
    output = ResumableFolder(
        out,
        "generated text",
        [*models.values(), *prompts.values()],
        names=(*outputs, "scores.csv", "manifest.json", Finished.NAME),
        neighbours=NEIGHBOURS,
    )
    tasks = {name: list(read_jsonl(path)) for name, path in prompts.items()}
    check_rows(tasks, prompts)
    output.hold()
    (out / "manifest.json").unlink(missing_ok=True)
    quiet_loading()
    engine = choose_engine(options.engine, "generation")
    finished = Finished(out, engine, options)
    scores: list[dict[str, Any]] = []
    for step, folder in sorted(models.items()):
        generate_checkpoint(step, folder, prompts, tasks, finished)
        shown = []
        for name, rows in tasks.items():
            made = list(read_jsonl(output_path(out, step, name)))
            keys = {"run": run, "step": step, "task": name, "engine": engine.name}
            task_rows = [{**keys, **row} for row in score_rows(rows, made, options)]
            columns = find_kind(rows[0]["kind"]).columns()
            shown += [
                f"{name} {row['metric']} {row['value']:.1f}"
                for row in task_rows
                if row["metric"] in columns and row["value"] is not None
            ]
            scores += task_rows
        print(f"{run} step {step}: {', '.join(shown)}", file=sys.stderr, flush=True)
    write_csv(out / "scores.csv", COLUMNS, scores)
    finished.keep(outputs)
    libraries = ("torch", "transformers", "sacrebleu", "rouge_score", *engine.libraries)
    manifest = {
        "run": run,
        "steps": sorted(models),
        "prompts": {name: sha256(path) for name, path in prompts.items()},
        "options": {
            **options.model_dump(exclude={*GenerationHardware.model_fields}),
            "engine": engine.name,
        },
        "numbers": finished.shared["numbers"],
        "versions": versions(*libraries),
    }
    write_json(out / "manifest.json", manifest)
    output.finish()


def check_arguments(
    models: Mapping[int, Path], prompts: Mapping[str, Path], options: Generating
) -> None:
    problems = []
    for folder in models.values():
        try:
            check_model_folder(folder)
        except RevocabError as error:
            problems += error.problems
    for name, path in prompts.items():
        if not path.is_file():
            problems.append(f"--prompts {name}={path}: no such file")
        elif not any(True for _ in read_jsonl(path)):
            problems.append(f"--prompts {name}={path}: no rows")
    refuse(problems)


#: What every row of prompts has.
KEYS = ("id", "kind", "direction", "shots", "query", "references")


def check_rows(tasks: Mapping[str, Sequence[Mapping[str, Any]]], files: Mapping[str, Path]) -> None:
    problems = []
    for name, rows in tasks.items():
        for number, row in enumerate(rows, 1):
            if missing := [key for key in KEYS if key not in row]:
                problems.append(
                    f"{files[name]}, row {number}: no {', '.join(missing)}; give a file that"
                    " revocab build_prompts wrote"
                )
                break
    refuse(problems)


def output_path(out: Path, step: int, task: str) -> Path:
    return out / f"step-{step:06d}" / f"{task}.jsonl"


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
        generator.chat = ChatFormat(
            generator.tokenizer, folder, options.chat, options.chat_template
        )
        generator.eos = sorted({*generator.eos, *generator.chat.ends})
    return generator


def generate_checkpoint(
    step: int,
    folder: Path,
    files: Mapping[str, Path],
    tasks: dict[str, list[dict[str, Any]]],
    finished: Finished,
) -> None:
    """Write what is not yet there of one checkpoint; load it only if something is missing.

    Before the first task is generated, the prompts of all are fitted.
    """
    missing = {}
    for name, rows in tasks.items():
        path = output_path(finished.out, step, name)
        parts = finished.made_from(folder, files[name], rows[0]["kind"])
        if not finished.has(path, parts):
            missing[name] = (path, parts, rows)
    if not missing:
        return
    generator, options = load_generator(folder, finished.engine, finished.options), finished.options

    def named(name: str, call: Callable[..., Any], *given: Any) -> Any:
        try:
            return call(*given)
        except RevocabError as error:
            raise RevocabError(
                f"{name}, {folder}: {problem}" for problem in error.problems
            ) from error

    sizes = all_of(
        partial(named, name, needs, generator, rows, options)
        for name, (_, _, rows) in missing.items()
    )
    generator.expected = max(size for size, _ in sizes), max(count for _, count in sizes)
    for name, (path, parts, rows) in missing.items():
        write_jsonl(path, named(name, generate_task, generator, rows, options))
        finished.add(path, parts)
    generator.close()


def needs(
    engine: TextGenerator, rows: Sequence[dict[str, Any]], options: Generating
) -> tuple[int, int]:
    """Return the most tokens of a prompt with its answer, and how many prompts a task has.

    Raises :class:`RevocabError` where none fits.
    """
    kind = find_kind(rows[0]["kind"])
    room = min(options.context_length, engine.context_length)
    if kind.candidates is not None:
        return room, max(len(kind.candidates(row["query"])) for row in rows)
    most = rows[0].get("max_new_tokens", options.max_new_tokens)
    sizes = [
        size for _, ids, _ in fitted_to(engine, rows, options) if (size := len(ids) + most) <= room
    ]
    return max(sizes), len(sizes)


def fitted_to(
    engine: TextGenerator, rows: Sequence[dict[str, Any]], options: Generating
) -> list[tuple[str, list[int], int]]:
    """Return prompt, token ids and number of shots of each row.

    Raises :class:`RevocabError` where no prompt leaves room for its answer.
    """
    most = rows[0].get("max_new_tokens", options.max_new_tokens)
    room = min(options.context_length, engine.context_length) - most
    fitted = [fit(engine, row, room, options.shots_of(len(row["shots"]))) for row in rows]
    shortest = min(len(ids) for _, ids, _ in fitted)
    if shortest > room:
        raise RevocabError(
            f"no prompt of this task fits: the shortest without examples has {shortest} tokens, "
            f"and {room} are left beside the answer; raise evaluation.generation.context_length, "
            "lower max_new_tokens, or leave the task out"
        )
    return fitted


def generate_task(
    engine: TextGenerator, rows: Sequence[dict[str, Any]], options: Generating
) -> list[dict[str, Any]]:
    """Return the output rows of one task, in the order of its prompts.

    A prompt that leaves no room for the answer loses shots, which ``shots_used`` records; one that
    is too long without any is not generated (``finish_reason`` prompt_too_long, empty output).
    Of a kind with candidates :func:`choose_candidates` makes the rows.
    """
    kind = find_kind(rows[0]["kind"])
    room = min(options.context_length, engine.context_length)
    if kind.candidates is not None:
        return choose_candidates(engine, rows, room, options)
    most = rows[0].get("max_new_tokens", options.max_new_tokens)
    room -= most
    fitted = fitted_to(engine, rows, options)
    able = [i for i, (_, ids, _) in enumerate(fitted) if len(ids) <= room]
    # In a chat end tokens alone end an answer.
    stop = None if engine.chat else layout_of(rows[0]).end
    made = engine.generate([fitted[i][1] for i in able], most, stop)
    outputs = dict(zip(able, made, strict=True))
    rows_made = []
    for i, (row, (text, ids, shots)) in enumerate(zip(rows, fitted, strict=True)):
        output = outputs.get(i, Output("", 0, "prompt_too_long"))
        stored = output_row(row, text, len(ids), output, shots)
        stored |= engine.chat.special_tokens(output.ids) if engine.chat else {}
        stored |= {name: row["query"][name] for name in kind.kept}
        counted = kind.counts({**stored, "max_new_tokens": most}, engine.encode_text)
        rows_made.append(stored | counted)
    return rows_made


def fit(
    engine: TextGenerator, row: dict[str, Any], room: int, most: int
) -> tuple[str, list[int], int]:
    """Return prompt, token ids and number of shots: as many, up to ``most``, as fit in ``room``
    tokens.
    """
    shots = most
    text, ids = asked(engine, row, shots)
    while shots and len(ids) > room:
        shots -= 1
        text, ids = asked(engine, row, shots)
    return text, ids, shots


def asked(engine: TextGenerator, row: dict[str, Any], shots: int) -> tuple[str, list[int]]:
    if engine.chat is None:
        text = render(row, shots)
        return text, engine.encode(text)
    text = engine.chat.text(messages(row, shots, turns=engine.chat.turns))
    return text, engine.chat.encode(text)


class Finished:
    """Outputs already there, each with its checksum and all that it was made from.

    It outlives the scores: a further task or checkpoint costs itself alone.
    """

    NAME = ".finished.json"

    def __init__(self, out: Path, engine: Engine, options: Generating):
        self.out = out
        self.path = out / self.NAME
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
        self.outputs: dict[str, Any] = read_json(self.path) if self.path.is_file() else {}

    def made_from(self, folder: Path, prompts: Path, kind: str) -> dict[str, Any]:
        own = {"kind": module_hash(find_kind(kind).options.__module__)}
        return {"model": model_hash(folder), "prompts": sha256(prompts), **own, **self.shared}

    def has(self, path: Path, parts: dict[str, Any]) -> bool:
        entry = self.outputs.get(path.relative_to(self.out).as_posix())
        return path.is_file() and entry == {"made_from": parts, "sha256": sha256(path)}

    def add(self, path: Path, parts: dict[str, Any]) -> None:
        name = path.relative_to(self.out).as_posix()
        self.outputs[name] = {"made_from": parts, "sha256": sha256(path)}
        write_json(self.path, self.outputs)

    def keep(self, paths: Collection[str]) -> None:
        self.outputs = {name: entry for name, entry in self.outputs.items() if name in paths}
        write_json(self.path, self.outputs)


def score_rows(
    prompts: Sequence[dict[str, Any]], made: Sequence[dict[str, Any]], options: Generating
) -> list[dict[str, Any]]:
    """Return one row per metric, without its keys; ``reason`` tells what was shortened."""
    first = prompts[0]
    shots = max(options.shots_of(len(row["shots"])) for row in prompts)
    fewer = sum(row["shots_used"] < shots for row in made)
    unfit = sum(row["finish_reason"] == "prompt_too_long" for row in made)
    notes = [f"{fewer} of {len(made)} prompts with fewer shots"] if fewer else []
    notes += [f"{unfit} of {len(made)} prompts too long, scored as empty"] if unfit else []
    known = {"items": len(made), "shots": shots, "limit": options.limit}
    scores = task_scores(first["kind"], first["direction"], made, options.comet_apart)
    return [
        {**score, **known, "reason": "; ".join(filter(None, [score["reason"], *notes]))}
        for score in scores
    ]
