"""Pages of papers: what a paper states beside what our experiment file has, and why it differs."""

from __future__ import annotations

from pathlib import Path

import pytest
from write_papers import Compared

REPOSITORY = Path(__file__).resolve().parents[2]
FILES = sorted(REPOSITORY.glob("config/published/*/settings.yaml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.parent.name)
def test_the_committed_page_is_the_written_one(file):
    made_now = Compared(file, REPOSITORY)
    page = REPOSITORY / f"docs/papers/{made_now.settings.page}.md"
    assert page.read_text(encoding="utf-8") == made_now.page, "run `make papers`"


def test_what_savas_release_states_is_not_assumed():
    """Facts of commit f4049c6, each of which our file has."""
    compared = Compared(REPOSITORY / "config/published/sava/settings.yaml", REPOSITORY)
    experiment = compared.experiment([])
    steps = {name: experiment.recipes[name].warmup_steps for name in ("mistral", "llama")}
    assert steps == {"mistral": 20, "llama": 30}
    generation = experiment.evaluation.generation
    assert generation.context_length - generation.max_new_tokens == 2048  # of a prompt
    assert generation.tasks["squad_it"].pool_limit == 1000
    assert experiment.fertility.limit_documents == 50000
    released = {
        "warm-up steps", "precision", "a second number of anchors", "documents of fertility",
        "tokens of a prompt and its answer", "pool of its examples",
    }  # fmt: skip
    rows = {row.what: row for _, row in compared.settings.rows if row.what in released}
    assert rows.keys() == released
    assert all(row.released and "ASSUME" not in (row.reason or "") for row in rows.values())
    assert "f4049c6" in compared.page


def test_released_models_of_vocadt_are_the_first_uploads():
    """Where their commits are known; their vocabularies are those of the same commits."""
    compared = Compared(REPOSITORY / "config/published/vocadt/settings.yaml", REPOSITORY)
    first = {"latin": "1c5b072", "mixed": "67b0d17", "cyrillic": None}
    for overlays in ([], ["vocadt-released"]):
        experiment = compared.experiment(overlays)
        assert {name: experiment.tokenizers[name].revision for name in first} == first
    assert {name: experiment.models[name].revision for name in first} == first
