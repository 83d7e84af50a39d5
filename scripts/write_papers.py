"""Write docs/papers: each paper's settings beside ours, from config/published/*/settings.yaml.

A settings file lists a paper's tables, figures, settings and variants with their places. Our
values are read from the experiment by the keys named there, so that a page cannot contradict the
experiment.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from math import isclose, prod
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from revocab import yaml_file
from revocab.cli import run
from revocab.closed import Closed, Id, OneLine, checked, near
from revocab.errors import RevocabError
from revocab.experiment.load import as_stated, laid_over
from revocab.experiment.schema import Experiment
from revocab.io import write_text

ROOT = Path(__file__).resolve().parents[1]
#: A number, a text, or a list or mapping of them.
Stated = bool | int | float | str | list[Any] | dict[str, Any]

SECTIONS = {
    "tables_and_figures": "Tables and figures",
    "hyperparameters": "Hyperparameters",
    "method_variants": "Method variants",
    "data_and_evaluation": "Data and evaluation",
}
#: Relative tolerance of a product: budgets in tokens are rounded to whole steps.
ROUNDED = 1e-3
#: How values that are neither numbers nor text are shown.
WORDS = {None: "not stated", True: "yes", False: "no"}
HEADER = ["what", "paper", "section", "release, if different", "ours", "reason"]


class Row(Closed):
    """One thing that a paper states or shows, and where our experiment has it."""

    what: OneLine
    #: As shown on the page; none: the paper does not state it.
    paper: Stated | None = None
    #: What the experiment has to have, if the paper says it in other words.
    value: Stated | None = None
    #: What the product of the keys' numbers has to be, such as tokens = steps × rows × length.
    product: float | None = None
    where: OneLine
    #: What the authors' release has, if it differs.
    released: OneLine | None = None
    #: Dotted paths in the experiment, ``*`` for every name; a list's entries by name or number.
    key: OneLine | list[OneLine] = Field(default_factory=list)
    #: What we have, in words, where values cannot say it.
    ours: OneLine | None = None
    reason: OneLine | None = None
    #: Names of overlays with which the experiment has the key.
    overlays: list[Id] = Field(default_factory=list)

    @property
    def keys(self) -> list[str]:
        return [self.key] if isinstance(self.key, str) else self.key


Rows = Annotated[list[Row], Field(min_length=1)]


class Settings(Closed):
    """A settings file."""

    #: Name of the page.
    page: Id
    title: OneLine
    #: Markdown, links as seen from the page.
    intro: str
    experiment: OneLine
    #: How many numbered tables and figures the paper has.
    tables: int = Field(ge=0)
    figures: int = Field(ge=0)
    tables_and_figures: Rows
    hyperparameters: Rows
    method_variants: Rows
    data_and_evaluation: Rows
    #: Markdown after the tables.
    notes: str = ""

    @property
    def rows(self) -> Iterator[tuple[str, Row]]:
        for section in SECTIONS:
            for row in getattr(self, section):
                yield section, row


class Compared:
    """The rows of a settings file, each with our value."""

    def __init__(self, file: Path, root: Path) -> None:
        """Read ``file``, which names the experiment as seen from ``root``.

        Raises :class:`RevocabError` with all problems.
        """
        values, repeated = yaml_file.read(file)
        self.file, self.root = file.relative_to(root), root
        self.settings: Settings = checked(Settings, values, str(self.file))
        self.experiments: dict[tuple[str, ...], Experiment] = {}
        problems = [*repeated, *self.uncounted(), *self.misplaced(), *self.row_problems()]
        if problems:
            raise RevocabError(f"{self.file}: {problem}" for problem in problems)

    def experiment(self, overlays: list[str]) -> Experiment:
        files = (self.settings.experiment, *(f"config/overlays/{name}.yaml" for name in overlays))
        if files not in self.experiments:
            self.experiments[files] = as_stated(laid_over([self.root / file for file in files]))
        return self.experiments[files]

    def uncounted(self) -> Iterator[str]:
        """Yield a problem for every table and figure of the paper without exactly one row."""
        listed = [row.what for row in self.settings.tables_and_figures]
        for kind, number in (("Table", self.settings.tables), ("Figure", self.settings.figures)):
            for item in range(1, number + 1):
                if listed.count(f"{kind} {item}") != 1:
                    times = listed.count(f"{kind} {item}")
                    yield f"tables_and_figures: {kind} {item} has {times} rows; give it one"

    def misplaced(self) -> Iterator[str]:
        for row in self.settings.tables_and_figures:
            for key in row.keys:
                if not key.startswith(("tables.", "figures.")):
                    yield (
                        f"tables_and_figures: {row.what!r}: key {key!r}; name a table or figure, "
                        "or no key and the reason"
                    )

    def row_problems(self) -> Iterator[str]:
        for section, row in self.settings.rows:
            place = f"{section}: {row.what!r}"
            try:
                departs = self.departs(row)
            except RevocabError as error:
                yield from (f"{place}: {problem}" for problem in error.problems)
                continue
            if departs and row.reason is None:
                yield (
                    f"{place}: the paper has {shown(row.paper)}, we have {self.own(row)}; "
                    "give a reason, or change one of them"
                )
            if row.reason and not departs:
                both = f"both have {self.own(row)}"
                yield f"{place}: a reason, but nothing differs: {both}; remove the reason"
            if row.ours and row.value is not None:
                yield f"{place}: ours and value; a value is compared, so remove one of them"

    def values(self, row: Row) -> list[Any]:
        """Return what the experiment has under the row's keys, in their order."""
        experiment = self.experiment(row.overlays)
        return [value for key in row.keys for value in values_at(experiment, key)]

    def value(self, row: Row) -> Any:
        """Return what the experiment has under the row's keys: one value if they agree."""
        values = self.values(row)
        distinct = [value for place, value in enumerate(values) if value not in values[:place]]
        return distinct[0] if len(distinct) == 1 else distinct

    def departs(self, row: Row) -> bool:
        """Tell whether ours differs from the paper's, by value or because the row says so.

        Of a table or a run under a key, only its existence can be compared.
        """
        value = self.value(row)
        if not row.keys or row.paper is None or row.ours:
            return True
        if row.product is not None:
            return not isclose(prod(self.values(row)), row.product, rel_tol=ROUNDED)
        if is_thing(value) and row.value is None:
            return False
        return bool(comparable(value) != (row.paper if row.value is None else row.value))

    def own(self, row: Row) -> str:
        value = self.value(row)
        title = value.title if is_thing(value) and hasattr(value, "title") else ""
        words = row.ours or title or ("" if is_thing(value) else shown(comparable(value)))
        if row.product is not None:
            values = self.values(row)
            words = f"{' × '.join(map(shown, values))} = {round(prod(values)):,}"
        keys = ", ".join(f"`{key}`" for key in row.keys)
        keys += "".join(f" with `overlays/{overlay}.yaml`" for overlay in row.overlays)
        if not keys:
            return row.ours or "—"
        return f"{words} ({keys})" if words else keys

    @cached_property
    def page(self) -> str:
        settings, rows = self.settings, list(self.settings.rows)
        departures = sum(row.reason is not None for _, row in rows)
        lines = [f"# {settings.title}", "", settings.intro.strip(), ""]
        lines += [
            f"`make papers` writes this page from `{self.file}` and `{settings.experiment}`: "
            f"{len(rows)} rows, of which {departures} give the reason for a difference or an "
            "assumption.",
            "",
        ]
        for section, title in SECTIONS.items():
            rows_shown = [
                HEADER,
                ["---"] * len(HEADER),
                *map(self.cells, getattr(settings, section)),
            ]
            lines += [f"## {title}", "", *(f"| {' | '.join(cells)} |" for cells in rows_shown), ""]
        return "\n".join([*lines, *([settings.notes.strip(), ""] if settings.notes else [])])

    def cells(self, row: Row) -> list[str]:
        texts = [row.what, shown(row.paper), row.where, row.released or "—"]
        texts += [self.own(row), row.reason or "—"]
        return [text.replace("|", "\\|") for text in texts]


def values_at(experiment: Experiment, key: str) -> list[Any]:
    """Return what a dotted path leads to, several things where it has a ``*``.

    Raises :class:`RevocabError` where the path ends before the key does.
    """
    reached: list[Any] = [experiment]
    way: list[str] = []
    for part in key.split("."):
        inner = [children(thing) for thing in reached]
        if missing := [names for names in inner if part != "*" and part not in names]:
            here = ".".join(way) or "the experiment"
            allowed = ", ".join(missing[0]) or "nothing"
            raise RevocabError(
                f"key {key!r}: {here} has no {part!r}; it has {allowed}{near(part, missing[0])}"
            )
        reached = [x for named in inner for x in (named.values() if part == "*" else [named[part]])]
        way.append(part)
    return reached


def children(value: Any) -> dict[str, Any]:
    """Return what is in a model, a mapping or a list, by name; entries without names of
    their own by number."""
    if isinstance(value, Closed):
        return {name: getattr(value, name) for name in type(value).model_fields}
    if isinstance(value, dict):
        return {str(key): item for key, item in value.items()}
    if isinstance(value, list | tuple):
        names = [str(getattr(item, "name", place)) for place, item in enumerate(value)]
        distinct = len(set(names)) == len(names)
        return dict(zip(names if distinct else map(str, range(len(names))), value, strict=True))
    return {}


def is_thing(value: Any) -> bool:
    """Tell whether a value is or contains a model, which no text of a paper can equal."""
    if isinstance(value, dict):
        return any(is_thing(item) for item in value.values())
    if isinstance(value, list | tuple):
        return any(is_thing(item) for item in value)
    return isinstance(value, Closed)


def comparable(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [comparable(item) for item in value]
    return "none" if value is None else value


def shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {shown(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(shown, value))
    if isinstance(value, float):
        return f"{value:.6g}".replace("e-0", "e-")
    if type(value) is int and abs(value) >= 10_000:
        return f"{value:,}"
    return WORDS[value] if value is None or isinstance(value, bool) else str(value)


def main() -> None:
    """Write the page of every settings file."""
    for file in sorted(ROOT.glob("config/published/*/settings.yaml")):
        compared = Compared(file, ROOT)
        write_text(ROOT / f"docs/papers/{compared.settings.page}.md", compared.page)


if __name__ == "__main__":
    run(main)
