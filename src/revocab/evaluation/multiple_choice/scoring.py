"""Zero- and few-shot scores of many checkpoints on many tasks, through lm-evaluation-harness."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revocab.device import checkpoint_on, deciding
from revocab.errors import RevocabError, refuse, refused
from revocab.evaluation.inference.chat_prompts import TURNS, set_template
from revocab.evaluation.inference.engine import ChoiceModel, choose_engine, engine_called
from revocab.evaluation.metrics import CATEGORIES, HARNESS_METRICS, TOGETHER
from revocab.evaluation.multiple_choice import harness
from revocab.evaluation.multiple_choice.task_file import read_task
from revocab.evaluation.options import AskingAll, Scoring, ScoringOptions
from revocab.evaluation.records import (
    Records,
    code_hash,
    model_hash,
    module_hash,
    version,
    versions,
)
from revocab.evaluation.resampling import (
    SCORE_COLUMNS,
    category_weights,
    items_of,
    score_columns,
    together,
)
from revocab.io import sha256, write_csv, write_jsonl
from revocab.models.folder import check_model_folder
from revocab.models.load import loading, quiet_loading
from revocab.output import check_files
from revocab.training.chat.template import explain

if TYPE_CHECKING:
    from lm_eval.api.task import Task
    from lm_eval.tasks.manager import TaskDict

METRICS = tuple(metric.name for metric in HARNESS_METRICS)
#: The harness default, so that standard errors equal those of its command line. Accuracies have an
#: analytic one; only metrics without it are resampled.
BOOTSTRAP_ITERS = 100_000
COLUMNS = (
    *SCORE_COLUMNS, "task_version", "harness_version", "limit", "cut_prompts", "config_hash",
    "data_revision", "engine",
)  # fmt: skip
ITEM_COLUMNS = ("run", "step", "task", "metric", "parts", "by_part", "choices", "values")


def score_checkpoints(
    run: str, models: Mapping[int, Path], tasks: Sequence[Path], out: Path, options: Scoring
) -> None:
    """Score every model, by step, on every task file and write one table to ``out``, by step and
    then in the order of the tasks; beside it every item's score, for comparing runs item by item.

    Scores of every (checkpoint, task) stay on record beside ``out``: a killed evaluation continues
    where it was, and a further task or checkpoint costs itself alone.
    """
    items = out.with_name(f"{out.stem}_items.jsonl.gz")
    check_files(out, items, inputs=[*models.values(), *tasks])
    names = Counter(path.stem for path in tasks)
    problems = [p for folder in models.values() for p in refused(check_model_folder, folder)]
    problems += [p for path in tasks for p in refused(read_task, path)]
    problems += [f"--tasks: {name!r} is given twice" for name, times in names.items() if times > 1]
    refuse(problems)
    quiet_loading()
    records = Records(out.with_name(f".{out.name}.records"))
    rows: list[dict[str, Any]] = []
    scorer = Scorer(tasks, options)
    say = partial(print, file=sys.stderr, flush=True)
    for step, folder in sorted(models.items()):
        start = time.monotonic()
        step_rows = scorer.score_all(folder, records)
        rows += [{"run": run, "step": step, **row} for row in step_rows]
        first = {row["task"]: row["value"] for row in reversed(step_rows)}
        mean, seconds = sum(first.values()) / len(tasks), time.monotonic() - start
        say(f"{run} step {step}: {len(tasks)} tasks, mean acc {mean:.3f}, {seconds:.1f} s")
    if scorer.truncated:
        say(
            f"{run}: {scorer.truncated} requests were longer than the model's context and were"
            " truncated at the beginning"
        )
    write_jsonl(items, [{name: row.get(name) for name in ITEM_COLUMNS} for row in rows])
    write_csv(out, COLUMNS, [{name: row[name] for name in COLUMNS} for row in rows])


class Scorer:
    """Tasks, loaded when first needed, shared by all checkpoints of the process."""

    def __init__(self, tasks: Sequence[Path], options: Scoring):
        self.paths = {path.stem: path for path in tasks}
        self.options = options
        self.truncated = 0
        self._provenance: dict[str, dict[str, str]] = {}

    @cached_property
    def tasks(self) -> dict[str, TaskDict]:
        return harness.load_tasks(self.paths.values(), self.options)

    def load(self, folder: Path) -> ChoiceModel:
        """Return the harness's model for one checkpoint.

        With ``chat`` texts are those of a chat template and get no further special tokens. Raises
        :class:`RevocabError` for a tokenizer without such a template, and for what
        :func:`choose_engine` and :func:`revocab.models.load.check_model` refuse.
        """
        options = self.options
        check_model_folder(folder)
        engine = choose_engine(options.engine, "multiple_choice")
        assert engine.multiple_choice is not None  # else it is not chosen
        machine = options.device, options.dtype, options.batch_size, options.gpus
        with loading(folder):
            checkpoint = checkpoint_on(folder, *machine)
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
                bootstrap_iters=BOOTSTRAP_ITERS,
                log_samples=False,
                apply_chat_template=chat is not None,
                fewshot_as_multiturn=chat is not None and chat.shots == TURNS,
            )
            rows = result_rows(name, self.tasks[name], results, self.options)
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
        if name not in self._provenance:  # read once for all checkpoints
            config, data = read_task(self.paths[name]), self._files[name]["data"]
            own = f"sha256:{data[:16]}" if data else harness.data_revision(self.tasks[name], config)
            self._provenance[name] = {
                "config_hash": config_hash(self.paths[name], self.tasks[name], self.options),
                "data_revision": own,
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
        code, numbers = [code_hash(), module_hash(engine.module)], deciding(*machine)
        own = {"numbers": numbers, "code": code, "libraries": versions(*libraries)}
        return {**self.options.model_dump(include=fields), **own}

    @cached_property
    def _files(self) -> dict[str, dict[str, str | None]]:
        """Return the hashes of each task's file and of its local rows."""
        hashes = {}
        for name, path in self.paths.items():
            rows = harness.local_rows(read_task(path))
            data = sha256(rows) if rows and rows.is_file() else None
            hashes[name] = {"task": sha256(path), "data": data}
        return hashes

    def made_from(self, folder: Path, name: str) -> dict[str, Any]:
        """Return what the scores of one checkpoint on one task are made from."""
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
    known["harness_version"] = version("lm_eval")
    tasks = parts_of(loaded)
    rows: list[dict[str, Any]] = []
    for metric in METRICS:
        if f"{metric},none" not in scores:
            continue
        value, stderr = float(scores[f"{metric},none"]), scores.get(f"{metric}_stderr,none")
        stored = item_scores(tasks, metric, value)
        own = {"value": value, "stderr": stderr if isinstance(stderr, float) else None}
        rows.append({**known, **score_columns(items_of(stored)), **own, **stored})
    if measured := measured_items(tasks):
        size = {"items": len(measured["values"])}
        rows.append({**known, **size, **score_columns(items_of(measured)), **measured})
    if not rows:
        raise RevocabError(
            f"the harness reports none of {', '.join(METRICS)} for it; choose a task of multiple"
            " choice"
        )
    return rows


def parts_of(loaded: TaskDict) -> list[Task]:
    return [task for _, task in sorted(loaded["tasks"].items())]


def item_scores(tasks: Sequence[Task], metric: str, value: float) -> dict[str, Any]:
    """Return the scores of the items of a task's parts, and how they make up ``value``: ``parts``
    are the sizes of a group's tasks, ``by_part`` says that their means were averaged unweighted.
    """
    values = [float(scores[metric]) for task in tasks for scores, *_ in task.item_scores]
    sizes = [len(task.item_scores) for task in tasks]
    for by_part in (False, True):
        stored = {"metric": metric, "parts": sizes, "by_part": by_part, "values": values}
        if abs(items_of(stored).value() - value) < 1e-9:
            return stored
    raise RevocabError(
        f"{metric} {value} is neither the mean of its items nor of its parts; a group of groups"
        " with weights of its own cannot be compared item by item: score its parts"
    )


def measured_items(tasks: Sequence[Task]) -> dict[str, Any] | None:
    """Return the metric of the measure of a task's parts, and its items; None without a measure.

    Raises :class:`RevocabError` where categories and parts differ, for an item without the field of
    its group, and for one whose gold label is none of its choices.
    """
    measure = tasks[0].measure
    if measure is None:
        return None
    items = [(task, *item) for task in tasks for item in task.item_scores]
    if measure.labels:
        pairs = [label_pair(task, doc, results) for task, _, doc, results in items]
        choices = max(len(results) for *_, results in items)
        own = {"metric": measure.labels, "parts": [len(pairs)], "by_part": False}
        return {**own, "values": pairs, "choices": choices}
    accuracies = [float(scores["acc"]) for _, scores, *_ in items]
    if measure.together:
        try:
            groups = [str(harness.value_of(doc, measure.together)) for _, _, doc, _ in items]
        except KeyError:
            raise RevocabError(
                f"metadata.measure: a row has no {measure.together!r} (it has:"
                f" {', '.join(items[0][2])})"
            ) from None
        values = together(accuracies, groups)
        return {"metric": TOGETHER.name, "parts": [len(values)], "by_part": False, "values": values}
    try:
        weights = category_weights([task.part for task in tasks], measure.categories)
    except ValueError as error:
        raise RevocabError(f"metadata.measure: categories: {error}") from None
    sizes = [len(task.item_scores) for task in tasks]
    return {"metric": CATEGORIES.name, "parts": sizes, "by_part": weights, "values": accuracies}


def label_pair(task: Task, doc: Any, results: Sequence[tuple[float, bool]]) -> list[int]:
    """Return the gold label of an item and that of its best choice; of equal ones the first, as the
    harness has it.
    """
    gold = task.doc_to_target(doc)
    if type(gold) is not int or not 0 <= gold < len(results):
        raise RevocabError(
            f"metadata.measure: labels: doc_to_target gives {gold!r} for a row; the number of a"
            f" choice is needed, 0 to {len(results) - 1}"
        )
    scores = [score for score, _ in results]
    return [gold, scores.index(max(scores))]


def config_hash(path: Path, loaded: TaskDict, options: Scoring) -> str:
    """Return a short hash of what decides a score beside the model: prompt, data, shots, limit;
    without paths, so that the same task has the same hash on every machine.
    """
    config = read_task(path)
    if "harness" in config:
        parts = [task.dump_config() for task in parts_of(loaded)]
    else:
        rows = harness.local_rows(config)
        parts = [{**config, "dataset_kwargs": sha256(rows)} if rows else config]
    shots = [task.get_config("num_fewshot") for task in parts_of(loaded)]
    chat = [options.model_dump(include={"chat", "chat_template"})] if options.chat else []
    known = [parts, shots, options.limit, options.long_prompts, version("lm_eval")]
    text = json.dumps([*known, *chat], sort_keys=True, default=lambda value: type(value).__name__)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
