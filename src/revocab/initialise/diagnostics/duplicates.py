"""New rows that say the same as another row of their matrix: a blocked search for the nearest."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from revocab.initialise.rows.anchor_scaling import Rows, chunks, map_rows

if TYPE_CHECKING:
    import torch

#: Rows with at least this cosine count as near duplicates.
COSINE = 0.99
#: Width that wider rows are projected to for the search.
WIDTH = 128
#: Rows that are compared with as many others at once: 4 MiB of cosines.
BLOCK_ROWS = 1024
EXAMPLES = 10


def _directions(matrix_VD: torch.Tensor) -> torch.Tensor:
    """Return unit rows, randomly (seeded) projected to :data:`WIDTH` where they are wider.

    Johnson & Lindenstrauss: near a cosine of 0.99 a projected cosine is off by about 0.002.
    """
    import torch

    width = matrix_VD.shape[1]
    mix_DK = None
    if width > 4 * WIDTH:
        generator = torch.Generator().manual_seed(0)
        mix_DK = torch.randn(width, WIDTH, generator=generator)

    def directions(chunk_ND: torch.Tensor) -> torch.Tensor:
        rows_NK = chunk_ND.float() if mix_DK is None else chunk_ND.float() @ mix_DK
        return torch.nn.functional.normalize(rows_NK, dim=1)

    kept = width if mix_DK is None else WIDTH
    return map_rows(matrix_VD, directions, torch.empty(len(matrix_VD), kept))


def nearest(matrix_VD: torch.Tensor, query_N: torch.Tensor) -> torch.Tensor:
    """Return, for each row id asked for, the id of the row with the greatest cosine to it.

    Of equal ones the first. Blocks of cosines are small enough to stay in the processor's cache.
    """
    import torch

    directions_VK = _directions(matrix_VD)
    found_N = torch.empty_like(query_N)
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
        found_N[start : start + BLOCK_ROWS] = where_B
    return found_N


def near_duplicates(matrix_VD: torch.Tensor, new_N: torch.Tensor) -> dict[str, Any]:
    """Return how many new rows (ids ``new_N``) have a near duplicate, and examples.

    Each new row is compared with all rows, copied ones included; what is counted and shown are
    exact cosines to the nearest row. ``identical``: bit for bit the same row.
    """
    import torch

    result: dict[str, Any] = {"cosine": COSINE, "rows": 0, "identical": 0, "examples": []}
    if not len(new_N) or len(matrix_VD) < 2:
        return result
    other_N = nearest(matrix_VD, new_N)
    similarity = torch.nn.functional.cosine_similarity
    pairs = zip(
        chunks(Rows(matrix_VD, new_N), 512), chunks(Rows(matrix_VD, other_N), 512), strict=True
    )
    cosines_N, same_N = torch.empty(len(new_N)), torch.empty(len(new_N), dtype=torch.bool)
    start = 0
    for rows, others in pairs:
        part = slice(start, start + len(rows))
        cosines_N[part] = similarity(rows.float(), others.float())
        same_N[part] = (rows == others).all(dim=1)
        start = part.stop
    result["rows"] = int((cosines_N >= COSINE).sum())
    result["identical"] = int(same_N.sum())
    order = cosines_N.argsort(descending=True, stable=True)[: min(EXAMPLES, result["rows"])]
    result["examples"] = [
        {"token": int(new_N[i]), "other": int(other_N[i]), "cosine": round(float(cosines_N[i]), 6)}
        for i in order
    ]
    return result
