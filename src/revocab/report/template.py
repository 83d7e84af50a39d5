"""The templates of the report, and what they call: labels, escapes, and the lines of notes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revocab.corpora.word_splitters import GET_SENTENCES, SENTENCES
from revocab.evaluation.generation.kind import generation_kinds
from revocab.evaluation.metrics import COMET_METRICS
from revocab.evaluation.over_seeds import FEWEST_SEEDS, SIGNIFICANT, most_exchanges
from revocab.languages import language_label
from revocab.report.runs import anchor, group_tasks, headed, method_label, metric_label, numbered
from revocab.report.table import MISSING, OTHERWISE, RECOMPUTED, Table

if TYPE_CHECKING:
    from jinja2 import Environment

    from revocab.report.results import Results

TEMPLATES = Path(__file__).parent / "templates"

_LATEX = str.maketrans({
    "†": r"\textdagger{}", "‡": r"\textdaggerdbl{}",
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "±": r"$\pm$", "×": r"$\times$", "–": "--", "<": r"\textless{}", ">": r"\textgreater{}",
    "\n": r" \newline ",
})  # fmt: skip
_MARKDOWN = str.maketrans({**{mark: f"\\{mark}" for mark in "\\`*_|<>[]&~$"}, "\n": "<br>"})


def latex_escape(content: str) -> str:
    return content.translate(_LATEX)


def markdown_escape(content: str) -> str:
    return content.translate(_MARKDOWN)


def readable(value: Any) -> str:
    """Return a number for reading, with five significant digits or, of a count, all of them; a
    text as it is, names with their values, a dash for nothing.
    """
    if isinstance(value, dict):
        value = ", ".join(f"{key}: {content}" for key, content in value.items()) or None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int | float):
        return f"{value:,}" if isinstance(value, int) else f"{value:,.5g}"
    return MISSING if value is None else str(value)


def runs_of_equals(names: list[str]) -> list[tuple[str, int]]:
    return [(name, len(list(same))) for name, same in itertools.groupby(names)]


def metric_families(results: Results, tasks: Iterable[str]) -> dict[str, list[str]]:
    """Return the families of multiple-choice tasks by the metric that is shown of them."""
    families: dict[str, list[str]] = {}
    for task in tasks:
        family = results.family(task)
        families.setdefault(results.scores.shown_metric(task, family), []).append(family)
    return dict(sorted(families.items()))


def rows_of_runs(results: Results, name: str) -> list[dict[str, str]]:
    return [row for run in results.runs for row in results.csv("runs", run.scored_id, name)]


@cache
def environment(*folders: Path) -> Environment:
    """Return what renders the templates here and in further folders; only HTML is escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    jinja = Environment(
        loader=FileSystemLoader([*folders, TEMPLATES]),
        autoescape=lambda name: name is not None and name.endswith("html.j2"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.do"],
    )
    jinja.filters |= {
        "language": language_label, "metric": metric_label, "method": method_label,
        "latex": latex_escape, "markdown": markdown_escape, "number": readable,
        "apply": lambda value, function: function(value),
    }  # fmt: skip
    from revocab.report.runs import text_languages
    from revocab.report.tables.ranking import point_label  # which tables are made of notes of
    from revocab.report.values import metric_of

    jinja.globals |= {
        "anchor": anchor, "comet_metrics": COMET_METRICS, "fewest_seeds": FEWEST_SEEDS,
        "generation_kinds": generation_kinds, "get_sentences": GET_SENTENCES,
        "group_tasks": group_tasks, "headed": headed, "metric_families": metric_families,
        "metric_of": metric_of, "missing": MISSING, "most_exchanges": most_exchanges,
        "numbered": numbered, "otherwise": OTHERWISE, "point_label": point_label,
        "recomputed": RECOMPUTED, "rows_of_runs": rows_of_runs, "runs_of_equals": runs_of_equals,
        "sentences": SENTENCES, "significant": SIGNIFICANT, "text_languages": text_languages,
    }  # fmt: skip
    return jinja


def notes(macro: str, *about: Any) -> list[str]:
    """Return the lines of a macro or text of ``notes.j2``, each once; none of what it lacks."""
    written = getattr(environment().get_template("notes.j2").module, macro, "")
    lines = written(*about) if callable(written) else written
    return [*dict.fromkeys(filter(None, map(str.strip, lines.splitlines())))]


def rendered(table: Table, ending: str) -> str:
    """Return a table as the file with this ending has it: its CSV has numbers to compute with."""
    if ending == "csv":
        return table.as_csv()
    return environment().get_template(f"table.{ending}.j2").render(table=table)
