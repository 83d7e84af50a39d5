"""Build the report: one page with every table, figure and fact, without any network."""

from __future__ import annotations

from revocab.cli import results_parser, run


def main() -> None:
    """Read the command line and write the page."""
    arguments = results_parser(__doc__, "report.html to write", resources=True).parse_args()

    from revocab.report.html import build_report

    build_report(arguments.results, arguments.out, arguments.experiment, arguments.resources)


if __name__ == "__main__":
    run(main)
