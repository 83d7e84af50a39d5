"""wechsel, focus, ofa, similarity, projection, omp: by hand, and against float64 formulas."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from method_inputs import COMPARING, SOURCE, make, new_rows, random_inputs

from revocab.errors import RevocabError
from revocab.initialise.method import Auxiliary
from revocab.initialise.methods import omp
from revocab.initialise.methods.omp import orthogonal_pursuit
from revocab.initialise.rows import means


def close(rows, expected, tolerance=1e-5):
    return torch.allclose(rows.double(), expected, rtol=tolerance, atol=tolerance)


# Three tokens by hand: target 0 is source row 1, (0, 2); target 1 is source row 0, (1, 0). --------


def test_ofa_by_hand():
    # Rank 1: the source's first singular direction is the second axis, which alone is kept.
    inputs = make([[1.0, 0.0], [0.0, 2.0], [0.0, 3.0]], helper=[[1, 0], [0, 1], [1, 1]])
    assert new_rows("wechsel", inputs).tolist()[0] == pytest.approx([0.5, 1.0])
    assert new_rows("ofa", inputs, rank=1).tolist()[0] == pytest.approx([0.0, 1.0], abs=1e-6)
    assert inputs.notes["energy_kept"] == pytest.approx(13 / 14)


def test_omp_by_hand():
    # Helper (2, 1): dot products 2 with (1, 0) and 3 with (1, 1), which goes first at weight 3/2;
    # with both the fit is exact, at weights 1 and 1.
    inputs = make(SOURCE, helper=[[1, 0], [1, 1], [2, 1]])
    assert new_rows("omp", inputs, k=1).tolist()[0] == pytest.approx([1.5, 0.0])
    assert new_rows("omp", inputs).tolist()[0] == pytest.approx([1.0, 2.0], abs=1e-6)
    assert inputs.notes["relative_residual"] == pytest.approx(0, abs=1e-6)


# Formulas in float64, over several blocks. -------------------------------------------------------


@pytest.fixture(params=[60, 1 << 26], ids=["small-blocks", "one-block"])
def inputs(request, monkeypatch):
    monkeypatch.setattr(means, "BLOCK_ELEMENTS", request.param)
    return random_inputs()


def cosines(query_NA, key_KA):
    return torch.stack(
        [torch.stack([(q @ k) / (q.norm() * k.norm()) for k in key_KA]) for q in query_NA]
    )


def helper_cosines(inputs):
    helper = inputs.helper_VD.double()
    return cosines(helper[inputs.missing_N], helper[inputs.overlap_target_N])


def nearest_softmax(scores, source, neighbours=10, temperature=0.1):
    rows = []
    for line in scores:
        best = line.argsort(descending=True)[:neighbours]
        weights = (line[best] / temperature).exp()
        rows.append((weights / weights.sum()) @ source[best])
    return torch.stack(rows)


def sparsemax_by_sorting(line):
    """Martins & Astudillo 2016, algorithm 1."""
    ordered = line.sort(descending=True).values
    ranks = torch.arange(1, len(line) + 1)
    inside = 1 + ranks * ordered > ordered.cumsum(0)
    count = int(inside.sum())
    threshold = (ordered[:count].sum() - 1) / count
    return (line - threshold).clamp(min=0)


def nearest_shares(scores, source, neighbours=5):
    best, index = scores.topk(neighbours, dim=1)
    assert (best > 0).all()
    return torch.einsum("nk,nkd->nd", best / best.sum(1, keepdim=True), source[index])


def sparsemax_means(scores, source):
    weights = torch.stack([sparsemax_by_sorting(line) for line in scores])
    assert (weights > 0).sum(1).max() < len(source)  # sparse, or the case would show little
    return weights @ source


def shares(scores, source):
    return scores / scores.sum(1, keepdim=True) @ source


FORMULAS = {
    "clp": shares,
    "wechsel": nearest_softmax, "ofa": nearest_softmax,  # at full rank
    "focus": sparsemax_means, "similarity": nearest_shares,
}  # fmt: skip


@pytest.mark.parametrize("method", FORMULAS)
def test_formulas_of_methods_that_compare_tokens(inputs, method):
    source = inputs.source_VD.double()[inputs.overlap_source_N]
    expected = FORMULAS[method](helper_cosines(inputs), source)
    # Cosines that nearly cancel are what clp divides by.
    assert close(new_rows(method, inputs), expected, 1e-3 if method == "clp" else 1e-5)


@pytest.mark.parametrize("rank", [1, 3, 8, 400])
def test_ofa_formula(inputs, rank):
    """The published order of operations: factorise, combine coordinates, multiply back."""
    source = inputs.source_VD.double()
    left, values, right = torch.linalg.svd(source, full_matrices=False)
    coordinates = left[:, :rank]
    primitives = values[:rank, None] * right[:rank]
    combined = nearest_softmax(helper_cosines(inputs), coordinates[inputs.overlap_source_N])
    assert close(new_rows("ofa", inputs, rank=rank), combined @ primitives)


def test_projection_formula(inputs):
    helper = inputs.helper_VD.double()
    ones = torch.ones(len(helper), 1, dtype=torch.float64)
    design = torch.cat([helper, ones], dim=1)
    wanted = inputs.source_VD.double()[inputs.overlap_source_N]
    weights = torch.linalg.lstsq(design[inputs.overlap_target_N], wanted).solution
    assert close(new_rows("projection", inputs), design[inputs.missing_N] @ weights)


def plain_pursuit(rows_NX, atoms_KX, size):
    """Orthogonal matching pursuit as it is written, in float64: the reference of near ties."""
    index_NS, weight_NS = [], []
    for row_X in rows_NX.double():
        chosen, left_X = [], row_X
        for _ in range(size):
            similar_K = (atoms_KX.double() @ left_X).abs()
            similar_K[chosen] = -1
            chosen.append(int(similar_K.argmax()))
            basis_XS = atoms_KX.double()[chosen].T
            weights_S = torch.linalg.lstsq(basis_XS, row_X[:, None]).solution[:, 0]
            left_X = row_X - basis_XS @ weights_S
        index_NS.append(chosen)
        weight_NS.append(weights_S)
    return torch.tensor(index_NS), torch.stack(weight_NS)


@pytest.mark.parametrize("k", [1, 3, 5])
@pytest.mark.parametrize("gram", [0, 10**6], ids=["direct", "gram"])
def test_omp_formula(inputs, monkeypatch, k, gram):
    monkeypatch.setattr(omp, "GRAM_ELEMENTS", gram)
    monkeypatch.setattr(omp, "CHOSEN_ELEMENTS", 500)  # several blocks
    helper = inputs.helper_VD.double()
    index_NS, weight_NS = plain_pursuit(
        helper[inputs.missing_N], helper[inputs.overlap_target_N], k
    )
    source = inputs.source_VD.double()[inputs.overlap_source_N]
    expected = torch.einsum("ns,nsd->nd", weight_NS, source[index_NS])
    assert close(new_rows("omp", inputs, k=k), expected, 1e-4)


# Orthogonal matching pursuit at its edges. -------------------------------------------------------


@pytest.mark.parametrize("with_gram", [False, True], ids=["direct", "gram"])
def test_pursuit_ends_early_and_leaves_no_dust(with_gram):
    atoms = torch.tensor([[2.0, 0, 0], [0, 3, 0], [0, 0, 0], [2, 0, 0], [0, 1, 1]])
    rows = torch.tensor([[0.0, 6, 0], [0, 0, 0], [4, 3, 0]])
    code = orthogonal_pursuit(rows, atoms, 3, atoms @ atoms.T if with_gram else None)
    dense = torch.zeros(3, 5).scatter_add_(1, code.index_NS, code.weight_NS)
    # Exactly one atom; none; two. The second copy of the first atom and the zero atom: never.
    assert dense.tolist() == [[0, 2, 0, 0, 0], [0, 0, 0, 0, 0], [2, 1, 0, 0, 0]]
    assert code.residual_N.tolist() == [0, 0, 0]


@pytest.mark.parametrize("with_gram", [False, True], ids=["direct", "gram"])
def test_pursuit_of_nearly_dependent_atoms_stays_finite(with_gram):
    generator = torch.Generator().manual_seed(3)
    base = torch.randn(1, 12, generator=generator)
    atoms = base + 1e-5 * torch.randn(9, 12, generator=generator)
    rows = torch.randn(7, 12, generator=generator)
    code = orthogonal_pursuit(rows, atoms, 9, atoms @ atoms.T if with_gram else None)
    assert torch.isfinite(code.weight_NS).all()
    fitted = torch.einsum("ns,nsx->nx", code.weight_NS, atoms[code.index_NS])
    assert (code.residual_N <= rows.norm(dim=1) * (1 + 1e-6)).all()
    assert torch.allclose((rows - fitted).norm(dim=1), code.residual_N, rtol=0.05, atol=0.05)


@pytest.mark.parametrize("elements", [0, omp.GRAM_ELEMENTS], ids=["direct", "gram"])
def test_omp_equals_float64_where_atoms_nearly_tie(monkeypatch, elements):
    """Two atoms are the most similar to a row, and equally so up to float32's rounding: at once or,
    for half of the rows, when a large atom is taken away."""
    monkeypatch.setattr(omp, "GRAM_ELEMENTS", elements)
    inputs = random_inputs(overlap=90, missing=40, helper_width=16)
    helper_VX = inputs.helper_VD.double()
    atoms, rows = inputs.overlap_target_N, inputs.missing_N
    for place in range(40):
        row_X, large_X = helper_VX[rows[place]].clone(), helper_VX[atoms[80 + place // 4]]
        if place % 2:  # the tie is that of the residual
            helper_VX[rows[place]] = row_X + 40 * large_X
            row_X -= large_X * (row_X @ large_X) / (large_X @ large_X)
        first, second = helper_VX[atoms[2 * place]], helper_VX[atoms[2 * place + 1]]
        first += 0.5 * row_X
        second += row_X * ((first - second) @ row_X) / (row_X @ row_X)
    inputs = replace(inputs, helper_VD=helper_VX.float(), notes={}, shared={})
    index_NS, weight_NS, _ = omp.sparse_codes(inputs, 5)
    wanted_NS, weights_NS = plain_pursuit(inputs.guide_VX[rows], inputs.guide_VX[atoms], 5)
    assert torch.equal(index_NS, wanted_NS)
    assert close(weight_NS, weights_NS)


def test_of_equal_atoms_the_first_is_taken():
    inputs = random_inputs(overlap=60, missing=30, helper_width=8)
    helper_VX = inputs.helper_VD.clone()
    helper_VX[inputs.overlap_target_N[30:]] = helper_VX[inputs.overlap_target_N[:30]]
    inputs = replace(inputs, helper_VD=helper_VX, notes={}, shared={})
    assert omp.sparse_codes(inputs, 4)[0].max() < 30


@pytest.mark.parametrize("method", ["wechsel", "similarity", "clp"])
def test_the_nearest_are_those_of_float64(method):
    """Of each pair of candidates one is nearer by less than float32's rounding of a cosine."""
    inputs = random_inputs(overlap=80, missing=60, helper_width=6)
    helper_VX = inputs.helper_VD.clone()
    pairs = inputs.overlap_target_N
    helper_VX[pairs[40:]] = helper_VX[pairs[:40]] * 1.5 * (1 + 1e-7 * torch.randn(40, 6))
    inputs = replace(inputs, helper_VD=helper_VX, notes={}, shared={})
    found = new_rows(method, inputs, **({"top_k": 3} if method == "clp" else {"neighbours": 3}))
    scores = cosines(helper_VX[inputs.missing_N].double(), helper_VX[pairs].double())
    best, index = scores.topk(3, dim=1)
    weights = (best / 0.1).softmax(1) if method == "wechsel" else best / best.sum(1, keepdim=True)
    source = inputs.source_VD.double()[inputs.overlap_source_N]
    assert close(found, torch.einsum("nk,nkd->nd", weights, source[index]))


def test_scores_that_cancel_are_equal_weights():
    scores = torch.tensor([[1.0, -1.0], [1.0, 3.0]])
    assert means.share_weights(scores).tolist() == [[0.5, 0.5], [0.25, 0.75]]


def test_the_error_of_codes_is_the_mean_share_of_what_is_left():
    helper = [[1.0, 0, 0], [0, 2, 0], [3, 0, 4], [0, 0, 5]]
    codes = {number: make(SOURCE, helper, missing=range(2, 2 + number)) for number in (1, 2)}
    # Of (3, 0, 4) a length of 4 in 5 is left, of (0, 0, 5) everything.
    assert omp.sparse_codes(codes[1], 1)[2] == pytest.approx(0.8)
    assert omp.sparse_codes(codes[2], 1)[2] == pytest.approx(0.9)


@pytest.mark.parametrize(("elements", "used"), [(60**2, True), (60**2 - 1, False)])
def test_a_gram_matrix_is_used_where_it_fits(monkeypatch, elements, used):
    seen = []

    def pursuit(*arguments):
        seen.append(arguments[-1] is not None)
        return orthogonal_pursuit(*arguments)

    monkeypatch.setattr(omp, "GRAM_ELEMENTS", elements)
    monkeypatch.setattr(omp, "orthogonal_pursuit", pursuit)
    omp.sparse_codes(random_inputs(overlap=60, missing=30, helper_width=8), 4)
    assert set(seen) == {used}


def test_a_source_of_zeros_loses_nothing_to_a_lower_rank():
    inputs = make([[0.0, 0.0]] * 3, [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    assert new_rows("ofa", inputs, rank=1).tolist() == [[0, 0]]
    assert inputs.notes["energy_kept"] == 1


def test_a_tied_helper_is_coded_once(monkeypatch):
    first = random_inputs()
    rows = new_rows("omp", first)
    monkeypatch.setattr(omp, "orthogonal_pursuit", None)  # any call would fail
    second = replace(first, matrix="output", notes={}, source_VD=2 * first.source_VD)
    assert torch.equal(new_rows("omp", second), 2 * rows)
    assert second.notes == first.notes


# Auxiliary embeddings. ---------------------------------------------------------------------------


def with_auxiliary(inputs, **keys):
    generator = torch.Generator().manual_seed(5)
    target = torch.randn(inputs.target_rows, 7, generator=generator)
    source = torch.randn(len(inputs.source_VD), 7, generator=generator)
    return replace(
        inputs, helper_VD=None, auxiliary=Auxiliary(target, **{"source_VA": source, **keys})
    )


@pytest.mark.parametrize("method", ["wechsel", "ofa", "similarity"])
def test_source_tokens_with_a_vector_are_the_candidates(method):
    inputs = with_auxiliary(random_inputs())
    found = new_rows(method, inputs)
    scores = cosines(
        inputs.auxiliary.target_VA[inputs.missing_N].double(), inputs.auxiliary.source_VA.double()
    )
    source = inputs.source_VD.double()
    assert close(found, FORMULAS[method](scores, source))
    assert inputs.notes["candidates"] == len(source)
    alone = with_auxiliary(random_inputs(overlap=0, missing=9))
    assert torch.isfinite(new_rows(method, alone)).all()


def test_focus_compares_shared_tokens_only():
    inputs = with_auxiliary(random_inputs())
    target = inputs.auxiliary.target_VA.double()
    scores = cosines(target[inputs.missing_N], target[inputs.overlap_target_N])
    source = inputs.source_VD.double()[inputs.overlap_source_N]
    assert close(new_rows("focus", inputs), sparsemax_means(scores, source))


@pytest.mark.parametrize("method", COMPARING)
def test_tokens_without_an_auxiliary_embedding_are_drawn_and_never_offered(method):
    inputs = random_inputs()
    lost = inputs.missing_N[:4]
    inputs.helper_VD[lost] = 0
    unknown = inputs.overlap_target_N[:3]
    inputs.helper_VD[unknown] = 0
    inputs.source_VD[inputs.overlap_source_N[:3]] = 1e6  # would show in any mean
    rows = new_rows(method, inputs, **({"rank": 8} if method == "ofa" else {}))
    assert inputs.notes["tokens_without_auxiliary"] == 4
    assert inputs.notes["candidates"] == len(inputs.overlap_target_N) - 3
    assert rows[4:].abs().max() < 100
    assert rows[:4].abs().max() > 1000  # N(mean, deviation) of a source with those three rows
    assert not torch.equal(rows[0], rows[1])


@pytest.mark.parametrize("method", COMPARING)
def test_focus_alone_leaves_out_vectors_that_were_not_trained(method):
    trained = torch.ones(65, dtype=torch.bool)
    trained[random_inputs().missing_N[:4]] = False
    inputs = with_auxiliary(random_inputs(), target_trained_V=trained)
    new_rows(method, inputs)
    assert inputs.notes["tokens_without_auxiliary"] == (4 if method == "focus" else 0)


@pytest.mark.parametrize("method", COMPARING)
def test_no_auxiliary_embedding_at_all_is_an_error(method):
    inputs = random_inputs()
    inputs.helper_VD[:] = 0
    with pytest.raises(RevocabError, match="none of the 40 tokens"):
        new_rows(method, inputs)
