"""New rows drawn from the source matrix's per-dimension normal distribution."""

from __future__ import annotations

from revocab.initialise.method import Method
from revocab.initialise.rows.means import normal_rows

METHOD = Method(
    name="random",
    label="Random",
    colour="#E69F00",
    dash=(0, (1.5, 1)),
    summary="shared rows copied; new rows from a normal distribution fitted to each dimension",
    citation="Moroni et al. 2025 (SAVA), section 3.1",
    initialise=lambda inputs, options: normal_rows(inputs, len(inputs.missing_N)),
)
