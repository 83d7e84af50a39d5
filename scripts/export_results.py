"""Write one Markdown page with an experiment's facts, tables and figures, for docs/."""

from __future__ import annotations

import argparse
from pathlib import Path

from revocab.cli import run


def main() -> None:
    """Read the command line, write the page and copy the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, required=True, help="results folder to read")
    parser.add_argument("--experiment", type=Path, help="default: experiment.json in --results")
    parser.add_argument("--out", type=Path, required=True, help="Markdown page to write")
    parser.add_argument("--date", required=True, help="when the run was made")
    parser.add_argument("--command", required=True, help="the command that made it")
    parser.add_argument("--figures", type=Path, required=True, help="folder for the figures")
    parser.add_argument(
        "--without", action="append", default=[], metavar="TABLE", help="a table to leave out"
    )
    arguments = parser.parse_args()

    from revocab.report.page.export import export_results

    export_results(
        arguments.results,
        arguments.out,
        arguments.figures,
        date=arguments.date,
        command=arguments.command,
        experiment=arguments.experiment,
        without=arguments.without,
    )


if __name__ == "__main__":
    run(main)
