"""Every method by hand on three tokens, against float64 formulas, and at the edges."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from method_inputs import CHANGING, SOURCE, make, new_rows, random_inputs
from torch.utils._python_dispatch import TorchDispatchMode

from revocab.errors import RevocabError
from revocab.initialise.method import methods
from revocab.initialise.methods import omp
from revocab.initialise.rows import means
from revocab.initialise.rows.means import sparsemax
from revocab.initialise.target_matrix import fill

# Three tokens by hand: target 0 is source row 1, (0, 2); target 1 is source row 0, (1, 0). --------

#: Cosines of the new token to the shared ones: 1/√2 and 1; 0.6 and 1; -0.6 and 1.
NEAR, APART, OPPOSITE = (
    [[1, 0], [2, 2], [1, 1]],
    [[0.6, 0.8], [1, 0], [2, 0]],
    [[-0.6, 0.8], [1, 0], [1, 0]],
)
COSINE = 2**-0.5
SHARE = COSINE / (1 + COSINE)
FIRST, SECOND = math.exp(10 * COSINE), math.exp(10)
#: Method, options, helper and the new row.
BY_HAND = [
    ("mean", {}, None, [4 / 3, 2]),
    ("fvt", {}, None, [2, 2]),
    ("fvt-released", {}, None, [1, 0]),
    ("clp", {}, NEAR, [1 - SHARE, 2 * SHARE]),
    ("clp", {"top_k": 1}, NEAR, [1, 0]),
    ("clp", {}, OPPOSITE, [2.5, -3]),  # weights -1.5 and 2.5, no clipping
    # Cosines 0 and 1: sparsemax gives all weight to the second.
    ("clp", {"weights": "sparsemax"}, [[1, 0], [0, 5], [0, 1]], [1, 0]),
    # Cosines over 0.1, softmax.
    ("wechsel", {}, NEAR, [SECOND / (FIRST + SECOND), 2 * FIRST / (FIRST + SECOND)]),
    ("wechsel", {"neighbours": 1}, NEAR, [1, 0]),
    ("focus", {}, APART, [0.7, 0.6]),  # sparsemax takes 0.3 off both
    ("similarity", {}, APART, [0.625, 0.75]),  # cosines over their sum
    ("similarity", {"neighbours": 1}, APART, [1, 0]),
    ("similarity", {}, OPPOSITE, [1, 0]),  # an opposite token counts for nothing
    # A line through two points: helper 1 is (0, 2), helper 2 is (1, 0), so helper 3 is (2, -2).
    ("projection", {}, [[1], [2], [3]], [2, -2]),
]


@pytest.mark.parametrize(("name", "options", "helper", "row"), BY_HAND)
def test_new_rows_by_hand(name, options, helper, row):
    inputs = make(SOURCE, helper=helper, pieces={2: [0, 2]})
    assert new_rows(name, inputs, **options).tolist()[0] == pytest.approx(row, abs=1e-5)


def test_random_has_the_source_distribution():
    source = torch.randn(500, 3) * torch.tensor([1.0, 5.0, 0.1]) + torch.tensor([0.0, 10.0, -1.0])
    inputs = make(source.tolist(), missing=tuple(range(2, 4002)))
    rows = new_rows("random", inputs)
    assert torch.allclose(rows.mean(0), source.mean(0), atol=0.3)
    assert torch.allclose(rows.std(0), source.std(0), rtol=0.06)


@pytest.mark.parametrize(
    ("name", "variance"),
    [
        ("xavier", 2 / (4002 + 2)),  # equation 12: rows of the target matrix, and their width
        ("kaiming", 2 / 2),  # equation 10: the width alone
    ],
)
def test_draws_of_known_variance_by_hand(name, variance):
    inputs = make(SOURCE, missing=tuple(range(2, 4002)))
    shapes = ("uniform", "normal")
    uniform, normal = (new_rows(name, inputs, distribution=shape) for shape in shapes)
    for rows in (uniform, normal):
        assert rows.shape == (4000, 2)
        assert rows.mean().abs() < 4 * (variance / 8000) ** 0.5
        assert rows.var().item() == pytest.approx(variance, rel=0.06)
    bound = (3 * variance) ** 0.5  # for xavier sqrt(6 / (rows + width)), equation 16
    assert 0.99 * bound < uniform.abs().max() <= bound
    assert normal.abs().max() > 1.5 * bound
    usual = {"xavier": uniform, "kaiming": normal}[name]
    assert torch.equal(new_rows(name, inputs), usual)


# Formulas in float64. ----------------------------------------------------------------------------


def test_fvt_without_pieces_gives_the_mean_row_and_counts_it():
    inputs = random_inputs()
    rows = new_rows("fvt-released", inputs)
    odd = inputs.missing_N % 2 == 1
    assert torch.allclose(rows[odd], inputs.source_VD.mean(0).expand(int(odd.sum()), -1))
    assert inputs.notes["tokens_without_pieces"] == int(odd.sum())


@settings(max_examples=60)
@given(st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=12))
def test_sparsemax_is_the_projection_on_the_simplex(scores):
    weights = sparsemax(torch.tensor([scores]))[0].double()
    assert weights.sum().item() == pytest.approx(1, abs=1e-5)
    assert (weights >= 0).all()
    # Optimality: score - weight is equal on the support, and no larger elsewhere.
    gap = torch.tensor(scores, dtype=torch.float64) - weights
    threshold = gap[weights > 0].mean()
    assert torch.allclose(gap[weights > 0], threshold, atol=1e-5)
    assert (gap[weights == 0] <= threshold + 1e-5).all()


# Edges. ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CHANGING)
@pytest.mark.parametrize("helper_width", [3, 8, 12], ids=["narrower", "equal", "wider"])
@pytest.mark.parametrize(("overlap", "missing"), [(40, 0), (40, 3), (1, 5)])
def test_full_and_small_intersections_and_helpers_of_every_width(
    name, overlap, missing, helper_width
):
    """The same seed gives the same rows."""
    inputs, again = (random_inputs(overlap, missing, 8, helper_width) for _ in range(2))
    rows = new_rows(name, inputs)
    expected = missing if methods()[name].copies_overlap else overlap + missing
    assert rows.shape == (expected, 8)
    assert torch.isfinite(rows).all()
    assert torch.equal(rows, new_rows(name, again))


@pytest.mark.parametrize("name", CHANGING)
def test_empty_intersection(name):
    inputs = random_inputs(overlap=0, missing=9)
    if methods()[name].needs_helper:  # what it does with the helper, it learns of shared tokens
        with pytest.raises(RevocabError, match="no token is shared"):
            new_rows(name, inputs)
    else:
        rows = new_rows(name, inputs)
        assert rows.shape == (9, 8) and torch.isfinite(rows).all()


@pytest.mark.parametrize("name", CHANGING)
def test_zero_and_duplicate_rows_give_finite_non_zero_rows(name):
    inputs = random_inputs()
    inputs.helper_VD[inputs.missing_N[0]] = 0
    inputs.helper_VD[inputs.overlap_target_N[:5]] = 0
    inputs.helper_VD[inputs.overlap_target_N[5]] = inputs.helper_VD[inputs.overlap_target_N[6]]
    inputs.source_VD[:5] = 0
    method = methods()[name]
    matrix = fill(inputs.source_VD, inputs, method, method.options())
    new = matrix[inputs.missing_N]
    assert torch.isfinite(matrix).all()
    assert (new.abs().sum(1) > 0).all()


@pytest.mark.parametrize("name", CHANGING)
def test_equal_tokens_get_equal_rows_unless_drawn(name):
    inputs = random_inputs()
    first, second = inputs.missing_N[:2]
    inputs.helper_VD[second] = inputs.helper_VD[first]
    inputs = replace(inputs, pieces=lambda _: [1, 2], pieces_released=lambda _: [3])
    rows = new_rows(name, inputs)
    drawn = not torch.equal(rows, new_rows(name, replace(inputs, seed=1)))
    if not (drawn or methods()[name].needs_donor):  # it has rows of its own
        assert torch.allclose(rows[0], rows[1], atol=1e-5)


@pytest.mark.parametrize("name", CHANGING)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_sources_keep_their_bits_and_dtype(name, dtype):
    inputs = random_inputs()
    stored = inputs.source_VD.to(dtype)
    inputs = replace(inputs, source_VD=stored.float())
    method = methods()[name]
    matrix = fill(stored, inputs, method, method.options())
    assert matrix.dtype == dtype
    assert torch.isfinite(matrix).all()
    if method.copies_overlap:
        assert torch.equal(matrix[inputs.overlap_target_N], stored[inputs.overlap_source_N])
    expected = new_rows(name, inputs).to(dtype)
    new = inputs.missing_N if method.copies_overlap else slice(None)
    assert torch.equal(matrix[new], expected)


class Largest(TorchDispatchMode):
    """Notes the size of the largest tensor that any operation returns."""

    values = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, (tuple, list)) else [result]:
            if isinstance(tensor, torch.Tensor):
                self.values = max(self.values, tensor.numel())
        return result


@pytest.mark.parametrize("name", CHANGING)
def test_no_matrix_of_all_pairs_of_tokens(name, monkeypatch):
    """Memory: nothing is larger than a block, an input or the result, however many tokens."""
    monkeypatch.setattr(means, "BLOCK_ELEMENTS", 2000)
    monkeypatch.setattr(omp, "GRAM_ELEMENTS", 0)
    inputs = random_inputs(overlap=300, missing=200, helper_width=6)
    with Largest() as largest:
        new_rows(name, inputs)
    assert largest.values <= max(2000, inputs.source_VD.numel())  # 60,000 pairs


def test_matrices_of_one_model_draw_differently():
    first, second = make(SOURCE), make(SOURCE, matrix="output")
    assert not torch.equal(new_rows("random", first), new_rows("random", second))


def test_fill_refuses_what_is_not_finite():
    inputs = random_inputs()
    inputs.source_VD[3, 3] = float("inf")
    with pytest.raises(RevocabError, match="not finite"):
        fill(inputs.source_VD, inputs, methods()["mean"], methods()["mean"].options())


# Registry and options. ---------------------------------------------------------------------------


def test_registry_imports_no_torch():
    import subprocess
    import sys

    code = (
        "import sys; from revocab.initialise.method import methods; methods();"
        "assert 'torch' not in sys.modules, 'torch'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
