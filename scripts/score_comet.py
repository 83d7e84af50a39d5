"""Score generated translations with COMET-22 and xCOMET, in unbabel-comet's own environment."""

from __future__ import annotations

import argparse
from pathlib import Path

from revocab.cli import named, named_path, run


def main() -> None:
    """Read the command line and write the table and the scores of items."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", required=True, metavar="ID", help="goes into the table")
    parser.add_argument("--generation", required=True, type=Path, metavar="DIR")
    parser.add_argument(
        "--prompts", required=True, action="append", type=named_path, metavar="TASK=JSONL"
    )
    parser.add_argument(
        "--model", required=True, action="append", type=named(), metavar="METRIC=MODEL",
        help="comet22 or xcomet, and a .ckpt file, a folder that holds one, or a Hub id",
    )  # fmt: skip
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--gpus", type=int, default=0)
    parser.add_argument("--out", required=True, type=Path, metavar="CSV")
    options = parser.parse_args()

    from revocab.evaluation.comet import score_run

    score_run(
        options.run,
        options.generation,
        options.prompts,
        options.model,
        options.out,
        batch_size=options.batch_size,
        gpus=options.gpus,
    )


if __name__ == "__main__":
    run(main)
