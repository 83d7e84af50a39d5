"""Multiple-choice tasks: from a prompt template and data to one self-contained harness task file.

A task file is plain lm-evaluation-harness YAML, which ``lm_eval --tasks FILE`` runs unchanged, or,
for a task that the harness ships, ``harness: NAME`` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pydantic import Field

from revocab import yaml_file
from revocab.closed import Closed, Id, Job, Language, OneLine, Revision, near, unknown
from revocab.corpora.source import HubData
from revocab.errors import RevocabError
from revocab.evaluation.multiple_choice.task_keys import (
    ShippedTask,
    TaskFile,
    Template,
    check_keys,
    check_whole,
    rendered_texts,
)
from revocab.evaluation.options import ExpectedItems
from revocab.extensions import files_in
from revocab.hub import dataset_rows, resolve
from revocab.io import read_jsonl, write_text
from revocab.languages import WORD, fill, missing_words
from revocab.limits import ShotCount


def check_items(task: str, config: dict[str, Any], expected: ExpectedItems) -> None:
    """Compare the number of rows of a task's data with what is expected.

    ``config`` is a task file's content, its Hub data set at a commit. What is said names the data,
    the numbers found and expected, and the revision to use.
    """
    data, split = config["dataset_path"], config["test_split"]
    options = config["dataset_kwargs"]
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


#: Templates that come with the package, a YAML file each: dropping a file there adds one.
TEMPLATES = Path(__file__).parent / "templates"
#: Row fields that a template may use; only ``choices`` and ``answer`` are always needed.
FIELDS = ("context", "question", "choices", "answer", "subject")


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


def read_yaml(path: Path) -> dict[str, Any]:
    import yaml

    try:
        value, repeated = yaml_file.read(path)
    except FileNotFoundError:
        beside = sorted(file.name for file in path.parent.glob("*.yaml"))
        raise RevocabError(f"{path}: no such file{near(path.name, beside)}") from None
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise RevocabError(f"{path}: not valid YAML ({' '.join(str(error).split())})") from None
    if not isinstance(value, dict):
        raise RevocabError(f"{path}: expected a mapping, received {type(value).__name__}")
    if repeated:
        raise RevocabError(repeated)
    return value


def read_task(path: Path) -> dict[str, Any]:
    """Return what a task file holds; raise :class:`RevocabError` for keys that it may not have."""
    config = read_yaml(path)
    if "harness" in config:
        check_keys(path, config, ShippedTask)
    else:
        check_keys(path, config, TaskFile)
        check_whole(path, config)
    return config


def template_names(own: Path | None = None) -> list[str]:
    mine = [path.stem for path in own.glob("*.yaml")] if own else []
    return sorted({*mine, *files_in(TEMPLATES, ".yaml")})


def find_template(name: str, own: Path | None = None, key: str = "template") -> Path:
    """Return the file of a template: in one's own folder or, where it is not there, the package's.

    Raises :class:`RevocabError` with the nearest names, under ``key``.
    """
    if own is not None and (own / f"{name}.yaml").is_file():
        return own / f"{name}.yaml"
    if name in (shipped := files_in(TEMPLATES, ".yaml")):
        return shipped[name]
    raise RevocabError(unknown(key, name, template_names(own), "template"))


def load_template(path: str | Path) -> dict[str, Any]:
    """Return a template with what it includes; the including file's keys win.

    ``include`` names a file beside the template or, where there is none, one of the package.
    ``words``, a template's own by language, are put together: those of the including file win.
    Raises :class:`RevocabError` for keys that a template may not have.
    """
    merged: dict[str, Any] = {}
    words: dict[str, dict[str, str]] = {}
    for file in template_files(path):
        values = read_yaml(file)
        check_keys(file, values, Template)
        for language, own in (values.pop("words", None) or {}).items():
            words[language] = {**own, **words.get(language, {})}
        merged = {**values, **merged}
    merged.pop("include", None)
    return {**merged, "words": words} if words else merged


def template_files(path: str | Path) -> list[Path]:
    """Return a template's file and those that it includes, in order.

    Raises :class:`RevocabError` for one that is not there, or that includes itself.
    """
    files = [Path(path)]
    while include := read_yaml(files[-1]).get("include"):
        beside = files[-1].parent / str(include)
        shipped = TEMPLATES / str(include)
        files.append(shipped if shipped.is_file() and not beside.is_file() else beside)
        if files[-1].resolve() in {file.resolve() for file in files[:-1]}:
            raise RevocabError(f"{files[-1]}: includes itself; remove one 'include'")
    return files


def fill_words(
    config: dict[str, Any], template_path: str | Path, language: str | None
) -> dict[str, Any]:
    """Return a template with each ``<<word>>`` replaced: by its own word, or the language's.

    The template's own ``language`` goes before the task's; without either, one with ``words`` of
    its own is in the first of their languages. Raises :class:`RevocabError` naming the languages
    that it has, or the words that are missing, the file where they belong and the languages that
    have them; and for a text that is no template.
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
        problem = missing_words([str(config)], language)
        if problem:
            raise RevocabError(f"{template_path}: {problem}")
        config = map_texts(config, lambda text: fill([text], language)[0])
    rendered_texts(template_path, config)
    return config


def map_texts(config: dict[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    def changed(value: Any) -> Any:
        if isinstance(value, str):
            return change(value)
        return [changed(item) for item in value] if isinstance(value, list) else value

    return {key: changed(value) for key, value in config.items()}


def check_rows(path: str | Path, fields: Iterable[str]) -> None:
    """Check every row of a local task file; ``fields`` are those that the template cannot do
    without, beside ``choices`` and ``answer``.

    Raises :class:`RevocabError` naming file, row and field.
    """
    row = None
    for number, row in enumerate(read_jsonl(path), 1):
        problem = row_problem(row, fields)
        if problem:
            raise RevocabError(f"{path}, row {number} (id {row.get('id', '?')}): {problem}")
    if row is None:
        raise RevocabError(f"{path}: no rows; a task needs at least one item")


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


def required_fields(template: dict[str, Any]) -> list[str]:
    import jinja2
    from jinja2 import nodes

    parts = [template.get(name, "") for name in ("doc_to_text", "doc_to_choice", "doc_to_target")]
    # Parsed only: to compile a template may already compute what stands in it.
    tree = jinja2.Environment().parse("\n".join(part for part in parts if isinstance(part, str)))
    optional = {
        test.node.name
        for test in tree.find_all(nodes.Test)
        if test.name == "defined" and isinstance(test.node, nodes.Name)
    }
    names = {name.name for name in tree.find_all(nodes.Name)}
    return sorted((names - optional) & set(FIELDS) - {"choices", "answer"})


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
    own: dict[str, Any] = {"num_fewshot": job.shots, "revision": job.revision}
    own = {name: value for name, value in own.items() if value is not None}
    return {"harness": job.harness, **own}


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

    Local data is checked row by row. Without data the template must name its own data set.
    ``language`` chooses the words of a template that is the same in every language. ``shots`` are
    this task's own, where it differs from the others.
    """
    config = fill_words(load_template(template_path), template_path, language)
    if shots is not None:
        config["num_fewshot"] = shots
    if data is not None:
        check_rows(data, required_fields(config))
        config |= {
            "dataset_path": "json",
            "dataset_kwargs": {"data_files": {"test": str(data)}},
            "test_split": "test",
            "fewshot_split": "test",  # the harness leaves out the row being scored
        }
    elif hub is not None:
        config["dataset_path"] = hub.id
        if hub.name:
            config["dataset_name"] = hub.name
        if hub.split:
            config["test_split"] = hub.split
        if hub.revision:
            config["dataset_kwargs"] = {"revision": hub.revision}
    elif "dataset_path" not in config:
        raise RevocabError(
            f"{template_path}: the template names no data set; give --data FILE or --hub.id ID"
        )
    return {"task": task} | config | {"task": task}  # first


def at_commit(config: dict[str, Any]) -> dict[str, Any]:
    """Return a task with its Hub data set at the commit that its revision names today.

    Every run of an experiment then reads the same rows, whatever happens to the data set meanwhile.
    """
    repository = config.get("dataset_path")
    if repository in (None, "json") or Path(repository).exists():
        return config
    options = config.get("dataset_kwargs") or {}
    commit = resolve(repository, options.get("revision"), "dataset")["commit"]
    return {**config, "dataset_kwargs": {**options, "revision": commit}}


def write_task(path: str | Path, config: dict[str, Any]) -> None:
    """Write a task file; the same configuration gives the same bytes."""
    import yaml

    text = yaml.safe_dump(config, sort_keys=False, allow_unicode=True, width=1000)
    write_text(path, text)
