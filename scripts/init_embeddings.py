"""Initialise a model for a new vocabulary and write a folder that loads everywhere."""

from __future__ import annotations

import argparse
from pathlib import Path

from revocab.cli import named, run


def main() -> None:
    """Read the command line and write the adapted model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True, help="model folder (safetensors)")
    parser.add_argument(
        "--source-tokenizer", type=Path, help="its tokenizer folder; default: the model folder"
    )
    parser.add_argument("--target-tokenizer", type=Path, help="tokenizer folder; not for lapt")
    parser.add_argument(
        "--pairs", type=Path, help="folder of intersect_vocabularies; else made here"
    )
    parser.add_argument("--identity", choices=["bytes", "marker"], default="bytes")
    parser.add_argument("--method", required=True)
    parser.add_argument(
        "--option", type=named(), action="extend", nargs="+", default=[], metavar="KEY=VALUE"
    )
    parser.add_argument("--helper", type=Path, help="model folder with the target tokenizer")
    parser.add_argument(
        "--auxiliary", type=Path, help="folder of train_auxiliary, for auxiliary=fasttext"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu", help="where to compute, such as cuda")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings")
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    arguments = parser.parse_args()

    from revocab.initialise.apply import initialise_model
    from revocab.initialise.options import parse_options
    from revocab.progress import silent, spoken

    initialise_model(
        arguments.source,
        arguments.out,
        arguments.method,
        parse_options(arguments.option),
        target_tokenizer=arguments.target_tokenizer,
        source_tokenizer=arguments.source_tokenizer,
        pairs=arguments.pairs,
        identity=arguments.identity,
        helper=arguments.helper,
        auxiliary=arguments.auxiliary,
        seed=arguments.seed,
        device=arguments.device,
        say=silent if arguments.quiet else spoken(),
    )


if __name__ == "__main__":
    run(main)
