"""SAVA: an affine map from the helper's space to the source's, fitted on the shared tokens."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any, Literal

from pydantic import Field

from revocab.heavy_types import Tensor
from revocab.initialise.method import Method, MethodInputs, RowsOptions
from revocab.initialise.rows import alignment
from revocab.initialise.rows.alignment import Rows, Scaling, map_rows
from revocab.limits import NotNegative, Rate, Seed, Size, Steps


class SavaOptions(RowsOptions):
    """How the map is fitted. The defaults are the published ones."""

    solver: Literal["sgd", "lstsq", "procrustes"] = Field(
        default="sgd",
        description="sgd: full-batch Adam, as published; lstsq: its minimiser; procrustes: "
        "orthogonal",
    )
    anchors: Size | None = Field(
        default=None,
        description="fit on this many shared tokens, drawn by the run's seed; default: all",
    )
    steps: Steps = Field(default=1000, description="sgd only")
    learning_rate: Rate = Field(default=1e-3, description="sgd only")
    ridge: NotNegative = Field(default=0.0, description="lstsq only")
    fit_seed: Seed = Field(
        default=42, description="seed of the map's initial weights (sgd only); the release fixes it"
    )
    held_out: float | None = Field(
        default=None,
        ge=0,
        le=0.5,
        description="share of the anchors that a second fit leaves out, to measure a map on what it"
        " has not seen; the map in use is fitted on all. Default: a tenth, or nothing where a fit"
        " takes minutes. Only for sgd and procrustes on all anchors: other cases are measured"
        " without a second fit",
    )


def choose_anchors(shared: int, wanted: int | None, seed: int) -> Tensor:
    """Return the anchors' positions, the same for both matrices: drawn by the run's seed alone."""
    import torch

    if wanted is None or wanted >= shared:
        return torch.arange(shared)
    order = torch.randperm(shared, generator=torch.Generator().manual_seed(seed))
    return order[:wanted].sort().values


class _Fit:
    """The fit of one matrix: its anchors, and what a second fit can reuse of the first."""

    def __init__(self, inputs: MethodInputs, options: SavaOptions):
        import torch

        self.options = options
        device = inputs.overlap_target_N.device
        shared = len(inputs.overlap_target_N)
        positions_N = choose_anchors(shared, options.anchors, inputs.seed).to(device)
        self.scale_x, self.x_NX = _scaled(inputs.guide_VX, inputs.overlap_target_N, positions_N)
        self.scale_y, self.y_NY = _scaled(inputs.source_VD, inputs.overlap_source_N, positions_N)
        unused_S = torch.ones(shared, dtype=torch.bool, device=device)
        unused_S[positions_N] = False
        self.unused_N = unused_S.nonzero()[: alignment.MEASURED, 0]
        self.known = inputs.shared
        work = self.x_NX.shape[1] ** 2 * self.y_NY.shape[1]
        # A bar, and no second fit unasked, where a fit takes more than about ten seconds.
        self.large = work * (options.steps if options.solver == "sgd" else 20) > 1e12

    @cached_property
    def gram_PP(self) -> Tensor:
        """Return the helper's side, computed once where both matrices have the same helper."""
        if "sava gram" not in self.known:
            self.known["sava gram"] = alignment.gram(self.x_NX)
        return self.known["sava gram"]

    @cached_property
    def system(self) -> alignment.LeastSquares:
        system = alignment.LeastSquares(self.gram_PP, self.options.ridge)
        if system.needs_double:
            self.x_NX = replace(self.x_NX, double=True)
            system = alignment.LeastSquares(alignment.gram(self.x_NX), self.options.ridge)
        return system

    @cached_property
    def normal(self) -> alignment.Normal:
        exact = self.options.solver != "lstsq" or self.system.needs_exact
        return alignment.Normal(self.gram_PP, alignment.cross(self.x_NX, self.y_NY, exact=exact))

    def all_anchors(self) -> alignment.AffineMap:
        if self.options.solver == "lstsq":
            system = self.system  # first: it may widen the anchors
            return system.solve(self.normal.right_PY, self.x_NX.dtype)
        return self.of(self.x_NX, self.y_NY)

    def of(self, x: Rows, y: Rows, held: tuple[Rows, Rows] | None = None) -> alignment.AffineMap:
        """Return sgd's or procrustes' map of anchors, all or those without ``held``."""
        options = self.options
        if options.solver == "procrustes":
            return alignment.fit_procrustes(x, y)
        normal = None
        if not alignment.few_anchors(x):
            normal = self.normal
            if held is not None:
                left_out = alignment.Normal.of(*held)
                normal = alignment.Normal(
                    normal.gram_PP - left_out.gram_PP, normal.right_PY - left_out.right_PY
                )
        return alignment.fit_sgd(
            x,
            y,
            steps=options.steps,
            learning_rate=options.learning_rate,
            seed=options.fit_seed,
            progress=self.large,
            normal=normal,
        )


def _scaled(matrix_VD: Tensor, shared_N: Tensor, positions_N: Tensor) -> tuple[Scaling, Rows]:
    rows = Rows(matrix_VD, shared_N[positions_N])
    scaling = Scaling.fit(rows)
    return scaling, Rows(matrix_VD, rows.ids_N, scaling)


def _held_out(
    fit: _Fit,
    affine: alignment.AffineMap,
    inputs: MethodInputs,
    measured: tuple[Tensor, Tensor, Tensor],
) -> dict[str, Any]:
    """Return the error on unused shared tokens; else leave-one-out (lstsq); else of another fit."""
    import torch

    if len(fit.unused_N):
        x = fit.scale_x.forward(inputs.guide_VX[inputs.overlap_target_N[fit.unused_N]])
        y = fit.scale_y.forward(inputs.source_VD[inputs.overlap_source_N[fit.unused_N]])
        quality = alignment.quality("held_out", affine(x), y)
        return {"held_out": "shared tokens not fitted on", **quality}
    if fit.options.solver == "lstsq":
        return alignment.leave_one_out(fit.system, *measured)
    share = fit.options.held_out
    if share is None:
        share = 0.0 if fit.large else 0.1
    held = min(int(share * len(fit.x_NX)), alignment.MEASURED)
    if not held:
        return {"held_out": None}
    generator = torch.Generator().manual_seed(inputs.seed)
    order_N = torch.randperm(len(fit.x_NX), generator=generator).to(fit.x_NX.device)
    held_N, rest_N = order_N[:held].sort().values, order_N[held:].sort().values
    apart, rest = ((fit.x_NX.take(n_N), fit.y_NY.take(n_N)) for n_N in (held_N, rest_N))
    second = fit.of(*rest, apart)
    quality = alignment.quality("held_out", second(fit.x_NX[held_N]), fit.y_NY[held_N])
    return {"held_out": "anchors left out of a second fit", **quality}


def initialise(inputs: MethodInputs, options: SavaOptions) -> Tensor:
    """Return the helper rows of the missing tokens, mapped into the source's space.

    In chunks: memory holds, beside the matrices, the normal equations, the map and the result.
    """
    inputs.require_overlap(METHOD.name, "fits its map on shared tokens")
    rows_ND = inputs.source_VD.new_empty(len(inputs.missing_N), inputs.source_VD.shape[1])
    if not len(rows_ND):
        return rows_ND  # nothing to map
    fit = _Fit(inputs, options)
    affine = fit.all_anchors()
    chosen = alignment.sample(fit.x_NX)
    x, y = fit.x_NX[chosen], fit.y_NY[chosen]
    mapped = affine(x)
    inputs.notes.update(
        anchors=len(fit.x_NX),
        anchors_wanted=options.anchors,
        **alignment.quality("anchors", mapped, y),
        **_held_out(fit, affine, inputs, (x, y, mapped)),
    )
    missing_NX = Rows(inputs.guide_VX, inputs.missing_N, fit.scale_x, fit.x_NX.double)
    return map_rows(missing_NX, lambda x_NX: fit.scale_y.backward(affine(x_NX)), rows_ND)


METHOD = Method(
    name="sava",
    label="SAVA",
    colour="#0072B2",
    variant_colours={"lstsq": "#009E73"},
    summary="shared rows copied; new rows are helper rows mapped by an affine fit on shared tokens",
    citation="Moroni et al. 2025, Optimizing LLMs for Italian: Reducing Token Fertility and "
    "Enhancing Efficiency Through Vocabulary Adaptation",
    options=SavaOptions,
    initialise=initialise,
    needs_helper=True,
)
