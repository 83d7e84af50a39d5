"""What a table or figure is: the options that an experiment file gives, with what is made of them.

A kind is one file in ``tables/`` or ``figures/``, with one class as ``TABLE`` or ``FIGURE``. The
schema of an experiment file is made of these classes, so nothing at the top of a kind's file
imports matplotlib, numpy, pandas or the schema itself.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field, model_validator

from revocab.closed import Closed, OfKinds, OneLine, Step, kind_of
from revocab.extensions import found_in
from revocab.report.annotations import Experiment, Figure, Layout, Run

if TYPE_CHECKING:
    from revocab.report.drawing import Palette
    from revocab.report.published import PublishedCell
    from revocab.report.results import Results
    from revocab.report.runs import RunIndex
    from revocab.report.table import Table
    from revocab.report.values import RunValue

TABLE_ENDINGS = ("csv", "md", "tex")
FIGURE_ENDINGS = ("svg", "png")


@dataclass(frozen=True)
class Place:
    """Where a number of a run is shown; those of one contest are ranked among each other."""

    value: RunValue
    run: Run
    contest: Hashable = None
    #: What names the value in the experiment file, below the key of what shows it.
    key: str = ""


class Shows(Closed):
    """What shows numbers: from :meth:`places` follows what is scored, made and checked for it."""

    def places(self, index: RunIndex) -> Iterable[Place | None]:
        """Yield every number of a run that it shows (None: a dash); also of a file that is wrong,
        but for ids that name nothing.
        """
        return ()

    def problems(self, experiment: Experiment, key: str) -> Iterable[str]:
        """Yield what an experiment lacks for it; ``key`` is where the experiment names it."""
        values = self.values(experiment)
        if not values and type(self).places is not Shows.places:
            yield f"{key}: shows no number: no run has one in a language of its group; name others"
        for (below, _), (value, runs) in values.items():
            yield from value.problems(experiment, ".".join(filter(None, (key, below))), runs)

    def scores(self, experiment: Experiment) -> Iterable[tuple[str, str]]:
        """Yield run groups and tasks whose scores it shows: no other task is scored."""
        for value, runs in self.values(experiment).values():
            tasks = list(value.tasks(experiment))
            yield from ((run.group, task) for run in runs for task in tasks)

    def needs(self, layout: Layout) -> Iterable[str]:
        """Yield files that it reads beside the scores, so that they are made first."""
        for value, runs in self.values(layout.experiment).values():
            yield from value.needs(layout, runs)

    def values(self, experiment: Experiment) -> dict[tuple[str, str], tuple[RunValue, list[Run]]]:
        """Return every value once, with the runs that it is shown of."""
        values: dict[tuple[str, str], tuple[RunValue, list[Run]]] = {}
        places = list(filter(None, self.places(experiment.index)))
        distinct = {id(place.value): place.value for place in places}
        texts = {key: repr(value) for key, value in distinct.items()}  # each text takes long
        for place in places:
            key = (place.key, texts[id(place.value)])
            values.setdefault(key, (place.value, []))[1].append(place.run)
        return values


class KindOptions(Shows, OfKinds):
    """What an experiment file says of a table or figure. A kind narrows ``kind`` to its own name:
    ``kind: Literal["parity"]``.
    """

    kind: str
    #: Its heading.
    title: OneLine

    @model_validator(mode="after")
    def _shows_something(self) -> KindOptions:
        for key in sorted(self.model_fields_set):
            field, value = type(self).model_fields[key], getattr(self, key)
            if value in ([], (), {}) and field.get_default(call_default_factory=True) != value:
                raise ValueError(f"{key}: is empty, so that nothing is shown; name at least one")
            listed = value if isinstance(value, list | tuple) else ()
            for item in listed:
                if isinstance(item, str | int) and listed.count(item) > 1:
                    raise ValueError(f"{key}: names {item!r} twice; name it once")
        return self

    def limited(self, results: Results) -> str | None:
        """Return which of its tasks are scored on some of their items alone; None if none is."""
        choices = results.experiment.evaluation.multiple_choice
        generated = results.experiment.evaluation.generation.tasks.items()
        tasks, parts = {task for _, task in self.scores(results.experiment)}, []
        if choices.limit and tasks & choices.tasks.keys():
            parts.append(f"first {choices.limit} items of each multiple-choice task")
        if sizes := {name: task.limit for name, task in generated if name in tasks and task.limit}:
            amount = " to ".join(map(str, sorted({min(sizes.values()), max(sizes.values())})))
            parts.append(f"{amount} queries of {', '.join(sizes)}")
        return "; ".join(parts) or None


class TableOptions(KindOptions):
    """A kind of table."""

    @classmethod
    def kinds(cls) -> dict[str, type[TableOptions]]:
        return table_kinds()

    #: Whether its numbers depend on the experiment's text, which may be synthetic.
    of_text: ClassVar[bool] = True

    uncompared: dict[OneLine, OneLine] = Field(
        default_factory=dict,
        description="columns whose published values are of something else than ours, and of what:"
        " they are shown with a mark, and compared with nothing",
    )

    def published(self, results: Results, identifier: str) -> list[PublishedCell]:
        """Return the published values of its cells."""
        return results.paper.cells(identifier)

    @abstractmethod
    def build(self, results: Results) -> Table:
        """Return the table; without results, with dashes."""

    def compared(self) -> Iterable[tuple[str, Step]]:
        return ()


class FigureOptions(KindOptions):
    """A kind of figure."""

    @classmethod
    def kinds(cls) -> dict[str, type[FigureOptions]]:
        return figure_kinds()

    #: What stands under it, of a kind that has no macro in ``templates/notes.j2``.
    caption: ClassVar[str] = ""
    #: Shown no wider than half a page.
    small: ClassVar[bool] = False

    @abstractmethod
    def draw(self, results: Results, palette: Palette) -> Figure:
        """Return the figure; without results, with empty panels that say so."""


class TokenizerOptions(KindOptions):
    """A table or figure of every tokenizer that is measured."""

    def problems(self, experiment: Experiment, key: str) -> Iterable[str]:
        if not experiment.fertility.tokenizers:
            advice = "name them under fertility.tokenizers"
            yield f"{key}: kind {self.kind!r} shows tokenizers; {advice}"

    def needs(self, layout: Layout) -> Iterable[str]:
        return [manifest(layout.paths.fertility)]


class ParallelOptions(TokenizerOptions):
    """A table or figure of text that says the same in several languages."""

    def problems(self, experiment: Experiment, key: str) -> Iterable[str]:
        if experiment.fertility.parallel is None:
            lack = "fertility.parallel is not given; add it"
            yield f"{key}: kind {self.kind!r} shows parallel text, and {lack}"


@cache
def table_kinds() -> dict[str, type[TableOptions]]:
    from revocab.report import tables

    return found_in(tables, "TABLE", kind_of)


@cache
def figure_kinds() -> dict[str, type[FigureOptions]]:
    from revocab.report import figures

    return found_in(figures, "FIGURE", kind_of)


def manifest(folder: str) -> str:
    return f"{folder}/manifest.json"
