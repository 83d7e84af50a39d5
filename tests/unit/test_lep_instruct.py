"""LEP as it is used: an instruct model with chat tokens of its own, rows of half precision."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
import torch
from helper_toys import change_matrices
from hypothesis import given
from hypothesis import strategies as st
from jobs import job_of
from safetensors.torch import load_file, save_file
from toy_folders import initialise, load
from toy_models import SOURCE_WORDS, TARGET_WORDS, build_model, build_tokenizer

from revocab.initialise.methods.lep import change_of_rows
from revocab.io import read_json, write_json
from revocab.vocabulary.building.construction import TokenizerJob, build_from_folders
from revocab.vocabulary.tokenizers.load import load_tokenizer

MAPS = ("swap", "overlap", "conversion")
EMBEDDING, HEAD = "model.embed_tokens.weight", "lm_head.weight"
CHAT = ["<|im_start|>", "<|im_end|>"]
#: Of 32 columns: the base's rows span no more than these.
RANK = 8


def draw(*shape: int, seed: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def moved(seed: int):
    """Return a change of matrices, another for each."""
    return lambda name, matrix: (
        matrix + 0.01 * draw(*matrix.shape, seed=seed + len(name)).to(matrix.dtype)
    )


def adopt(out, base, **given):
    folders = {"base": base, **{key: one for key, one in given.items() if key != "tokens"}}
    option = {"tokens": given["tokens"]} if "tokens" in given else {}
    build_from_folders(job_of(TokenizerJob, construction="adopt", **option), {}, folders, out)
    return out


@pytest.fixture(scope="module")
def family(tmp_path_factory):
    """A base of rank 8, the same with two chat tokens, that tuned (moved), and the base adapted."""
    from revocab.training.chat.template import FOLDER

    root = tmp_path_factory.mktemp("family")
    source = build_tokenizer(SOURCE_WORDS, 40, root / "source")
    target = build_tokenizer(TARGET_WORDS, 60, root / "target")
    build_model(source, root / "base")
    tensors = load_file(root / "base" / "model.safetensors")
    halves = {name: one.bfloat16() for name, one in tensors.items()}
    save_file(halves, root / "base" / "model.safetensors", {"format": "pt"})
    config = read_json(root / "base" / "config.json")
    write_json(root / "base" / "config.json", {**config, "dtype": "bfloat16"})
    change_matrices(root / "base", lambda name, matrix: matrix[:, :RANK].repeat(1, 32 // RANK))
    chat = adopt(root / "source-chat", source, template=FOLDER / "chatml.jinja", tokens=CHAT)
    adopt(root / "target-chat", target, chat=chat)
    made = {"figure": False, "target_tokenizer": chat}
    initialise(root / "base", root / "untuned", "fvt", **made)
    shutil.copytree(root / "untuned", root / "instruct")
    change_matrices(root / "instruct", moved(1))
    ids = load_tokenizer(chat).convert_tokens_to_ids(["<|im_end|>", "</s>"])
    for file in ("config.json", "generation_config.json"):
        settings_ = read_json(root / "instruct" / file)
        write_json(root / "instruct" / file, {**settings_, "eos_token_id": ids})
    initialise(root / "base", root / "adapted", "fvt", target_tokenizer=target)
    change_matrices(root / "adapted", moved(2))
    return root


def propagate(root, out, source="instruct", adapted="adapted", **options):
    """Return the tensors of LEP; ``source`` and ``adapted``: names in ``root``, or whole paths."""
    initialise(
        root / source, out, "lep", options, target_tokenizer=root / "target-chat",
        adapted=root / adapted, base=root / "base",
    )  # fmt: skip
    return load_file(out / "model.safetensors")


def rows_of(root, tokenizer, tokens):
    return load_tokenizer(root / tokenizer).convert_tokens_to_ids(tokens)


def bits(rows: torch.Tensor) -> list:
    return rows.view(torch.int16).tolist()


@pytest.mark.parametrize("map_", MAPS)
def test_a_model_equal_to_the_base_gets_the_adapted_rows_bit_for_bit(family, tmp_path, map_):
    """Rank-deficient, in half precision, beside two rows that the base does not have."""
    found = propagate(family, tmp_path / "out", source="untuned", map=map_)
    adapted = load_file(family / "adapted" / "model.safetensors")
    for name in (EMBEDDING, HEAD):
        assert (
            torch.linalg.matrix_rank(load_file(family / "base/model.safetensors")[name].float())
            == RANK
        )
        ordinary = slice(3, len(adapted[name]))
        assert bits(found[name][ordinary]) == bits(adapted[name][ordinary])
        assert len(found[name]) == len(adapted[name]) + len(CHAT)


def test_special_and_chat_tokens_keep_the_instruct_models_bits(family, tmp_path):
    found = propagate(family, tmp_path / "out")
    own = load_file(family / "instruct" / "model.safetensors")
    tokens = ["<unk>", "<s>", "</s>", *CHAT]
    new, old = (rows_of(family, one, tokens) for one in ("target-chat", "source-chat"))
    assert new != old
    for name in (EMBEDDING, HEAD):
        assert bits(found[name][new]) == bits(own[name][old])
    for name in own.keys() - {EMBEDDING, HEAD}:
        assert bits(found[name]) == bits(own[name]), name
    told = read_json(tmp_path / "out" / "diagnostics.json")["matrices"]
    assert {one["method"]["rows_carried"] for one in told.values()} == {len(found[HEAD]) - 5}


def test_special_and_chat_tokens_take_no_part_in_the_fit(family, tmp_path):
    """The base ends at one token, its instruct version at another: no relation of their rows."""
    before = propagate(family, tmp_path / "before")
    shutil.copytree(family / "instruct", tmp_path / "shifted")
    own = torch.tensor(rows_of(family, "source-chat", ["<s>", "</s>", *CHAT]))
    change_matrices(tmp_path / "shifted", lambda name, matrix: matrix.index_fill(0, own, 50.0))
    after = propagate(family, tmp_path / "after", tmp_path / "shifted")
    for name in (EMBEDDING, HEAD):
        assert bits(after[name][3:-2]) == bits(before[name][3:-2])
        assert (after[name][-2:] == 50).all()


def test_embedding_and_head_have_a_map_each(family, tmp_path):
    """Related to the base's by two maps; the head must not get the embedding's."""
    turns = {EMBEDDING: 2.0, HEAD: 0.5}
    shutil.copytree(family / "untuned", tmp_path / "scaled")
    change_matrices(tmp_path / "scaled", lambda name, matrix: matrix * turns[name])
    shutil.copytree(family / "adapted", tmp_path / "adapted")
    # Rows that the map is known for: within the span of the base's.
    change_matrices(
        tmp_path / "adapted", lambda name, matrix: matrix[:, :RANK].repeat(1, 32 // RANK)
    )
    found = propagate(family, tmp_path / "out", tmp_path / "scaled", tmp_path / "adapted")
    adapted = load_file(tmp_path / "adapted" / "model.safetensors")
    for name, scale in turns.items():
        wanted = adapted[name][3:].float() * scale
        assert torch.allclose(found[name][3 : len(adapted[name])].float(), wanted, rtol=2**-7)


def test_ends_padding_and_template_are_the_instruct_models(family, tmp_path):
    """Two end tokens stay two, in both files; padding stays; the template is the chat's."""
    propagate(family, tmp_path / "out")
    ends = rows_of(family, "target-chat", ["<|im_end|>", "</s>"])
    (pad,) = rows_of(family, "target-chat", ["<unk>"])
    for file in ("config.json", "generation_config.json"):
        told = read_json(tmp_path / "out" / file)
        assert (told["eos_token_id"], told["pad_token_id"]) == (ends, pad), file
    made = load_tokenizer(tmp_path / "out")
    assert made.chat_template == load_tokenizer(family / "source-chat").chat_template
    assert made.eos_token == "<|im_end|>"
    assert load(tmp_path / "out").generation_config.eos_token_id == ends


# The solver ---------------------------------------------------------------------------------------


@given(
    width=st.integers(2, 8), rank=st.integers(1, 8), seed=st.integers(0, 99),
    solve=st.sampled_from(["least_change", "minimum_norm"]),
)  # fmt: skip
def test_rank_deficient_maps_agree_with_the_pseudo_inverse(width, rank, seed, solve):
    rank = min(rank, width)
    a_ND = draw(20, rank, seed=seed).double() @ draw(rank, width, seed=seed + 1).double()
    b_ND = draw(20, width, seed=seed + 2).double()
    inverse = np.linalg.pinv(a_ND.numpy(), rcond=1e-10)
    identity = np.eye(width)
    wanted = inverse @ (b_ND.numpy() - a_ND.numpy()) + identity
    if solve == "minimum_norm":
        wanted = inverse @ b_ND.numpy()
    found = change_of_rows([(a_ND, b_ND)], width, solve).numpy() + identity
    image = np.abs(a_ND.numpy()) @ np.abs(wanted)
    np.testing.assert_allclose(a_ND.numpy() @ found, a_ND.numpy() @ wanted, atol=1e-6 * image.max())
    if rank == width:
        np.testing.assert_allclose(found, wanted, atol=1e-6 * np.abs(wanted).max())


def test_threads_change_nothing_beyond_rounding():
    a_ND, b_ND = draw(3000, 96, seed=1), draw(3000, 96, seed=2)
    before = torch.get_num_threads()
    found = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        try:
            found.append(change_of_rows([(a_ND, b_ND)], 96))
        finally:
            torch.set_num_threads(before)
    assert torch.allclose(*found, rtol=0, atol=1e-12)
