"""Zero- and few-shot scores of many checkpoints on many tasks, through lm-evaluation-harness."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revocab.errors import RevocabError
from revocab.evaluation.inference.chat_prompts import TURNS
from revocab.evaluation.inference.checkpoint import (
    choose_device,
    choose_dtype,
    tokenizer_fingerprint,
)
from revocab.evaluation.inference.engine import ChoiceModel, engine_called
from revocab.evaluation.metric import CHOICE_METRICS
from revocab.evaluation.multiple_choice import harness
from revocab.evaluation.multiple_choice.harness_model import load_model
from revocab.evaluation.multiple_choice.tasks import read_task
from revocab.evaluation.options import AskingAll, Scoring, ScoringOptions
from revocab.evaluation.records import Records, code_hash, model_hash, module_hash, versions
from revocab.evaluation.resampling import SCORE_COLUMNS, Items, bootstrap, mean_items
from revocab.io import sha256, write_csv, write_jsonl
from revocab.models.folder import check_model_folder
from revocab.models.load import quiet_loading
from revocab.output import check_files
from revocab.sandbox import explain

if TYPE_CHECKING:
    from lm_eval.tasks.manager import TaskDict

METRICS = tuple(metric.name for metric in CHOICE_METRICS)
COLUMNS = (
    *SCORE_COLUMNS,
    "task_version",
    "harness_version",
    "limit",
    "cut_prompts",
    "config_hash",
    "data_revision",
    "engine",
)
ITEM_COLUMNS = ("run", "step", "task", "metric", "parts", "by_part", "values")


def score_checkpoints(
    run: str, models: Mapping[int, Path], tasks: Sequence[Path], out: Path, options: Scoring
) -> None:
    """Score every model, by step, on every task file and write one table to ``out``.

    Beside it :func:`items_path` holds every item's score, for comparing runs item by item. Scores
    of every (checkpoint, task) stay on record beside ``out``: a killed evaluation continues where
    it was, and a further task or checkpoint costs itself alone. Rows are sorted by step, then task
    order.
    """
    check_files(out, items_path(out), inputs=[*models.values(), *tasks])
    check_arguments(models, tasks)
    quiet_loading()
    made = Made(out, options)
    rows: list[dict[str, Any]] = []
    scorer = Scorer(tasks, options)
    for step, folder in sorted(models.items()):
        start = time.monotonic()
        step_rows = score_checkpoint(scorer, made, folder)
        rows += [{"run": run, "step": step, **row} for row in step_rows]
        mean = sum(row["value"] for row in step_rows if row["metric"] != "acc_norm") / len(tasks)
        print(
            f"{run} step {step}: {len(tasks)} tasks, mean acc {mean:.3f}, "
            f"{time.monotonic() - start:.1f} s",
            file=sys.stderr,
            flush=True,
        )
    if scorer.truncated:
        print(
            f"{run}: {scorer.truncated} requests were longer than the model's context and were"
            " truncated at the beginning",
            file=sys.stderr,
        )
    write_jsonl(items_path(out), [{name: row[name] for name in ITEM_COLUMNS} for row in rows])
    write_csv(out, COLUMNS, [{name: row[name] for name in COLUMNS} for row in rows])


def items_path(out: Path) -> Path:
    return out.with_name(f"{out.stem}_items.jsonl.gz")


def check_arguments(models: Mapping[int, Path], tasks: Sequence[Path]) -> None:
    problems: list[str] = []
    for folder in models.values():
        try:
            check_model_folder(folder)
        except RevocabError as error:
            problems += error.problems
    for path in tasks:
        try:
            read_task(path)
        except RevocabError as error:
            problems += error.problems
    names = [path.stem for path in tasks]
    problems += [
        f"--tasks: {name!r} is given twice" for name in sorted(set(names)) if names.count(name) > 1
    ]
    if problems:
        raise RevocabError(problems)


class Scorer:
    """Tasks and token ids, loaded when first needed, shared by all checkpoints of the process."""

    def __init__(self, tasks: Sequence[Path], options: Scoring):
        self.paths = {path.stem: path for path in tasks}
        self.options = options
        self.truncated = 0
        self._tasks: dict[str, TaskDict] | None = None
        #: Of the tokenizer by whose chat template the tasks' prompts are made.
        self._template: str | None = None
        self._token_caches: dict[str, dict[Any, Any]] = {}
        self._provenance: dict[str, dict[str, str]] = {}

    @property
    def tasks(self) -> dict[str, TaskDict]:
        if self._tasks is None:
            self._tasks = harness.load_tasks(self.paths.values(), self.options)
        return self._tasks

    def load(self, folder: Path) -> ChoiceModel:
        options = self.options
        device = choose_device(options.device)
        dtype = choose_dtype(options.dtype, device)
        tokenizer = tokenizer_fingerprint(folder)
        if options.chat and tokenizer != self._template:
            self._tasks, self._template = None, tokenizer  # prompts are made anew
        cache = self._token_caches.setdefault(tokenizer, {})
        return load_model(
            folder,
            batch_size=options.batch_size,
            device=device,
            dtype=dtype,
            token_cache=cache,
            long_prompts=options.long_prompts,
            engine=options.engine,
            chat=options.chat is not None,
            chat_template=options.chat_template,
        )

    def score(self, model: ChoiceModel, name: str) -> list[dict[str, Any]]:
        """Return the rows (without run and step) of one task for one model."""
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
        except TemplateError as error:  # tasks' own templates raise RevocabError
            raise RevocabError(f"task {name}: chat template: {explain(error)}") from None
        rows = result_rows(name, self.tasks[name], results, self.options)
        known = {"cut_prompts": model.truncated - before, **self.provenance(name)}
        return [{**row, **known} for row in rows]

    def provenance(self, name: str) -> dict[str, str]:
        """Return what a task's scores are made from; it is read once for all checkpoints."""
        if name not in self._provenance:
            self._provenance[name] = {
                "config_hash": config_hash(self.paths[name], self.tasks[name], self.options),
                "data_revision": self.data_revision(name),
                "engine": self.options.engine,
            }
        return self._provenance[name]

    def data_revision(self, name: str) -> str:
        """Return what a task's data is: the Hub's commit, or the hash of a local file."""
        rows = harness.local_rows(read_task(self.paths[name]))
        if rows is not None:
            return f"sha256:{sha256(rows)[:16]}"
        return harness.data_revision(self.tasks[name])


def score_checkpoint(scorer: Scorer, made: Made, folder: Path) -> list[dict[str, Any]]:
    """Return the rows of every task for one checkpoint; load nothing for what is on record."""
    rows: list[dict[str, Any]] = []
    model = None
    for name, path in scorer.paths.items():
        parts = made.of(folder, path)
        done = made.records.read(parts)
        if done is None:
            model = model or scorer.load(folder)
            done = scorer.score(model, name)
            made.records.write(parts, done)
        rows += done
    if model is not None:
        scorer.truncated += model.truncated
        model.close()
    return rows


def result_rows(
    name: str, loaded: TaskDict, results: dict[str, Any], options: Scoring
) -> list[dict[str, Any]]:
    """Return one row per metric of a task, or of a group as the harness aggregates it."""
    groups = list(loaded.get("groups") or {})
    inner = groups[0] if groups else next(iter(loaded["tasks"]))  # a group lists itself first
    scores = results["results"][inner]
    items = sum(counts["effective"] for counts in results["n-samples"].values())
    shots = max(task.get_config("num_fewshot") or 0 for task in loaded["tasks"].values())
    rows = []
    for metric in METRICS:
        if f"{metric},none" not in scores:
            continue
        value, stderr = float(scores[f"{metric},none"]), scores.get(f"{metric}_stderr,none")
        kept = item_scores(name, loaded, metric, value)
        interval = bootstrap(items_of(kept))
        rows.append(
            {
                "task": name,
                "metric": metric,
                "value": value,
                "stderr": stderr if isinstance(stderr, float) else None,
                "low": interval.low if interval else None,
                "high": interval.high if interval else None,
                "items": items,
                "shots": shots,
                "task_version": str(results["versions"].get(inner, "")),
                "harness_version": harness.harness_version(),
                "limit": options.limit,
                **kept,
            }
        )
    if not rows:
        raise RevocabError(
            f"task {name!r}: the harness reports none of {', '.join(METRICS)} for it; choose a "
            "multiple-choice task"
        )
    return rows


def item_scores(name: str, loaded: TaskDict, metric: str, value: float) -> dict[str, Any]:
    """Return the scores of a task's items, and how they make up ``value``.

    ``parts`` are the sizes of a group's tasks, whose items follow each other; ``by_part`` says that
    their means were averaged without weights.
    """
    tasks = [task for _, task in sorted(loaded["tasks"].items())]
    values = [float(scores[metric]) for task in tasks for scores in task.item_scores]
    parts = [len(task.item_scores) for task in tasks]
    for by_part in (False, True):
        kept = {"parts": parts, "by_part": by_part, "values": values}
        if abs(items_of(kept).value() - value) < 1e-9:
            return kept
    raise RevocabError(
        f"task {name!r}: {metric} {value} is neither the mean of its items nor of its parts; a "
        "group of groups with weights of its own cannot be compared item by item: score its parts"
    )


def items_of(row: dict[str, Any]) -> Items:
    return mean_items(row["values"], row["parts"], row["by_part"])


def config_hash(path: Path, loaded: TaskDict, options: Scoring) -> str:
    """Return a short hash of what decides a score beside the model: prompt, data, shots, limit.

    The same task gives the same hash on every machine: paths and data files' names are left out.
    """
    config = read_task(path)
    if "harness" in config:
        parts = [task.dump_config() for _, task in sorted(loaded["tasks"].items())]
    else:
        rows = harness.local_rows(config)
        parts = [{**config, "dataset_kwargs": sha256(rows)} if rows else config]
    shots = [task.get_config("num_fewshot") for _, task in sorted(loaded["tasks"].items())]
    # The number of shots is told by the tasks.
    asking = {*AskingAll.model_fields} - {"most_shots"}
    chat = [options.model_dump(include=asking)] if options.chat else []
    known = [parts, shots, options.limit, options.long_prompts, harness.harness_version()]
    text = json.dumps([*known, *chat], sort_keys=True, default=lambda value: type(value).__name__)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Made:
    """What the scores of one checkpoint on one task are made from, and the records of them.

    Devices, batches and dtypes are left out: they move a score by rounding only.
    """

    def __init__(self, out: Path, options: Scoring):
        self.records = Records(out.with_name(f".{out.name}.records"))
        engine = engine_called(options.engine, "multiple_choice")
        self.shared = {
            **options.model_dump(include={*ScoringOptions.model_fields, *AskingAll.model_fields}),
            "code": [code_hash(), module_hash(engine.module)],
            "libraries": versions(
                "lm_eval", "datasets", "torch", "transformers", *engine.libraries
            ),
        }
        self._tasks: dict[Path, dict[str, Any]] = {}

    def of(self, folder: Path, task: Path) -> dict[str, Any]:
        """Return it for one checkpoint and one task file."""
        if task not in self._tasks:  # read once for all checkpoints
            rows = harness.local_rows(read_task(task))
            data = sha256(rows) if rows and rows.is_file() else None
            self._tasks[task] = {"task": sha256(task), "data": data}
        return {"model": model_hash(folder), **self._tasks[task], **self.shared}
