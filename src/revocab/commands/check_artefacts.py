"""Check every table, figure and score of an experiment; list all problems."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from revocab.closed import Job
from revocab.command import Command, Nothing
from revocab.marker import ORIGIN, changed_since
from revocab.report.inputs import ResultsAndResources

if TYPE_CHECKING:
    from revocab.experiment.layout import Layout
    from revocab.report.results import Results


def run(inputs: ResultsAndResources, job: Job, machine: Nothing, out: Path) -> None:
    from revocab.report.checks import check_artefacts

    check_artefacts(inputs.results, out, inputs.experiment, inputs.resources, changed_files)


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


COMMAND = Command(
    run,
    out="checks.json to write",
    writes="file",
    finds=("report/tables", "evaluation/generation/kinds"),
)
