"""focus, wechsel, omp and cosines against the libraries of their authors, and scikit-learn.

deepfocus and wechsel are installed without their declared dependencies, but for the ones that they
import (requirements-parity.lock).
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from jobs import job_of

from revocab.initialise.method import Auxiliary, MethodInputs
from revocab.initialise.methods.omp import orthogonal_pursuit
from revocab.initialise.options import ChosenMethod, find_method

OVERLAP, MISSING, WIDTH, AUXILIARY_WIDTH = 60, 30, 16, 12


@pytest.fixture
def inputs():
    """Return a vocabulary of shared and missing tokens, in no particular order."""
    generator = torch.Generator().manual_seed(21)
    target = OVERLAP + MISSING
    order = torch.randperm(target, generator=generator)
    return MethodInputs(
        source_VD=torch.randn(target, WIDTH, generator=generator),
        target_rows=target,
        overlap_target_N=order[:OVERLAP].sort().values,
        overlap_source_N=torch.randperm(target, generator=generator)[:OVERLAP],
        missing_N=order[OVERLAP:].sort().values,
        seed=0,
        pieces=lambda token: [token],
        pieces_released=lambda token: [token],
        auxiliary=Auxiliary(
            torch.randn(target, AUXILIARY_WIDTH, generator=generator),
            torch.randn(target, AUXILIARY_WIDTH, generator=generator),
        ),
    )


def ours(name, inputs, **options):
    method = find_method(name)
    return method.initialise(inputs, job_of(ChosenMethod, method=name, **options))


def test_focus_equals_deepfocus(inputs, monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")  # compiling its cosine takes longer than running
    focus = pytest.importorskip("deepfocus.focus", reason="deepfocus is not installed")
    auxiliary = inputs.auxiliary.target_VA.numpy()
    pairs = zip(inputs.overlap_target_N.tolist(), inputs.overlap_source_N.tolist(), strict=True)
    overlapping = {
        str(target): SimpleNamespace(
            auxiliary_embedding=auxiliary[target], source_embedding=inputs.source_VD[source]
        )
        for target, source in pairs
    }
    new = {
        str(target): SimpleNamespace(
            auxiliary_embedding=auxiliary[target], target=SimpleNamespace(id=target)
        )
        for target in inputs.missing_N.tolist()
    }
    expected = focus.focus_additional_token_initialization(
        overlapping, new, torch.zeros(inputs.target_rows, WIDTH)
    )
    rows = ours("focus", inputs)
    assert torch.allclose(rows, expected[inputs.missing_N], rtol=1e-4, atol=1e-5)


class Names:
    """What WECHSEL asks of a tokenizer, for tokens that are numbers."""

    special_tokens_map: dict = {}  # noqa: RUF012

    def __init__(self, size):
        self.vocab = {str(number): number for number in range(size)}

    def __len__(self):
        return len(self.vocab)

    def convert_ids_to_tokens(self, ids):
        return str(ids) if isinstance(ids, int) else [str(number) for number in ids]


@pytest.mark.parametrize(("neighbours", "temperature"), [(10, 0.1), (3, 1.0), (1, 0.1)])
def test_wechsel_equals_wechsel(inputs, neighbours, temperature):
    wechsel = pytest.importorskip("wechsel", reason="wechsel is not installed")
    names = Names(inputs.target_rows)
    source_VA, target_VA = (
        torch.nn.functional.normalize(rows_VA.double()).numpy()
        for rows_VA in (inputs.auxiliary.source_VA, inputs.auxiliary.target_VA)
    )
    expected, not_found, _ = wechsel.create_target_embeddings(
        source_VA,
        target_VA,
        names,
        names,
        inputs.source_VD.double().numpy(),
        neighbors=neighbours,
        temperature=temperature,
        verbose=False,
    )
    assert not not_found
    rows = ours("wechsel", inputs, neighbours=neighbours, temperature=temperature)
    received = torch.from_numpy(expected)[inputs.missing_N].float()
    assert torch.allclose(rows, received, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("size", [1, 4, 10])
@pytest.mark.parametrize("with_gram", [False, True], ids=["direct", "gram"])
def test_pursuit_equals_scikit_learn(size, with_gram):
    from sklearn.linear_model import orthogonal_mp

    generator = torch.Generator().manual_seed(8)
    atoms = torch.nn.functional.normalize(torch.randn(50, 20, generator=generator))
    rows = torch.randn(25, 20, generator=generator)
    code = orthogonal_pursuit(rows, atoms, size, atoms @ atoms.T if with_gram else None)
    dense = torch.zeros(25, 50).scatter_(1, code.index_NS, code.weight_NS)
    expected = orthogonal_mp(
        atoms.double().T.numpy(), rows.double().T.numpy(), n_nonzero_coefs=size
    )
    expected = torch.from_numpy(expected.T if expected.shape == (50, 25) else expected).float()
    assert torch.equal(dense != 0, expected != 0)
    assert torch.allclose(dense, expected, rtol=1e-3, atol=1e-4)


def test_cosines_equal_scikit_learn(inputs):
    """Through clp, whose weights are the cosines over their sum."""
    from dataclasses import replace

    from sklearn.metrics.pairwise import cosine_similarity

    helper = inputs.auxiliary.target_VA
    rows = ours("clp", replace(inputs, helper_VD=helper))
    weights = cosine_similarity(
        helper[inputs.missing_N].double().numpy(), helper[inputs.overlap_target_N].double().numpy()
    )
    weights /= weights.sum(axis=1, keepdims=True)
    expected = weights @ inputs.source_VD[inputs.overlap_source_N].double().numpy()
    assert np.allclose(rows.numpy(), expected, rtol=1e-3, atol=1e-4 * np.abs(expected).max())


def test_projection_equals_scikit_learn(inputs):
    from dataclasses import replace

    from sklearn.linear_model import LinearRegression

    helper = inputs.auxiliary.target_VA
    rows = ours("projection", replace(inputs, helper_VD=helper))
    fitted = LinearRegression().fit(
        helper[inputs.overlap_target_N].double().numpy(),
        inputs.source_VD[inputs.overlap_source_N].double().numpy(),
    )
    expected = fitted.predict(helper[inputs.missing_N].double().numpy())
    assert np.allclose(rows.numpy(), expected, rtol=1e-4, atol=1e-5)


def test_low_rank_equals_scikit_learn(inputs):
    from sklearn.decomposition import TruncatedSVD

    factorisation = TruncatedSVD(4, algorithm="arpack", random_state=0)
    factorisation.fit(inputs.source_VD.double().numpy())
    basis = factorisation.components_
    expected = ours("wechsel", inputs).double().numpy() @ basis.T @ basis
    assert np.allclose(ours("ofa", inputs, rank=4).numpy(), expected, rtol=1e-4, atol=1e-5)
