"""Multiple-choice tasks: from a prompt template and data to one self-contained harness task file.

A task file is plain lm-evaluation-harness YAML, which ``lm_eval --tasks FILE`` runs unchanged, or,
for a task that the harness ships, ``harness: NAME`` alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from revocab.closed import Closed, Id, Job, Language, OneLine, Revision, unknown
from revocab.corpora.source import HubData
from revocab.errors import RevocabError
from revocab.evaluation.multiple_choice.task_file import RENDERER, Template, check_keys, read_yaml
from revocab.evaluation.options import ExpectedItems
from revocab.extensions import files_in
from revocab.hub import dataset_rows, resolve
from revocab.io import read_jsonl, write_text
from revocab.languages import WORD, fill, missing_words
from revocab.limits import ShotCount

#: Templates that come with the package, a YAML file each: dropping a file there adds one.
TEMPLATES = Path(__file__).parent / "templates"
#: Row fields that a template may use; only ``choices`` and ``answer`` are always needed.
FIELDS = ("context", "question", "choices", "answer", "subject")
#: What may be the name of a template on a command line; anything else is a file.
NAME = re.compile(r"[a-z0-9]+([_-][a-z0-9]+)*")


class TaskOptions(Closed):
    """A prompt template over data rows, or a task that the harness ships."""

    template: Id | None = Field(default=None, description="name of a prompt template")
    language: Language | None = Field(
        default=None, description="language of a template that serves several"
    )
    harness: OneLine | None = Field(default=None, description="task name in lm-evaluation-harness")
    revision: Revision | None = Field(
        default=None, description="revision of a harness task's Hub data set"
    )
    shots: ShotCount | None = Field(default=None, description="default: that of all tasks")
    items: ExpectedItems | None = Field(
        default=None, description="number of rows that its data should have; default: any"
    )


class TaskJob(TaskOptions, Job):
    """One task file to write."""

    task: Id = Field(description="name of the task")
    hub: HubData | None = Field(default=None, description="Hub data set of a template")


# Templates --------------------------------------------------------------------------------------


def find_template(name: str, own: Path | None = None, key: str = "template") -> Path:
    """Return the file of a template: in one's own folder or, where it is not there, the package's.
    Raises :class:`RevocabError` with the nearest names, under ``key``.
    """
    if own is not None and (own / f"{name}.yaml").is_file():
        return own / f"{name}.yaml"
    if name in (shipped := files_in(TEMPLATES, ".yaml")):
        return shipped[name]
    mine = [path.stem for path in own.glob("*.yaml")] if own else []
    raise RevocabError(unknown(key, name, sorted({*mine, *shipped}), "template"))


def template_files(path: str | Path) -> list[Path]:
    """Return a template's file and those that it includes, in order: files beside it or, where
    there is none, of the package. Raises :class:`RevocabError` for one that is not there, or that
    includes itself.
    """
    files = [Path(path)]
    while include := read_yaml(files[-1]).get("include"):
        beside, shipped = files[-1].parent / str(include), TEMPLATES / str(include)
        files.append(shipped if shipped.is_file() and not beside.is_file() else beside)
        if files[-1].resolve() in {file.resolve() for file in files[:-1]}:
            raise RevocabError(f"{files[-1]}: includes itself; remove one 'include'")
    return files


def load_template(path: str | Path) -> dict[str, Any]:
    """Return a template with what it includes; the including file's keys win, and so do its own
    ``words`` of each language. Raises :class:`RevocabError` for keys that it may not have.
    """
    merged: dict[str, Any] = {}
    words: dict[str, dict[str, str]] = {}
    for file in template_files(path):
        values = check_keys(file, read_yaml(file), Template)
        for language, own in (values.pop("words", None) or {}).items():
            words[language] = {**own, **words.get(language, {})}
        merged = {**values, **merged}
    merged.pop("include", None)
    return {**merged, "words": words} if words else merged


def fill_words(
    config: dict[str, Any], template_path: str | Path, language: str | None
) -> dict[str, Any]:
    """Return a template with each ``<<word>>`` replaced: by its own word, or the language's.

    The template's own ``language`` goes before the task's; without either, one with ``words`` of
    its own is in the first of their languages. Raises :class:`RevocabError` for a language or words
    that there are not, and for a text that is no template.
    """
    words = config.get("words", {})
    language = config.get("language", language) or next(iter(words), None)
    config = {key: value for key, value in config.items() if key not in ("language", "words")}
    if WORD.search(str(config)):
        if language is None:
            raise RevocabError(
                f"{template_path}: its prompt depends on the language; give --language"
            )
        if words and language not in words:
            raise RevocabError(
                f"{template_path}: in {', '.join(words)}, not in {language!r}; choose one of them,"
                " or add the template's words in that language"
            )
        own = words.get(language, {})
        config = map_texts(
            config, lambda text: WORD.sub(lambda word: own.get(word[1], word[0]), text)
        )
        if problem := missing_words([str(config)], language):
            raise RevocabError(f"{template_path}: {problem}")
        config = map_texts(config, lambda text: fill([text], language)[0])
    RENDERER.read(template_path, config)
    return config


def map_texts(config: dict[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    def changed(value: Any) -> Any:
        if isinstance(value, str):
            return change(value)
        return [changed(item) for item in value] if isinstance(value, list) else value

    return {key: changed(value) for key, value in config.items()}


# Task files -------------------------------------------------------------------------------------


def task_config(job: TaskJob, templates: Path | None, data: Path | None) -> dict[str, Any]:
    """Return what a task file holds: the harness task's name, or a filled-in template.

    ``templates`` is a folder of one's own, which goes before the package's.
    """
    if (job.harness is None) == (job.template is None):
        raise RevocabError("exactly one of --template and --harness must be given")
    if job.template is not None:
        template = find_template(job.template, templates, "--template")
        words: dict[str, Any] = {"language": job.language, "shots": job.shots}
        return build_task(job.task, template, data=data, hub=job.hub, **words)
    if data or job.hub:
        raise RevocabError("--harness: such a task brings its own data; leave out --data, --hub")
    own = {"harness": job.harness, "num_fewshot": job.shots, "revision": job.revision}
    return {name: value for name, value in own.items() if value is not None}


def build_task(
    task: str,
    template_path: str | Path,
    *,
    data: str | Path | None = None,
    hub: HubData | None = None,
    language: str | None = None,
    shots: int | None = None,
) -> dict[str, Any]:
    """Return the harness configuration of ``task``: the template, with the data set filled in.

    Local data is checked row by row; without data the template must name its own data set. Raises
    :class:`RevocabError` naming file, row and field.
    """
    config = fill_words(load_template(template_path), template_path, language)
    if shots is not None:
        config["num_fewshot"] = shots
    if data is not None:
        fields, number = required_fields(config), 0
        for number, row in enumerate(read_jsonl(data), 1):
            if problem := row_problem(row, fields):
                raise RevocabError(f"{data}, row {number} (id {row.get('id', '?')}): {problem}")
        if not number:
            raise RevocabError(f"{data}: no rows; a task needs at least one item")
        config |= {
            "dataset_path": "json",
            "dataset_kwargs": {"data_files": {"test": str(data)}},
            "test_split": "test",
            "fewshot_split": "test",  # the harness leaves out the row being scored
        }
    elif hub is not None:
        config["dataset_path"] = hub.id
        options = {"revision": hub.revision} if hub.revision else None
        own = {"dataset_name": hub.name, "test_split": hub.split, "dataset_kwargs": options}
        config |= {key: value for key, value in own.items() if value}
    elif "dataset_path" not in config:
        raise RevocabError(
            f"{template_path}: the template names no data set; give --data FILE or --hub.id ID"
        )
    return {"task": task} | config | {"task": task}  # first


def required_fields(template: dict[str, Any]) -> list[str]:
    """Return the fields that a template cannot do without, beside ``choices`` and ``answer``."""
    import jinja2
    from jinja2 import nodes

    texts = [template.get(name, "") for name in ("doc_to_text", "doc_to_choice", "doc_to_target")]
    # Parsed only: to compile a template may already compute what stands in it.
    tree = jinja2.Environment().parse("\n".join(text for text in texts if isinstance(text, str)))
    optional = {
        test.node.name
        for test in tree.find_all(nodes.Test)
        if test.name == "defined" and isinstance(test.node, nodes.Name)
    }
    names = {name.name for name in tree.find_all(nodes.Name)}
    return sorted((names - optional) & set(FIELDS) - {"choices", "answer"})


def row_problem(row: dict[str, Any], fields: Iterable[str]) -> str | None:
    for field in ("choices", "answer", *fields):
        if row.get(field) in (None, "", []):
            return f"field {field!r} is missing or empty (the row has: {', '.join(sorted(row))})"
    choices, answer = row["choices"], row["answer"]
    if not isinstance(choices, list) or len(choices) < 2:
        return f"field 'choices' must list at least two texts, received {choices!r}"
    if not all(isinstance(choice, str) and choice.strip() for choice in choices):
        return f"field 'choices' holds an empty choice: {choices!r}"
    if type(answer) is not int or not 0 <= answer < len(choices):
        return f"field 'answer' must be an index from 0 to {len(choices) - 1}, received {answer!r}"
    return None


def at_commit(config: dict[str, Any]) -> dict[str, Any]:
    """Return a task with its Hub data set at the commit that its revision names today, so that
    every run of an experiment reads the same rows.
    """
    repository = config.get("dataset_path")
    if repository in (None, "json") or Path(repository).exists():
        return config
    options = config.get("dataset_kwargs") or {}
    commit = resolve(repository, options.get("revision"), "dataset")["commit"]
    return {**config, "dataset_kwargs": {**options, "revision": commit}}


def check_items(task: str, config: dict[str, Any], expected: ExpectedItems) -> None:
    """Compare the number of rows of a task's data with what is expected; ``config`` is a task
    file's content, its Hub data set at a commit.
    """
    data, split, options = config["dataset_path"], config["test_split"], config["dataset_kwargs"]
    if data == "json":
        path = options["data_files"][split]
        expected.compare(task, path, sum(1 for _ in read_jsonl(path)))
        return
    commit = options["revision"]
    source = {"hub": data, **options, "commit": commit}
    number = len(dataset_rows(source, config.get("dataset_name"), split))
    where = f"data set {data!r}, split {split!r}, at commit {commit}"
    if expected.revision and not commit.startswith(expected.revision):
        advice = f"; write 'revision: {expected.revision}' under the task's data.hub"
    else:
        commits = f"https://huggingface.co/datasets/{data}/commits/main"
        advice = f"; write its commit ({commits}) as 'revision' under the task's data.hub"
    expected.compare(task, where, number, advice)


def write_task(path: str | Path, config: dict[str, Any]) -> None:
    """Write a task file; the same configuration gives the same bytes."""
    import yaml

    write_text(path, yaml.safe_dump(config, sort_keys=False, allow_unicode=True, width=1000))


def task_files(tasks: Sequence[Path], folder: Path) -> list[Path]:
    """Return task files, of which some are named by a template that brings its own data set and
    written to ``folder``. Raises :class:`RevocabError` for names that there are not, and for
    templates without a data set of their own.
    """
    return [
        task if task.exists() or not NAME.fullmatch(str(task)) else template_task(str(task), folder)
        for task in tasks
    ]


def template_task(name: str, folder: Path) -> Path:
    templates = files_in(TEMPLATES, ".yaml")
    if name not in templates:
        whole = [task for task, file in templates.items() if "dataset_path" in load_template(file)]
        raise RevocabError(unknown("--tasks", name, whole, "task file or template"))
    if "dataset_path" not in load_template(templates[name]):
        raise RevocabError(
            f"--tasks {name}: a template without data of its own; make a task file with yours:"
            f" revocab task --task NAME --template {name} --data FILE --out NAME.yaml"
        )
    config = at_commit(task_config(TaskJob(task=name, template=name), None, None))
    write_task(folder / f"{name}.yaml", config)
    return folder / f"{name}.yaml"
