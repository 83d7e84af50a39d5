"""Build the demo's world: Italian and English text, sentence pairs, questions and test items."""

from __future__ import annotations

import argparse
from pathlib import Path

from revocab.cli import run


def main() -> None:
    """Read the command line and write the world's folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--documents", type=int, default=9000, help="documents per language")
    parser.add_argument("--parallel", type=int, default=1200, help="sentence pairs, 1/4 for test")
    parser.add_argument("--questions", type=int, default=900, help="passages, 1/4 for test")
    parser.add_argument("--items", type=int, default=150, help="test items per family and language")
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    arguments = parser.parse_args()

    from revocab.world.build import build_world

    build_world(
        arguments.out,
        seed=arguments.seed,
        documents=arguments.documents,
        parallel=arguments.parallel,
        questions=arguments.questions,
        items=arguments.items,
    )


if __name__ == "__main__":
    run(main)
