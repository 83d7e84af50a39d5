"""lm-evaluation-harness as a library: tasks loaded once, then evaluated on one model after another.

The harness builds the requests, scores them and computes every number. What is added here only
keeps it from repeating itself for each checkpoint, and changes no result.
"""

from __future__ import annotations

import difflib
import functools
import logging
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revocab.errors import RevocabError, refuse
from revocab.evaluation.inference.near_ties import note_lengths
from revocab.evaluation.multiple_choice.parts import FixedShots, fields_of, noted, with_parts
from revocab.evaluation.multiple_choice.rendering import render_in_sandbox
from revocab.evaluation.multiple_choice.task_keys import Metadata, rendered_texts
from revocab.evaluation.multiple_choice.tasks import FIELDS, read_task
from revocab.evaluation.options import Scoring
from revocab.hub import COMMIT, place_of
from revocab.hub_errors import explain
from revocab.io import read_jsonl

if TYPE_CHECKING:
    from datasets import DatasetDict
    from lm_eval.api.task import Task
    from lm_eval.tasks.manager import TaskDict, TaskManager

#: What `datasets` calls the contents of files, by their ending.
FILES = {".csv": "csv", ".jsonl": "json", ".parquet": "parquet"}
#: The harness default, so that standard errors equal those of its command line. Accuracies have an
#: analytic one; only metrics without it are resampled.
BOOTSTRAP_ITERS = 100_000


def quiet() -> None:
    """Keep the harness's progress bars and notes off; call before it is imported."""
    os.environ.setdefault("TQDM_DISABLE", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    logging.getLogger("lm_eval").setLevel(logging.ERROR)
    logging.getLogger("datasets").setLevel(logging.ERROR)


@functools.cache
def harness_version() -> str:
    return metadata.version("lm_eval")


def local_rows(config: dict[str, Any]) -> Path | None:
    """Return the local file a task reads, or None for a data set of the Hub."""
    if config.get("dataset_path") != "json":
        return None
    return Path(config["dataset_kwargs"]["data_files"]["test"])


def read_dataset(path: Path, fields: Sequence[str], /, **_: Any) -> Any:
    """Return the rows of a local task as the split ``test`` of a data set, in memory.

    Equal to ``load_dataset("json")`` for every one of ``fields``, without its file cache.
    """
    from datasets import Dataset, DatasetDict

    rows = list(read_jsonl(path))
    present = [field for field in fields if any(field in row for row in rows)]
    columns = {field: [row.get(field) for row in rows] for field in present}
    return DatasetDict(test=Dataset.from_dict(columns))


def task_spec(path: str | Path) -> str | dict[str, Any]:
    """Return what the harness loads for one task file: a name it ships, or a configuration."""
    config = read_task(Path(path))
    if "harness" in config:
        return str(config["harness"])
    render_in_sandbox(rendered_texts(path, config))
    rows = local_rows(config)
    if rows is None:
        return {**config, **files_of_hub(config)}
    if not rows.is_file():
        raise RevocabError(f"{path}: its data file {rows} does not exist; build the task again")
    # The harness would also pass the task's metadata and dataset_kwargs.
    read = functools.partial(read_dataset, rows, (*FIELDS, *fields_of(config.get("metadata", {}))))
    return {**config, "custom_dataset": read, "dataset_kwargs": None}


def files_of_hub(config: dict[str, Any]) -> dict[str, Any]:
    """Return keys by which the harness reads named files of a Hub data set; none for any other.

    The files are read as they are, whatever script lies beside them, for whose sake ``datasets``
    refuses the repository.
    """
    options = config.get("dataset_kwargs") or {}
    repository, files = config.get("dataset_path"), options.get("data_files")
    if not repository or not isinstance(files, dict) or Path(repository).exists():
        return {}
    named = {split: [names] if isinstance(names, str) else names for split, names in files.items()}
    endings = {Path(name).suffix for names in named.values() for name in names}
    if len(endings) > 1 or not endings <= FILES.keys():
        return {}
    commit = options.get("revision") or "main"
    read = functools.partial(load_files, repository, commit, FILES[endings.pop()], named)
    return {"custom_dataset": read, "dataset_kwargs": None}


def load_files(
    repository: str, commit: str, content: str, files: dict[str, list[str]], /, **_: Any
) -> DatasetDict:
    """Return the splits of a Hub data set; raise :class:`RevocabError` if they cannot be had."""
    import datasets

    try:
        place = place_of(repository, commit)
        placed = {split: [f"{place}/{name}" for name in names] for split, names in files.items()}
        return datasets.load_dataset(content, data_files=placed)
    except Exception as error:
        raise RevocabError(f"{repository}: {explain(error, repository)}") from error


def manager_of(names: Collection[str]) -> TaskManager:
    """Return a manager that knows these tasks, groups and tags that the harness ships, with parts.

    Reading its thousands of files takes 13 s; here only folders are read whose files define a name
    or have a tag. All are read for a name that none defines, since the error lists similar ones.
    """
    from lm_eval import tasks
    from lm_eval.tasks import TaskManager
    from lm_eval.tasks._index import Kind

    if not names:
        return TaskManager(include_defaults=False)
    root = Path(tasks.__file__).parent
    texts = [
        (file.relative_to(root).parts[0], file.read_text(encoding="utf-8", errors="replace"))
        for file in root.glob("*/**/*yaml")  # templates have no ending
    ]
    wanted: set[str] = set(names)
    while True:
        choice = f"(?<![\\w-])(?:{'|'.join(map(re.escape, wanted))})(?![\\w-])"
        defined = re.compile(rf"^(?:tag\s*:.*|(?:task|group)\s*:\s*\W?|\s*-\s*\W?){choice}", re.M)
        folders = {folder for folder, text in texts if defined.search(text)}
        # Of two tasks with one name the harness takes the first, and of two paths the last.
        places = [root / folder for folder in sorted(folders, reverse=True)]
        manager = TaskManager(include_path=places, include_defaults=False)
        index = manager.task_index
        if not index.keys() >= set(names):
            return TaskManager()
        further = {
            name
            for name in parts_of(index, names)
            if name not in index or index[name].kind is Kind.TAG
        }
        if further <= wanted:
            return manager
        wanted |= further


def parts_of(index: Mapping[str, Any], names: Iterable[str]) -> set[str]:
    """Return these names of the harness and all that they are made of, known to it or not."""
    left: list[Any] = list(names)
    found: set[str] = set()
    while left:
        part = left.pop()
        if isinstance(part, str) and part in found:
            continue
        config = part  # of a group within a group, or of a task with other options
        if isinstance(part, str):
            found.add(part)
            config = getattr(index.get(part), "cfg", None) or {}
        inner = config.get("task")
        if isinstance(inner, list):
            left += inner
        elif isinstance(inner, str):
            left.append(inner)
    return found


def load_tasks(paths: Iterable[str | Path], options: Scoring) -> dict[str, TaskDict]:
    """Return the loaded tasks of each task file, by file name without ending.

    The options' ``shots`` hold for tasks that do not say their own. Raises :class:`RevocabError`
    listing every task and data set that cannot be had.
    """
    render_in_sandbox({})
    files = [Path(path) for path in paths]
    named = [read_task(path).get("harness") for path in files]
    manager = manager_of({str(name) for name in named if name})
    loaded, problems = {}, []
    for path in files:
        own = read_task(path)
        shots = options.shots_of(int(own.get("num_fewshot", options.shots)))
        revision = own.get("revision") if "harness" in own else None
        try:
            loaded[path.stem] = load_task(manager, path, task_spec(path), shots, revision)
        except RevocabError as error:
            problems += error.problems
    refuse(problems)
    return loaded


@contextmanager
def pinned(revision: str | None) -> Iterator[list[tuple[str, str | None]]]:
    """Load data sets at ``revision`` inside the block; a task that names its own keeps it.

    Yields a list that gets repository and configuration of each data set that is asked for.
    """
    import datasets

    original, asked = datasets.load_dataset, []

    def load(path: str, name: str | None = None, *args: Any, **options: Any) -> Any:
        asked.append((path, name))
        return original(path, name, *args, **({"revision": revision} if revision else {}) | options)

    datasets.load_dataset = load
    try:
        yield asked
    finally:
        datasets.load_dataset = original


def load_task(
    manager: TaskManager,
    path: str | Path,
    spec: str | dict[str, Any],
    shots: int,
    revision: str | None = None,
) -> TaskDict:
    if isinstance(spec, str) and spec not in manager.task_index:
        near = difflib.get_close_matches(spec, list(manager.task_index), n=3)
        hint = f"; did you mean {', '.join(map(repr, near))}" if near else ""
        raise RevocabError(
            f"{path}: lm-evaluation-harness {harness_version()} has no task {spec!r}{hint}; see "
            "'lm_eval ls tasks'; a task that it dropped can be kept as a template with its own "
            "data (docs/evaluation.md)"
        )
    with pinned(revision) as asked:
        try:
            loaded = manager.load([spec])
        except RevocabError:
            raise
        except Exception as error:  # data sets fail in many ways: gated, absent, offline, changed
            # Of a group's tasks, the one that failed asked last.
            failed, configuration = asked[-1] if asked else (repository_of(manager, spec), None)
            why = explain(error, failed, configuration=configuration)
            raise RevocabError(f"{path}: {why}") from error
    metadata = Metadata()
    if isinstance(spec, dict):
        metadata = Metadata(**spec.get("metadata", {}))
        loaded = with_parts(path, loaded, spec, metadata)
    for task in loaded["tasks"].values():
        prepare(task, shots, metadata)
    return loaded


def repository_of(manager: TaskManager, spec: str | dict[str, Any]) -> str:
    """Return the data set that a task reads, or the task's own name where it is a group."""
    if isinstance(spec, dict):
        return str(spec.get("dataset_path"))
    from lm_eval.tasks._yaml_loader import load_yaml

    path = manager.task_index[spec].yaml_path
    config = load_yaml(path, resolve_func=False) if path else {}
    return str(config.get("dataset_path") or spec)


def data_sets_of(names: Iterable[str]) -> dict[str, list[str]]:
    """Return the data sets of the tasks and groups that the harness ships, by their names."""
    names = list(names)
    index = manager_of(names).task_index

    def data_sets(name: str) -> Iterator[str]:
        config = getattr(index.get(name), "cfg", None) or {}
        if "dataset_path" in config:
            yield str(config["dataset_path"])
        parts = config.get("task")
        for part in parts if isinstance(parts, list) else ():
            yield from data_sets(part if isinstance(part, str) else str(part.get("task")))

    return {name: list(dict.fromkeys(data_sets(name))) for name in names}


def data_revision(loaded: TaskDict, config: dict[str, Any]) -> str:
    """Return the commits of the Hub data sets behind a task, as they were loaded.

    ``datasets`` keeps the prepared files of a commit in a folder of its name, and tells it nowhere
    else; files that are read by name are of the commit in the task file.
    """
    if files_of_hub(config):
        return str(config["dataset_kwargs"].get("revision", ""))
    files = {
        Path(file["filename"])
        for task in loaded["tasks"].values()
        for part in (getattr(task, "dataset", None) or {}).values()
        for file in part.cache_files
    }
    return " ".join(
        sorted({file.parent.name for file in files if COMMIT.fullmatch(file.parent.name)})
    )


def prepare(task: Task, shots: int, metadata: Metadata) -> None:
    """Fix a task's number of shots and seed, and let it build its plain requests only once.

    The scores of its items are kept in ``task.item_scores`` while the harness evaluates it, with
    what :attr:`Metadata.measure` needs of them.
    """
    if task.get_config("num_fewshot") != 0:  # a task may insist on none, as on the command line
        task.set_config("num_fewshot", shots)
    task.set_fewshot_seed(1234)  # the harness default
    task.measure = metadata.measure
    if metadata.shots is not None:
        task.sampler = FixedShots(task.fewshot_docs(), metadata.shots)
    if metadata.introduces_shots and not task.get_config("num_fewshot"):
        task.set_config("description", "")
    build, process = task.build_all_requests, task.process_results
    task.item_scores = []

    def build_once(**options: Any) -> None:
        task.item_scores.clear()
        # Prompts of a chat template are each checkpoint's own.
        if not task.instances or options.get("apply_chat_template"):
            build(**options)
            note_lengths(task)
        for instance in task.instances:
            instance.resps, instance.filtered_resps = [], {}

    def process_and_keep(doc: Any, results: Any) -> dict[str, Any]:
        scores = process(doc, results)
        task.item_scores.append({**scores, **noted(task, doc, results)})
        return scores

    task._instances = None
    task.build_all_requests = build_once
    task.process_results = process_and_keep
