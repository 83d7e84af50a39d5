"""What happens to multiple-choice requests that are longer than a model's context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from revocab.errors import RevocabError


def refuse_long(
    requests: Sequence[tuple[Any, list[int], list[int]]],
    long: Sequence[int],
    longest: int,
    long_prompts: str,
) -> int:
    """Return how many requests the harness will cut to ``longest`` tokens.

    ``long`` are their indices. With ``long_prompts`` "error" any raises :class:`RevocabError`.
    """
    if long and long_prompts == "error":
        sizes = {i: len(requests[i][1]) + len(requests[i][2]) for i in long}
        worst = max(long, key=sizes.__getitem__)
        text = " ".join(str((requests[worst][0] or [""])[0]).split())
        raise RevocabError(
            f"{len(long)} of {len(requests)} requests are longer than the {longest} tokens that "
            f"the model takes: up to {sizes[worst]} tokens, beginning {text[:60]!r}. Give fewer "
            "shots, leave the task out, or accept cut beginnings with "
            "evaluation.multiple_choice.long_prompts: cut (--long-prompts cut)"
        )
    return len(long)
