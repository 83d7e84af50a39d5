"""Check finished results: every table and figure there, every score in range, nothing missing."""

from __future__ import annotations

from revocab.cli import results_parser, run


def main() -> None:
    """Read the command line, check, and write checks.json; list every problem otherwise."""
    arguments = results_parser(__doc__, "checks.json to write", resources=True).parse_args()

    from revocab.report.checks import check_artefacts

    check_artefacts(arguments.results, arguments.out, arguments.experiment, arguments.resources)


if __name__ == "__main__":
    run(main)
