"""SAVA: an affine map from the helper's space to the source's, fitted on the shared tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from revocab.initialise import alignment
from revocab.initialise.method import Inputs, Method, Options

if TYPE_CHECKING:
    import torch


class SavaOptions(Options):
    """How the map is fitted. The defaults are the published ones."""

    #: sgd: full-batch Adam, as published. lstsq: its exact minimiser. procrustes: orthogonal.
    solver: Literal["sgd", "lstsq", "procrustes"] = "sgd"
    #: Fit on this many shared tokens, drawn by the run's seed; none: all.
    anchors: int | None = Field(default=None, ge=1)
    steps: int = Field(default=1000, ge=1, description="sgd only")
    learning_rate: float = Field(default=1e-3, gt=0, description="sgd only")
    ridge: float = Field(default=0.0, ge=0, description="lstsq only")
    #: Seed of the map's initial weights (sgd only); the release fixes it.
    fit_seed: int = 42


def choose_anchors(shared: int, wanted: int | None, seed: int) -> torch.Tensor:
    """Return the sorted positions of the anchors among the ``shared`` tokens.

    Drawn by the run's seed alone, so that both matrices are fitted on the same tokens.
    """
    import torch

    if wanted is None or wanted >= shared:
        return torch.arange(shared)
    order = torch.randperm(shared, generator=torch.Generator().manual_seed(seed))
    return order[:wanted].sort().values


def _solve(x_NX: torch.Tensor, y_NY: torch.Tensor, options: Any) -> alignment.AffineMap:
    if options.solver == "lstsq":
        return alignment.fit_lstsq(x_NX, y_NY, options.ridge)
    if options.solver == "procrustes":
        return alignment.fit_procrustes(x_NX, y_NY)
    work = options.steps * x_NX.shape[1] ** 2 * y_NY.shape[1]
    return alignment.fit_sgd(
        x_NX,
        y_NY,
        steps=options.steps,
        learning_rate=options.learning_rate,
        seed=options.fit_seed,
        progress=work > 1e12,  # a bar only where the fit takes more than about ten seconds
    )


def _fit_quality(
    affine: alignment.AffineMap, x_NX: torch.Tensor, y_NY: torch.Tensor
) -> dict[str, float | int]:
    """Return the map's mean squared error (targets have norm 1) and cosine on its anchors."""
    # Every anchor of a small vocabulary, evenly chosen ones of a large: a sample is as telling.
    step = max(1, len(x_NX) // 4096)
    mapped_NY, wanted_NY = affine(x_NX[::step]), y_NY[::step]
    cosines_N = (mapped_NY * wanted_NY).sum(1) / mapped_NY.norm(dim=1).clamp(min=1e-12)
    return {
        "anchors_measured": len(mapped_NY),
        "anchor_squared_error": float((mapped_NY - wanted_NY).square().sum(1).double().mean()),
        "anchor_cosine": float(cosines_N.double().mean()),
    }


def initialise(inputs: Inputs, options: Any) -> torch.Tensor:
    """Return the helper rows of the missing tokens, mapped into the source's space."""
    inputs.require_overlap(METHOD.name, "fits its map on shared tokens")
    positions = choose_anchors(len(inputs.overlap_target_N), options.anchors, inputs.seed)
    if not len(inputs.missing_N):
        return inputs.source_VD.new_empty(0, inputs.source_VD.shape[1])  # nothing to map
    positions = positions.to(inputs.overlap_target_N.device)
    helper_NX = inputs.helper_VD[inputs.overlap_target_N[positions]]
    source_NY = inputs.source_VD[inputs.overlap_source_N[positions]]
    scale_x = alignment.Scaling.fit(helper_NX)
    scale_y = alignment.Scaling.fit(source_NY)
    x_NX, y_NY = scale_x.forward(helper_NX), scale_y.forward(source_NY)
    affine = _solve(x_NX, y_NY, options)

    inputs.notes["anchors"] = len(positions)
    inputs.notes["anchors_wanted"] = options.anchors
    inputs.notes.update(_fit_quality(affine, x_NX, y_NY))
    return scale_y.backward(affine(scale_x.forward(inputs.helper_VD[inputs.missing_N])))


METHOD = Method(
    name="sava",
    summary="shared rows copied; new rows are helper rows mapped by an affine fit on shared tokens",
    citation="Moroni et al. 2025, Optimizing LLMs for Italian: Reducing Token Fertility and "
    "Enhancing Efficiency Through Vocabulary Adaptation",
    options=SavaOptions,
    initialise=initialise,
    needs_helper=True,
)
