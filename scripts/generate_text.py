"""Generate text greedily from checkpoints of one run, and score it."""

from __future__ import annotations

import argparse
from pathlib import Path

from revocab.cli import named_path, run


def parse() -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", required=True, metavar="ID", help="goes into the table")
    parser.add_argument(
        "--model", required=True, action="append", type=named_path, metavar="STEP=DIR"
    )
    parser.add_argument(
        "--prompts", required=True, action="append", type=named_path, metavar="TASK=JSONL"
    )
    parser.add_argument(
        "--engine", default="auto", choices=["auto", "transformers", "vllm"],
        help="auto: vllm where it imports, else transformers",
    )  # fmt: skip
    parser.add_argument("--max-new-tokens", required=True, type=int)
    parser.add_argument(
        "--context-length", required=True, type=int, help="prompt and answer, in tokens"
    )
    parser.add_argument(
        "--comet-apart", action="store_true", help="score_comet scores these outputs afterwards"
    )
    parser.add_argument("--limit", type=int, help="recorded in the table only")
    parser.add_argument("--batch-size", type=int, default=32, help="transformers only")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, ...")
    parser.add_argument("--dtype", default="auto", help="auto: float32 on CPU, else as stored")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR")
    return parser.parse_args()


def main() -> None:
    """Generate, score, and write the folder."""
    options = parse()
    from revocab.evaluation.generate import Options, generate_checkpoints

    generate_checkpoints(
        options.run,
        options.model,
        options.prompts,
        options.out,
        Options(
            max_new_tokens=options.max_new_tokens,
            context_length=options.context_length,
            engine=options.engine,
            comet_apart=options.comet_apart,
            limit=options.limit,
            batch_size=options.batch_size,
            device=options.device,
            dtype=options.dtype,
        ),
    )


if __name__ == "__main__":
    run(main)
