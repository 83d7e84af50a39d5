"""Count the parameters of architectures from their configurations, without weights."""

from __future__ import annotations

import argparse
from pathlib import Path

from revocab.cli import run


def main() -> None:
    """Read the command line and write one row per architecture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--architecture",
        action="extend",
        nargs="+",
        required=True,
        metavar="JSON",
        help='{"label": …, "vocabulary_size": …, "architecture": {…}}',
    )
    parser.add_argument("--out", type=Path, required=True, help="CSV file")
    arguments = parser.parse_args()

    from revocab.models.parameters import write_parameters

    write_parameters(arguments.architecture, arguments.out)


if __name__ == "__main__":
    run(main)
