"""What decides the jobs of a run, and what they read."""

from __future__ import annotations

from typing import Any

from revocab.experiment import options
from revocab.experiment.layout import Layout
from revocab.initialise.options import InitJob
from revocab.training.run import Settings


def start_of(layout: Layout, run: str) -> tuple[InitJob, list[Any]]:
    read = (layout.new_tokenizer, layout.new_pairs, layout.helper, layout.adapted,
            layout.adapted_from, layout.vectors, layout.vector_files)  # fmt: skip
    return options.init(layout, run), [layout.origin(run), *(files(run) for files in read)]


def training_of(layout: Layout, run: str) -> tuple[Settings, list[Any]]:
    """Return what decides a run's training beside its first model."""
    folder = layout.paths.run(run)
    read = [layout.packed(folder), layout.heldout_of(folder), layout.adapter_source(run)]
    return options.run_training(layout.experiment, run), read


def packed_for(layout: Layout, run: str) -> str:
    return layout.packed(layout.paths.run(run)).split("/")[-2]
