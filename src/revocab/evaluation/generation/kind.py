"""What a kind of generation task is, and the registry of those in ``kinds/``.

A kind is all that tells its tasks from others: the options of an experiment file, how queries and
shots are made of rows, how a prompt is laid out and where an answer ends, and what it is scored by.

The schema of an experiment file is made of kinds' options, so nothing here or at the top of a
kind's file imports numpy, torch or a library of metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, Literal

from pydantic import Field

from revocab.closed import Id, Language, OfKinds, kind_of, look_up
from revocab.evaluation.expected_items import ExpectedItems
from revocab.evaluation.metric import CHOICE_METRICS, COMET_METRICS, OTHER_METRICS, Metric
from revocab.extensions import found_in
from revocab.limits import Count, Positions, ShotCount
from revocab.training.chat.layout import Languages, Layout, LayoutOptions
from revocab.training.chat.messages import Message

#: A query or shot: its id and the fields that its kind needs.
Row = dict[str, Any]


class PromptOptions(OfKinds):
    """A generation task: what is asked, in which languages, with how many examples.

    A kind narrows ``kind`` to its own name, ``kind: Literal["translation"]``, and adds options of
    its own.
    """

    kind: Id
    direction: list[Language] = Field(
        min_length=1, max_length=2, description="languages: en it, it en, or it"
    )
    #: Examples before each query.
    shots: ShotCount
    limit: Count | None = Field(
        default=None,
        description="number of queries, evenly spaced over the test source; default: all",
    )
    pool_limit: Count | None = Field(
        default=None, description="use only the first N rows of the pool"
    )
    layout: LayoutOptions | None = Field(
        default=None, description="changes to the kind's prompt layout"
    )
    #: These four are left out of a job where they are as they were before there was a choice.
    asked_by: Literal["layout", "messages"] = Field(
        default="layout",
        exclude_if=lambda asked: asked == "layout",
        description="messages: each row's own messages ask, of which the last may begin the answer",
    )
    shot_order: Literal["drawn", "first"] = Field(
        default="drawn",
        exclude_if=lambda order: order == "drawn",
        description="shots are drawn per query, or the pool's first ones, the first of all last",
    )
    max_new_tokens: Positions | None = Field(
        default=None,
        exclude_if=lambda most: most is None,
        description="maximum tokens of an answer; default: that of all tasks",
    )
    items: ExpectedItems | None = Field(
        default=None,
        exclude_if=lambda items: items is None,
        description="number of queries that its test source should have; default: any",
    )

    @classmethod
    def kinds(cls) -> dict[str, GenerationKind]:
        return generation_kinds()


class OneLanguage(PromptOptions):
    """Base of tasks in one language."""

    direction: list[Language] = Field(
        min_length=1, max_length=1, description="language of the task"
    )


def same_texts(shot: Row, query: Row) -> bool:
    return all(shot[name] == text for name, text in query.items() if name != "id")


def own_messages(options: PromptOptions) -> bool:
    return options.asked_by == "messages"


@dataclass(frozen=True, kw_only=True)
class GenerationKind:
    """A kind of task: one file in ``kinds/`` with one object ``KIND``."""

    options: type[PromptOptions]
    layout: Layout
    #: Fields of the layout that a task's options change; stored with its prompts.
    changes: Callable[[Any], dict[str, Any]] = lambda options: {}
    #: The fields that a row must have and that must not be empty.
    fields: Callable[[Languages], Sequence[str]]
    #: Those of them that scores and shots need where rows ask by messages of their own; none: all.
    scored: tuple[str, ...] = ()
    #: A row's texts in the order of the layout's labels.
    texts: Callable[[Row, Languages], Sequence[str]]
    #: Metrics that are computed, in the order of the files of scores.
    metrics: tuple[Metric, ...]
    #: Names of those that tables show, in their order; none: all.
    shown: tuple[str, ...] = ()
    #: Makes queries and shots of a source's rows; its name, the last argument, goes into errors.
    rows: Callable[[list[Row], Any, str], list[Row]] = lambda rows, options, where: rows
    #: Whether a row of the pool is the query itself and so no shot of it.
    is_query: Callable[[Row, Row], bool] = same_texts
    #: Every right answer; none: the last of the texts.
    references: Callable[[Row, Languages], list[str]] | None = None
    #: Names for words that depend on a task's languages: ``{"source": "from_en"}``.
    aliases: Callable[[Languages], dict[str, str]] = lambda languages: {}
    #: Fields that are taken as they are, line breaks and all.
    as_given: tuple[str, ...] = ()
    #: Fields of a query that its output row keeps for the metrics.
    kept: tuple[str, ...] = ()
    #: The messages that ask a query, after its shots, through a chat template; none: the layout's.
    conversation: Callable[[Sequence[Row], Row], list[Message]] | None = None
    #: Texts that may continue a prompt: nothing is generated, but the likeliest of them taken
    #: (:mod:`revocab.evaluation.generation.candidates`).
    candidates: Callable[[Row], Sequence[str]] | None = None
    #: What metrics need of an output row beside its text, from the tokens of texts; the row has
    #: ``max_new_tokens``, too.
    counts: Callable[[Row, Callable[[str], list[int]]], dict[str, int]] = lambda row, encode: {}
    #: The text of a query that COMET compares output and reference with; none: COMET is no metric.
    comet_source: Callable[[Row, Languages], str] | None = None
    #: Header of a task's columns.
    header: Callable[[str, Languages], str] = lambda task, languages: task
    #: A sentence under tables with such tasks.
    caption: str = ""
    #: Place among the kinds in tables, ascending.
    place: int = 100

    @property
    def name(self) -> str:
        return kind_of(self.options)

    def needed(self, options: Any) -> Sequence[str]:
        fields = self.fields(options.direction)
        return ("messages", *(self.scored or fields)) if own_messages(options) else fields

    def changed(self, options: Any) -> dict[str, Any]:
        return {**self.changes(options), **(options.layout.given() if options.layout else {})}

    def layout_in(
        self, languages: Languages, changes: Mapping[str, Any] = MappingProxyType({})
    ) -> Layout:
        return self.layout.in_words(languages, self.aliases(languages), changes)

    def right_answers(self, row: Row, languages: Languages) -> list[str]:
        if self.references is None:
            return [self.texts(row, languages)[-1]]
        return self.references(row, languages)

    def columns(self, comet: Iterable[str] = ()) -> list[str]:
        compared = comet if self.comet_source else ()
        return [*compared, *(self.shown or [metric.name for metric in self.metrics])]


@cache
def generation_kinds() -> dict[str, GenerationKind]:
    from revocab.evaluation.generation import kinds as package

    kinds = found_in(package, "KIND").values()
    return {kind.name: kind for kind in sorted(kinds, key=lambda kind: kind.place)}


def find_kind(name: str) -> GenerationKind:
    return look_up("kind", name, generation_kinds(), "kind of generation task")


@cache
def metrics() -> dict[str, Metric]:
    of_kinds = [metric for kind in generation_kinds().values() for metric in kind.metrics]
    others = (*CHOICE_METRICS, *COMET_METRICS.values(), *OTHER_METRICS)
    return {metric.name: metric for metric in (*others, *of_kinds)}
