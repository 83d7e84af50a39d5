"""Merges of an adapted chat model with the one before: blocks between both, special rows."""

from __future__ import annotations

import math

import pytest
import torch
from change_toys import changed, tensors_of
from hypothesis import given
from hypothesis import strategies as st
from toy_folders import cast
from toy_models import SOURCE_WORDS, TARGET_WORDS, build_model, build_tokenizer

from revocab.errors import RevocabError
from revocab.io import read_json
from revocab.models.changes.merge import MergeOptions, weights_of
from revocab.models.weights import files

EMBEDDING, HEAD, NORM = "model.embed_tokens.weight", "lm_head.weight", "model.norm.weight"
SPECIAL = (0, 1, 2)


@pytest.fixture(scope="module")
def chat(tmp_path_factory):
    """A chat model of four blocks, and that with another vocabulary after other training."""
    root = tmp_path_factory.mktemp("chat")
    source = build_tokenizer(SOURCE_WORDS, 30, root / "source-tokenizer")
    target = build_tokenizer(TARGET_WORDS, 45, root / "target-tokenizer")
    build_model(source, root / "source", seed=1, layers=4)
    build_model(target, root / "adapted", seed=2, layers=4)
    return root


def merge(chat, out, body="adapted", source="source", **option):
    return changed("merge", chat / body, out, {"s": chat / source}, source="s", **option)


def arc(body, source, share):
    """Interpolate along the arc, computed directly in float64."""
    a, b = body.double(), source.double()
    angle = torch.arccos((a * b).sum() / a.norm() / b.norm())
    both = torch.sin((1 - share) * angle) * a + torch.sin(share * angle) * b
    return both / torch.sin(angle)


@pytest.mark.parametrize("interpolation", ["slerp", "linear"])
def test_outer_blocks_lie_between_and_all_else_stays(chat, tmp_path, interpolation):
    out = merge(chat, tmp_path / "out", interpolation=interpolation)
    adapted, source, received = (
        tensors_of(folder) for folder in (chat / "adapted", chat / "source", out)
    )
    assert received.keys() == adapted.keys()
    for block, share in enumerate((0.3, 0.5, 0.5, 0.3)):
        for name in (name for name in adapted if name.startswith(f"model.layers.{block}.")):
            a, b = adapted[name], source[name]
            line = (1 - share) * a.double() + share * b.double()
            # Norms that nobody trained are equal: an arc between them is no arc.
            due = line if interpolation == "linear" or torch.equal(a, b) else arc(a, b, share)
            assert torch.allclose(received[name].double(), due, atol=1e-6), name
    assert torch.equal(received[NORM], adapted[NORM])


def test_special_rows_are_the_sources_and_no_others(chat, tmp_path):
    out = merge(chat, tmp_path / "out", shares=[])
    adapted, source, received = (
        tensors_of(folder) for folder in (chat / "adapted", chat / "source", out)
    )
    for name in (EMBEDDING, HEAD):
        assert torch.equal(received[name][:3], source[name][:3])
        assert torch.equal(received[name][3:], adapted[name][3:])
    rest = adapted.keys() - {EMBEDDING, HEAD}
    assert all(torch.equal(received[name], adapted[name]) for name in rest)
    manifest = read_json(out / "manifest.json")
    assert manifest["special_tokens"] == ["<unk>", "<s>", "</s>"]
    assert manifest["changed_tensors"] == 2
    kept = tensors_of(merge(chat, tmp_path / "kept", special_rows=False))
    assert torch.equal(kept[HEAD], adapted[HEAD])


def test_a_tied_matrix_and_another_dtype(chat, tmp_path):
    for name, seed in (("source", 3), ("adapted", 4)):
        tokenizer = chat / "source-tokenizer"
        build_model(tokenizer, tmp_path / f"{name}-32", seed=seed, tied=True, family="llama")
        cast(tmp_path / f"{name}-32", tmp_path / name, torch.bfloat16)
    received = tensors_of(merge(tmp_path, tmp_path / "out", shares=[1.0]))
    source = tensors_of(tmp_path / "source")
    assert torch.equal(received[EMBEDDING][:3], source[EMBEDDING][:3])
    blocks = [name for name in source if "layers" in name]
    assert all(torch.equal(received[name], source[name]) for name in blocks)


def test_blocks_of_rows_change_no_byte(chat, tmp_path, monkeypatch):
    whole = merge(chat, tmp_path / "whole", interpolation="linear")
    monkeypatch.setattr(files, "BLOCK_BYTES", 200)
    parts = merge(chat, tmp_path / "parts", interpolation="linear")
    for file in whole.iterdir():
        assert file.read_bytes() == (parts / file.name).read_bytes(), file.name


@given(st.floats(0.01, 1), st.floats(-1, 1))
def test_an_arc_of_unit_vectors_keeps_their_length(share, cosine):
    first, second = weights_of(share, cosine)
    square = first**2 + second**2 + 2 * first * second * cosine
    if abs(cosine) > 0.9995:
        assert (first, second) == (1 - share, share)
    else:
        assert math.isclose(square, 1, rel_tol=1e-9)


def test_the_shares_go_inwards_from_both_ends():
    options = MergeOptions(source="chat", shares=[0.3, 0.5])
    shares = [options.share(block, 7) for block in range(7)]
    assert shares == [0.3, 0.5, None, None, None, 0.5, 0.3]


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"shares": [0.1, 0.2, 0.3]}, "3 for either end of 4 blocks.*give at most 2"),
        ({"shares": [0.0]}, r"option\.shares\.0: "),
        ({"shares": [], "special_rows": False}, "which changes nothing"),
        ({"interpolation": "cubic"}, r"option\.interpolation: "),
    ],
)
def test_wrong_options_are_named(chat, tmp_path, option, said):
    with pytest.raises(RevocabError, match=said):
        merge(chat, tmp_path / "out", **option)
    assert not (tmp_path / "out").exists()


def test_a_model_of_another_width_is_refused(chat, tmp_path):
    tokenizer = chat / "source-tokenizer"
    build_model(tokenizer, tmp_path / "source", hidden_size=16, intermediate_size=24, layers=4)
    with pytest.raises(RevocabError, match="take as source the model that this one was adapted"):
        changed("merge", chat / "adapted", tmp_path / "x", {"s": tmp_path / "source"}, source="s")
    assert not (tmp_path / "x").exists()
