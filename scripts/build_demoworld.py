"""Generate the demo's bilingual world: documents, parallel sentences, passages, test items."""

import argparse
from pathlib import Path

from revocab.cli import run


def main() -> None:
    """Read the command line and write the world's folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--documents", type=int, required=True, help="per language")
    parser.add_argument("--parallel", type=int, required=True, help="pairs, a quarter of them test")
    parser.add_argument("--questions", type=int, required=True, help="passages, a quarter test")
    parser.add_argument("--items", type=int, required=True, help="test items per family, language")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    from revocab.demoworld.build import write_world

    write_world(
        arguments.out,
        seed=arguments.seed,
        documents_per_language=arguments.documents,
        pairs=arguments.parallel,
        questions=arguments.questions,
        items=arguments.items,
    )


if __name__ == "__main__":
    run(main)
