"""Zero- and few-shot scores of many checkpoints on many tasks, through lm-evaluation-harness."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revocab.device import checkpoint_on, deciding
from revocab.errors import RevocabError, refuse
from revocab.evaluation.inference.chat_prompts import TURNS, set_template
from revocab.evaluation.inference.engine import ChoiceModel, choose_engine, engine_called
from revocab.evaluation.metrics import HARNESS_METRICS
from revocab.evaluation.multiple_choice import harness
from revocab.evaluation.multiple_choice.parts import measured_items
from revocab.evaluation.multiple_choice.tasks import read_task
from revocab.evaluation.options import AskingAll, Scoring, ScoringOptions
from revocab.evaluation.records import Records, code_hash, model_hash, module_hash, versions
from revocab.evaluation.resampling import SCORE_COLUMNS, items_of, score_columns
from revocab.io import sha256, write_csv, write_jsonl
from revocab.models.folder import check_model_folder
from revocab.models.load import loading, quiet_loading
from revocab.output import check_files
from revocab.sandbox import explain

if TYPE_CHECKING:
    from lm_eval.api.task import Task
    from lm_eval.tasks.manager import TaskDict

METRICS = tuple(metric.name for metric in HARNESS_METRICS)
COLUMNS = (
    *SCORE_COLUMNS, "task_version", "harness_version", "limit", "cut_prompts", "config_hash",
    "data_revision", "engine",
)  # fmt: skip
ITEM_COLUMNS = ("run", "step", "task", "metric", "parts", "by_part", "choices", "values")


def score_checkpoints(
    run: str, models: Mapping[int, Path], tasks: Sequence[Path], out: Path, options: Scoring
) -> None:
    """Score every model, by step, on every task file and write one table to ``out``.

    Beside it a file of items holds every item's score, for comparing runs item by item. Scores
    of every (checkpoint, task) stay on record beside ``out``: a killed evaluation continues where
    it was, and a further task or checkpoint costs itself alone. Rows are sorted by step, then task
    order.
    """
    items = out.with_name(f"{out.stem}_items.jsonl.gz")
    check_files(out, items, inputs=[*models.values(), *tasks])
    check_arguments(models, tasks)
    quiet_loading()
    records = Records(out.with_name(f".{out.name}.records"))
    rows: list[dict[str, Any]] = []
    scorer = Scorer(tasks, options)
    for step, folder in sorted(models.items()):
        start = time.monotonic()
        step_rows = scorer.score_all(folder, records)
        rows += [{"run": run, "step": step, **row} for row in step_rows]
        first = {row["task"]: row["value"] for row in reversed(step_rows)}
        mean = sum(first.values()) / len(tasks)
        seconds = time.monotonic() - start
        said = f"{run} step {step}: {len(tasks)} tasks, mean acc {mean:.3f}, {seconds:.1f} s"
        print(said, file=sys.stderr, flush=True)
    if scorer.truncated:
        print(
            f"{run}: {scorer.truncated} requests were longer than the model's context and were"
            " truncated at the beginning",
            file=sys.stderr,
        )
    write_jsonl(items, [{name: row.get(name) for name in ITEM_COLUMNS} for row in rows])
    write_csv(out, COLUMNS, [{name: row[name] for name in COLUMNS} for row in rows])


def check_arguments(models: Mapping[int, Path], tasks: Sequence[Path]) -> None:
    problems: list[str] = []
    checks = [(check_model_folder, folder) for folder in models.values()]
    for check, path in [*checks, *((read_task, path) for path in tasks)]:
        try:
            check(path)
        except RevocabError as error:
            problems += error.problems
    names = [path.stem for path in tasks]
    problems += [
        f"--tasks: {name!r} is given twice" for name in sorted(set(names)) if names.count(name) > 1
    ]
    refuse(problems)


class Scorer:
    """Tasks, loaded when first needed, shared by all checkpoints of the process."""

    def __init__(self, tasks: Sequence[Path], options: Scoring):
        self.paths = {path.stem: path for path in tasks}
        self.options = options
        self.truncated = 0
        self._provenance: dict[str, dict[str, str]] = {}
        self._files: dict[str, dict[str, Any]] = {}

    @cached_property
    def tasks(self) -> dict[str, TaskDict]:
        return harness.load_tasks(self.paths.values(), self.options)

    def load(self, folder: Path) -> ChoiceModel:
        """Return the harness's model for one checkpoint.

        With ``chat`` texts are those of a chat template and get no further special tokens. Raises
        :class:`RevocabError` for a tokenizer without such a template, for an engine that there is
        not or that does not import here, and for what :func:`revocab.models.load.check_model`
        refuses.
        """
        options = self.options
        check_model_folder(folder)
        engine = choose_engine(options.engine, "multiple_choice")
        assert engine.multiple_choice is not None  # else it is not chosen
        with loading(folder):
            checkpoint = checkpoint_on(
                folder, options.device, options.dtype, options.batch_size, options.gpus
            )
            model = engine.multiple_choice(checkpoint, long_prompts=options.long_prompts)
        if options.chat:
            set_template(model.tokenizer, folder, options.chat_template)
            model.add_bos_token = False
        return model

    def score_all(self, folder: Path, records: Records) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        model = None
        for name in self.paths:
            parts = self.made_from(folder, name)
            done = records.read(parts)
            if done is None:
                model = model or self.load(folder)
                done = self.score(model, name)
                records.write(parts, done)
            rows += done
        if model is not None:
            self.truncated += model.truncated
            model.close()
        return rows

    def score(self, model: ChoiceModel, name: str) -> list[dict[str, Any]]:
        from jinja2 import TemplateError
        from lm_eval.evaluator import evaluate

        chat = self.options.chat
        before = model.truncated
        try:
            results = evaluate(
                model,
                self.tasks[name],
                limit=self.options.limit,
                bootstrap_iters=harness.BOOTSTRAP_ITERS,
                log_samples=False,
                apply_chat_template=chat is not None,
                fewshot_as_multiturn=chat is not None and chat.shots == TURNS,
            )
        except RevocabError as error:
            raise RevocabError(f"task {name}: {problem}" for problem in error.problems) from error
        except ValueError as error:
            if "Sample larger than population" not in str(error):
                raise
            raise RevocabError(
                f"task {name}: its data have fewer rows than --shots asks for; lower it"
                " (evaluation.multiple_choice.shots)"
            ) from error
        except (TemplateError, OverflowError) as error:  # tasks' own templates raise RevocabError
            raise RevocabError(f"task {name}: chat template: {explain(error)}") from None
        rows = result_rows(name, self.tasks[name], results, self.options)
        if name not in self._provenance:  # read once for all checkpoints
            config = read_task(self.paths[name])
            data = harness.local_rows(config)
            self._provenance[name] = {
                "config_hash": config_hash(self.paths[name], self.tasks[name], self.options),
                "data_revision": f"sha256:{sha256(data)[:16]}"
                if data
                else harness.data_revision(self.tasks[name], config),
                "engine": self.options.engine,
            }
        known = {"cut_prompts": model.truncated - before, **self._provenance[name]}
        return [{**row, **known} for row in rows]

    @cached_property
    def _shared(self) -> dict[str, Any]:
        engine = engine_called(self.options.engine, "multiple_choice")
        fields = {*ScoringOptions.model_fields, *AskingAll.model_fields}
        machine = self.options.device, self.options.dtype, self.options.batch_size
        libraries = ("lm_eval", "datasets", "torch", "transformers", *engine.libraries)
        return {
            **self.options.model_dump(include=fields),
            "numbers": deciding(*machine),
            "code": [code_hash(), module_hash(engine.module)],
            "libraries": versions(*libraries),
        }

    def made_from(self, folder: Path, name: str) -> dict[str, Any]:
        """Return what the scores of one checkpoint on one task are made from."""
        if name not in self._files:  # read once for all checkpoints
            path = self.paths[name]
            rows = harness.local_rows(read_task(path))
            data = sha256(rows) if rows and rows.is_file() else None
            self._files[name] = {"task": sha256(path), "data": data}
        return {"model": model_hash(folder), **self._files[name], **self._shared}


def result_rows(
    name: str, loaded: TaskDict, results: dict[str, Any], options: Scoring
) -> list[dict[str, Any]]:
    groups = list(loaded.get("groups") or {})
    inner = groups[0] if groups else next(iter(loaded["tasks"]))  # a group lists itself first
    scores = results["results"][inner]
    items = sum(counts["effective"] for counts in results["n-samples"].values())
    shots = max(task.get_config("num_fewshot") or 0 for task in loaded["tasks"].values())
    known = {"task": name, "items": items, "shots": shots, "limit": options.limit}
    known["task_version"] = str(results["versions"].get(inner, ""))
    known["harness_version"] = harness.harness_version()
    rows: list[dict[str, Any]] = []
    for metric in METRICS:
        if f"{metric},none" not in scores:
            continue
        value, stderr = float(scores[f"{metric},none"]), scores.get(f"{metric}_stderr,none")
        kept = item_scores(name, loaded, metric, value)
        own = {"value": value, "stderr": stderr if isinstance(stderr, float) else None}
        rows.append({**known, **score_columns(items_of(kept)), **own, **kept})
    try:
        measured = measured_items(parts_of(loaded))
    except RevocabError as error:
        raise RevocabError(f"task {name}: {problem}" for problem in error.problems) from None
    if measured:
        size = {"items": len(measured["values"])}
        rows.append({**known, **size, **score_columns(items_of(measured)), **measured})
    if not rows:
        raise RevocabError(
            f"task {name!r}: the harness reports none of {', '.join(METRICS)} for it; choose a "
            "multiple-choice task"
        )
    return rows


def parts_of(loaded: TaskDict) -> list[Task]:
    return [task for _, task in sorted(loaded["tasks"].items())]


def item_scores(name: str, loaded: TaskDict, metric: str, value: float) -> dict[str, Any]:
    """Return the scores of a task's items, and how they make up ``value``.

    ``parts`` are the sizes of a group's tasks, whose items follow each other; ``by_part`` says that
    their means were averaged without weights.
    """
    tasks = parts_of(loaded)
    values = [float(scores[metric]) for task in tasks for scores in task.item_scores]
    parts = [len(task.item_scores) for task in tasks]
    for by_part in (False, True):
        kept = {"metric": metric, "parts": parts, "by_part": by_part, "values": values}
        if abs(items_of(kept).value() - value) < 1e-9:
            return kept
    raise RevocabError(
        f"task {name!r}: {metric} {value} is neither the mean of its items nor of its parts; a "
        "group of groups with weights of its own cannot be compared item by item: score its parts"
    )


def config_hash(path: Path, loaded: TaskDict, options: Scoring) -> str:
    """Return a short hash of what decides a score beside the model: prompt, data, shots, limit.

    The same task gives the same hash on every machine: paths and data files' names are left out.
    """
    config = read_task(path)
    if "harness" in config:
        parts = [task.dump_config() for task in parts_of(loaded)]
    else:
        rows = harness.local_rows(config)
        parts = [{**config, "dataset_kwargs": sha256(rows)} if rows else config]
    shots = [task.get_config("num_fewshot") for task in parts_of(loaded)]
    chat = [options.model_dump(include={"chat", "chat_template"})] if options.chat else []
    known = [parts, shots, options.limit, options.long_prompts, harness.harness_version()]
    text = json.dumps([*known, *chat], sort_keys=True, default=lambda value: type(value).__name__)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
