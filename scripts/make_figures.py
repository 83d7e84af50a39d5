"""Draw every configured figure as SVG and PNG."""

from __future__ import annotations

from revocab.cli import results_parser, run


def main() -> None:
    """Read the command line and draw the figures."""
    parser = results_parser(__doc__, "folder to write")
    arguments = parser.parse_args()

    from revocab.report.figures import make_figures

    make_figures(arguments.results, arguments.out, arguments.experiment)


if __name__ == "__main__":
    run(main)
