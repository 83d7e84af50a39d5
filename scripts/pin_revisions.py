"""Write the commits that finished results were made from as an overlay that pins the experiment."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from revocab.cli import run


def main() -> None:
    """Read the command line, write the overlay, and say what stays loose."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, required=True, help="results folder to read")
    parser.add_argument(
        "--resources", type=Path, help="default: resources/EXPERIMENT beside the results"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="YAML")
    options = parser.parse_args()

    from revocab.config.pins import write_pins

    for one in write_pins(options.results, options.resources, options.out).loose:
        print(f"not pinned: {one}", file=sys.stderr)


if __name__ == "__main__":
    run(main)
