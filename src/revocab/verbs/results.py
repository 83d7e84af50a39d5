"""Results: the scores of an experiment in one table, comparisons, tables, figures, report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from revocab.closed import Job
from revocab.evaluation.options import ComparisonJob
from revocab.marker import ORIGIN, changed_since
from revocab.report.results.folder import ExperimentJob, ResultsFolder
from revocab.verb import verb

if TYPE_CHECKING:
    from revocab.experiment.layout import Layout
    from revocab.report.results import Results

TABLES, FIGURES, METHODS = "report/tables", "report/figures", "initialise/methods"
KINDS = "evaluation/generation/kinds"


@verb(out="JSON file to write", writes="file", finds=(METHODS,))
def write_experiment(*, options: ExperimentJob, out: Path) -> None:
    """Write an experiment and its runs as one file, which the report reads."""
    from revocab.io import write_json
    from revocab.output import check_files

    check_files(out)
    write_json(out, options.model_dump())


@verb(out="scores.parquet to write", writes="file")
def collect_scores(*, inputs: ResultsFolder, options: Job, out: Path) -> None:
    """Collect every score of an experiment, ours and the published ones, in one table."""
    from revocab.report.results.scores import collect_scores

    collect_scores(inputs.results, out, inputs.experiment)


@verb(out="CSV file to write", writes="file", finds=(KINDS,))
def compare_runs(*, inputs: ResultsFolder, options: ComparisonJob, out: Path) -> None:
    """Compare the runs of a group item by item: differences, intervals, p-values."""
    from revocab.report.results.significance import compare_runs

    compare_runs(inputs.results, options, out, inputs.experiment)


@verb(finds=(TABLES, METHODS, KINDS))
def make_tables(*, inputs: ResultsFolder, options: Job, out: Path) -> None:
    """Make every table of an experiment, as CSV, Markdown and LaTeX."""
    from revocab.report.make_tables import make_tables

    make_tables(inputs.results, out, inputs.experiment)


@verb(finds=(FIGURES, METHODS))
def make_figures(*, inputs: ResultsFolder, options: Job, out: Path) -> None:
    """Draw every figure of an experiment, as SVG and PNG."""
    from revocab.report.make_tables import make_figures

    make_figures(inputs.results, out, inputs.experiment)


@verb(
    out="report.html to write",
    writes="file",
    finds=(TABLES, FIGURES, "report/claims", METHODS, KINDS),
)
def build_report(*, inputs: ResultsFolder, options: Job, out: Path) -> None:
    """Build the HTML report of an experiment: tables, figures, and what they are based on."""
    from revocab.report.page import build_report

    build_report(inputs.results, out, inputs.experiment)


@verb(out="checks.json to write", writes="file", finds=(TABLES, KINDS))
def check_artefacts(*, inputs: ResultsFolder, options: Job, out: Path) -> None:
    """Check every table, figure and score of an experiment; list all problems."""
    from revocab.report.results.scores import check_artefacts

    check_artefacts(inputs.results, out, inputs.experiment, changed_files)


def changed_files(results: Results) -> Iterator[str]:
    """Yield what is no longer as its job wrote it; nothing for results that lie elsewhere now.

    The report and what this check has written are looked at where they are there, and not in a job
    of the workflow, which makes both anew.
    """
    from revocab.experiment.layout import Layout

    layout = Layout(results.experiment)
    if Path(layout.paths.results).resolve() == results.root.resolve():
        files = files_of(layout, published=not ORIGIN.get().name)
        yield from changed_since(files, layout.experiment.experiment)


def files_of(layout: Layout, *, published: bool) -> Iterable[Path]:
    """Yield what an experiment ends in: everything else was read for it."""
    folder = Path(layout.paths.results)
    yield from map(Path, (*layout.read_by("build_report"), *layout.drops))
    yield from (folder / name for name in ("scores.parquet", "experiment.json"))
    if published:
        ends = (folder / name for name in ("report.html", "checks.json"))
        yield from (file for file in ends if file.is_file())
