"""The functions for Python programs, and the page that shows them, run as it stands."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest
import torch
from method_inputs import CHANGING
from safetensors.torch import load_file
from toy_folders import QUICK, adapt

import revocab
from revocab.initialise.method import methods
from revocab.models.folder import ModelFolder


@pytest.fixture(scope="module")
def page(repository) -> str:
    return (repository / "docs/quickstart.md").read_text(encoding="utf-8")


def rows(folder, which="input"):
    """Return a matrix of a toy: all its rows are tokens."""
    return ModelFolder(folder).read(ModelFolder(folder).vocabulary_tensors[which])


def test_the_page_runs(toys, page, tmp_path, monkeypatch):
    shutil.copytree(toys / "untied", tmp_path / "mistral-7b")
    shutil.copytree(toys / "helper", tmp_path / "minerva-3b")
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    blocks = [part.partition("```")[0] for part in page.split("```python\n")[1:]]
    assert len(blocks) == 5
    for number, block in enumerate(blocks):
        exec(compile(block, f"docs/quickstart.md, block {number}", "exec"), names)
    assert len(names["tokenizer"]) == len(names["model"].get_input_embeddings().weight)
    assert names["answer"].shape[1] > 5
    found, expected = names["embeddings"], adapt(toys, tmp_path / "fvt")
    assert torch.equal(
        found, load_file(expected / "model.safetensors")["model.embed_tokens.weight"]
    )
    shared = names["shared"]
    assert len(shared.target_ids) + len(shared.missing) == len(names["tokenizer"])
    card = (tmp_path / "adapted/README.md").read_text()
    assert "language:\n- it\n" in card and "- Helper model: minerva-3b" in card


def test_importing_loads_nothing_heavy():
    code = "import sys, revocab; assert not {'torch', 'transformers', 'pydantic'} & {*sys.modules}"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("method", [name for name in CHANGING if not methods()[name].needs_donor])
def test_a_matrix_is_that_of_the_adapted_model(toys, tmp_path, method):
    """For every method, from tensors alone; padding after the tokens counts for nothing."""
    out = adapt(toys, tmp_path / "out", method=method)
    for which in ("input", "output"):
        source_VD = rows(toys / "untied", which)
        found = revocab.target_matrix(
            torch.cat([source_VD, torch.full((3, source_VD.shape[1]), 9.0)]),
            method,
            options=QUICK.get(method),
            source_tokenizer=toys / "untied",
            target_tokenizer=str(toys / "target-tokenizer"),
            helper_VD=rows(toys / "helper") if methods()[method].needs_helper else None,
            which=which,
            seed=4,
        )
        assert torch.equal(found, rows(out, which))
