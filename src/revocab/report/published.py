"""The paper's published values (``config/published/sava``), in the units of our own scores.

Multiple-choice accuracies and similarities are printed there in percent and held here as fractions;
COMET-22 and ROUGE-L are 0 to 100 in both.

A file of any table's values has a line per value, addressed as the table's CSV file names its
cells: table, block, row, column, value, stderr, note. ``table`` is the id in the experiment,
``block`` the heading above the row (empty: none), ``row`` the first cell, ``column`` the column's
name in the CSV file. Values are in the unit shown. A note stands under the table: of a cell, say,
that contradicts the average which the paper prints beside it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from revocab.errors import RevocabError, refuse
from revocab.io import read_rows
from revocab.links import check_links

#: Columns that name a run at a step.
RUN = ("source_model", "step", "method")
#: What a file of scores is of, by its header, whatever its name: the columns that name a value,
#: that of it, and what it is divided by.
SCORES: dict[tuple[str, ...], tuple[str, tuple[str, ...], str, float]] = {
    ("tokenizer", "corpus", "fertility_tokens_per_word"): (
        "fertility", ("tokenizer", "corpus"), "fertility_tokens_per_word", 1,
    ),
    (*RUN, "task", "score_percent", "stderr"): ("choice", (*RUN, "task"), "score_percent", 100),
    (*RUN, "task_metric", "score"): ("generation", (*RUN, "task_metric"), "score", 1),
    (*RUN, "similarity_percent"): ("similarity", RUN, "similarity_percent", 100),
}  # fmt: skip
PARAMETERS = ("model", "vocabulary_size", "parameters")
NAMES = ("kind", "ours", "published")
CELLS = ("table", "block", "row", "column", "value", "stderr", "note")
#: Columns that every line fills.
NEEDED = ("table", "row", "column")
#: What a letter behind a printed count stands for.
UNITS = {"K": 1e3, "M": 1e6, "B": 1e9}


@dataclass(frozen=True)
class PublishedCell:
    """One line of such a file; without a ``value`` the paper prints none, and a note says why."""

    table: str
    block: str
    row: str
    column: str
    value: float | None
    stderr: float | None
    note: str
    #: Shown behind the value (``table_parts/table.py``).
    mark: str = ""

    @property
    def place(self) -> tuple[str, str, str]:
        return self.block, self.row, self.column

    def label(self, parts: int = 3) -> str:
        return ", ".join(filter(None, self.place[:parts]))


class PaperValues:
    """Look-ups of published values. Every method returns None where the paper has no value.

    ``model`` is a group's label (the paper's name of the source model), ``name`` a run's name: a
    variant such as ``sava-lstsq`` therefore never borrows the value published for ``sava``.
    """

    def __init__(self, folder: str | Path | None = None):
        self._sizes: dict[tuple[str, str], str] = {}
        self._scores: dict[tuple[Any, ...], float] = {}
        self._names: dict[tuple[str, str], str] = {}
        self._cells: dict[str, list[PublishedCell]] = {}
        if folder is not None:
            self._read(Path(folder))

    def __bool__(self) -> bool:
        return bool(self._scores or self._sizes)

    def _read(self, folder: Path) -> None:
        files = sorted(folder.glob("*.csv"))
        if not files:
            raise RevocabError(f"paper_values: {folder} has no CSV file; see config/published/sava")
        check_links(folder, [file.name for file in files])
        for path in files:
            with path.open(encoding="utf-8", newline="") as handle:
                columns, rows = read_rows(handle)
            if (header := tuple(columns)) == CELLS:
                for cell in read_cells(path, rows):
                    self._cells.setdefault(cell.table, []).append(cell)
                continue
            for row in rows:
                self._add(path, header, row)

    def _add(self, path: Path, header: tuple[str, ...], row: dict[str, Any]) -> None:
        if header == NAMES:
            self._names[row["kind"], row["ours"]] = row["published"]
        elif header == PARAMETERS:
            for of in PARAMETERS[1:]:
                self._sizes[row["model"], of] = row[of]
        elif header not in SCORES:
            raise RevocabError(
                f"{path}: unknown columns {', '.join(header)}; the files in "
                "config/published/sava show those that are known"
            )
        else:
            kind, columns, column, whole = SCORES[header]
            key = [kind, *(int(row[name]) if name == "step" else row[name] for name in columns)]
            if kind == "choice":
                match = re.search(r"_(it|en)_", path.name)
                if not match:
                    raise RevocabError(
                        f"{path}: the file name must hold the language, _it_ or _en_"
                    )
                key.append(match[1])
            if row[column]:
                self._scores[tuple(key)] = float(row[column]) / whole

    def cells(self, table: str) -> list[PublishedCell]:
        return self._cells.get(table, [])

    def parameters(self, label: str) -> str | None:
        """Return the printed parameter count of a model, such as ``7.24B``."""
        return self._sizes.get((label, "parameters"))

    def size(self, label: str, of: str) -> float | None:
        """Return a model's printed ``vocabulary_size`` or ``parameters`` as a count."""
        printed = self._sizes.get((label, of))
        if printed is None:
            return None
        unit = UNITS.get(printed[-1], 1)
        return float(printed.rstrip("".join(UNITS))) * unit

    def fertility(self, tokenizer: str, corpus: str) -> float | None:
        """Return the fertility of our tokenizer id on our corpus id (``names.csv`` translates)."""
        names = (self._names.get(("tokenizer", tokenizer)), self._names.get(("corpus", corpus)))
        return self._scores.get(("fertility", *names))

    def multiple_choice(
        self, model: str, step: int, name: str, family: str, language: str
    ) -> float | None:
        """Return an accuracy as a fraction; family ``avg`` is the printed average."""
        return self._scores.get(("choice", model, step, name, family, language))

    def generation(self, model: str, step: int, name: str, task: str, metric: str) -> float | None:
        """Return a generation metric, 0 to 100.

        A printed metric that ``names.csv`` gives to one of ours is that of no other.
        """
        printed = {ours: theirs for (kind, ours), theirs in self._names.items() if kind == "metric"}
        if metric not in printed and metric in printed.values():
            return None
        printed_name = printed.get(metric, metric)
        return self._scores.get(("generation", model, step, name, f"{task}_{printed_name}"))

    def similarity(self, model: str, step: int, name: str) -> float | None:
        return self._scores.get(("similarity", model, step, name))


def read_cells(path: Path, rows: Sequence[dict[str, str]]) -> list[PublishedCell]:
    """Return the cells of a file; raise :class:`RevocabError` naming every line that is wrong."""
    problems = [
        f"{path}, line {line}: {problem}"
        for line, row in enumerate(rows, start=2)
        for problem in line_problems(row)
    ]
    refuse(problems)
    cells = [
        PublishedCell(
            **{key: row[key] or "" for key in ("table", "block", "row", "column", "note")},
            value=float(row["value"]) if row["value"] else None,
            stderr=float(row["stderr"]) if row["stderr"] else None,
        )
        for row in rows
    ]
    places = [(cell.table, *cell.place) for cell in cells]
    twice = {place for place in places if places.count(place) > 1}
    if twice:
        raise RevocabError(
            f"{path}: {', '.join(filter(None, place))}: given {places.count(place)} times; keep one"
            for place in sorted(twice)
        )
    return cells


def line_problems(row: dict[str, str]) -> Iterator[str]:
    for name in NEEDED:
        if not row[name]:
            yield f"{name} is empty; every line names {', '.join(NEEDED)}"
    for name in ("value", "stderr"):
        try:
            known = math.isfinite(float(row[name] or 0))
        except ValueError:
            known = False
        if not known:
            yield f"{name}: {row[name]!r} is not a number; give one, or leave it empty"
    if not row["value"] and not row["note"]:
        yield "value and note are empty; give a value, or a note that says why there is none"


def read_published(folder: str | Path | None) -> PaperValues:
    """Return the published values of a folder; it is read again only where a file has changed."""
    files = sorted(Path(folder).glob("*.csv")) if folder else []
    return _read(folder, tuple((file.name, file.stat().st_mtime_ns) for file in files))


@cache
def _read(folder: str | Path | None, files: tuple[tuple[str, int], ...]) -> PaperValues:
    return PaperValues(folder)
