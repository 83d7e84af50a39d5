"""Pack training text into shards of token rows, mixed by tokens, in training order."""

from __future__ import annotations

import argparse
from pathlib import Path

from revocab.cli import run
from revocab.errors import RevocabError


def corpus(text: str) -> tuple[str, tuple[float | None, ...], Path]:
    """Parse ``ID=SHARE=FOLDER`` or ``ID=SHARE,SHARE…=FOLDER``; ``size`` becomes ``None``."""
    parts = text.split("=", 2)
    try:
        shares = tuple(None if one == "size" else float(one) for one in parts[1].split(","))
        name, folder = parts[0], Path(parts[2])
    except (IndexError, ValueError):
        raise argparse.ArgumentTypeError(f"{text!r}: expected ID=SHARE=FOLDER") from None
    return name, shares, folder


def stage(text: str) -> tuple[str, int]:
    """Parse ``NAME=ROWS``."""
    name, _, rows = text.partition("=")
    if not name or not rows.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r}: expected NAME=ROWS")
    return name, int(rows)


def main() -> None:
    """Parse the command line and pack."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokenizer", type=Path, required=True, metavar="DIR")
    parser.add_argument(
        "--corpus", type=corpus, required=True, action="append", metavar="ID=SHARE=DIR",
        help="share of rows, or 'size'; with --stage one for each, between commas, 0 for none",
    )  # fmt: skip
    parser.add_argument("--sequence-length", type=int, required=True)
    parser.add_argument("--rows", type=int, required=True, help="steps times batch size")
    parser.add_argument(
        "--stage", type=stage, action="append", default=[], metavar="NAME=ROWS",
        help="a part of the rows with its own shares, in order (default: all rows have the same)",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument(
        "--document-start",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="bos before each document",
    )
    parser.add_argument("--document-end", action="store_true", help="eos after each document")
    parser.add_argument(
        "--repeat-corpora", action="store_true", help="start a corpus again when it ends"
    )
    parser.add_argument(
        "--document-masking", action="store_true", help="mark documents: no attention across them"
    )
    parser.add_argument(
        "--size-exponent", type=float, default=1.0, help="shares 'size' go by bytes to this power"
    )
    parser.add_argument(
        "--heldout", type=Path, action="append", default=[], metavar="DIR",
        help="corpus whose held-out documents are left out of every corpus",
    )  # fmt: skip
    parser.add_argument("--shard-bytes", type=int, help="most bytes of tokens in a file")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    options = parser.parse_args()

    from revocab.training.packed_folder import pack_folder
    from revocab.training.packing import PackingOptions
    from revocab.training.shards import SHARD_BYTES
    from revocab.training.startup import pretend_absent

    pretend_absent("torch", "datasets", "scipy")
    corpora = {name: (shares, folder) for name, shares, folder in options.corpus}
    if len(corpora) < len(options.corpus):
        raise RevocabError("--corpus: an id is given twice; give each corpus once")
    pack_folder(
        options.tokenizer,
        corpora,
        PackingOptions(
            sequence_length=options.sequence_length,
            rows=options.rows,
            seed=options.seed,
            document_start=options.document_start,
            document_end=options.document_end,
            repeat_corpora=options.repeat_corpora,
            document_masking=options.document_masking,
            size_exponent=options.size_exponent,
            stages=tuple(options.stage),
        ),
        options.out,
        options.heldout,
        SHARD_BYTES if options.shard_bytes is None else options.shard_bytes,
    )


if __name__ == "__main__":
    run(main)
