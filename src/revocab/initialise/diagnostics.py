"""What the new rows of a matrix look like beside the copied ones, when that is a warning, a figure.

Matrices of any size are read in chunks and in their stored dtype.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revocab.heavy_types import Tensor
from revocab.initialise.rows.alignment import Rows, chunks, map_rows
from revocab.report.drawing import save, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Below this share of the copied rows' mean norm, new rows count as collapsed.
COLLAPSE = 0.25
#: A new row beyond this many times the greatest copied norm counts as exploded.
EXPLODE = 4.0
#: From this share of new rows with a near duplicate on, the method hardly distinguishes tokens.
ALIKE = 0.5
#: Rows with at least this cosine count as near duplicates.
COSINE = 0.99
#: Width that wider rows are projected to for the search.
WIDTH = 128
#: Rows that are compared with as many others at once: 4 MiB of cosines.
BLOCK_ROWS = 1024
BINS = 48
EXAMPLES = 10
COLOURS = {"copied": "#666666", "new": "#0072B2"}
PANELS = {"norm": "L2 norm of a row", "cosine_to_mean": "cosine of a row to the mean of its kind"}
TITLES = {"input": "embedding", "output": "LM head"}


def norms_of(rows_ND: Tensor | Rows) -> Tensor:
    import torch

    out_N = torch.empty(len(rows_ND), dtype=torch.float64)
    return map_rows(rows_ND, lambda chunk_ND: chunk_ND.float().norm(dim=1), out_N)


def cosines_to_mean(rows_ND: Tensor | Rows, of_ND: Tensor | Rows) -> Tensor:
    """Return each row's cosine to the mean of rows, of which there may be none (float64)."""
    import torch

    cosine = torch.nn.functional.cosine_similarity
    if not len(of_ND):
        return torch.empty(0, dtype=torch.float64)
    total_D: Any = sum(chunk.float().sum(0).double() for chunk in chunks(of_ND))
    mean_D = (total_D / len(of_ND)).float()
    out_N = torch.empty(len(rows_ND), dtype=torch.float64)
    return map_rows(rows_ND, lambda chunk_ND: cosine(chunk_ND.float(), mean_D[None]), out_N)


def summary(values_N: Tensor) -> dict[str, float | int | None]:
    if not len(values_N):
        return {"rows": 0, **dict.fromkeys(("mean", "std", "min", "median", "max"))}
    return {
        "rows": len(values_N),
        "mean": float(values_N.mean()),
        "std": float(values_N.std(correction=0)),
        "min": float(values_N.min()),
        "median": float(values_N.median()),
        "max": float(values_N.max()),
    }


def _histograms(copied_N: Tensor, new_N: Tensor) -> dict[str, Any]:
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
    source_VD: Tensor, matrix_VD: Tensor, copied_N: Tensor, new_N: Tensor
) -> dict[str, Any]:
    """Return the statistics of one matrix: rows of the source, copied rows, new rows.

    ``copied_N`` and ``new_N`` are target ids. Cosines to the mean are 1 where all rows point the
    same way; ``cosine_of_new_to_copied_mean`` says whether new rows lie where copied ones do.
    """
    copied, new = Rows(matrix_VD, copied_N), Rows(matrix_VD, new_N)
    source_norms = summary(norms_of(source_VD))
    copied_norms_N, new_norms_N = norms_of(copied), norms_of(new)
    copied_cosines_N, new_cosines_N = cosines_to_mean(copied, copied), cosines_to_mean(new, new)
    greatest: Any = summary(copied_norms_N)["max"] or source_norms["max"]
    return {
        "source": source_norms,
        "norm_copied": summary(copied_norms_N),
        "norm_new": summary(new_norms_N),
        "exploded_rows": int((new_norms_N > EXPLODE * greatest).sum()),
        "cosine_to_mean_copied": summary(copied_cosines_N)["mean"],
        "cosine_to_mean_new": summary(new_cosines_N)["mean"],
        "cosine_of_new_to_copied_mean": summary(cosines_to_mean(new, copied))["mean"],
        "near_duplicates": near_duplicates(matrix_VD, new_N),
        "histograms": {
            "norm": _histograms(copied_norms_N, new_norms_N),
            "cosine_to_mean": _histograms(copied_cosines_N, new_cosines_N),
        },
    }


def warn(method: str, which: str, statistics: dict[str, Any]) -> list[str]:
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


def nearest(matrix_VD: Tensor, query_N: Tensor) -> Tensor:
    """Return, for each row id asked for, the id of the row with the greatest cosine to it.

    Of equal ones the first. Blocks of cosines are small enough to stay in the processor's cache.
    Wide rows are randomly (seeded) projected to :data:`WIDTH` (Johnson & Lindenstrauss: near a
    cosine of 0.99 a projected cosine is off by about 0.002).
    """
    import torch

    width, mix_DK = matrix_VD.shape[1], None
    if width > 4 * WIDTH:
        mix_DK = torch.randn(width, WIDTH, generator=torch.Generator().manual_seed(0))

    def directions(chunk_ND: Tensor) -> Tensor:
        rows_NK = chunk_ND.float() if mix_DK is None else chunk_ND.float() @ mix_DK
        return torch.nn.functional.normalize(rows_NK, dim=1)

    columns = width if mix_DK is None else WIDTH
    directions_VK = map_rows(matrix_VD, directions, torch.empty(len(matrix_VD), columns))
    nearest_N = torch.empty_like(query_N)
    for start in range(0, len(query_N), BLOCK_ROWS):
        ids_B = query_N[start : start + BLOCK_ROWS]
        queries_BK = directions_VK[ids_B]
        best_B = torch.full((len(ids_B),), -math.inf)
        where_B = torch.zeros_like(ids_B)
        for other in range(0, len(matrix_VD), BLOCK_ROWS):
            cosines_BC = queries_BK @ directions_VK[other : other + BLOCK_ROWS].T
            own_B = ((ids_B >= other) & (ids_B < other + BLOCK_ROWS)).nonzero()[:, 0]
            cosines_BC[own_B, ids_B[own_B] - other] = -2.0
            greatest_B, place_B = cosines_BC.max(dim=1)
            better_B = greatest_B > best_B
            best_B[better_B] = greatest_B[better_B]
            where_B[better_B] = place_B[better_B] + other
        nearest_N[start : start + BLOCK_ROWS] = where_B
    return nearest_N


def near_duplicates(matrix_VD: Tensor, new_N: Tensor) -> dict[str, Any]:
    """Return how many new rows (ids ``new_N``) have a near duplicate among all rows, and examples.

    What is counted and shown are exact cosines; ``identical``: bit for bit the same row.
    """
    import torch

    result: dict[str, Any] = {"cosine": COSINE, "rows": 0, "identical": 0, "examples": []}
    if not len(new_N) or len(matrix_VD) < 2:
        return result
    other_N = nearest(matrix_VD, new_N)
    cosines_N, same_N = torch.empty(len(new_N)), torch.empty(len(new_N), dtype=torch.bool)
    for part in torch.arange(len(new_N)).split(512):
        rows, others = matrix_VD[new_N[part]], matrix_VD[other_N[part]]
        cosines_N[part] = torch.nn.functional.cosine_similarity(rows.float(), others.float())
        same_N[part] = (rows == others).all(dim=1)
    result["rows"] = int((cosines_N >= COSINE).sum())
    result["identical"] = int(same_N.sum())
    order = cosines_N.argsort(descending=True, stable=True)[: min(EXAMPLES, result["rows"])]
    result["examples"] = [
        {"token": int(new_N[i]), "other": int(other_N[i]), "cosine": round(float(cosines_N[i]), 6)}
        for i in order
    ]
    return result


def _panel(axes: Axes, histogram: dict[str, list[float]], label: str) -> None:
    edges = histogram["edges"]
    for kind, colour in COLOURS.items():
        counts = histogram[kind]
        if total := sum(counts):
            shares = [count / total for count in counts]
            axes.stairs(shares, edges, fill=True, color=colour, alpha=0.25)
            axes.stairs(shares, edges, color=colour, linewidth=1.3, label=f"{kind} ({total:,})")
    if histogram["log"]:
        axes.set_xscale("log")
    axes.set_xlabel(label)
    axes.set_yticks([])
    axes.set_ylim(bottom=0)


def draw(described: dict[str, Any], out: Path) -> None:
    """Write ``diagnostics.svg`` and ``diagnostics.png``, if there are matrices; same bytes."""
    matrices = described["matrices"]
    if not matrices:
        return
    with style():
        from matplotlib import pyplot

        figure, grid = pyplot.subplots(
            len(matrices), len(PANELS), figsize=(8.4, 0.6 + 1.9 * len(matrices)), squeeze=False
        )
        for line, (which, statistics) in zip(grid, matrices.items(), strict=True):
            for axes, (key, label) in zip(line, PANELS.items(), strict=True):
                _panel(axes, statistics["histograms"][key], label)
            name = TITLES[which] if len(matrices) > 1 else "embedding and LM head"
            line[0].set_title(f"{described['method']}: {name}")
            line[0].set_ylabel("share of rows")
            handles, labels = line[0].get_legend_handles_labels()
            line[1].legend(handles, labels, loc="upper right", fontsize=8)
        figure.tight_layout()
        save(figure, out, "diagnostics", f"Rows of the adapted model, {described['method']}")
