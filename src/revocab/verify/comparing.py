"""What a runtime answers beside what is expected: how much is equal, where the rest differs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from revocab.tokenizers.golden_ids import GoldenText
from revocab.verify.runtime import Answer

#: So many tokens and characters are shown from where a difference begins.
TOKENS, CHARACTERS = 8, 30


@dataclass(frozen=True)
class Difference:
    """Where the tokens of a text, or what they decode to, begin to differ."""

    text: str
    what: str
    #: The first token, or character, that differs.
    at: int
    #: Some of each from there on, tokens with their ids.
    expected: str
    received: str


@dataclass
class Result:
    """What came of one way to load the model."""

    runtime: str
    #: ``equal``, ``different``, ``failed`` or ``missing``.
    state: str
    #: Its version and class, or why it failed or is missing.
    about: str
    texts: int = 0
    same_ids: int = 0
    same_text: int = 0
    #: The largest difference of logits, and the largest that rounding explains.
    logits: float | None = None
    allowed: float | None = None
    differences: list[Difference] = field(default_factory=list)


def compared(
    runtime: str,
    answer: Answer,
    texts: Sequence[GoldenText],
    logits: Any,
    token: Callable[[int], str | None],
    shown: int,
) -> Result:
    if answer.error is not None:
        return Result(runtime, "failed", f"{answer.name}: {answer.error}")
    apart, allowed = (None, None) if not answer.logits else logits_apart(answer, logits)
    if apart is not None and not math.isfinite(apart):
        width = len(answer.logits[0])
        reason = f"logits of {width:,} tokens, not finite or not those of this vocabulary"
        return Result(runtime, "failed", f"{answer.name}: {reason}")

    def tokens(ids: Sequence[int]) -> str:
        return " ".join(f"{token(number)!r}:{number}" for number in ids) or "nothing"

    ids = [
        (entry.text, entry.ids, [*theirs]) for entry, theirs in zip(texts, answer.ids, strict=True)
    ]
    decoded = [
        (entry.text, entry.decoded, theirs)
        for entry, theirs in zip(texts, answer.decoded, strict=True)
    ]
    other_ids = [*differences(ids, "token", TOKENS, tokens)]
    other_text = [*differences(decoded, "character decoded", CHARACTERS, repr)]
    rounded = apart is None or allowed is None or apart <= allowed
    return Result(
        runtime,
        "equal" if rounded and not other_ids and not other_text else "different",
        answer.name,
        len(texts),
        len(texts) - len(other_ids),
        len(texts) - len(other_text),
        apart,
        allowed,
        [*other_ids[:shown], *other_text[:shown]],
    )


def differences(
    triples: Sequence[tuple[str, Any, Any]], what: str, most: int, shown: Callable[[Any], str]
) -> Iterator[Difference]:
    """Yield what differs of texts, each with what is expected and received."""
    for text, expected, received in triples:
        if expected != received:
            pairs = zip(expected, received, strict=False)
            at = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
            parts = (shown(whole[at : at + most]) for whole in (expected, received))
            yield Difference(text, what, at, *parts)


def logits_apart(answer: Answer, expected: Any) -> tuple[float, float]:
    """Return the largest difference of logits, and what rounding explains; short rows: inf."""
    import torch

    if answer.normalised:
        expected = expected.double().log_softmax(-1)
    theirs = torch.tensor(answer.logits, dtype=torch.float64)[:, : expected.shape[1]]
    if theirs.shape != expected.shape:
        return math.inf, 0.0
    return float((theirs - expected).abs().max()), answer.rounding * float(expected.abs().max())
