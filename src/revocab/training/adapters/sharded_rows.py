"""Rows of a matrix that one process holds of it: all, or with FSDP those of its shard."""

from __future__ import annotations

from typing import Any

import torch


def own_part(tensor: torch.Tensor) -> torch.Tensor:
    """Return what this process holds of a tensor: a view of its shard, or all of it."""
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def own_rows(parameter: Any) -> slice:
    rows = len(parameter)
    for dimension, placement in enumerate(getattr(parameter, "placements", ())):
        if placement.is_shard():
            mesh = parameter.device_mesh
            each = -(-rows // mesh.size(dimension))
            first = min(rows, each * mesh.get_local_rank(dimension))
            return slice(first, min(rows, first + each))
    return slice(0, rows)


def spread_like(parameter: Any, own_NV: torch.Tensor) -> torch.Tensor:
    """Return a matrix of which each process has the rows that it has of ``parameter``."""
    if not hasattr(parameter, "to_local"):
        return own_NV
    from torch.distributed.tensor import DTensor

    shape = torch.Size((len(parameter), own_NV.shape[1]))
    return DTensor.from_local(
        own_NV, parameter.device_mesh, parameter.placements, shape=shape, stride=(shape[1], 1)
    )


def summed(parameter: Any, own: torch.Tensor) -> torch.Tensor:
    """Return the sum of a number over the processes that share the rows of ``parameter``."""
    for dimension, placement in enumerate(getattr(parameter, "placements", ())):
        if placement.is_shard():
            group = parameter.device_mesh.get_group(dimension)
            torch.distributed.all_reduce(own, group=group)
    return own
