"""Collect every score of a results folder in one long table, the published value beside each."""

from __future__ import annotations

from revocab.cli import named, results_parser, run


def main() -> None:
    """Read the command line and write scores.parquet and scores.csv."""
    parser = results_parser(__doc__, "scores.parquet to write")
    parser.add_argument(
        "--metric",
        nargs="+",
        action="extend",
        default=[],
        type=named(),
        metavar="FAMILY=METRIC",
        help="metric that stands for a family (acc or acc_norm), in place of the usual one",
    )
    arguments = parser.parse_args()

    from revocab.report.scores import collect_scores

    collect_scores(arguments.results, arguments.out, arguments.experiment, dict(arguments.metric))


if __name__ == "__main__":
    run(main)
