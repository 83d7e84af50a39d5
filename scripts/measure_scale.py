"""Time every method on one matrix of a real model's shape, with random values."""

from __future__ import annotations

import argparse
from pathlib import Path

from revocab.cli import named, run


def main() -> None:
    """Read the command line, measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source-tokenizer", type=Path, required=True)
    parser.add_argument("--target-tokenizer", type=Path, required=True)
    parser.add_argument(
        "--pairs", type=Path, help="folder of intersect_vocabularies; else made here"
    )
    parser.add_argument("--identity", choices=["bytes", "marker"], default="bytes")
    parser.add_argument("--hidden-size", type=int, default=4096, help="of the source")
    parser.add_argument("--helper-hidden-size", type=int, default=2560)
    parser.add_argument(
        "--method",
        type=named(),
        action="extend",
        nargs="+",
        required=True,
        metavar="NAME=JSON",
        help='such as sava-lstsq={"method": "sava", "solver": "lstsq"}',
    )
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()

    from revocab.initialise.apply import Vocabularies
    from revocab.initialise.scale import KIND, measure_scale, parse_method, write_scale
    from revocab.output import OutputFolder

    read = [arguments.source_tokenizer, arguments.target_tokenizer, arguments.pairs]
    out = OutputFolder(arguments.out, KIND, read)
    methods = [parse_method(name, text) for name, text in arguments.method]
    vocabularies = Vocabularies(
        arguments.source_tokenizer,
        arguments.target_tokenizer,
        arguments.identity,
        arguments.pairs,
    )
    rows = measure_scale(
        methods,
        vocabularies,
        hidden_size=arguments.hidden_size,
        helper_hidden_size=arguments.helper_hidden_size,
        seed=arguments.seed,
    )
    write_scale(rows, methods, vocabularies, out)


if __name__ == "__main__":
    run(main)
