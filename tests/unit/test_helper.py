"""A helper whose tokenizer is not the target's: rows in target order, anchors, what falls back."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from helper_toys import build_byte_level, change_matrices, permuted, token_bytes
from hypothesis import given, settings
from hypothesis import strategies as st
from method_inputs import CHANGING, SOURCE, make, random_inputs
from safetensors.torch import load_file
from toy_folders import initialise, shared_pairs
from toy_models import SOURCE_WORDS, TARGET_WORDS, build_model

from revocab.errors import RevocabError
from revocab.initialise.method import methods
from revocab.initialise.reading import helper as helper_module
from revocab.initialise.reading.helper import Coverage, Helper, in_target_order, segmentation_hash
from revocab.initialise.rows.means import piece_means
from revocab.initialise.target_matrix import fill, new_rows
from revocab.io import read_json
from revocab.models.folder import ModelFolder
from revocab.vocabulary.intersection import IntersectionJob, intersect_canonical, intersect_folders
from revocab.vocabulary.tokenizers.canonical import CanonicalToken
from revocab.vocabulary.tokenizers.load import load_tokenizer

HELPED = [name for name in CHANGING if methods()[name].needs_helper]
FALLING_BACK = [name for name in HELPED if methods()[name].without_helper_row == "pieces"]
FILLING = [name for name in HELPED if name not in FALLING_BACK]
MATRICES = ("model.embed_tokens.weight", "lm_head.weight")


# Rows in target order. ---------------------------------------------------------------------------


def test_rows_by_hand():
    helper = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dtype=torch.bfloat16)
    placed = in_target_order(helper, torch.tensor([2, 0, 2]), torch.tensor([0, 1, 3]), 5)
    assert placed.dtype == torch.bfloat16
    assert placed.tolist() == [[5, 6], [1, 2], [0, 0], [5, 6], [0, 0]]


@settings(max_examples=40)
@given(st.data(), st.integers(1, 30), st.integers(1, 7))
def test_a_helper_in_any_order_gives_the_same_rows_bit_for_bit(data, tokens, chunk):
    """From the intersection of vocabularies on; part of the target may be absent."""
    target = [CanonicalToken("continuation", b"t%d" % n, None, f"t{n}") for n in range(tokens)]
    order = data.draw(st.permutations(range(tokens)))
    kept = data.draw(st.integers(1, tokens))
    own = [target[number] for number in order[:kept]]
    rows = torch.randn(tokens, 3, generator=torch.Generator().manual_seed(tokens))
    found = intersect_canonical(own, target)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(helper_module, "CHUNK_ROWS", chunk)
        placed = in_target_order(
            rows[torch.tensor(order[:kept])],
            torch.tensor(found.source_ids),
            torch.tensor(found.target_ids),
            tokens,
        )
    expected = torch.zeros_like(rows)
    expected[torch.tensor(order[:kept])] = rows[torch.tensor(order[:kept])]
    assert torch.equal(placed, expected)


# Methods by hand. --------------------------------------------------------------------------------

#: Targets 0, 1 and 2 are shared; 3 and 4 are new. The helper lacks 1 and 4.
SHARED = ((0, 2), (1, 1), (2, 0))
KNOWN = [True, False, True, True, False]


def partly_known(helper):
    return make(
        SOURCE,
        helper=helper,
        overlap=SHARED,
        missing=(3, 4),
        pieces={4: [0, 1]},
        helper_known_V=torch.tensor(KNOWN),
    )


def rows_of(name, inputs):
    return new_rows(inputs, methods()[name], methods()[name].options())


@pytest.mark.parametrize(
    ("name", "helper", "row"),
    [
        # Anchors (1, 0) and (0, 1), the new token at (3, 1): shares 3/4 and 1/4 of (3, 4) and
        # (1, 0).
        ("clp", [[1, 0], [0, 0], [0, 1], [3, 1], [0, 0]], [2.5, 3.0]),
        # A line through two anchors: helper 1 is (3, 4), helper 2 is (1, 0); helper 4 is (-3, -8).
        ("projection", [[1], [0], [2], [4], [0]], [-3, -8]),
    ],
)
def test_new_rows_by_hand(name, helper, row):
    inputs = partly_known(helper)
    rows = fill(inputs.source_VD, inputs, methods()[name], methods()[name].options())
    assert rows[:3].tolist() == [[3, 4], [0, 2], [1, 0]]  # copied, with or without a helper row
    assert rows[3].tolist() == pytest.approx(row, abs=1e-5)
    assert rows[4].tolist() == [0.5, 1.0]  # the mean of its pieces (1, 0) and (0, 2)
    assert inputs.notes["tokens_without_helper_row"] == 1
    assert inputs.notes.get("anchors", 2) == 2


def some_unknown():
    """Random inputs whose helper lacks every third token, zeros there."""
    inputs = random_inputs()
    known = torch.arange(inputs.target_rows) % 3 != 0
    inputs.helper_VD[~known] = 0
    return inputs, known


def with_known(inputs, known):
    return replace(inputs, helper_known_V=known, notes={}, shared={})


@pytest.mark.parametrize("name", HELPED)
def test_a_helper_that_knows_all_is_no_other_than_before(name):
    inputs = random_inputs()
    options = methods()[name].options()
    plain = methods()[name].initialise(inputs, options)
    known = with_known(inputs, torch.ones(inputs.target_rows, dtype=torch.bool))
    assert torch.equal(new_rows(known, methods()[name], options), plain)


@pytest.mark.parametrize("name", FALLING_BACK)
def test_unknown_tokens_are_no_anchors_and_get_the_mean_of_their_pieces(name):
    inputs, known = some_unknown()
    rows = rows_of(name, with_known(inputs, known))
    assert torch.isfinite(rows).all()
    lacking = ~known[inputs.missing_N]
    assert 0 < int(lacking.sum()) < len(lacking)
    assert torch.equal(rows[lacking], piece_means(inputs, inputs.pieces)[lacking])
    # What stands where the helper has no row decides nothing.
    inputs.helper_VD[~known] = 1e6
    assert torch.equal(rows_of(name, with_known(inputs, known)), rows)
    assert not torch.equal(methods()[name].initialise(inputs, methods()[name].options()), rows)


@pytest.mark.parametrize("name", FILLING)
def test_unknown_tokens_are_drawn_by_methods_that_draw_them(name):
    inputs, known = some_unknown()
    seen = with_known(inputs, known)
    rows = rows_of(name, seen)
    lacking = int((~known[inputs.missing_N]).sum())
    assert seen.notes["tokens_without_auxiliary"] == lacking
    assert seen.notes["candidates"] == int(known[inputs.overlap_target_N].sum())
    assert torch.isfinite(rows).all() and (rows.abs().sum(1) > 0).all()


# Whole models. -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folders(toys, tmp_path_factory):
    """Beside the toys: an untied helper, both helpers in another order, and other vocabularies."""
    folder = tmp_path_factory.mktemp("helpers")
    build_model(toys / "target-tokenizer", folder / "untied", seed=5, hidden_size=40)
    permuted(folder / "untied", folder / "untied-permuted", seed=1)
    permuted(toys / "helper", folder / "tied-permuted", seed=2)
    words = [*SOURCE_WORDS, *TARGET_WORDS[:8]] * 2
    build_model(build_byte_level(words, 40, folder / "bytes-tokenizer"), folder / "bytes", seed=6)
    return folder


def convert(toys, out, helper, method="sava", **keys):
    keys = {"seed": 4, "figure": False, **keys}
    target = toys / "target-tokenizer"
    source = keys.pop("source", toys / "untied")
    initialise(source, out, method, target_tokenizer=target, helper=helper, **keys)
    return out


@pytest.mark.parametrize(
    ("helper", "method"), [("untied", "sava"), ("untied", "focus"), ("tied", "sava")]
)
def test_a_helper_in_another_order_gives_the_same_weights(toys, folders, tmp_path, helper, method):
    own = toys / "helper" if helper == "tied" else folders / helper
    plain = convert(toys, tmp_path / "plain", own, method)
    other = convert(toys, tmp_path / "other", folders / f"{helper}-permuted", method)
    name = "model.safetensors"
    assert (plain / name).read_bytes() == (other / name).read_bytes()
    assert "helper_vocabulary" not in read_json(plain / "manifest.json")  # it is the target's


def test_a_helper_of_another_family_is_counted(toys, folders, tmp_path):
    """Counts against sets of bytes, which know nothing of intersections."""
    out = convert(toys, tmp_path / "out", folders / "bytes", "clp")
    has = {*token_bytes(folders / "bytes")} - {None}
    target = token_bytes(toys / "target-tokenizer")
    copied = {*shared_pairs(toys)[0].tolist()}
    # Beginning and end of text are shared by their roles; byte-level has no unknown token.
    known = {number for number, data in enumerate(target) if data in has} | {1, 2}
    new = {*range(len(target))} - copied
    counts = read_json(out / "manifest.json")["helper_vocabulary"]
    assert counts == {
        "helper_tokens": len(token_bytes(folders / "bytes")),
        "shared": len(known),
        "anchors": len(known & copied),
        "new": len(known & new),
        "new_without_row": len(new - known),
        "filled_with": "pieces",
    }
    assert counts["new"] > 0 and counts["new_without_row"] > 0
    assert f"{counts['new_without_row']} new ones" in (out / "README.md").read_text()
    noted = read_json(out / "diagnostics.json")["matrices"]["output"]["method"]
    assert noted["tokens_without_helper_row"] == counts["new_without_row"]


@pytest.mark.parametrize("method", HELPED)
def test_every_method_takes_a_helper_of_another_family(toys, folders, tmp_path, method):
    out = convert(toys, tmp_path / "out", folders / "bytes", method)
    plain = convert(toys, tmp_path / "fvt", None, "fvt")
    mine, means = (load_file(folder / "model.safetensors") for folder in (out, plain))
    target = load_tokenizer(toys / "target-tokenizer")
    known = Helper.open(folders / "bytes", target).known_V
    new = torch.ones(len(target), dtype=torch.bool)
    new[shared_pairs(toys)[0]] = False
    for name in MATRICES:
        assert not torch.equal(mine[name][new & known], means[name][new & known])
        same = torch.equal(mine[name][new & ~known], means[name][new & ~known])
        assert same == (method in FALLING_BACK)


def test_an_affine_relation_is_recovered_through_another_tokenizer(toys, folders, tmp_path):
    """Source rows are an affine function of a byte-level helper's, another for each matrix."""
    source = shutil.copytree(toys / "untied", tmp_path / "source")
    helper = load_file(folders / "bytes/model.safetensors")
    by_bytes = {data: number for number, data in enumerate(token_bytes(folders / "bytes")) if data}
    spelt = token_bytes(toys / "source-tokenizer")
    pairs = [(n, by_bytes[data]) for n, data in enumerate(spelt) if data in by_bytes]
    ours, theirs = (torch.tensor(ids) for ids in zip(*pairs, strict=True))
    draw = torch.Generator().manual_seed(8)
    maps = {
        name: (torch.randn(32, 32, generator=draw), torch.randn(32, generator=draw))
        for name in MATRICES
    }

    def related(name, matrix):
        weight, bias = maps[name]
        matrix[ours] = helper[name][theirs] @ weight + bias
        # The beginning and the end of text are anchors as well, by their roles.
        specials = torch.tensor([len(by_bytes), len(by_bytes) + 1])
        matrix[torch.tensor([1, 2])] = helper[name][specials] @ weight + bias
        return matrix

    change_matrices(source, related)
    out = convert(toys, tmp_path / "out", folders / "bytes", "projection", source=source)
    adapted = load_file(out / "model.safetensors")
    copied = {*shared_pairs(toys)[0].tolist()}
    target = enumerate(token_bytes(toys / "target-tokenizer"))
    new = [(n, by_bytes[data]) for n, data in target if data in by_bytes and n not in copied]
    assert new
    for name, (weight, bias) in maps.items():
        for number, other in new:
            expected = helper[name][other] @ weight + bias
            assert torch.allclose(adapted[name][number], expected, atol=1e-4)


def test_stored_pairs_serve_as_computed_ones_do_and_carry_their_identity(toys, folders, tmp_path):
    pairs, target = tmp_path / "pairs", toys / "target-tokenizer"
    intersect_folders(folders / "bytes-tokenizer", target, IntersectionJob(), pairs)
    computed = convert(toys, tmp_path / "computed", folders / "bytes")
    stored = convert(toys, tmp_path / "stored", folders / "bytes", helper_pairs=pairs)
    for file in ("model.safetensors", "manifest.json", "diagnostics.json"):
        assert (computed / file).read_bytes() == (stored / file).read_bytes()
    with pytest.raises(RevocabError, match="made with identity 'bytes', asked for 'marker'"):
        convert(toys, tmp_path / "o", folders / "bytes", helper_pairs=pairs, identity="marker")


def test_pairs_of_other_vocabularies_are_refused_whatever_their_size(toys, folders, tmp_path):
    target = toys / "target-tokenizer"
    # As many tokens as the permuted helper has, each at the wrong id.
    intersect_folders(target, target, IntersectionJob(), tmp_path / "same-size")
    with pytest.raises(RevocabError, match="not made for this helper and target tokenizer"):
        pairs = tmp_path / "same-size"
        convert(toys, tmp_path / "out", folders / "tied-permuted", helper_pairs=pairs)
    with pytest.raises(RevocabError, match="for a helper vocabulary of 304 tokens, but the helper"):
        convert(toys, tmp_path / "out", folders / "bytes", helper_pairs=tmp_path / "same-size")
    # The pairs of the source are held against their tokenizers in the same way.
    turned = shutil.copytree(toys / "target-tokenizer", tmp_path / "turned")
    shutil.copyfile(folders / "tied-permuted/tokenizer.json", turned / "tokenizer.json")
    intersect_folders(toys / "source-tokenizer", turned, IntersectionJob(), tmp_path / "turned-ids")
    with pytest.raises(RevocabError, match="not made for this source and target tokenizer"):
        convert(toys, tmp_path / "out", None, "fvt", pairs=tmp_path / "turned-ids")


# Too little in common. ---------------------------------------------------------------------------


def coverage(**changes) -> Coverage:
    counts = dict(helper_tokens=50, target_tokens=90, shared=40, overlap=60, anchors=30, new=10)
    return Coverage(**{**counts, "new_without_row": 20, "width": 8, **changes})


def test_a_helper_that_serves_nothing_is_refused_with_counts():
    coverage().check(methods()["sava"], Path("H"))
    with pytest.raises(RevocabError) as caught:
        coverage(anchors=0, new=0).check(methods()["sava"], Path("H"))
    first, second = caught.value.problems
    assert "40 of the target's 90 tokens, but none of the 60" in first and "and 9 (the" in first
    assert "none of the 20 new ones" in second
    coverage(new=0, new_without_row=0).check(methods()["sava"], Path("H"))  # nothing to fill


def test_fewer_anchors_than_dimensions_are_a_warning(toys, folders, tmp_path, capsys):
    assert [*coverage(anchors=9).warnings(methods()["sava"])] == []
    (warning,) = coverage(anchors=8).warnings(methods()["sava"])
    assert "share 8 tokens" in warning and "fewer than 9 anchors" in warning
    wide = shutil.copytree(folders / "bytes-tokenizer", tmp_path / "tokenizer")
    build_model(wide, tmp_path / "wide", seed=7, hidden_size=512)
    out = convert(toys, tmp_path / "out", tmp_path / "wide", "projection")
    assert "do not determine a map" in capsys.readouterr().err
    warnings = read_json(out / "diagnostics.json")["warnings"]
    assert any("do not determine a map" in warning for warning in warnings)


def test_the_sources_own_tokenizer_has_no_new_token(toys, tmp_path):
    with pytest.raises(RevocabError, match="none of the 24 new ones, so sava would fill no row"):
        convert(toys, tmp_path / "out", toys / "tied")
    assert not (tmp_path / "out").exists()


# Rows of a model that has the target tokenizer: taken bit for bit, or refused. ------------------


def imported(toys, helper, out, source="untied"):
    target = toys / "target-tokenizer"
    initialise(toys / source, out, "imported", target_tokenizer=target, helper=helper)
    return out


def test_every_row_is_the_helpers():
    helper = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    assert rows_of("imported", make(SOURCE, helper=helper)).tolist() == helper


def test_a_model_with_the_helpers_rows_and_the_sources_body(toys, tmp_path):
    build_model(toys / "target-tokenizer", tmp_path / "helper", seed=5)
    out = imported(toys, tmp_path / "helper", tmp_path / "out")
    files = (folder / "model.safetensors" for folder in (out, tmp_path / "helper", toys / "untied"))
    found, theirs, ours = map(load_file, files)
    assert found.keys() > {*MATRICES}
    for name, tensor in found.items():
        assert torch.equal(tensor, (theirs if name in MATRICES else ours)[name]), name


def test_rows_of_another_width_or_tokenizer_or_number_of_matrices(toys, tmp_path):
    with pytest.raises(RevocabError, match="input matrix: the helper's rows have 24 numbers, the"):
        imported(toys, toys / "helper", tmp_path / "out")
    with pytest.raises(RevocabError) as caught:
        imported(toys, toys / "untied", tmp_path / "out", source="tied")
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
