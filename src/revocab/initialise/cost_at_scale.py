"""Time and memory of methods at a real model's embedding shape, on random values.

Vocabularies and their intersection are real; only the numbers in the matrices are not.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from revocab.errors import refuse
from revocab.heavy_types import Tensor
from revocab.initialise.diagnostics import norms_of, summary
from revocab.initialise.options import ScaleJob, find_method
from revocab.initialise.reading.material import make_inputs
from revocab.initialise.reading.vocabularies import Vocabularies
from revocab.initialise.target_matrix import fill
from revocab.io import write_csv, write_json
from revocab.models.origin import library_versions, tokenizer_hash
from revocab.output import OutputFolder


@contextmanager
def watched_memory() -> Iterator[list[int]]:
    """Yield resident bytes above those at the start, sampled every few milliseconds."""
    import psutil

    process, stop, peak = psutil.Process(), threading.Event(), [0]
    start = process.memory_info().rss

    def sample() -> None:
        ended = False
        while not ended:
            ended = stop.wait(0.005)
            peak[0] = max(peak[0], process.memory_info().rss - start)

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        stop.set()
        thread.join()


def random_matrix(rows: int, width: int, seed: int) -> Tensor:
    """Return seeded N(0, 0.02) float32 values: the scale of real embeddings."""
    import torch

    matrix_VD = torch.empty(rows, width)
    return matrix_VD.normal_(0, 0.02, generator=torch.Generator().manual_seed(seed))


def unmeasured(job: ScaleJob) -> Iterator[str]:
    """Yield the methods that random matrices are nothing for."""
    for name, chosen in job.methods.items():
        method = find_method(chosen.method)
        where = f"methods.{name}: {method.name!r}"
        if method.keeps_vocabulary:
            yield f"{where} initialises nothing to measure"
        elif method.needs_donor or method.takes_helper_rows:
            yield f"{where} takes rows of another model; here all matrices are random: remove it"
        elif method.needs(chosen) == "fasttext":
            yield f"{where}: auxiliary 'fasttext' needs trained vectors; use auxiliary 'helper'"


def measure_to(out: Path, job: ScaleJob, vocabularies: Vocabularies) -> None:
    """Measure every method, one matrix each; the times in ``scale.csv`` differ from run to run."""
    from tqdm import tqdm

    folders = [vocabularies.source, vocabularies.target, vocabularies.pairs]
    output = OutputFolder(out, "scale measurement", folders)
    refuse(unmeasured(job))
    source_rows = len(vocabularies.source_tokenizer)
    source_VD = random_matrix(source_rows, job.hidden_size, job.seed)
    target_rows = len(vocabularies.target_tokenizer)
    helper_VD = random_matrix(target_rows, job.helper_hidden_size, job.seed + 1)
    shared = vocabularies.intersection
    rows = []
    for name, chosen in (bar := tqdm(job.methods.items(), desc="scale")):
        bar.set_postfix_str(name)
        method = find_method(chosen.method)
        inputs = make_inputs(source_VD, vocabularies, seed=job.seed, helper_VD=helper_VD)
        started = time.perf_counter()
        with watched_memory() as peak:
            target_VD = fill(source_VD, inputs, method, chosen)  # tokenisation included
        seconds = time.perf_counter() - started
        new = inputs.missing_N if method.copies_overlap else slice(None)
        copied = inputs.overlap_target_N if method.copies_overlap else slice(0)
        rows.append(
            {
                "method": name,
                "source_rows": source_rows,
                "target_rows": target_rows,
                "hidden_size": job.hidden_size,
                "overlap": len(shared.target_ids),
                "missing": len(shared.missing),
                "seconds": round(seconds, 3),
                "peak_memory_bytes": peak[0],
                "norm_mean_copied": summary(norms_of(target_VD[copied]))["mean"],
                "norm_mean_new": summary(norms_of(target_VD[new]))["mean"],
            }
        )
    manifest = {
        "methods": {
            name: {"method": chosen.method, "options": chosen.own_options()}
            for name, chosen in job.methods.items()
        },
        "source_tokenizer": tokenizer_hash(vocabularies.source),
        "target_tokenizer": tokenizer_hash(vocabularies.target),
        "libraries": library_versions(),
    }
    with output.replaced() as folder:
        write_csv(folder / "scale.csv", list(rows[0]) if rows else [], rows)
        write_json(folder / "manifest.json", manifest)
