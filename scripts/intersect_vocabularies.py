"""Intersect two vocabularies: which target tokens the source holds, and a report."""

from __future__ import annotations

import argparse
from pathlib import Path

from revocab.cli import named_last, run


def main() -> None:
    """Read the command line and write the intersection folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    kinds = "tokenizer folder, or .tiktoken file"
    parser.add_argument("--source", type=Path, required=True, help=f"source {kinds}")
    parser.add_argument("--target", type=Path, required=True, help=f"target {kinds}")
    parser.add_argument(
        "--identity",
        choices=["bytes", "marker"],
        default="bytes",
        help="compare what tokens stand for, or spellings as the SAVA release does",
    )
    for flag, holder in (
        ("--roles", "whichever vocabulary holds them"),
        ("--source-roles", "the source vocabulary"),
        ("--target-roles", "the target vocabulary"),
    ):
        parser.add_argument(
            flag,
            nargs="+",
            action="extend",
            type=named_last,
            default=[],
            metavar="SPELLING=ROLE",
            help=f"roles of special tokens in {holder}; equal roles are one token",
        )
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    arguments = parser.parse_args()

    from revocab.vocabulary.intersection import intersect_folders

    intersect_folders(
        arguments.source,
        arguments.target,
        arguments.identity,
        arguments.out,
        roles=dict(arguments.roles),
        source_roles=dict(arguments.source_roles),
        target_roles=dict(arguments.target_roles),
    )


if __name__ == "__main__":
    run(main)
