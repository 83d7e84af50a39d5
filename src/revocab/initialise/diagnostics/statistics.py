"""What the new rows of a matrix look like beside the copied ones, and when that is a warning.

Rows are tensors or :class:`.anchor_scaling.Rows`; matrices of any size are read in chunks and in
their stored dtype.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from revocab.initialise.diagnostics.duplicates import near_duplicates
from revocab.initialise.rows.anchor_scaling import Rows, chunks, map_rows

if TYPE_CHECKING:
    import torch

#: Below this share of the copied rows' mean norm, new rows count as collapsed.
COLLAPSE = 0.25
#: A new row beyond this many times the greatest copied norm counts as exploded.
EXPLODE = 4.0
#: From this share of new rows with a near duplicate on, the method hardly distinguishes tokens.
ALIKE = 0.5
BINS = 48


def norms_of(rows_ND: torch.Tensor | Rows) -> torch.Tensor:
    """Return each row's L2 norm (float64)."""
    return map_rows(rows_ND, lambda chunk_ND: chunk_ND.float().norm(dim=1), _float64(len(rows_ND)))


def mean_row(rows_ND: torch.Tensor | Rows) -> torch.Tensor:
    """Return the mean of at least one row (float32)."""
    total_D: Any = sum(chunk.float().sum(0).double() for chunk in chunks(rows_ND))
    return (total_D / len(rows_ND)).float()


def cosines_to(rows_ND: torch.Tensor | Rows, direction_D: torch.Tensor) -> torch.Tensor:
    """Return each row's cosine to a vector (float64)."""
    import torch

    def cosines(chunk_ND: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.cosine_similarity(chunk_ND.float(), direction_D[None])

    return map_rows(rows_ND, cosines, _float64(len(rows_ND)))


def _float64(count: int) -> torch.Tensor:
    import torch

    return torch.empty(count, dtype=torch.float64)


def summary(values_N: torch.Tensor) -> dict[str, float | int | None]:
    """Return count, mean, deviation, least, median and greatest; without rows, only the count."""
    if not len(values_N):
        empty = ("mean", "std", "min", "median", "max")
        return {"rows": 0, **dict.fromkeys(empty)}
    return {
        "rows": len(values_N),
        "mean": float(values_N.mean()),
        "std": float(values_N.std(correction=0)),
        "min": float(values_N.min()),
        "median": float(values_N.median()),
        "max": float(values_N.max()),
    }


def norms(rows_ND: torch.Tensor | Rows) -> dict[str, float | int | None]:
    return summary(norms_of(rows_ND))


def _histograms(copied_N: torch.Tensor, new_N: torch.Tensor) -> dict[str, Any]:
    """Return counts of both kinds of rows in the same bins; even on a log scale over a decade."""
    import torch

    both_N = torch.cat([copied_N, new_N])
    low, high = (float(both_N.min()), float(both_N.max())) if len(both_N) else (0.0, 1.0)
    log = low > 0 and high > 10 * low
    if log:
        low, high = math.log10(low), math.log10(high)
    high = max(high, low + 1e-6 * max(abs(low), 1.0))
    edges = torch.linspace(low, high, BINS + 1, dtype=torch.float64)
    counts = {
        name: torch.histc(values_N.log10() if log else values_N, BINS, low, high).long().tolist()
        for name, values_N in (("copied", copied_N), ("new", new_N))
    }
    return {"log": log, "edges": (10**edges if log else edges).tolist(), **counts}


def describe(
    source_VD: torch.Tensor, matrix_VD: torch.Tensor, copied_N: torch.Tensor, new_N: torch.Tensor
) -> dict[str, Any]:
    """Return the statistics of one matrix: rows of the source, copied rows, new rows.

    ``copied_N`` and ``new_N`` are target ids. Cosines to the mean are 1 where all rows point the
    same way; ``cosine_of_new_to_copied_mean`` says whether new rows lie where copied ones do.
    """
    copied, new = Rows(matrix_VD, copied_N), Rows(matrix_VD, new_N)
    source_norms = norms(source_VD)
    copied_norms_N, new_norms_N = norms_of(copied), norms_of(new)
    copied_cosines_N = cosines_to(copied, mean_row(copied)) if len(copied) else copied_norms_N
    new_cosines_N = cosines_to(new, mean_row(new)) if len(new) else new_norms_N
    greatest: Any = summary(copied_norms_N)["max"] or source_norms["max"]
    limit = EXPLODE * greatest
    across = float(cosines_to(new, mean_row(copied)).mean()) if len(copied) and len(new) else None
    return {
        "source": source_norms,
        "norm_copied": summary(copied_norms_N),
        "norm_new": summary(new_norms_N),
        "exploded_rows": int((new_norms_N > limit).sum()),
        "cosine_to_mean_copied": summary(copied_cosines_N)["mean"],
        "cosine_to_mean_new": summary(new_cosines_N)["mean"],
        "cosine_of_new_to_copied_mean": across,
        "near_duplicates": near_duplicates(matrix_VD, new_N),
        "histograms": {
            "norm": _histograms(copied_norms_N, new_norms_N),
            "cosine_to_mean": _histograms(copied_cosines_N, new_cosines_N),
        },
    }


def warn(method: str, which: str, statistics: dict[str, Any]) -> list[str]:
    """Return what a user should know before training on these rows."""
    new = statistics["norm_new"]
    copied = statistics["norm_copied"] if statistics["norm_copied"]["rows"] else None
    name, like = ("copied", copied) if copied else ("source", statistics["source"])
    if not new["rows"] or not like["mean"]:
        return []
    where = f"method {method!r}, {which} matrix: "
    warnings = []
    if new["mean"] < COLLAPSE * like["mean"]:
        warnings.append(
            f"{where}mean norm of new rows {new['mean']:.4g} is {new['mean'] / like['mean']:.1%} "
            f"of the {name} rows' {like['mean']:.4g}: the new rows have collapsed"
        )
    if statistics["exploded_rows"]:
        warnings.append(
            f"{where}{statistics['exploded_rows']} new rows have more than {EXPLODE:g} times the "
            f"greatest norm of the {name} rows (up to {new['max']:.4g} against "
            f"{like['max']:.4g}): they have exploded"
        )
    alike = statistics["near_duplicates"]["rows"]
    if alike > ALIKE * new["rows"] and new["rows"] > 1:
        warnings.append(
            f"{where}{alike} of {new['rows']} new rows have a near duplicate (cosine at least "
            f"{statistics['near_duplicates']['cosine']:g}): the method hardly distinguishes tokens"
        )
    return warnings
