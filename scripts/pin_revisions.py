"""Write the commits that finished results were made from as an overlay that pins the experiment."""

from __future__ import annotations

import sys

from revocab.cli import results_parser, run


def main() -> None:
    """Read the command line, write the overlay, and say what stays loose."""
    arguments = results_parser(__doc__, "YAML file to write", resources=True).parse_args()

    from revocab.report.results.pins import write_pins

    pins = write_pins(arguments.results, arguments.out, arguments.experiment, arguments.resources)
    for one in pins.loose:
        print(f"not pinned: {one}", file=sys.stderr)


if __name__ == "__main__":
    run(main)
