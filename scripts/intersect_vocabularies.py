"""Intersect two vocabularies: which target tokens the source holds, and a report."""

from __future__ import annotations

import argparse
from pathlib import Path

from revocab.cli import run


def main() -> None:
    """Read the command line and write the intersection folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True, help="source tokenizer folder")
    parser.add_argument("--target", type=Path, required=True, help="target tokenizer folder")
    parser.add_argument(
        "--identity",
        choices=["bytes", "marker"],
        default="bytes",
        help="compare what tokens stand for, or spellings as the SAVA release does",
    )
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    arguments = parser.parse_args()

    from revocab.vocabulary.intersection import intersect_folders

    intersect_folders(arguments.source, arguments.target, arguments.identity, arguments.out)


if __name__ == "__main__":
    run(main)
