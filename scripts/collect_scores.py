"""Collect every score of a results folder in one long table, the published value beside each."""

from __future__ import annotations

import argparse
from pathlib import Path

from revocab.cli import named, run


def main() -> None:
    """Read the command line and write scores.parquet and scores.csv."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, required=True, help="results folder to read")
    parser.add_argument("--experiment", type=Path, help="default: experiment.json in --results")
    parser.add_argument(
        "--metric",
        nargs="+",
        action="extend",
        default=[],
        type=named(),
        metavar="FAMILY=METRIC",
        help="metric that stands for a family (acc or acc_norm), in place of the usual one",
    )
    parser.add_argument("--out", type=Path, required=True, help="scores.parquet to write")
    arguments = parser.parse_args()

    from revocab.report.scores import collect_scores

    collect_scores(arguments.results, arguments.out, arguments.experiment, dict(arguments.metric))


if __name__ == "__main__":
    run(main)
