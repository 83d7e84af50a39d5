"""Embedding-space projection: helper rows mapped by plain least squares on the shared tokens.

Vectors by token text from a file (:mod:`.reading.token_vectors`) may stand for the helper's rows;
both matrices are then mapped from the same vectors.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from revocab.errors import RevocabError
from revocab.heavy_types import Tensor
from revocab.initialise.method import Method, MethodInputs, RowsOptions
from revocab.initialise.rows import alignment
from revocab.initialise.rows.alignment import Rows, map_rows
from revocab.limits import NotNegative


class ProjectionOptions(RowsOptions):
    """How the map is fitted."""

    ridge: NotNegative = Field(
        default=0.0,
        description="penalty on the squared entries of the map; 0: plain least squares, as "
        "published",
    )
    auxiliary: Literal["helper", "file"] = Field(
        default="helper",
        description="what is mapped; helper: its rows; file: vectors by token text",
    )


def initialise(inputs: MethodInputs, options: ProjectionOptions) -> Tensor:
    """Return ``H_missing @ W + b``, with W and b minimising ``|H_overlap W + b - E_overlap|``.

    Gosal et al. 2024, section 3.2 (embedding space transformation). Unlike sava, rows are neither
    standardised nor brought to one norm, so that a token's norm comes through the map.
    """
    import torch

    if not len(inputs.overlap_target_N) and options.auxiliary == "file":
        raise RevocabError(
            f"method {METHOD.name!r}: the file of vectors has none of the tokens that source and "
            "target share, on which the map is fitted; take another file, or fvt or mean"
        )
    inputs.require_overlap(METHOD.name, "fits its map on shared tokens")
    rows_ND = inputs.source_VD.new_empty(len(inputs.missing_N), inputs.source_VD.shape[1])
    if not len(rows_ND):
        return rows_ND  # nothing to map
    x_NX = Rows(inputs.guide_VX, inputs.overlap_target_N)
    y_NY = Rows(inputs.source_VD, inputs.overlap_source_N)
    system = alignment.LeastSquares(alignment.gram(x_NX), options.ridge)
    right_PY = alignment.cross(x_NX, y_NY, exact=system.needs_exact)
    affine = system.solve(right_PY, torch.float64 if system.needs_double else y_NY.dtype)
    x, y = (rows[alignment.sample(rows)] for rows in (x_NX, y_NY))
    mapped = affine(x)
    inputs.notes["anchors"] = len(x_NX)
    inputs.notes.update(alignment.quality("anchors", mapped, y))
    inputs.notes.update(alignment.leave_one_out(system, x, y, mapped))
    return map_rows(Rows(inputs.guide_VX, inputs.missing_N), affine, rows_ND)


METHOD = Method(
    name="projection",
    label="Projection",
    summary="shared rows copied; new rows are helper rows mapped by least squares on shared tokens",
    citation="Gosal et al. 2024, Bilingual Adaptation of Monolingual Foundation Models",
    options=ProjectionOptions,
    initialise=initialise,
    needs_helper=True,
)
