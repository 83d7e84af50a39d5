"""LEP: maps by hand and against numpy, what is kept bit for bit, folders that load."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from helper_toys import change_matrices
from hypothesis import given
from hypothesis import strategies as st
from jobs import job_of
from method_inputs import make, new_rows, random_inputs
from safetensors.torch import load_file
from toy_folders import initialise
from toy_models import SOURCE_WORDS, TARGET_WORDS, build_model, build_tokenizer

from revocab.errors import RevocabError
from revocab.initialise.method import DonorRows
from revocab.initialise.methods import lep
from revocab.initialise.methods.lep import apply_change, change_of_rows
from revocab.initialise.options import ChosenMethod, find_method
from revocab.initialise.rows import alignment
from revocab.initialise.target_matrix import fill
from revocab.io import read_json

MAPS = ("swap", "overlap", "conversion")


# The map ------------------------------------------------------------------------------------------


def rows(count: int, width: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(count, width, generator=torch.Generator().manual_seed(seed))


@given(count=st.integers(1, 30), width=st.integers(1, 9), seed=st.integers(0, 99))
def test_equal_rows_change_nothing(count, width, seed):
    """Also with fewer rows than dimensions, and with dependent ones."""
    a_ND = rows(count, width, seed)
    a_ND = torch.cat([a_ND, a_ND[:1] * 2])
    change_DD = change_of_rows([(a_ND, a_ND)], width)
    assert not change_DD.any()
    special = torch.tensor([[0.0, -0.0, 1e-42] * 3])[:, :width]
    carried = apply_change(special.bfloat16(), change_DD, torch.empty_like(special))
    assert (
        carried.bfloat16().view(torch.int16).tolist()
        == special.bfloat16().view(torch.int16).tolist()
    )  # the sign of a zero, too


@given(
    width=st.integers(1, 8),
    seed=st.integers(0, 99),
    solve=st.sampled_from(["least_change", "minimum_norm"]),
)
def test_full_rank_maps_agree_with_numpy(width, seed, solve):
    a_ND, b_ND = rows(3 * width + 5, width, seed).double(), rows(3 * width + 5, width, seed + 1)
    wanted = np.linalg.lstsq(a_ND.numpy(), b_ND.double().numpy(), rcond=None)[0]
    found = change_of_rows([(a_ND, b_ND)], width, solve) + torch.eye(width)
    np.testing.assert_allclose(found.numpy(), wanted, atol=1e-8)


def test_where_rows_do_not_determine_it_the_two_differ():
    """One row (1, 0) to (3, 0): nothing is known of the second axis."""
    a_ND, b_ND = torch.tensor([[1.0, 0.0]]), torch.tensor([[3.0, 0.0]])
    nearest = change_of_rows([(a_ND, b_ND)], 2) + torch.eye(2)
    assert torch.allclose(nearest, torch.tensor([[3.0, 0.0], [0.0, 1.0]]).double())
    least = change_of_rows([(a_ND, b_ND)], 2, "minimum_norm") + torch.eye(2)
    assert torch.allclose(least, torch.tensor([[3.0, 0.0], [0.0, 0.0]]).double())
    wanted = np.linalg.lstsq(a_ND.double().numpy(), b_ND.double().numpy(), rcond=None)[0]
    np.testing.assert_allclose(least.numpy(), wanted, atol=1e-12)


@given(cut=st.integers(1, 19), seed=st.integers(0, 20))
def test_order_and_chunks_change_nothing_beyond_rounding(cut, seed):
    a_ND, b_ND = rows(20, 5, seed), rows(20, 5, seed + 1)
    whole = change_of_rows([(a_ND, b_ND)], 5)
    order = torch.randperm(20, generator=torch.Generator().manual_seed(seed))
    parts = [(a_ND[order[:cut]], b_ND[order[:cut]]), (a_ND[order[cut:]], b_ND[order[cut:]])]
    assert torch.allclose(whole, change_of_rows(parts, 5), atol=1e-9)


# The method, by hand ------------------------------------------------------------------------------

BASE = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
INSTRUCT = [[2.0, 0.0], [0.0, 3.0], [2.0, 3.0]]  # columns times 2 and 3
ADAPTED = [[5.0, 1.0], [1.0, 1.0], [4.0, 2.0]]


def inputs(**changes):
    donor = {
        "adapted_VD": torch.tensor(ADAPTED), "adapted_known_V": None,
        "base_VD": torch.tensor(BASE), "base_known_V": None,
    }  # fmt: skip
    donor |= {key: changes.pop(key) for key in list(changes) if key in donor}
    keys = {"pieces": {2: [0, 1]}, "kept_N": torch.tensor([], dtype=torch.int64), **changes}
    return make(INSTRUCT, donor=DonorRows(**donor), **keys)


def test_swap_takes_the_rows_as_they_are():
    assert new_rows("lep", inputs(), map="swap").tolist() == ADAPTED


@pytest.mark.parametrize("fitted", ["overlap", "conversion"])
def test_a_linear_relation_is_carried_over(fitted):
    given = inputs()
    found = new_rows("lep", given, map=fitted)
    assert torch.allclose(found, torch.tensor([[10.0, 3.0], [2.0, 3.0], [8.0, 6.0]]), atol=1e-5)
    assert given.notes["rows_fitted"] == {"overlap": 2, "conversion": 3}[fitted]
    assert given.notes["rows_carried"] == 3


def test_kept_tokens_have_the_sources_rows():
    found = new_rows("lep", inputs(kept_N=torch.tensor([1])), map="swap")
    assert found.tolist() == [ADAPTED[0], INSTRUCT[0], ADAPTED[2]]  # target 1 is source 0


def test_tokens_that_the_adapted_model_lacks_are_the_sources():
    known = torch.tensor([True, False, False])
    found = new_rows("lep", inputs(adapted_known_V=known), map="swap")
    assert found.tolist() == [ADAPTED[0], INSTRUCT[0], [1.0, 1.5]]  # the last: mean of its pieces


def test_tokens_that_the_base_lacks_are_not_fitted():
    """Base row 0 is wrong here, as a row of zeros for a token that it does not have."""
    base = torch.tensor([[9.0, 9.0], *BASE[1:]])
    given = inputs(base_VD=base, base_known_V=torch.tensor([False, True, True]))
    found = new_rows("lep", given, map="conversion")
    assert given.notes["rows_fitted"] == 1  # target 0 is source 1; target 2 has a piece it lacks
    assert torch.allclose(found[:, 1], torch.tensor(ADAPTED)[:, 1] * 3, atol=1e-5)


# Rows of the source's dtype, rounded once. --------------------------------------------------------


@pytest.mark.parametrize("map_", MAPS)
def test_rows_are_those_of_float32_rounded_once(map_):
    given = random_inputs()
    stored = given.source_VD.bfloat16()
    known = torch.arange(given.target_rows) % 7 > 0  # others are the source's
    donor = replace(given.donor, adapted_known_V=known)
    exact = replace(given, source_VD=stored.float(), donor=donor, notes={})
    coarse = replace(given, source_VD=stored, donor=donor, notes={})
    wanted, found = (new_rows("lep", inputs_, map=map_) for inputs_ in (exact, coarse))
    assert found.dtype == torch.bfloat16
    assert torch.equal(found, wanted.bfloat16())
    assert exact.notes == coarse.notes
    lep = find_method("lep")
    matrix = fill(stored, coarse, lep, job_of(ChosenMethod, method="lep", map=map_))
    assert torch.equal(matrix, found) and not matrix.is_inference()


def test_rows_too_large_for_the_source_s_dtype_are_told():
    given = random_inputs()
    donor = replace(given.donor, adapted_VD=given.donor.adapted_VD * 1e6)
    lep = find_method("lep")
    source_VD = given.source_VD.half()
    given = replace(given, source_VD=source_VD, donor=donor)
    with pytest.raises(RevocabError, match=r"new rows are too large for torch.float16"):
        fill(source_VD, given, lep, job_of(ChosenMethod, method="lep", map="swap"))


# Folders ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=[False, True], ids=["untied", "tied"])
def models(request, tmp_path_factory):
    """A base, its relative, and the base adapted to a target vocabulary and trained (moved)."""
    root = tmp_path_factory.mktemp("lep")
    build_tokenizer(SOURCE_WORDS, 40, root / "source-tokenizer")
    build_tokenizer(TARGET_WORDS, 60, root / "target-tokenizer")
    build_model(root / "source-tokenizer", root / "base", tied=request.param)
    shutil.copytree(root / "base", root / "instruct")
    turn = torch.linalg.qr(rows(32, 32, 5))[0] + 0.1 * rows(32, 32, 6)
    change_matrices(
        root / "instruct", lambda name, matrix: (matrix.double() @ turn.double()).float()
    )
    initialise(
        root / "base", root / "adapted", "fvt", target_tokenizer=root / "target-tokenizer",
    )  # fmt: skip
    noise = {"model.embed_tokens.weight": 7, "lm_head.weight": 8}
    change_matrices(
        root / "adapted", lambda name, matrix: matrix + 0.01 * rows(*matrix.shape, noise[name])
    )
    return root, turn


def propagate(root, out, source="instruct", **options):
    initialise(
        root / source, out, "lep", options, target_tokenizer=root / "target-tokenizer",
        adapted=root / "adapted", base=root / "base",
    )  # fmt: skip
    return load_file(out / "model.safetensors")


@pytest.mark.parametrize("map_", MAPS)
@pytest.mark.parametrize("solve", ["least_change", "minimum_norm"])
def test_with_the_base_itself_the_adapted_matrices_come_back(models, tmp_path, map_, solve):
    """Bit for bit in every ordinary row; the special ones are the source's own."""
    root, _ = models
    found = propagate(root, tmp_path / "out", source="base", map=map_, solve=solve)
    adapted, base = (load_file(root / name / "model.safetensors") for name in ("adapted", "base"))
    for name in ("model.embed_tokens.weight", "lm_head.weight"):
        if name not in found:
            continue
        if solve == "least_change" or map_ == "swap":
            assert torch.equal(found[name][3:], adapted[name][3:])
        else:  # at full rank the same up to rounding
            assert torch.allclose(found[name][3:], adapted[name][3:], atol=1e-5)
        assert torch.equal(found[name][:3], base[name][:3])


@pytest.mark.parametrize("map_", ["overlap", "conversion"])
def test_matrices_related_by_a_map_are_recovered(models, tmp_path, map_):
    root, turn = models
    found = propagate(root, tmp_path / "out", map=map_)
    adapted = load_file(root / "adapted" / "model.safetensors")
    for name in found.keys() & {"model.embed_tokens.weight", "lm_head.weight"}:
        wanted = (adapted[name].double() @ turn.double()).float()
        assert torch.allclose(found[name][3:], wanted[3:], atol=1e-4)
    own = load_file(root / "instruct" / "model.safetensors")
    for name in found.keys() - {"model.embed_tokens.weight", "lm_head.weight"}:
        assert torch.equal(found[name], own[name]), name  # the body is the relative's
    manifest = read_json(tmp_path / "out" / "manifest.json")
    assert {"adapted", "base", "source"} <= manifest.keys()


def test_chunks_are_read_alike(models, tmp_path, monkeypatch):
    root, _ = models
    whole = propagate(root, tmp_path / "whole")
    for module in (alignment, lep):
        monkeypatch.setattr(module, "CHUNK_ROWS", 7)
    parts = propagate(root, tmp_path / "parts")
    for name, tensor in whole.items():
        assert torch.allclose(tensor, parts[name], atol=1e-6)


def test_models_that_do_not_belong_together_are_refused(models, tmp_path):
    root, _ = models
    tied = "lm_head.weight" not in load_file(root / "base" / "model.safetensors")
    other = build_model(
        root / "source-tokenizer", tmp_path / "other", hidden_size=16, tied=not tied
    )
    with pytest.raises(RevocabError) as caught:
        initialise(
            root / "instruct", tmp_path / "out", "lep", {}, adapted=root / "adapted", base=other,
            target_tokenizer=root / "target-tokenizer",
        )  # fmt: skip
    width, tying = caught.value.problems
    assert "rows of 16 numbers, but the source's have 32" in width
    assert "embedding and head are" in tying
    assert not (tmp_path / "out").exists()
