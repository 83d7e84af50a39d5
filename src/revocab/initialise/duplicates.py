"""New rows that say the same as another row of their matrix: a blocked search for the nearest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from revocab.initialise.anchor_scaling import Rows, chunks

if TYPE_CHECKING:
    import torch

#: Rows with at least this cosine count as near duplicates.
COSINE = 0.99
#: Width that wider rows are projected to for the search.
WIDTH = 128
#: Floats of similarity held at once: 64 MiB.
BLOCK_ELEMENTS = 1 << 24
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
    parts = []
    for chunk in chunks(matrix_VD):
        rows = chunk.float() if mix_DK is None else chunk.float() @ mix_DK
        parts.append(torch.nn.functional.normalize(rows, dim=1))
    return torch.cat(parts)


def nearest(matrix_VD: torch.Tensor, query_N: torch.Tensor) -> torch.Tensor:
    """Return, for each row id asked for, the id of the row with the greatest cosine to it."""
    import torch

    directions_VK = _directions(matrix_VD)
    found_N = torch.empty_like(query_N)
    step = max(1, BLOCK_ELEMENTS // len(matrix_VD))
    for start in range(0, len(query_N), step):
        ids = query_N[start : start + step]
        cosines = directions_VK[ids] @ directions_VK.T
        cosines[torch.arange(len(ids)), ids] = -2.0
        found_N[start : start + step] = cosines.argmax(dim=1)
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
    cosines, same = [], []
    for rows, others in pairs:
        cosines.append(similarity(rows.float(), others.float()))
        same.append((rows == others).all(dim=1))
    cosines_N, same_N = torch.cat(cosines), torch.cat(same)
    result["rows"] = int((cosines_N >= COSINE).sum())
    result["identical"] = int(same_N.sum())
    order = cosines_N.argsort(descending=True, stable=True)[: min(EXAMPLES, result["rows"])]
    result["examples"] = [
        {"token": int(new_N[i]), "other": int(other_N[i]), "cosine": round(float(cosines_N[i]), 6)}
        for i in order
    ]
    return result
