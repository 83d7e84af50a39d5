"""What a task file or template may hold: data and texts, and nothing that the harness would run.

lm-evaluation-harness takes more keys: Python functions, and metrics and data sets that are scripts.
It is trusted with those of its own tasks, which are part of the installed package; a file is not,
and its texts are rendered in a sandbox.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import yaml
from pydantic import AfterValidator, Field, model_validator

from revocab import yaml_file
from revocab.closed import Closed, Id, Language, OneLine, Revision, checked, exactly_one, near
from revocab.errors import RevocabError, naming
from revocab.evaluation.metrics import LABEL_METRICS
from revocab.limits import COUNTED, ShotCount
from revocab.training.chat.template import check_length, explain

if TYPE_CHECKING:
    from jinja2 import Template as Compiled
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    LabelMetric = str
else:
    LabelMetric = Literal[tuple(metric.name for metric in LABEL_METRICS)]


# Keys -------------------------------------------------------------------------------------------


def data_set(path: str) -> str:
    """Return the name of a data set; raise ``ValueError`` for that of a script or a file format."""
    if path == "json" or re.fullmatch(r"[\w.-]+/[\w.-]+", path) or Path(path).is_dir():
        return path
    raise ValueError("must be OWNER/NAME on the Hub, a folder, or json for a local file of rows")


class DataOptions(Closed):
    """Which version or files of a data set are read."""

    revision: Revision | None = None
    data_files: str | dict[str, str | list[str]] | None = None
    data_dir: str | None = None


class TaskMetric(Closed):
    """A metric that the harness has of its own: it would run any other as a script."""

    metric: Literal["acc", "acc_norm"]
    aggregation: Literal["mean"] = "mean"
    higher_is_better: bool = True


class Shots(Closed):
    """Examples that are the same for every item: rows of ``fewshot_split`` that follow each other.

    Of a task with ``mean_over`` each part has its own, if the rows of that split have the field.
    """

    #: Number of the first row, from 0.
    first: Annotated[int, Field(ge=0), COUNTED] = 0
    #: Whether the first row stands next to the question.
    reverse: bool = False


class Measure(Closed):
    """What the task is scored by beside its accuracy; exactly one."""

    #: A metric of gold and predicted labels.
    labels: LabelMetric | None = None
    #: Row field: items that share its value are right only together.
    together: OneLine | None = None
    #: Values of ``mean_over`` by category; categories count alike.
    categories: dict[OneLine, list[OneLine]] | None = None

    @model_validator(mode="after")
    def _one_measure(self) -> Measure:
        return exactly_one(self, tuple(Measure.model_fields))


class Metadata(Closed):
    """What is recorded with the scores, and what the harness has no key for."""

    version: float | OneLine | None = None
    #: Row field, or a dotted path, whose values count alike, however many rows they have.
    mean_over: OneLine | None = None
    measure: Measure | None = None
    #: None: examples are drawn anew for each item.
    shots: Shots | None = None
    #: Whether the description is left out of a prompt without examples.
    introduces_shots: bool = False
    #: A further row field with its values: each row is asked once with each.
    variants: dict[str, Annotated[list[Any], Field(min_length=2)]] = Field({}, max_length=1)

    @model_validator(mode="after")
    def _categories_of_parts(self) -> Metadata:
        if self.measure is not None and self.measure.categories and not self.mean_over:
            raise ValueError("measure: categories are of values of mean_over, which is not given")
        return self


class TaskKeys(Closed):
    """Prompts and choices made of the rows of a data set."""

    task: Id | None = None
    output_type: Literal["multiple_choice"] = "multiple_choice"
    dataset_path: Annotated[str, AfterValidator(data_set)] | None = None
    dataset_name: str | None = None
    dataset_kwargs: DataOptions = DataOptions()
    training_split: str | None = None
    validation_split: str | None = None
    test_split: str | None = None
    fewshot_split: str | None = None
    num_fewshot: ShotCount | None = None
    description: str = ""
    doc_to_text: str | int | None = None
    doc_to_choice: str | list[str] | None = None
    doc_to_target: str | int | None = None
    gen_prefix: str | None = None
    target_delimiter: str = " "
    fewshot_delimiter: str = "\n\n"
    metric_list: list[TaskMetric] | None = None
    metadata: Metadata = Metadata()


class Template(TaskKeys):
    """The same for any task and language: what it leaves out, the task or ``include`` says."""

    include: str | None = None
    language: Language | None = None
    words: dict[str, dict[str, str]] | None = None


class TaskFile(TaskKeys):
    """A whole task, without which keys the harness makes no question."""

    dataset_path: Annotated[str, AfterValidator(data_set)]
    doc_to_text: str | int
    doc_to_choice: str | Annotated[list[str], Field(min_length=1)]
    doc_to_target: str | int

    @model_validator(mode="after")
    def _has_rows(self) -> TaskFile:
        files = self.dataset_kwargs.data_files
        named = isinstance(files, dict) and isinstance(files.get("test"), str)
        if self.dataset_path == "json" and not named:
            raise ValueError("dataset_path: json needs dataset_kwargs: {data_files: {test: FILE}}")
        if self.test_split is None and self.validation_split is None:
            raise ValueError("test_split: required and not given")
        return self


class ShippedTask(Closed):
    """A task that the harness ships, by name."""

    harness: OneLine
    num_fewshot: ShotCount | None = None
    revision: Revision | None = None


def read_task(path: Path) -> dict[str, Any]:
    """Return what a task file holds; raise :class:`RevocabError` for keys that it may not have."""
    config = read_yaml(path)
    return check_keys(path, config, ShippedTask if "harness" in config else TaskFile)


def check_keys(path: Path, config: dict[str, Any], keys: type[Closed]) -> dict[str, Any]:
    """Return a file's content; raise :class:`RevocabError` naming file and key of what is wrong."""
    with naming(str(path)):
        checked(keys, config)
    return config


def read_yaml(path: Path) -> dict[str, Any]:
    try:
        value, problems = yaml_file.read(path)
    except FileNotFoundError:
        beside = sorted(file.name for file in path.parent.glob("*.yaml"))
        raise RevocabError(f"{path}: no such file{near(path.name, beside)}") from None
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise RevocabError(f"{path}: not valid YAML ({' '.join(str(error).split())})") from None
    if not isinstance(value, dict):
        raise RevocabError(f"{path}: expected a mapping, received {type(value).__name__}")
    if problems:
        raise RevocabError(problems)
    return value


# Rendering --------------------------------------------------------------------------------------

#: Keys of texts that the harness renders for every row.
RENDERED = ("description", "doc_to_text", "doc_to_choice", "doc_to_target", "gen_prefix")


@cache
def sandbox() -> ImmutableSandboxedEnvironment:
    """Return what stands for the harness's own environment, with its filter and its settings."""
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, keep_trailing_newline=True
    )
    environment.filters["regex_replace"] = lambda text, pattern, replacement, count=0: re.sub(
        pattern, replacement, text, count=count
    )
    return environment


@lru_cache(maxsize=1024)  # the harness would compile a template for every use on every row
def compiled(template: str) -> Compiled:
    check_length(template)
    return sandbox().from_string(template)


class Renderer:
    """Stands for the harness's ``apply_template``; names what is refused by file and key, or by the
    beginning of a template of the harness's own.
    """

    def __init__(self) -> None:
        self.places: dict[str, str] = {}

    def __call__(self, template: str, doc: Mapping[str, Any] | None) -> str:
        """Return the text of a row; with None the template is compiled alone."""
        try:
            ready = compiled(template)
            return template if doc is None else ready.render(**doc)
        except Exception as error:  # it may fail in any way that Python code can
            where = self.places.get(template, f"template {template[:60]!r}")
            raise RevocabError(f"{where}: {explain(error)}") from None

    def read(self, path: str | Path, config: Mapping[str, Any]) -> None:
        """Note where the texts of a task stand; raise :class:`RevocabError` for what is none."""
        for key in RENDERED:
            if isinstance(text := config.get(key), str):
                self.places[text] = f"{path}: {key}"
                self(text, None)


#: The one that renders whatever the harness renders.
RENDERER = Renderer()
