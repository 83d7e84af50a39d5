"""Check finished results: every table and figure there, every score in range, nothing missing."""

from __future__ import annotations

from pathlib import Path

from revocab.cli import results_parser, run


def main() -> None:
    """Read the command line, check, and write checks.json; list every problem otherwise."""
    parser = results_parser(__doc__, "checks.json to write")
    parser.add_argument(
        "--resources", type=Path, help="default: resources/EXPERIMENT beside the results"
    )
    arguments = parser.parse_args()

    from revocab.report.checks import check_artefacts

    check_artefacts(arguments.results, arguments.out, arguments.experiment, arguments.resources)


if __name__ == "__main__":
    run(main)
