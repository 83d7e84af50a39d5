"""The functions for Python programs, and the page that shows them, run as it stands."""

from __future__ import annotations

import shutil
import subprocess
import sys
from inspect import getdoc

import pytest
import torch
from method_inputs import CHANGING
from safetensors.torch import load_file
from toy_folders import adapt

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


def test_every_function_is_on_the_page_and_says_what_it_does(page, repository):
    for name in revocab.__all__:
        assert f"`{name}`" in page or f"revocab.{name}" in page
        assert getdoc(getattr(revocab, name))
    assert "(docs/quickstart.md)" in (repository / "README.md").read_text(encoding="utf-8")
    with pytest.raises(AttributeError, match="no attribute 'adapt'"):
        _ = revocab.adapt


def test_importing_loads_nothing_heavy():
    code = "import sys, revocab; assert not {'torch', 'transformers', 'pydantic'} & {*sys.modules}"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("which", ["input", "output"])
@pytest.mark.parametrize("method", [name for name in CHANGING if not methods()[name].needs_donor])
def test_a_matrix_is_that_of_the_adapted_model(toys, tmp_path, method, which):
    """For every method, from tensors alone; padding after the tokens counts for nothing."""
    out = adapt(toys, tmp_path / "out", method=method)
    source_VD = rows(toys / "untied", which)
    found = revocab.target_matrix(
        torch.cat([source_VD, torch.full((3, source_VD.shape[1]), 9.0)]),
        method,
        source_tokenizer=toys / "untied",
        target_tokenizer=str(toys / "target-tokenizer"),
        helper_VD=rows(toys / "helper") if methods()[method].needs_helper else None,
        which=which,
        seed=4,
    )
    assert torch.equal(found, rows(out, which))


def test_what_is_lacking_is_said_at_once(toys):
    tokenizers = {
        "source_tokenizer": toys / "untied",
        "target_tokenizer": toys / "target-tokenizer",
    }
    few = torch.zeros(5, 4)
    with pytest.raises(revocab.RevocabError) as caught:
        revocab.target_matrix(few, "sava", **tokenizers)
    problems = caught.value.problems
    assert [line.partition(":")[0] for line in problems] == ["helper_VD", "source_VD"]
    assert "needs it" in problems[0] and "(5, 4)" in problems[1]
    for method, options, said in (
        ("savaa", {}, "did you mean 'sava'"),
        ("lapt", {}, "keeps the vocabulary"),
        ("lep", {}, "'lep' reads whole models"),
        ("fvt", {"pad_to": 64}, "pad_to = 64: a matrix alone cannot say"),
        ("focus", {"auxiliary": "fasttext"}, "auxiliary_VA"),
    ):
        with pytest.raises(revocab.RevocabError, match=said):
            revocab.target_matrix(rows(toys / "untied"), method, options=options, **tokenizers)
    with pytest.raises(revocab.RevocabError, match="absent: no such folder"):
        revocab.shared_tokens(toys / "absent", toys / "helper")
