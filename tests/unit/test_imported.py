"""Rows of a model that has the target tokenizer: taken bit for bit, or refused."""

from __future__ import annotations

import pytest
import torch
from method_inputs import SOURCE, make, new_rows
from safetensors.torch import load_file
from toy_folders import initialise
from toy_models import build_model

from revocab.errors import RevocabError
from revocab.initialise.reading.helper import segmentation_hash
from revocab.models.folder import ModelFolder
from revocab.vocabulary.tokenizers.load import load_tokenizer

MATRICES = {"model.embed_tokens.weight", "lm_head.weight"}


def adapt(toys, helper, out, source="untied"):
    target = toys / "target-tokenizer"
    initialise(toys / source, out, "imported", target_tokenizer=target, helper=helper)
    return out


def test_every_row_is_the_helpers():
    helper = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    assert new_rows("imported", make(SOURCE, helper=helper)).tolist() == helper


def test_a_model_with_the_helpers_rows_and_the_sources_body(toys, tmp_path):
    build_model(toys / "target-tokenizer", tmp_path / "helper", seed=5)
    out = adapt(toys, tmp_path / "helper", tmp_path / "out")
    files = (folder / "model.safetensors" for folder in (out, tmp_path / "helper", toys / "untied"))
    found, theirs, ours = map(load_file, files)
    assert found.keys() > MATRICES
    for name, tensor in found.items():
        assert torch.equal(tensor, (theirs if name in MATRICES else ours)[name]), name


def test_rows_of_another_width_or_tokenizer_or_number_of_matrices(toys, tmp_path):
    with pytest.raises(RevocabError, match="input matrix: the helper's rows have 24 numbers, the"):
        adapt(toys, toys / "helper", tmp_path / "out")
    with pytest.raises(RevocabError) as caught:
        adapt(toys, toys / "untied", tmp_path / "out", source="tied")
    assert len(caught.value.problems) == 2
    assert "is not the target's" in caught.value.problems[0]
    assert "embedding and head are two matrices" in caught.value.problems[1]
    assert not (tmp_path / "out").exists()


def test_a_tokenizer_is_told_by_what_it_does(toys, tmp_path):
    """Saved again by the library, it is the same; with two tokens exchanged it is not."""
    folder = ModelFolder(toys / "helper").path
    tokenizer = load_tokenizer(folder)
    tokenizer.save_pretrained(tmp_path / "again")
    before = segmentation_hash(tokenizer)
    assert segmentation_hash(load_tokenizer(tmp_path / "again")) == before
    assert segmentation_hash(load_tokenizer(toys / "source-tokenizer")) != before
