"""What is refused and not scored: prompts longer than the context, and numbers that overflow.

Weights are checked when a model is loaded (:mod:`revocab.models.load`), so what is NaN or infinite
here has overflowed on the way.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

from revocab.errors import RevocabError


def cause(dtype: Any) -> str:
    """Return why numbers overflowed, and the next step, for a torch dtype or its name."""
    name = str(dtype).removeprefix("torch.")
    if name == "float32":
        return (
            "its weights are finite, so numbers overflow even in float32: the checkpoint has"
            " diverged or is damaged; take another one"
        )
    wider = "bfloat16 or --dtype float32" if name == "float16" else "float32"
    return f"its weights are finite, so numbers overflow in dtype {name}; use --dtype {wider}"


def refuse_likelihoods(
    requests: Sequence[Any], results: Sequence[tuple[float, bool]], dtype: Any
) -> None:
    """Raise :class:`RevocabError` if a log-likelihood of the harness's requests is not finite."""
    broken = [i for i, (value, _) in enumerate(results) if not math.isfinite(value)]
    if broken:
        first = requests[broken[0]]
        raise RevocabError(
            f"{len(broken)} of {len(results)} log-likelihoods of the model are not finite, first"
            f" item {first.doc_id} of {first.task_name} with {first.args[1].strip()[:60]!r};"
            f" {cause(dtype)}"
        )


def refuse_sums(values: Sequence[float], describe: Callable[[int], str], dtype: Any) -> None:
    """Raise :class:`RevocabError` if a log-probability is not finite; ``describe`` names a text."""
    broken = [i for i, value in enumerate(values) if not math.isfinite(value)]
    if broken:
        raise RevocabError(
            f"{len(broken)} of {len(values)} log-probabilities are not finite, first that of"
            f" {describe(broken[0])}; {cause(dtype)}"
        )


class FiniteLogits:
    """Logits processor that changes nothing; raises for a row that is not finite.

    ``describe`` returns what a row of the batch continues, for the message.
    """

    def __init__(self, describe: Callable[[int], str], dtype: Any):
        self.describe = describe
        self.dtype = dtype

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Return ``scores`` [B, V] as they are."""
        import torch

        if torch.isfinite(scores.sum(dim=-1)).all():  # much cheaper than to look at each
            return scores
        broken = (~torch.isfinite(scores)).any(dim=-1).nonzero()
        if len(broken):
            row = self.describe(int(broken[0]))
            raise RevocabError(f"logits after {row} are not finite; {cause(self.dtype)}")
        return scores


def refuse_long(
    requests: Sequence[tuple[Any, list[int], list[int]]], longest: int, long_prompts: str
) -> int:
    """Return how many requests the harness will cut to ``longest`` tokens.

    With ``long_prompts`` "error" any raises :class:`RevocabError`.
    """
    sizes = [len(context) + len(choice) for _, context, choice in requests]
    long = [i for i, size in enumerate(sizes) if size > longest]
    if long and long_prompts == "error":
        worst = max(long, key=sizes.__getitem__)
        text = " ".join(str((requests[worst][0] or [""])[0]).split())
        raise RevocabError(
            f"{len(long)} of {len(requests)} requests are longer than the {longest} tokens that "
            f"the model takes: up to {sizes[worst]} tokens, beginning {text[:60]!r}. Give fewer "
            "shots, leave the task out, or accept cut beginnings with "
            "evaluation.multiple_choice.long_prompts: cut (--long-prompts cut)"
        )
    return len(long)


class Refusing:
    """Mixed into a model of the harness: counts or refuses what it would cut, refuses NaN."""

    #: error or cut.
    long_prompts: str
    #: Most tokens of a request.
    longest: int
    #: In which the model computes.
    number_type: Any
    truncated = 0

    def loglikelihood(
        self, requests: Sequence[Any], disable_tqdm: bool = False
    ) -> list[tuple[float, bool]]:
        """Score requests, with a progress bar only on a terminal."""
        quiet = disable_tqdm or not sys.stderr.isatty()
        results = super().loglikelihood(requests, quiet)  # type: ignore[misc]
        refuse_likelihoods(requests, results, self.number_type)
        return results

    def _loglikelihood_tokens(
        self, requests: Sequence[Any], disable_tqdm: bool = False, **options: Any
    ) -> list[tuple[float, bool]]:
        self.truncated += refuse_long(requests, self.longest, self.long_prompts)
        # vLLM's bar divides by zero where bars are off (TQDM_DISABLE).
        return super()._loglikelihood_tokens(  # type: ignore[misc]
            requests, disable_tqdm=True, **options
        )
