"""Packing against a bare `encode_batch` of the same texts, and the start-up of training.

    python benchmarks/packing.py --tokenizer DIR --corpus CORPUS_DIR [--model DIR --heldout DIR]

Packing reads compressed JSONL, leaves out held-out text, counts bytes and words, and writes rows;
the bare call has the texts in memory and keeps nothing. ``encode_batch_fast``, which packing uses
and which computes no offsets, is measured beside ``encode_batch``. They take turns, so that other
load on the machine hits all; CPU seconds are given beside wall seconds for the same reason. Packing
loads the tokenizer each time; ratios are given with and without that. With a model it also trains
two steps on those rows and gives the seconds from the process's start to its first step.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BATCH = 512


def measured(action):
    """Return (wall, CPU) seconds of ``action()``."""
    wall, cpu = time.perf_counter(), time.process_time()
    action()
    return time.perf_counter() - wall, time.process_time() - cpu


def start_up(options, packed):
    """Return the seconds to the first step, as train_model itself notes them."""
    script = Path(__file__).resolve().parents[1] / "scripts" / "train_model.py"
    found = []
    for _ in range(options.turns):
        with tempfile.TemporaryDirectory() as out:
            arguments = {
                "model": options.model, "packed": packed, "heldout": options.heldout, "out": out,
                "steps": 2, "batch-size": 1, "learning-rate": 1e-3, "checkpoint-every": 2,
                "seed": 0, "threads": 1,
            }  # fmt: skip
            command = [sys.executable, str(script), *(f"--{k}={v}" for k, v in arguments.items())]
            subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
            found.append(json.loads(Path(out, "timing.json").read_text())["startup_seconds"])
    return statistics.median(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--corpus", type=Path, required=True, help="folder of prepare_corpus")
    parser.add_argument("--model", type=Path)
    parser.add_argument("--heldout", type=Path)
    parser.add_argument("--megabytes", type=float, default=4.0, help="text to tokenise")
    parser.add_argument("--sequence-length", type=int, default=2048)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    os.environ["RAYON_NUM_THREADS"] = str(options.threads)
    os.environ["TOKENIZERS_PARALLELISM"] = "true"

    from revocab import io
    from revocab.training.data.packed_folder import pack_folder
    from revocab.training.data.packing import PackingJob, load_tokenizer

    texts, size = [], 0
    for row in io.read_jsonl(options.corpus / "train.jsonl.gz"):
        texts.append(row["text"])
        size += len(row["text"].encode())
        if size > options.megabytes * 1e6:
            break
    tokenizer = load_tokenizer(options.tokenizer)
    lengths = [
        len(one.ids) + 1 for one in tokenizer.backend.encode_batch(texts, add_special_tokens=False)
    ]
    rows = sum(lengths) // options.sequence_length

    def bare(encode):
        for begin in range(0, len(texts), BATCH):
            encode(texts[begin : begin + BATCH], add_special_tokens=False)

    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "packed")
        shares, length = {"corpus": [1.0]}, options.sequence_length
        packing = PackingJob(sequence_length=length, rows=rows, seed=0, shares=shares)

        def packed():
            corpora = {"corpus": options.corpus}
            pack_folder(options.tokenizer, corpora, packing, out, [options.corpus])

        actions = {
            "bare": lambda: bare(tokenizer.backend.encode_batch),
            "bare_fast": lambda: bare(tokenizer.backend.encode_batch_fast),
            "packed": packed,
        }
        turns = {name: [] for name in actions}
        loading = statistics.median(
            measured(lambda: load_tokenizer(options.tokenizer))[1] for _ in range(3)
        )
        for turn in range(options.turns + 1):
            for name, action in actions.items():
                seconds = measured(action)
                if turn:  # the first turn warms up
                    turns[name].append(seconds)
        result = {"megabytes": size / 1e6, "threads": options.threads, "loading_cpu": loading}
        for clock, index in (("wall", 0), ("cpu", 1)):
            medians = {name: statistics.median(t[index] for t in turns[name]) for name in turns}
            result[clock] = {
                **{f"{name}_megabytes_per_second": size / 1e6 / s for name, s in medians.items()},
                "ratio": medians["bare"] / medians["packed"],
                "ratio_without_loading": medians["bare"] / (medians["packed"] - loading),
                "ratio_to_fast": medians["bare_fast"] / medians["packed"],
            }
        if options.model:
            result["startup_seconds"] = start_up(options, out)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
