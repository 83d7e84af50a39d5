"""What the new rows of a matrix look like beside the copied ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

#: Below this share of the copied rows' mean norm, new rows count as collapsed.
COLLAPSE = 0.25


def norms(rows_ND: torch.Tensor) -> dict[str, float | int | None]:
    """Return count, mean, deviation, least and greatest L2 norm; without rows, only the count."""
    if not len(rows_ND):
        return {"rows": 0, "mean": None, "std": None, "min": None, "max": None}
    norms_N = rows_ND.float().norm(dim=1).double()
    return {
        "rows": len(rows_ND),
        "mean": float(norms_N.mean()),
        "std": float(norms_N.std(correction=0)),
        "min": float(norms_N.min()),
        "max": float(norms_N.max()),
    }


def cosine_to_mean(rows_ND: torch.Tensor) -> float | None:
    """Return the mean cosine of rows with their mean: 1 when all point the same way."""
    import torch

    if not len(rows_ND):
        return None
    rows_ND = rows_ND.float()
    mean_D = rows_ND.mean(dim=0)
    return float(torch.nn.functional.cosine_similarity(rows_ND, mean_D[None]).double().mean())


def describe(copied_ND: torch.Tensor, new_ND: torch.Tensor) -> dict[str, Any]:
    """Return the statistics of one matrix's copied and new rows."""
    return {
        "norm_copied": norms(copied_ND),
        "norm_new": norms(new_ND),
        "cosine_to_mean_copied": cosine_to_mean(copied_ND),
        "cosine_to_mean_new": cosine_to_mean(new_ND),
    }


def collapse_warning(method: str, which: str, statistics: dict[str, Any]) -> str | None:
    """Return a warning when the new rows' mean norm is far below that of the copied ones."""
    copied, new = statistics["norm_copied"]["mean"], statistics["norm_new"]["mean"]
    if copied is None or new is None or new >= COLLAPSE * copied:
        return None
    return (
        f"method {method!r}, {which} matrix: mean norm of new rows {new:.4g} is "
        f"{new / copied:.1%} of the copied rows' {copied:.4g}: the new rows have collapsed"
    )
