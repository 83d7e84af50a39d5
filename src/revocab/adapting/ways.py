"""Ways on from a start: the stages in which `adapt` trains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from revocab.adapting.choices import Choices

Way = Literal["together", "rows-first", "embeddings-first"]
TOGETHER: Way = "together"
#: What alone is trained first; none: everything from the first step on.
ALONE: Mapping[Way, str | None] = {
    TOGETHER: None,
    "rows-first": "new_rows",
    "embeddings-first": "embeddings",
}
#: The share of the steps in which it is.
FIRST_SHARE = 0.2


def stages(choices: Choices, way: Way) -> list[dict[str, Any]]:
    """Return the stages of a recipe, as an experiment file has them."""
    alone, rate = ALONE[way], choices.embedding_rate
    everything = {
        "name": "everything",
        "share": 1.0 if alone is None else 1 - FIRST_SHARE,
        "learning_rate": choices.body_rate,
        "groups": {"embeddings": {"learning_rate": rate}},
    }
    if alone is None:
        return [everything]
    return [
        {"name": "rows", "train": alone, "share": FIRST_SHARE, "learning_rate": rate},
        everything,
    ]
