"""Measure what one checkpoint costs on a text: characters per second, latency and memory."""

from __future__ import annotations

import argparse
from pathlib import Path

from revocab.cli import run


def main() -> None:
    """Read the command line and write the measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", required=True, metavar="ID")
    parser.add_argument("--step", required=True, type=int)
    parser.add_argument("--model", required=True, type=Path, metavar="DIR")
    parser.add_argument("--text", required=True, type=Path, metavar="JSONL", help="documents")
    parser.add_argument("--corpus", required=True, metavar="ID", help="recorded")
    parser.add_argument("--language", required=True, help="how words are counted")
    parser.add_argument("--engine", default="auto", choices=["auto", "transformers", "vllm"])
    parser.add_argument("--prompts", type=int, default=16)
    parser.add_argument("--prompt-characters", type=int, default=1000)
    parser.add_argument("--new-tokens", type=int, default=64)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, ...")
    parser.add_argument("--dtype", default="auto", help="auto: float32 on CPU, else as stored")
    parser.add_argument("--out", required=True, type=Path, metavar="JSON")
    options = parser.parse_args()

    from revocab.evaluation.efficiency import Options, measure_efficiency

    measure_efficiency(
        options.run,
        options.step,
        options.model,
        options.text,
        options.corpus,
        options.language,
        options.out,
        Options(
            prompts=options.prompts,
            prompt_characters=options.prompt_characters,
            new_tokens=options.new_tokens,
            batch_size=options.batch_size,
            repeats=options.repeats,
            engine=options.engine,
            device=options.device,
            dtype=options.dtype,
        ),
    )


if __name__ == "__main__":
    run(main)
