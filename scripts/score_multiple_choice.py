"""Score checkpoints of one run on multiple-choice tasks with lm-evaluation-harness."""

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
    parser.add_argument("--task", required=True, action="append", type=Path, metavar="YAML")
    parser.add_argument("--shots", type=int, default=0)
    parser.add_argument("--limit", type=int, help="only the first items of each task")
    parser.add_argument("--batch-size", type=int, default=64, help="choices per batch (hf)")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1, ...")
    parser.add_argument("--dtype", default="auto", help="auto: float32 on CPU, else as stored")
    parser.add_argument(
        "--share-contexts",
        action=argparse.BooleanOptionalAction,
        help="compute the context that an item's choices share once (hf; default: in float32)",
    )
    parser.add_argument(
        "--engine", default="hf", choices=["hf", "vllm"],
        help="vllm: run this with the Python of its environment (docs/vllm.md)",
    )  # fmt: skip
    parser.add_argument(
        "--long-prompts", default="error", choices=["error", "cut"],
        help="longer than the context: stop, or cut their beginning and count them",
    )  # fmt: skip
    parser.add_argument("--out", required=True, type=Path, metavar="CSV")
    return parser.parse_args()


def main() -> None:
    """Score every checkpoint and write the table."""
    options = parse()
    from revocab.evaluation import harness
    from revocab.evaluation.multiple_choice import Options, score_checkpoints

    harness.quiet()
    score_checkpoints(
        options.run,
        options.model,
        options.task,
        options.out,
        Options(
            shots=options.shots,
            limit=options.limit,
            batch_size=options.batch_size,
            device=options.device,
            dtype=options.dtype,
            share_contexts=options.share_contexts,
            engine=options.engine,
            long_prompts=options.long_prompts,
        ),
    )


if __name__ == "__main__":
    run(main)
