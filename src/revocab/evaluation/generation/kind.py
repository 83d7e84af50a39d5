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
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from revocab.closed import Id, Language, OfKinds, kind_of, look_up
from revocab.evaluation.metrics import MEASURED_OTHERWISE, Metric, Row
from revocab.evaluation.options import ExpectedItems
from revocab.extensions import found_in
from revocab.limits import Count, Positions, ShotCount
from revocab.training.chat.layout import Languages, Layout, LayoutOptions
from revocab.training.chat.messages import Message

if TYPE_CHECKING:
    from revocab.evaluation.resampling import Items


class PromptOptions(OfKinds):
    """A generation task: what is asked, in which languages, with how many examples; a kind narrows
    ``kind`` to its own name and adds options of its own.
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

    @property
    def by_messages(self) -> bool:
        return self.asked_by == "messages"

    def usable(self, rows: list[Row], where: str) -> list[Row]:
        """Return a source's rows as a kind reads them; the source's name goes into errors."""
        return rows

    def layout_changes(self) -> dict[str, Any]:
        """Return those fields of the layout that are not the kind's; stored with its prompts."""
        return self.layout.given() if self.layout else {}


class OneLanguage(PromptOptions):
    """Base of tasks in one language."""

    direction: list[Language] = Field(
        min_length=1, max_length=1, description="language of the task"
    )


@dataclass(frozen=True, kw_only=True)
class GenerationKind:
    """A kind of task; a file in ``kinds/`` has one as ``KIND``, or a tuple of several."""

    options: type[PromptOptions]
    layout: Layout
    #: A row's fields that its prompt is written of, of which none may be empty; none: one for each
    #: language.
    fields: tuple[str, ...] = ()
    #: Further fields that scores need, of which none may be empty either.
    scored: tuple[str, ...] = ()
    #: Those of all fields that are taken as they are, line breaks and all.
    verbatim: tuple[str, ...] = ()
    #: Those that an output row has, too, for its metrics.
    stored: tuple[str, ...] = ()
    #: A row's texts in the order of the layout's labels; none: its fields.
    texts: Callable[[Row, Languages], Sequence[str]] | None = None
    #: Every right answer; none: the last of the texts.
    references: Callable[[Row], list[str]] | None = None
    #: Metrics that are computed, in the order of the files of scores.
    metrics: tuple[Metric, ...]
    #: Names of those that tables show, in their order; none: all.
    in_tables: tuple[str, ...] = ()
    #: Fields by which a row of the pool is the query itself and so no shot of it; none: all.
    same: tuple[str, ...] = ()
    #: Names for words that depend on a task's languages: ``{"source": "from_en"}``.
    aliases: Callable[[Languages], dict[str, str]] = lambda languages: {}
    #: The messages that ask a query, after its shots, through a chat template; none: the layout's.
    conversation: Callable[[Sequence[Row], Row], list[Message]] | None = None
    #: The field with texts that may continue a prompt: nothing is generated, but the likeliest of
    #: them taken; none: an answer is generated.
    candidates: str = ""
    #: What metrics need of an output row beside its text, from the tokens of texts; the row has
    #: ``max_new_tokens``, too.
    counts: Callable[[Row, Callable[[str], list[int]]], dict[str, int]] = lambda row, encode: {}
    #: Whether COMET compares outputs with the first text of a query.
    comet: bool = False
    #: Header of a task's columns.
    header: Callable[[str, Languages], str] = lambda task, languages: task
    #: A sentence under tables with such tasks.
    caption: str = ""
    #: Place among the kinds in tables, ascending.
    place: int = 100

    @property
    def name(self) -> str:
        return kind_of(self.options)

    def needed(self, options: PromptOptions) -> Sequence[str]:
        """Return the fields that a row must have: where rows ask by messages of their own, the
        answer's alone of those of the prompt.
        """
        fields = self.fields or options.direction
        if options.by_messages:
            fields = ["messages", *(self.fields[-1:] or options.direction)]
        return [*fields, *self.scored]

    def layout_in(
        self, languages: Languages, changes: Mapping[str, Any] = MappingProxyType({})
    ) -> Layout:
        return self.layout.in_words(languages, self.aliases(languages), changes)

    def texts_of(self, row: Row, languages: Languages) -> Sequence[str]:
        if self.texts is None:
            return [row[name] for name in self.fields or languages]
        return self.texts(row, languages)

    def right_answers(self, row: Row, languages: Languages) -> list[str]:
        if self.references is not None:
            return self.references(row)
        if self.texts is None:  # where rows ask by themselves, the answer's field is there alone
            return [row[(self.fields or languages)[-1]]]
        return [self.texts(row, languages)[-1]]

    def columns(self, comet: Iterable[str] = ()) -> list[str]:
        """Return the metrics that tables show, those of COMET first where it applies."""
        compared = comet if self.comet else ()
        return [*compared, *(self.in_tables or [metric.name for metric in self.metrics])]

    def items(self, rows: Sequence[Row], languages: Languages) -> dict[str, Items]:
        """Return the scored items of a task's output rows by metric."""
        computed = {of.name: of.items(rows, languages) for of in self.metrics if of.items}
        return {name: items for name, items in computed.items() if items is not None}


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
    return {metric.name: metric for metric in (*MEASURED_OTHERWISE, *of_kinds)}
