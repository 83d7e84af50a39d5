"""Check finished results: every table and figure there, every score in range, nothing missing."""

from __future__ import annotations

import argparse
from pathlib import Path

from revocab.cli import run


def main() -> None:
    """Read the command line, check, and write checks.json; list every problem otherwise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, required=True, help="results folder to check")
    parser.add_argument("--experiment", type=Path, help="default: experiment.json in --results")
    parser.add_argument(
        "--resources", type=Path, help="default: resources/EXPERIMENT beside the results"
    )
    parser.add_argument("--out", type=Path, required=True, help="checks.json to write")
    arguments = parser.parse_args()

    from revocab.report.checks import check_artefacts

    check_artefacts(arguments.results, arguments.out, arguments.experiment, arguments.resources)


if __name__ == "__main__":
    run(main)
