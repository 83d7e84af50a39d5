"""lm-evaluation-harness as a library: tasks loaded once, then evaluated on one model after another.

The harness builds the requests, scores them and computes every number. What is added here keeps it
from repeating itself for each checkpoint, which changes no result, and gives a task file what the
harness has no key for (its ``metadata``): rows that are asked in several variants, tasks that are
split by a field of their rows, and examples that are the same for every item.
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revocab.errors import RevocabError, all_of
from revocab.evaluation.multiple_choice.task_file import RENDERER, Metadata, Shots, read_task
from revocab.evaluation.multiple_choice.tasks import FIELDS
from revocab.evaluation.options import Scoring
from revocab.evaluation.records import version
from revocab.hub import COMMIT, explain, place_of
from revocab.io import read_jsonl

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict
    from lm_eval.api.task import Task
    from lm_eval.tasks.manager import TaskDict, TaskManager

#: What `datasets` calls the contents of files, by their ending.
FILES = {".csv": "csv", ".jsonl": "json", ".parquet": "parquet"}


# Data sets --------------------------------------------------------------------------------------


def local_rows(config: dict[str, Any]) -> Path | None:
    """Return the local file a task reads, or None for a data set of the Hub."""
    if config.get("dataset_path") != "json":
        return None
    return Path(config["dataset_kwargs"]["data_files"]["test"])


def own_reader(path: str | Path, config: dict[str, Any]) -> dict[str, Any]:
    """Return the keys by which the harness reads a task's rows through us; none: by itself."""
    rows, files = local_rows(config), hub_files(config)
    if rows is not None:
        if not rows.is_file():
            raise RevocabError(f"{path}: its data file {rows} does not exist; build the task again")
        metadata = Metadata(**config.get("metadata", {}))
        parts = (metadata.mean_over, metadata.measure and metadata.measure.together)
        fields = (*FIELDS, *(part.split(".")[0] for part in parts if part))
        read = functools.partial(read_dataset, rows, fields)
    elif files is not None:
        commit = config["dataset_kwargs"].get("revision") or "main"
        read = functools.partial(load_files, config["dataset_path"], commit, files)
    else:
        return {}
    # The harness would also pass the task's metadata and dataset_kwargs.
    return {"custom_dataset": read, "dataset_kwargs": None}


def read_dataset(path: Path, fields: Sequence[str], /, **_: Any) -> DatasetDict:
    """Return the rows of a local task as the split ``test`` of a data set, equal to that of
    ``load_dataset("json")`` for every one of ``fields``, without its file cache.
    """
    from datasets import Dataset, DatasetDict

    rows = list(read_jsonl(path))
    present = [field for field in fields if any(field in row for row in rows)]
    columns = {field: [row.get(field) for row in rows] for field in present}
    return DatasetDict(test=Dataset.from_dict(columns))


def hub_files(config: dict[str, Any]) -> dict[str, list[str]] | None:
    """Return the named files of a Hub data set, by split; None for any other task. They are read as
    they are, whatever script lies beside them, for whose sake ``datasets`` refuses the repository.
    """
    repository = config.get("dataset_path")
    files = (config.get("dataset_kwargs") or {}).get("data_files")
    if not repository or not isinstance(files, dict) or Path(repository).exists():
        return None
    by_split = {
        split: [names] if isinstance(names, str) else names for split, names in files.items()
    }
    endings = {Path(name).suffix for names in by_split.values() for name in names}
    return by_split if len(endings) == 1 and endings <= FILES.keys() else None


def load_files(
    repository: str, commit: str, files: dict[str, list[str]], /, **_: Any
) -> DatasetDict:
    """Return the splits of a Hub data set; raise :class:`RevocabError` if they cannot be had."""
    import datasets

    content = FILES[next(Path(name).suffix for names in files.values() for name in names)]
    try:
        place = place_of(repository, commit)
        data_files = {
            split: [f"{place}/{name}" for name in names] for split, names in files.items()
        }
        return datasets.load_dataset(content, data_files=data_files)
    except Exception as error:
        raise RevocabError(f"{repository}: {explain(error, repository)}") from error


@contextmanager
def pinned(revision: str | None) -> Iterator[list[tuple[str, str | None]]]:
    """Load data sets at ``revision`` inside the block; a task that names its own keeps it. Yields a
    list that gets repository and configuration of each data set that is loaded.
    """
    import datasets

    original, read = datasets.load_dataset, []

    def load(path: str, name: str | None = None, *args: Any, **options: Any) -> Any:
        read.append((path, name))
        return original(path, name, *args, **({"revision": revision} if revision else {}) | options)

    datasets.load_dataset = load
    try:
        yield read
    finally:
        datasets.load_dataset = original


def data_revision(loaded: TaskDict, config: dict[str, Any]) -> str:
    """Return the commits of the Hub data sets behind a task, as they were loaded.

    ``datasets`` keeps the prepared files of a commit in a folder of its name, and tells it nowhere
    else; files that are read by name are of the commit in the task file.
    """
    if local_rows(config) is None and hub_files(config) is not None:
        return str(config["dataset_kwargs"].get("revision", ""))
    folders = {
        Path(file["filename"]).parent.name
        for task in loaded["tasks"].values()
        for part in (getattr(task, "dataset", None) or {}).values()
        for file in part.cache_files
    }
    return " ".join(sorted(name for name in folders if COMMIT.fullmatch(name)))


# Tasks that the harness ships -------------------------------------------------------------------


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
    wanted = set(names)
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
            part
            for name in names
            for part, _ in parts_of(index, name)
            if part and (part not in index or index[part].kind is Kind.TAG)
        }
        if further <= wanted:
            return manager
        wanted |= further


def parts_of(index: Mapping[str, Any], part: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a name of the harness and all that it is made of, known to it or not, with what their
    files say; "" for a group within a group, or a task with other options.
    """
    name = part if isinstance(part, str) else ""
    config = (getattr(index.get(name), "cfg", None) or {}) if name else part
    yield name, config
    parts = config.get("task") or []
    for inner in parts if isinstance(parts, list) else [parts]:
        if inner != name:
            yield from parts_of(index, inner)


def data_sets_of(names: Iterable[str]) -> dict[str, list[str]]:
    """Return the data sets of the tasks and groups that the harness ships, by their names."""
    names = list(names)
    index = manager_of(names).task_index
    configs = {name: [config for _, config in parts_of(index, name)] for name in names}
    return {
        name: list(dict.fromkeys(str(c["dataset_path"]) for c in parts if "dataset_path" in c))
        for name, parts in configs.items()
    }


# Loading ----------------------------------------------------------------------------------------


def load_tasks(paths: Iterable[str | Path], options: Scoring) -> dict[str, TaskDict]:
    """Return the loaded tasks of each task file, by file name without ending.

    The options' ``shots`` hold for tasks that do not say their own. Raises :class:`RevocabError`
    listing every task and data set that cannot be had.
    """
    from lm_eval import utils

    utils.apply_template = RENDERER  # left to itself, the harness runs what a template says
    configs = {Path(path): read_task(Path(path)) for path in paths}
    manager = manager_of({config["harness"] for config in configs.values() if "harness" in config})

    def load(path: Path, config: dict[str, Any]) -> TaskDict:
        shots = options.shots_of(int(config.get("num_fewshot", options.shots)))
        return load_task(manager, path, config, shots)

    tasks = all_of(functools.partial(load, *pair) for pair in configs.items())
    return {path.stem: task for path, task in zip(configs, tasks, strict=True)}


def load_task(
    manager: TaskManager, path: str | Path, config: dict[str, Any], shots: int
) -> TaskDict:
    """Return the task of a task file, with this number of shots where it does not insist on none.

    Raises :class:`RevocabError`, naming the file, for a task or data set that there is not.
    """
    shipped = config.get("harness")
    if shipped and shipped not in manager.task_index:
        near = difflib.get_close_matches(shipped, list(manager.task_index), n=3)
        hint = f"; did you mean {', '.join(map(repr, near))}" if near else ""
        raise RevocabError(
            f"{path}: lm-evaluation-harness {version('lm_eval')} has no task {shipped!r}{hint}; see"
            " 'lm_eval ls tasks'; a task that it dropped can be kept as a template with its own "
            "data (docs/evaluation.md)"
        )
    if not shipped:
        RENDERER.read(path, config)
        config = {**config, **own_reader(path, config)}
    with pinned(config.get("revision") if shipped else None) as read:
        try:
            loaded = manager.load([shipped or config])
        except RevocabError:
            raise
        except Exception as error:  # data sets fail in many ways: gated, absent, offline, changed
            # Of a group's tasks, the one that failed was read last.
            repository, name = read[-1] if read else (config.get("dataset_path", shipped), None)
            why = explain(error, str(repository), configuration=name)
            raise RevocabError(f"{path}: {why}") from error
    metadata = Metadata(**({} if shipped else config.get("metadata", {})))
    if not shipped:
        loaded = with_parts(path, loaded, config, metadata)
    for task in loaded["tasks"].values():
        prepare(task, shots, metadata)
    return loaded


def prepare(task: Task, shots: int, metadata: Metadata) -> None:
    """Fix a task's number of shots and seed, and let it build its plain requests only once.

    ``task.item_scores`` gets the scores of its items while the harness evaluates it, each with its
    row and the log-likelihoods of its choices.
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
        task.item_scores.append((scores, doc, results))
        return scores

    task._instances = None
    task.build_all_requests = build_once
    task.process_results = process_and_keep


def note_lengths(task: Task) -> None:
    """Write the characters of its choice beside each request of a task that reports acc_norm.

    acc_norm divides by them, and a request's text does not tell them from the delimiter; near ties
    (:mod:`revocab.evaluation.inference.shared_contexts`) are told by them.
    """
    from lm_eval.api.task import ConfigurableTask

    plain = isinstance(task, ConfigurableTask) and task.OUTPUT_TYPE == "multiple_choice"
    if not plain or "acc_norm" not in task.aggregation():
        return
    lengths: dict[int, list[int]] = {}
    for instance in task.instances:
        if instance.doc_id not in lengths:
            lengths[instance.doc_id] = [len(choice) for choice in task.doc_to_choice(instance.doc)]
        own = lengths[instance.doc_id]
        # With acc_mutual_info all choices follow once more, without a context: no choices of ours.
        instance.choice_length = own[instance.idx] if instance.idx < len(own) else None


# What the harness has no key for ----------------------------------------------------------------


class FixedShots:
    """Stands for the harness's sampler; the examples of every item are the same rows, in order."""

    def __init__(self, rows: Dataset, shots: Shots):
        self.rows = rows
        self.shots = shots

    def sample(self, n: int, eval_doc: Any = None, **_: Any) -> list[dict[str, Any]]:
        """Return ``n`` rows; raise :class:`RevocabError` where there are fewer."""
        first = self.shots.first
        if first + n > len(self.rows):
            raise RevocabError(
                f"{n} examples from row {first} on were asked for, its split of examples has"
                f" {len(self.rows)} rows; ask with fewer (shots, most_shots)"
            )
        rows = [self.rows[i] for i in range(first, first + n)]
        return rows[::-1] if self.shots.reverse else rows

    def set_rnd(self, seed: int | None) -> FixedShots:
        return self


def value_of(row: Mapping[str, Any], field: str) -> Any:
    """Return a field of a row, which may be a dotted path; raise ``KeyError`` without it."""
    try:
        return functools.reduce(lambda fields, name: fields[name], field.split("."), row)
    except TypeError:
        raise KeyError(field) from None


def with_parts(
    path: str | Path, loaded: TaskDict, config: dict[str, Any], metadata: Metadata
) -> TaskDict:
    """Return a loaded task with its variants, and as a group of tasks where it has parts.

    Each row has its variants one after another, so that a limited number of items keeps them
    together. Raises :class:`RevocabError` for variants under the name of a field, for a row without
    its part, and for fixed examples out of the split that is scored.
    """
    task = next(iter(loaded["tasks"].values()))
    if metadata.shots is not None and config.get("fewshot_split") in (None, config["test_split"]):
        raise RevocabError(
            f"{path}: metadata.shots: the first rows of the split that is scored would be examples"
            " of themselves; name another one as fewshot_split, or leave shots out"
        )
    for field, values in metadata.variants.items():
        rows = task.eval_docs
        if field in rows.column_names:
            raise RevocabError(
                f"{path}: metadata.variants: the rows have a field {field!r}; give the variants"
                " another name"
            )
        repeated = rows.select([i for i in range(len(rows)) for _ in values])
        repeated = repeated.add_column(field, values * len(rows))
        task = same_task(config, config["task"], {**task.dataset, config["test_split"]: repeated})
        loaded = {"tasks": {task.task_name: task}, "groups": {}}
    return split_task(path, task, config, metadata.mean_over) if metadata.mean_over else loaded


def same_task(config: dict[str, Any], name: str, splits: Mapping[str, Any]) -> Task:
    from datasets import DatasetDict
    from lm_eval.api.task import ConfigurableTask

    fixed = {
        "task": name,
        "dataset_kwargs": None,
        "custom_dataset": lambda **_: DatasetDict(splits),  # which is there already
        "metadata": {"version": config["metadata"]["version"]},
    }
    return ConfigurableTask(config={**config, **fixed})


def split_task(path: str | Path, whole: Task, config: dict[str, Any], field: str) -> TaskDict:
    """Return a task as a group of tasks, one per value of a row field, with unweighted means.

    The harness aggregates, as for MMLU.
    """
    from lm_eval.api.group import Group
    from lm_eval.config.group import AggMetricConfig

    test, shots = config["test_split"], config.get("fewshot_split")
    rows = {test: whole.eval_docs}
    places = {test: places_of(path, rows[test], field)}
    if shots not in (None, test):
        rows[shots] = whole.dataset[shots]
        has_field = field.split(".", maxsplit=1)[0] in rows[shots].column_names
        places[shots] = places_of(path, rows[shots], field) if has_field else {}
    metrics = [
        AggMetricConfig(metric=metric["metric"], weight_by_size=False)
        for metric in config["metric_list"]
    ]
    own_version = {"version": config["metadata"]["version"]}
    group = Group(config["task"], aggregate_metric_list=metrics, metadata=own_version)
    for value in sorted(places[test]):
        own = {
            split: of.select(places[split].get(value, [])) if places[split] else of
            for split, of in rows.items()
        }
        task = same_task(config, f"{config['task']}_{value}", own)
        task.part = value
        group.add(task)
    tasks = {task.task_name: task for task in group.get_all_tasks()}
    return {"tasks": tasks, "groups": {group.name: group}}


def places_of(path: str | Path, rows: Iterable[Any], field: str) -> dict[str, list[int]]:
    numbers: dict[str, list[int]] = {}
    for i, row in enumerate(rows):
        try:
            value = str(value_of(row, field))
        except KeyError:
            where = f"{path}: metadata.mean_over: row {i + 1}"
            raise RevocabError(f"{where} has no {field!r}") from None
        numbers.setdefault(value, []).append(i)
    return numbers
