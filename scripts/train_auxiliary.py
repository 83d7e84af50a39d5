"""Train fastText vectors of target tokens, for methods with the option auxiliary=fasttext."""

from __future__ import annotations

import argparse
from pathlib import Path

from revocab.cli import named_path, run


def main() -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target-tokenizer", type=Path, required=True, metavar="DIR")
    parser.add_argument(
        "--source-tokenizer",
        type=Path,
        required=True,
        action="append",
        metavar="DIR",
        help="its tokens get vectors by their n-grams; may be repeated",
    )
    parser.add_argument(
        "--corpus", type=named_path, required=True, action="append", metavar="ID=DIR"
    )
    parser.add_argument("--dimension", type=int, default=100)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--min-count", type=int, default=10, help="rarer tokens are not trained")
    parser.add_argument("--buckets", type=int, default=2_000_000, help="hash buckets of n-grams")
    parser.add_argument("--limit-documents", type=int, help="of each corpus")
    parser.add_argument("--limit-bytes", type=int, help="of each corpus")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    arguments = parser.parse_args()

    from revocab.initialise.fasttext import FastTextOptions, train_auxiliary

    train_auxiliary(
        arguments.target_tokenizer,
        arguments.source_tokenizer,
        dict(arguments.corpus),
        arguments.out,
        FastTextOptions(
            dimension=arguments.dimension,
            epochs=arguments.epochs,
            min_count=arguments.min_count,
            buckets=arguments.buckets,
            seed=arguments.seed,
        ),
        limit_documents=arguments.limit_documents,
        limit_bytes=arguments.limit_bytes,
    )


if __name__ == "__main__":
    run(main)
