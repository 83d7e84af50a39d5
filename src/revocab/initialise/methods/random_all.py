"""Every row drawn from the source matrix's per-dimension normal distribution; nothing copied."""

from __future__ import annotations

from revocab.initialise.method import Method
from revocab.initialise.rows.means import normal_rows

METHOD = Method(
    name="random-all",
    label="Random (all rows)",
    summary="every row from a normal distribution fitted to each dimension; copies nothing",
    citation="Moroni et al. 2025 (SAVA), first code release",
    initialise=lambda inputs, options: normal_rows(inputs, inputs.target_rows),
    copies_overlap=False,
)
