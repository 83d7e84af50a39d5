"""Measure tokenizers on corpora: tokens per word, per character, words split, and parity."""

from __future__ import annotations

import argparse
from pathlib import Path

from revocab.cli import named_path, run


def main() -> None:
    """Read the command line and write the fertility folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--tokenizer",
        nargs="+",
        action="extend",
        type=named_path,
        required=True,
        metavar="ID=FOLDER",
        help="tokenizer folders",
    )
    parser.add_argument(
        "--corpus",
        nargs="+",
        action="extend",
        type=named_path,
        required=True,
        metavar="ID=FOLDER",
        help="prepared corpora; their train split is measured",
    )
    parser.add_argument("--limit-documents", type=int, help="first n documents of each corpus")
    parser.add_argument("--limit-bytes", type=int, help="first n bytes of each corpus")
    parser.add_argument(
        "--splitter",
        choices=["nltk", "nltk_rules", "unicode"],
        default="nltk",
        help="what a word is; nltk falls back on its rules where it has no sentence data",
    )
    parser.add_argument(
        "--parallel",
        help="rows that say the same in several languages: FILE.jsonl[.gz], LANG=FILE,… or hub:ID…",
    )
    parser.add_argument(
        "--languages", nargs="+", help="fields of the parallel rows, the reference first"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    arguments = parser.parse_args()
    if (arguments.parallel is None) != (arguments.languages is None):
        parser.error("--parallel and --languages belong together")

    from revocab.vocabulary.fertility import fertility_of_folders

    fertility_of_folders(
        dict(arguments.tokenizer),
        dict(arguments.corpus),
        arguments.out,
        limit_documents=arguments.limit_documents,
        limit_bytes=arguments.limit_bytes,
        splitter=arguments.splitter,
        parallel=arguments.parallel,
        languages=arguments.languages,
    )


if __name__ == "__main__":
    run(main)
