"""Write the few-shot prompts of one generative task, and a manifest of where they come from."""

from __future__ import annotations

import argparse
from pathlib import Path

from revocab.cli import run


def parse() -> argparse.Namespace:
    """Return the command line's options."""
    spec = "FILE.jsonl[.gz], it=FILE,en=FILE (aligned lines) or hub:ID[:name][:split][@revision]"
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", required=True, metavar="ID", help="part of the shots' seed")
    parser.add_argument(
        "--kind", required=True, choices=["translation", "question_answering", "copying"]
    )
    parser.add_argument("--unit", default="sentence", choices=["sentence", "paragraph"])
    parser.add_argument(
        "--direction", required=True, nargs="+", metavar="LANGUAGE", help="en it, it en, or it"
    )
    parser.add_argument("--shots", required=True, type=int)
    parser.add_argument(
        "--limit", type=int, help="this many queries, at equal distances over the test source"
    )
    parser.add_argument("--pool-limit", type=int, help="only the first rows of the pool")
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--pool", required=True, metavar="SPEC", help=f"shots: {spec}")
    parser.add_argument("--test", required=True, metavar="SPEC", help="queries: likewise")
    parser.add_argument("--out", required=True, type=Path, metavar="JSONL")
    return parser.parse_args()


def main() -> None:
    """Build the prompts and write them."""
    options = parse()
    from revocab.evaluation.prompts import build_prompts
    from revocab.evaluation.sources import files_of, origin
    from revocab.io import sha256, write_json, write_jsonl
    from revocab.output import check_files

    described = options.out.with_suffix(".manifest.json")
    read = [*files_of(options.pool), *files_of(options.test)]
    check_files(options.out, described, inputs=read)
    rows = build_prompts(
        options.task,
        options.kind,
        options.direction,
        shots=options.shots,
        seed=options.seed,
        pool=options.pool,
        test=options.test,
        limit=options.limit,
        pool_limit=options.pool_limit,
        unit=options.unit,
    )
    write_jsonl(options.out, rows)
    sources = {"pool": origin(options.pool), "test": origin(options.test)}
    manifest = {"task": options.task, "rows": len(rows), **sources, "sha256": sha256(options.out)}
    write_json(described, manifest)


if __name__ == "__main__":
    run(main)
