"""What a task file or template may hold: data and texts, and nothing that the harness would run.

lm-evaluation-harness takes more keys: Python functions, and metrics and data sets that are scripts.
It is trusted with those of its own tasks, which are part of the installed package; a file is not.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from revocab.closed import Closed, Id, Language, OneLine, Revision, checked, exactly_one
from revocab.errors import RevocabError, refuse
from revocab.evaluation.metrics import LABEL_METRICS
from revocab.evaluation.multiple_choice.rendering import compile_template
from revocab.limits import COUNTED, ShotCount

if TYPE_CHECKING:
    LabelMetric = str
else:
    LabelMetric = Literal[tuple(metric.name for metric in LABEL_METRICS)]


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

    first: Annotated[int, Field(ge=0), COUNTED] = Field(
        default=0, description="number of the first row, from 0"
    )
    reverse: bool = Field(default=False, description="the first row stands next to the question")


class Measure(Closed):
    """What the task is scored by beside its accuracy; exactly one."""

    labels: LabelMetric | None = Field(
        default=None, description="metric of gold and predicted labels"
    )
    together: OneLine | None = Field(
        default=None, description="row field: items that share its value are right only together"
    )
    categories: dict[OneLine, list[OneLine]] | None = Field(
        default=None, description="values of mean_over by category; categories count alike"
    )

    @model_validator(mode="after")
    def _one_measure(self) -> Measure:
        return exactly_one(self, tuple(Measure.model_fields))


class Metadata(Closed):
    """What is recorded with the scores, and what the harness has no key for."""

    version: float | OneLine | None = None
    mean_over: OneLine | None = Field(
        default=None, description="row field whose values count alike, however many rows they have"
    )
    measure: Measure | None = None
    shots: Shots | None = Field(default=None, description="default: drawn anew for each item")
    introduces_shots: bool = Field(
        default=False, description="leave the description out of a prompt without examples"
    )
    variants: dict[str, Annotated[list[Any], Field(min_length=2)]] = Field(
        default_factory=dict,
        max_length=1,
        description="a further row field with its values: each row is asked once with each",
    )

    @model_validator(mode="after")
    def _categories_of_parts(self) -> Metadata:
        if self.measure is not None and self.measure.categories and not self.mean_over:
            raise ValueError("measure: categories are of values of mean_over, which is not given")
        return self


class TaskFile(Closed):
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

    @model_validator(mode="after")
    def _has_a_local_file(self) -> TaskFile:
        files = self.dataset_kwargs.data_files
        named = isinstance(files, dict) and isinstance(files.get("test"), str)
        if self.dataset_path == "json" and not named:
            raise ValueError("dataset_path: json needs dataset_kwargs: {data_files: {test: FILE}}")
        return self


class Template(TaskFile):
    """The same for any task and language: what it leaves out, the task or ``include`` says."""

    include: str | None = None
    language: Language | None = None
    words: dict[str, dict[str, str]] | None = None


class ShippedTask(Closed):
    """A task that the harness ships, by name."""

    harness: OneLine
    num_fewshot: ShotCount | None = None
    revision: Revision | None = None


#: Fields of a template that the harness renders for every row.
RENDERED = ("description", "doc_to_text", "doc_to_choice", "doc_to_target", "gen_prefix")


def check_keys(path: str | Path, config: dict[str, Any], keys: type[Closed]) -> None:
    """Raise :class:`RevocabError` naming the file and each key that is not one of ``keys``."""
    try:
        checked(keys, config)
    except RevocabError as error:
        raise RevocabError(f"{path}: {problem}" for problem in error.problems) from None


def check_whole(path: str | Path, config: dict[str, Any]) -> None:
    """Raise :class:`RevocabError` for each key without which the harness makes no question."""
    needed = ("dataset_path", "doc_to_text", "doc_to_choice", "doc_to_target")
    missing = [key for key in needed if config.get(key) in (None, [])]
    if config.get("test_split") is None and config.get("validation_split") is None:
        missing.append("test_split")
    refuse(
        f"{path}: {key}: required and not given; revocab task writes a whole task file"
        for key in missing
    )


def rendered_texts(path: str | Path, config: dict[str, Any]) -> dict[str, str]:
    """Return the file and key of each text of a task that is rendered, by the text.

    Raises :class:`RevocabError` for one that is no template, by file and key.
    """
    places = {config[key]: f"{path}: {key}" for key in RENDERED if isinstance(config.get(key), str)}
    for text, place in places.items():
        compile_template(text, place)
    return places
