"""One matrix's adapter by hand: gradient, auxiliary gradient, exact norm, clipped steps."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from revocab.initialise.rows.source_weights import SourceWeights
from revocab.training import vocabulary_adapter
from revocab.training.vocabulary_adapter import AdapterAdamW, VocabularyAdapter

RATE, DECAY, BETAS = 0.1, 0.5, (0.9, 0.999)


def optimizer_of(adapter, rows, *widths):
    """Return an optimizer of matrices with one adapter, begun, and the matrices."""
    matrices = [torch.nn.Parameter(torch.zeros(rows, width)) for width in widths]
    options = {"lr": RATE, "betas": BETAS, "eps": 1e-12, "weight_decay": DECAY, "fused": True}
    places = tuple((0, place) for place in range(len(widths)))
    optimizer = AdapterAdamW([{"params": matrices}], {places: adapter}, **options)
    optimizer.adapt(True, begin=True)
    return optimizer, *matrices


def by_hand(auxiliary=0.0):
    """Source rows 2 and 1; the first token is the first of them, the second a third of both."""
    weights = SourceWeights.of([{0: 1.0}, {0: 1 / 3, 1: 2 / 3}], 2)
    weights = replace(weights, shared_S=torch.tensor([0]))
    return VocabularyAdapter(weights, torch.tensor([[2.0], [1.0]]), auxiliary)


def test_two_clipped_steps_by_hand():
    optimizer, parameter = optimizer_of(by_hand(auxiliary=2.0), 2, 1)
    assert parameter.flatten().tolist() == pytest.approx([2, 4 / 3])

    # dA = G E': at its start the shared row pulls nowhere.
    parameter.grad = torch.tensor([[3.0], [-4.0]])
    norm, moved = optimizer.clip(1.0)
    assert (norm.item(), moved.item()) == pytest.approx((125**0.5, 0))
    optimizer.step()
    state = optimizer.state[parameter]
    # AdamW's first step is the rate, whatever the gradient's size; decay takes a twentieth before.
    first = [[0.95 - 0.1, -0.1], [0.95 / 3 + 0.1, 1.9 / 3 + 0.1]]
    torch.testing.assert_close(state["adapter"], torch.tensor(first))
    gradient = torch.tensor([[6.0, 3.0], [-8.0, -4.0]]) / 125**0.5
    torch.testing.assert_close(state["exp_avg"], 0.1 * gradient)
    assert parameter.flatten().tolist() == pytest.approx([1.6, 4.7 / 3])

    # The shared row is (-0.15, -0.1) from where it began, and is pulled back by 2 of its direction.
    parameter.grad = torch.tensor([[1.0], [0.0]])
    norm, moved = optimizer.clip(0.1)
    distance = 0.0325**0.5
    second = torch.tensor([[2 - 0.3 / distance, 1 - 0.2 / distance], [0, 0]])
    expected = second.norm().item(), distance
    assert (norm.item(), moved.item()) == pytest.approx(expected, rel=1e-5)
    optimizer.step()
    clipped = second * 0.1 / second.norm()
    torch.testing.assert_close(state["exp_avg"], 0.09 * gradient + 0.1 * clipped)
    assert state["step"].item() == 2


def test_a_step_of_one_adapter_for_two_matrices_by_hand():
    weights = by_hand().weights
    source_VD = torch.tensor(
        [[2.0, 1.0], [1.0, -1.0]]
    )  # a column of the embedding, one of the head
    shared = VocabularyAdapter(weights, source_VD)
    optimizer, first, second = optimizer_of(shared, 2, 1, 1)
    assert first.flatten().tolist() == pytest.approx([2, 4 / 3])
    assert second.flatten().tolist() == pytest.approx([1, -1 / 3])

    # Both products: (3 * 2 + 1 * 1, 3 * 1 - 1 * 1) and (-4 * 2 + 2 * 1, -4 * 1 - 2 * 1).
    first.grad, second.grad = torch.tensor([[3.0], [-4.0]]), torch.tensor([[1.0], [2.0]])
    gradient = torch.tensor([[7.0, 2.0], [-6.0, -6.0]])
    norm, _ = optimizer.clip(1.0)
    assert norm.item() == pytest.approx(gradient.norm().item())
    optimizer.step()
    state = optimizer.state[first]
    torch.testing.assert_close(state["exp_avg"], 0.1 * gradient / gradient.norm())
    made_NV = torch.tensor([[0.95 - 0.1, -0.1], [0.95 / 3 + 0.1, 1.9 / 3 + 0.1]])
    torch.testing.assert_close(state["adapter"], made_NV)
    torch.testing.assert_close(torch.cat([first, second], 1).detach(), made_NV @ source_VD)
    assert "adapter" not in optimizer.state[second]


def test_a_step_at_rate_zero_changes_moments_alone():
    optimizer, parameter = optimizer_of(by_hand(), 2, 1)
    optimizer.param_groups[0]["lr"] = 0.0
    before = parameter.detach().clone()
    parameter.grad = torch.ones(2, 1)
    optimizer.clip(1.0)
    optimizer.step()
    state = optimizer.state[parameter]
    assert torch.equal(parameter, before) and state["exp_avg"].abs().sum() > 0
    torch.testing.assert_close(state["adapter"], torch.tensor([[1, 0], [1 / 3, 2 / 3]]))


@settings(max_examples=25)
@given(
    st.integers(0, 99), st.integers(1, 40), st.sampled_from([0.0, 0.3, 30.0]),
    st.sampled_from([[3], [2, 1]]),
)  # fmt: skip
def test_the_norm_is_that_of_the_gradient_that_is_never_made(seed, block, auxiliary, widths):
    """Rows of a block, shared or not, of one matrix or two, against the gradient in full."""
    draw = torch.Generator().manual_seed(seed)
    source_VD, shared_S = torch.randn(9, 3, generator=draw), torch.tensor([1, 4, 5])
    rows = [{4: 1.0} if t in shared_S else {t: 0.5, 8: 0.5} for t in range(7)]
    weights = replace(SourceWeights.of(rows, 9), shared_S=shared_S)
    adapter = VocabularyAdapter(weights, source_VD, auxiliary)
    a0_NV = weights.dense(slice(0, 7))
    a_NV = a0_NV + 0.1 * torch.randn(7, 9, generator=draw)
    a_NV[4] = a0_NV[4]  # one shared row where it began
    gradient_ND = torch.randn(7, 3, generator=draw)
    full_NV = (gradient_ND @ source_VD.T).double()
    change_SV = (a_NV - a0_NV)[shared_S].double()
    norm_S = change_SV.norm(dim=1)
    full_NV[shared_S] += auxiliary / 3 * change_SV / norm_S.clamp(min=1e-30)[:, None]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(vocabulary_adapter, "BLOCK_ELEMENTS", block)
        parts = [one.split(widths, dim=1) for one in (a_NV @ source_VD, gradient_ND)]
        square, moved = adapter.measures(*parts, {"adapter": a_NV})
    assert square.item() == pytest.approx(full_NV.square().sum().item(), rel=1e-4)
    assert moved.item() == pytest.approx(norm_S.mean().item(), rel=1e-5)


def test_products_are_exact_whatever_was_allowed():
    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("medium")
        with vocabulary_adapter.exact_products():
            assert torch.get_float32_matmul_precision() == "highest"
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision(before)


def test_parameters_are_trained_themselves_once_adapting_ends():
    optimizer, parameter = optimizer_of(by_hand(), 2, 1)
    optimizer.adapt(False, begin=False)
    plain = torch.nn.Parameter(parameter.detach().clone())
    other = torch.optim.AdamW([plain], lr=RATE, betas=BETAS, eps=1e-12, weight_decay=DECAY)
    parameter.grad, plain.grad = torch.ones(2, 1), torch.ones(2, 1)
    optimizer.step()
    other.step()
    assert torch.equal(parameter, plain) and "adapter" not in optimizer.state[parameter]
