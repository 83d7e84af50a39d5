"""Write every configured table as CSV, Markdown and LaTeX."""

from __future__ import annotations

import argparse
from pathlib import Path

from revocab.cli import run


def main() -> None:
    """Read the command line and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, required=True, help="results folder to read")
    parser.add_argument("--experiment", type=Path, help="default: experiment.json in --results")
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    arguments = parser.parse_args()

    from revocab.report.tables import make_tables

    make_tables(arguments.results, arguments.out, arguments.experiment)


if __name__ == "__main__":
    run(main)
