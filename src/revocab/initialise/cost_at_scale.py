"""Time and memory of methods at a real model's embedding shape, on random values.

Vocabularies and their intersection are real; only the numbers in the matrices are not.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revocab.errors import RevocabError
from revocab.initialise.diagnostics import norms
from revocab.initialise.material import make_inputs
from revocab.initialise.options import ScaledMethod, ScaleJob, check_options, find_method
from revocab.initialise.target_matrix import fill
from revocab.initialise.vocabularies import Vocabularies
from revocab.io import write_csv, write_json
from revocab.models.provenance import library_versions, tokenizer_hash
from revocab.output import OutputFolder

if TYPE_CHECKING:
    import torch

#: What the folder claims to be.
KIND = "scale measurement"
COLUMNS = (
    "method",
    "source_rows",
    "target_rows",
    "hidden_size",
    "overlap",
    "missing",
    "seconds",
    "peak_memory_bytes",
    "norm_mean_copied",
    "norm_mean_new",
)


class PeakMemory:
    """Highest resident memory above that at the start, sampled every few milliseconds."""

    def __init__(self) -> None:
        import psutil

        self._process = psutil.Process()
        self._start = self._process.memory_info().rss
        self._peak = self._start
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    @property
    def bytes(self) -> int:
        """Return the peak so far, in bytes above the start."""
        return self._peak - self._start

    def _look(self) -> None:
        self._peak = max(self._peak, self._process.memory_info().rss)

    def _sample(self) -> None:
        while not self._stop.wait(0.005):
            self._look()

    @classmethod
    @contextmanager
    def watch(cls) -> Iterator[PeakMemory]:
        """Sample while the block runs."""
        memory = cls()
        memory._thread.start()
        try:
            yield memory
        finally:
            memory._look()
            memory._stop.set()
            memory._thread.join()


def random_matrix(rows: int, width: int, seed: int) -> torch.Tensor:
    """Return seeded N(0, 0.02) float32 values: the scale of real embeddings."""
    import torch

    matrix_VD = torch.empty(rows, width)
    return matrix_VD.normal_(0, 0.02, generator=torch.Generator().manual_seed(seed))


def measured_method(name: str, given: ScaledMethod) -> tuple[str, Any, Any]:
    """Return name, method and checked options; raise for a method that has nothing to measure."""
    method = find_method(given.method)
    if method.keeps_vocabulary:
        raise RevocabError(f"methods.{name}: {method.name!r} initialises nothing to measure")
    if method.needs_donor or method.takes_helper_rows:
        raise RevocabError(
            f"methods.{name}: {method.name!r} takes rows of another model, and here all matrices"
            " are random; remove it"
        )
    checked = check_options(method, given.option)
    if method.needs(checked) == "fasttext":
        raise RevocabError(
            f"methods.{name}: auxiliary 'fasttext' needs trained vectors, and here all matrices "
            "are random; use auxiliary 'helper'"
        )
    return name, method, checked


def measure_scale(
    methods: list[tuple[str, Any, Any]],
    vocabularies: Vocabularies,
    *,
    hidden_size: int,
    helper_hidden_size: int,
    seed: int,
) -> list[dict[str, Any]]:
    """Return one row of ``scale.csv`` per method: one matrix each, tokenisation included."""
    from tqdm import tqdm

    source_VD = random_matrix(len(vocabularies.source_tokenizer), hidden_size, seed)
    target_rows = len(vocabularies.target_tokenizer)
    helper_VD = random_matrix(target_rows, helper_hidden_size, seed + 1)
    shared = vocabularies.intersection
    rows = []
    for name, method, options in (bar := tqdm(methods, desc="scale")):
        bar.set_postfix_str(name)
        inputs = make_inputs(source_VD, vocabularies, seed=seed, helper_VD=helper_VD)
        started = time.perf_counter()
        with PeakMemory.watch() as memory:
            target_VD = fill(source_VD, inputs, method, options)
        seconds = time.perf_counter() - started
        new = inputs.missing_N if method.copies_overlap else slice(None)
        copied = inputs.overlap_target_N if method.copies_overlap else slice(0)
        values = (
            name,
            len(source_VD),
            target_rows,
            hidden_size,
            len(shared.target_ids),
            len(shared.missing),
            round(seconds, 3),
            memory.bytes,
            norms(target_VD[copied])["mean"],
            norms(target_VD[new])["mean"],
        )
        rows.append(dict(zip(COLUMNS, values, strict=True)))
    return rows


def measure_to(out: Path, job: ScaleJob, vocabularies: Vocabularies) -> None:
    """Measure every method of ``job`` and write the table's folder."""
    read = [vocabularies.source, vocabularies.target, vocabularies.pairs]
    output = OutputFolder(out, KIND, read)
    methods = [measured_method(name, given) for name, given in job.methods.items()]
    rows = measure_scale(
        methods,
        vocabularies,
        hidden_size=job.hidden_size,
        helper_hidden_size=job.helper_hidden_size,
        seed=job.seed,
    )
    write_scale(rows, methods, vocabularies, output)


def write_scale(
    rows: list[dict[str, Any]],
    methods: list[tuple[str, Any, Any]],
    vocabularies: Vocabularies,
    out: OutputFolder,
) -> None:
    """Write ``scale.csv`` (a measurement: its times differ from run to run) and the manifest."""
    manifest = {
        "methods": {
            name: {"method": method.name, "options": options.model_dump()}
            for name, method, options in methods
        },
        "source_tokenizer": tokenizer_hash(vocabularies.source),
        "target_tokenizer": tokenizer_hash(vocabularies.target),
        "libraries": library_versions(),
    }
    with out.replaced(varying=("scale.csv",)) as folder:
        write_csv(folder / "scale.csv", COLUMNS, rows)
        write_json(folder / "manifest.json", manifest)
