"""Cut each corpus's held-out documents into windows for held-out loss."""

from __future__ import annotations

import argparse
from pathlib import Path

from revocab.cli import named_path, run


def main() -> None:
    """Parse the command line and pack."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokenizer", type=Path, required=True, metavar="DIR")
    parser.add_argument(
        "--corpus", type=named_path, required=True, action="append", metavar="ID=DIR"
    )
    parser.add_argument("--sequence-length", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    options = parser.parse_args()

    from revocab.training.heldout import pack_heldout_folder
    from revocab.training.startup import pretend_absent

    pretend_absent("torch", "datasets", "scipy")
    pack_heldout_folder(
        options.tokenizer, dict(options.corpus), options.sequence_length, options.out
    )


if __name__ == "__main__":
    run(main)
