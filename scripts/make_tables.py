"""Write every configured table as CSV, Markdown and LaTeX."""

from __future__ import annotations

from revocab.cli import results_parser, run


def main() -> None:
    """Read the command line and write the tables."""
    parser = results_parser(__doc__, "folder to write")
    arguments = parser.parse_args()

    from revocab.report.tables import make_tables

    make_tables(arguments.results, arguments.out, arguments.experiment)


if __name__ == "__main__":
    run(main)
