"""SAVA against the library that the released code is built on.

Needs ``pip install --no-deps latentis gitpython gitdb smmap python-dotenv``: latentis' declared
dependencies would pull in far more than these transforms use.
"""

from __future__ import annotations

import pytest
import torch

from revocab.initialise.rows import alignment
from revocab.initialise.rows.alignment import Scaling

aligner = pytest.importorskip(
    "latentis.transform.translate.aligner", reason="latentis is not installed"
)


def translator(fit):
    from latentis.transform import TransformSequence
    from latentis.transform.base import MeanLPNorm, StandardScaling
    from latentis.transform.dim_matcher import ZeroPadding

    return aligner.Translator(
        aligner=fit,
        x_transform=TransformSequence([StandardScaling(), MeanLPNorm(p=2)]),
        y_transform=TransformSequence([StandardScaling(), MeanLPNorm(p=2)]),
        dim_matcher=ZeroPadding(),
    )


def spaces(width_x, width_y, anchors=120):
    # Noise as large as the signal: where the fit gets near zero error, Adam turns the rounding of
    # the float32 loop itself into some 1e-5, more or less by processor (tests/unit/test_sava.py
    # compares with float64).
    generator = torch.Generator().manual_seed(7)
    x = torch.randn(anchors + 30, width_x, generator=generator) * 0.05 + 0.01
    y = x @ torch.randn(width_x, width_y, generator=generator) * 0.02
    return x, y[:anchors] + 0.005 * torch.randn(anchors, width_y, generator=generator)


def ours(x_anchors, y_anchors, rows, fit):
    scale_x, scale_y = Scaling.fit(x_anchors), Scaling.fit(y_anchors)
    fitted = fit(scale_x.forward(x_anchors), scale_y.forward(y_anchors))
    return scale_y.backward(fitted(scale_x.forward(rows)))


@pytest.mark.parametrize(("width_x", "width_y"), [(20, 32), (32, 20), (24, 24)])
def test_sgd_equals_the_released_pipeline(width_x, width_y):
    x, y = spaces(width_x, width_y)
    released = translator(aligner.SGDAffineAligner(num_steps=1000, lr=1e-3, random_seed=42))
    released.fit(x[: len(y)], y)
    with torch.no_grad():
        expected, _ = released.transform(x[len(y) :])
    rows = ours(
        x[: len(y)],
        y,
        x[len(y) :],
        lambda a, b: alignment.fit_sgd(a, b, steps=1000, learning_rate=1e-3, seed=42),
    )
    assert ((rows - expected).norm() / expected.norm()).item() < 1e-4


def test_procrustes_equals_the_svd_aligner():
    from latentis.transform.translate.functional import svd_align_state

    x, y = spaces(24, 24)
    released = translator(aligner.MatrixAligner(name="svd", align_fn_state=svd_align_state))
    released.fit(x[: len(y)], y)
    expected, _ = released.transform(x[len(y) :])
    rows = ours(x[: len(y)], y, x[len(y) :], alignment.fit_procrustes)
    assert torch.allclose(rows, expected, rtol=1e-3, atol=1e-5)
