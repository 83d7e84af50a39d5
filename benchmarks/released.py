"""Rows, time and memory of ``revocab init`` beside the programs that others released.

Both sides are whole commands on the same random models with tokenizers trained on the demo's text.
mergekit is installed from PyPI in an environment of its own.

    python benchmarks/released.py --work FOLDER --python VENV/bin/python
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.measure import measure

INPUT, HEAD = "model.embed_tokens.weight", "lm_head.weight"


@dataclass(frozen=True)
class Comparison:
    """Flags of tokensurgeon, and of ours for each matrix compared."""

    theirs: list[str]
    ours: dict[str, list[str]]


def both(*flags: str) -> dict[str, list[str]]:
    return {INPUT: [*flags], HEAD: [*flags]}


COMPARISONS = {
    "omp, k=8": Comparison(["-a", "omp", "-k", "8"], both("omp", "--k", "8")),
    "omp, k=64": Comparison(["-a", "omp", "-k", "64"], both("omp", "--k", "64")),
    "nearest 10 by cosine": Comparison(
        ["-a", "common_interpolation", "-c", "-k", "10"], both("clp", "--top-k", "10")
    ),
    "subword mean": Comparison(["-a", "subword", "-s", "mean"], both("fvt")),
    "mean": Comparison(["-a", "mean"], both("mean")),
    "sparse token basis": Comparison(["-a", "stb"], {}),
}


def make_inputs(work: Path, rows: int, width: int, alphabet: Any) -> None:
    """Write an untied source, and an untied helper of another width with the target's tokenizer."""
    from revocab.demoworld.build import documents
    from revocab.demoworld.stories import build
    from revocab.models.parameters import Architecture, build_stand_in
    from revocab.vocabulary.building.constructions.train import train_tokenizer

    world = build(17)
    sides = (("source", "en", rows, width), ("helper", "it", rows + rows // 4, width * 3 // 2))
    for seed, (name, language, size, hidden) in enumerate(sides):
        texts = [row["text"] for row in documents(world, language, 2000, 17)]
        train_tokenizer([texts], alphabet, size).save_pretrained(work / f"{name}-tokenizer")
        shape = Architecture(
            family="llama",
            hidden_size=hidden,
            intermediate_size=hidden,
            layers=1,
            heads=4,
            kv_heads=4,
        )
        build_stand_in(work / f"{name}-tokenizer", shape, 64, seed, work / name)


def read(folder: Path, name: str) -> Any:
    from safetensors import safe_open

    for file in folder.glob("*.safetensors"):
        with safe_open(file, "pt") as handle:
            if name in handle.keys():  # noqa: SIM118
                return handle.get_tensor(name).float()
    raise SystemExit(f"{folder}: no tensor {name}")


def compare_rows(ours: Path, theirs: Path, name: str) -> str:
    """Say how many copied rows have the same bits, and how many new rows are equal to 1e-4."""
    import torch

    from revocab.initialise.rows.source_weights import read_new_rows

    our_VD, their_VD = read(ours, name), read(theirs, name)
    if our_VD.shape != their_VD.shape:
        return f"{name}: shapes {tuple(our_VD.shape)} and {tuple(their_VD.shape)}"
    new_V = read_new_rows(ours, len(our_VD))
    same_V = (our_VD == their_VD).all(dim=1)
    apart_V = (our_VD - their_VD).abs().amax(dim=1) / our_VD.abs().amax(dim=1)
    near_V = apart_V <= 1e-4
    largest = float(apart_V[new_V & near_V].max()) if bool((new_V & near_V).any()) else 0.0
    other = torch.nonzero(~near_V)[:8, 0].tolist()
    return (
        f"{name}: copied {int((same_V & ~new_V).sum())} of {int((~new_V).sum())} the same bits; "
        f"new {int((near_V & new_V).sum())} of {int(new_V.sum())} equal (largest {largest:.1e}); "
        f"others begin {other}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--work", type=Path, required=True, help="a new folder; it stays")
    parser.add_argument("--python", required=True, help="Python of mergekit's environment")
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--alphabet", choices=["byte_level", "byte_fallback"], default="byte_level")
    parser.add_argument("--only", nargs="+", choices=list(COMPARISONS), default=list(COMPARISONS))
    arguments = parser.parse_args()

    from revocab.initialise.method import methods

    work = arguments.work
    work.mkdir(parents=True)
    make_inputs(work, arguments.rows, arguments.width, arguments.alphabet)
    source, helper = str(work / "source"), str(work / "helper")
    ours = ["--quiet", "--source", source, "--target-tokenizer", helper]
    for number, name in enumerate(arguments.only):
        comparison, out = COMPARISONS[name], work / f"theirs-{number}"
        places = ["-m", "mergekit.scripts.tokensurgeon", source, helper, str(out)]
        log = work / f"theirs-{number}.log"
        try:
            seconds, _, peak = measure([arguments.python, *places, *comparison.theirs], log)
        except subprocess.CalledProcessError:
            lines = log.read_text().strip().splitlines()
            print(f"{name}: theirs failed: {lines[-1] if lines else 'no output'}", flush=True)
            continue
        print(f"{name}: theirs {seconds:.1f} s, {peak:.2f} GiB", flush=True)
        for matrix, method in comparison.ours.items():
            folder = work / f"ours-{number}-{method[0]}"
            if not folder.exists():
                guide = ["--helper", helper] if methods()[method[0]].needs_helper else []
                command = [sys.executable, "-m", "revocab", "init", *method, *ours, *guide]
                command += ["--out", str(folder)]
                seconds, _, peak = measure(command, work / f"ours-{number}.log")
                print(f"  ours ({method[0]}) {seconds:.1f} s, {peak:.2f} GiB")
            print(f"  {compare_rows(folder, out, matrix)}", flush=True)


if __name__ == "__main__":
    main()
