"""Build the report: one page with every table, figure and fact, without any network."""

from __future__ import annotations

import argparse
from pathlib import Path

from revocab.cli import run


def main() -> None:
    """Read the command line and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, required=True, help="results folder to read")
    parser.add_argument("--experiment", type=Path, help="default: experiment.json in --results")
    parser.add_argument(
        "--resources", type=Path, help="default: resources/EXPERIMENT beside the results"
    )
    parser.add_argument("--out", type=Path, required=True, help="report.html to write")
    arguments = parser.parse_args()

    from revocab.report.html import build_report

    build_report(arguments.results, arguments.out, arguments.experiment, arguments.resources)


if __name__ == "__main__":
    run(main)
