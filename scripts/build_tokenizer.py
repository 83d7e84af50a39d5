"""Build a tokenizer folder: train one on prepared corpora, or copy one from a folder or the Hub."""

from __future__ import annotations

import argparse
from pathlib import Path

from revocab.cli import run


def share_of_corpus(text: str) -> tuple[str, float, Path]:
    """Read ``ID=SHARE=FOLDER``."""
    try:
        corpus, share, folder = text.split("=", 2)
        return corpus, float(share), Path(folder)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: expected ID=SHARE=FOLDER") from None


def main() -> None:
    """Read the command line and write the tokenizer folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--train",
        nargs="+",
        action="extend",
        type=share_of_corpus,
        metavar="ID=SHARE=FOLDER",
        help="prepared corpora and their shares of the training bytes",
    )
    source.add_argument("--path", help="tokenizer folder to copy")
    source.add_argument("--hub", help="Hub id of a tokenizer to copy")
    parser.add_argument("--revision", help="commit, tag or branch on the Hub")
    parser.add_argument("--alphabet", choices=["byte_fallback", "byte_level"])
    parser.add_argument("--vocabulary-size", type=int)
    parser.add_argument("--limit-bytes", type=int, help="train on at most this much text")
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    arguments = parser.parse_args()
    if arguments.train and not (arguments.alphabet and arguments.vocabulary_size):
        parser.error("--train needs --alphabet and --vocabulary-size")

    from revocab.vocabulary.build import TrainingText, build_copied, build_trained

    if arguments.train:
        build_trained(
            [TrainingText(*part) for part in arguments.train],
            arguments.alphabet,
            arguments.vocabulary_size,
            arguments.out,
            limit_bytes=arguments.limit_bytes,
        )
    elif arguments.path:
        build_copied(Path(arguments.path), arguments.out)
    else:
        build_copied(arguments.hub, arguments.out, revision=arguments.revision)


if __name__ == "__main__":
    run(main)
