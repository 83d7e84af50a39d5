"""Compare the runs of a group item by item: differences, intervals and p-values."""

from __future__ import annotations

from revocab.cli import results_parser, run


def step(text: str) -> str | int:
    """Return a step: first, last or a number."""
    return int(text) if text.isdigit() else text


def main() -> None:
    """Read the command line and write the comparisons."""
    parser = results_parser(__doc__, "table of comparisons to write")
    parser.add_argument("--group", required=True, metavar="ID")
    parser.add_argument(
        "--step", required=True, action="append", type=step, help="first, last or a number"
    )
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=17)
    options = parser.parse_args()

    from revocab.report.significance import compare_runs

    compare_runs(
        options.results,
        options.group,
        options.step,
        options.out,
        resamples=options.resamples,
        seed=options.seed,
        experiment=options.experiment,
    )


if __name__ == "__main__":
    run(main)
