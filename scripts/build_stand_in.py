"""Build a model folder of a given shape with random weights."""

from __future__ import annotations

import argparse
from pathlib import Path

from revocab.cli import run


def main() -> None:
    """Read the command line and write the model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokenizer", type=Path, required=True, help="tokenizer folder")
    parser.add_argument("--family", choices=["mistral", "llama"], required=True)
    for name in ("hidden-size", "intermediate-size", "layers", "heads", "kv-heads"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--tied", action="store_true", help="one matrix as embedding and LM head")
    parser.add_argument("--context-length", type=int, required=True, help="in tokens")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()

    from revocab.models.parameters import check_architecture
    from revocab.models.stand_in import build_stand_in

    architecture = check_architecture(
        {
            "family": arguments.family,
            "hidden_size": arguments.hidden_size,
            "intermediate_size": arguments.intermediate_size,
            "layers": arguments.layers,
            "heads": arguments.heads,
            "kv_heads": arguments.kv_heads,
            "tied": arguments.tied,
        }
    )
    build_stand_in(
        arguments.tokenizer,
        architecture,
        arguments.context_length,
        arguments.seed,
        arguments.out,
    )


if __name__ == "__main__":
    run(main)
