"""Which blocks of a model were added by block expansion: its own configuration says so."""

from __future__ import annotations

from typing import Any

#: Key of ``config.json``: the numbers of the new blocks, from 0.
ADDED_BLOCKS = "added_blocks"


def added_blocks(model: Any) -> list[int]:
    """Return the numbers of the blocks that were added to a loaded model; [] if none were."""
    return list(getattr(model.config, ADDED_BLOCKS, ()))
