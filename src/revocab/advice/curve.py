"""How many tokens a text costs with vocabularies of other sizes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from revocab.progress import Say, silent

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

#: Numbers of new tokens that a curve has, unless others are asked for.
SIZES = (1000, 2000, 4000, 8000, 16000, 32000)


@dataclass(frozen=True)
class CurvePoint:
    """The held-out text's tokens with so many new tokens in a vocabulary of that size."""

    added: int
    tokens: int
    vocabulary: int


@dataclass(frozen=True)
class Curve:
    """Tokens of one held-out text against the size of the vocabulary."""

    construction: Literal["extend", "optimise"]
    #: The base: its size, how many of its tokens are kept, its tokens of the held-out text.
    source_vocabulary: int
    kept: int
    source_tokens: int
    points: tuple[CurvePoint, ...]
    #: The same sizes, learned from half of the training text; those that it reaches.
    half: tuple[CurvePoint, ...]
    #: New tokens at the knee (:func:`find_knee`); 0 where no size pays.
    knee: int
    #: How many new tokens the training text gives, where that is fewer than were asked for.
    most: int | None
    training_bytes: int
    heldout_bytes: int
    heldout_characters: int

    def saving(self, point: CurvePoint) -> float:
        """Return the share of the source's tokens that a point saves; negative where it adds."""
        return 1 - point.tokens / self.source_tokens

    @property
    def half_difference(self) -> float | None:
        """The largest relative difference between the curve and that of half of the text."""
        whole = {point.added: point.tokens for point in self.points}
        return max(
            (abs(point.tokens / whole[point.added] - 1) for point in self.half), default=None
        )


def extend_curve(
    tokenizer: PreTrainedTokenizerFast,
    training: Sequence[str],
    heldout: Sequence[str],
    sizes: Iterable[int] = SIZES,
    say: Say = silent,
) -> Curve:
    """Return the curve of ``extend``; ``sizes`` are numbers of new tokens."""
    raise NotImplementedError


def optimise_curve(
    tokenizer: PreTrainedTokenizerFast,
    training: Sequence[str],
    heldout: Sequence[str],
    sizes: Iterable[int] = SIZES,
    say: Say = silent,
    keep: float = 0.5,
) -> Curve:
    """Return the curve of ``optimise``: ``keep`` (as its option) of the base, then new tokens."""
    raise NotImplementedError
