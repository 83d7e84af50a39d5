"""What `adapt` decides for the user, from text, model and time: each value with its reason."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from revocab.adapting.source import STAND_IN_TOKENS, Source
from revocab.adapting.texts import Text
from revocab.bill.device import BYTES_PER_TOKEN, UTILISATION
from revocab.errors import RevocabError

#: Bytes of text for each new token where the user names no size: at about four bytes a token, each
#: new one is then seen some hundred times in one pass.
BYTES_PER_NEW_TOKEN = 500
#: Fewer bytes than this for each new token that the user asks for leave most of them unseen.
LEAST_BYTES_PER_NEW_TOKEN = 50
#: With fewer bytes per token of a stand-in, too few pieces repeat to make that many.
STAND_IN_BYTES_PER_TOKEN = 16
#: Sizes of vocabularies are multiples of this, which is also the least that is added.
MULTIPLE = 64
#: A step has so many rows, unless there would be too few or too many steps.
ROWS, MOST_ROWS = 8, 256
FEWEST_STEPS, ENOUGH_STEPS, MANY_STEPS = 20, 100, 2000
#: Passes over a text after which more of the same teach little: Muennighoff et al. 2023, "Scaling
#: Data-Constrained Language Models".
PASSES = 4
#: Shares of the mixture where there is text of the old language to keep.
NEW_SHARE = 0.75
#: Held out of each text: a share, and at most so many bytes, so that measuring takes less time than
#: training.
HELDOUT_SHARE, HELDOUT_BYTES = 0.05, 50_000
#: Rate of embeddings of a model 4,096 wide, inversely proportional to the width, and its ceiling.
RATE, RATE_WIDTH, HIGHEST_RATE = 1.0e-4, 4096, 2.0e-3
#: The rate of all other weights as a share of it.
BODY_SHARE = 0.1


#: A way on from a start, and what alone it trains first; none: everything from the first step on.
Way = Literal["together", "rows-first", "embeddings-first"]
TOGETHER: Way = "together"
ALONE: Mapping[Way, str | None] = {
    TOGETHER: None,
    "rows-first": "new_rows",
    "embeddings-first": "embeddings",
}
#: The share of the steps in which it is.
FIRST_SHARE = 0.2


@dataclass(frozen=True)
class Choices:
    """The values of the experiment file."""

    texts: Sequence[Text]
    keep: Sequence[Text]
    vocabulary: int
    row: int
    rows: int
    steps: int
    embedding_rate: float
    #: Minutes of training, estimated.
    minutes: float

    @property
    def corpora(self) -> list[Text]:
        return [*self.texts, *self.keep]

    @property
    def trained_tokens(self) -> int:
        return self.steps * self.rows * self.row

    @property
    def every(self) -> int:
        """Steps between checkpoints: one in the middle, and the last."""
        return -(-self.steps // 2)


def heldout_bytes(size: int) -> int:
    return max(1, min(HELDOUT_BYTES, int(size * HELDOUT_SHARE)))


def bytes_by_language(texts: Sequence[Text]) -> dict[str, int]:
    return {text.language: text.bytes for text in texts}


def shares(sizes: Mapping[str, int], total: float = 1.0) -> dict[str, float]:
    """Return shares in proportion to the sizes, so that all are read equally often.

    They are rounded, none to 0, and sum to ``total``.
    """
    *others, last = sizes
    whole = max(1, sum(sizes.values()))
    rounded = {name: round(total * sizes[name] / whole, 4) or 0.0001 for name in others}
    return {**rounded, last: round(total - sum(rounded.values()), 4)}


def mixture(texts: Sequence[Text], keep: Sequence[Text]) -> dict[str, float]:
    if not keep:
        return shares(bytes_by_language(texts))
    old = shares(bytes_by_language(keep), round(1 - NEW_SHARE, 4))
    return {**shares(bytes_by_language(texts), NEW_SHARE), **old}


def vocabulary_size(asked: int | None, base: int, text: int) -> int:
    """Return the tokens of the new vocabulary: ``asked`` or, if None, what ``text`` bytes carry.

    At most twice the ``base``: Gosal et al. 2024, Table 1, found no gain beyond. Raises
    :class:`RevocabError` for more than the text can teach, or no more than the base has.
    """
    if asked is None:
        new = min(base, text // BYTES_PER_NEW_TOKEN)
        if new < MULTIPLE:
            raise RevocabError(
                f"--text: {text:,} bytes in all, but {MULTIPLE} new tokens need"
                f" {MULTIPLE * BYTES_PER_NEW_TOKEN:,}; give more text, or --vocabulary N"
            )
        return (base + new) // MULTIPLE * MULTIPLE or base + new
    if asked <= base:
        raise RevocabError(f"--vocabulary {asked}: the model has {base:,} tokens; give more")
    needed = (asked - base) * LEAST_BYTES_PER_NEW_TOKEN
    if needed > text:
        most = base + text // LEAST_BYTES_PER_NEW_TOKEN
        fewer = f", or at most {most}" if most > base else ""
        raise RevocabError(
            f"--vocabulary {asked}: {asked - base:,} new tokens need at least {needed:,} bytes of"
            f" text, received {text:,}; give more text{fewer}"
        )
    return asked


def check_stand_in_text(keep: Sequence[Text]) -> None:
    """Raise :class:`RevocabError` unless a stand-in's vocabulary can be made of the text."""
    size, needed = sum(text.bytes for text in keep), STAND_IN_TOKENS * STAND_IN_BYTES_PER_TOKEN
    if size < needed:
        raise RevocabError(
            f"--keep: {size:,} bytes in all, but the {STAND_IN_TOKENS:,} tokens of a stand-in need"
            f" {needed:,}; give more text, or leave out --keep to generate it"
        )


def choose(
    source: Source,
    texts: Sequence[Text],
    keep: Sequence[Text],
    *,
    vocabulary: int | None = None,
    tokens: int | None = None,
    minutes: float = math.inf,
    flops: float = 1.0,
) -> Choices:
    """Return what the file will say; ``flops`` are those of this device at its best, per second.

    Raises :class:`RevocabError` with all that is impossible.
    """
    size = sum(text.bytes for text in texts)
    vocabulary = vocabulary_size(vocabulary, source.tokens, size)
    parameters = source.parameters + 2 * (vocabulary - source.tokens) * source.width
    speed = flops * UTILISATION / (6 * parameters)
    share = NEW_SHARE if keep else 1.0
    if tokens is None:
        enough = PASSES * size / BYTES_PER_TOKEN / share
        tokens = int(min(enough, minutes * 60 * speed))
    row, rows = source.row, ROWS
    while rows > 1 and tokens < ENOUGH_STEPS * rows * row:
        rows //= 2
    while rows < MOST_ROWS and tokens > MANY_STEPS * rows * row:
        rows *= 2
    steps = max(FEWEST_STEPS, tokens // (rows * row))
    rate = min(HIGHEST_RATE, RATE * RATE_WIDTH / source.width)
    choices = Choices(texts, keep, vocabulary, row, rows, steps, float(f"{rate:.2g}"), 0.0)
    return replace(choices, minutes=choices.trained_tokens / speed / 60)


def stages(choices: Choices, way: Way) -> list[dict[str, Any]]:
    alone, rate = ALONE[way], choices.embedding_rate
    everything = {
        "name": "everything",
        "share": 1.0 if alone is None else 1 - FIRST_SHARE,
        "learning_rate": rate * BODY_SHARE,
        "groups": {"embeddings": {"learning_rate": rate}},
    }
    if alone is None:
        return [everything]
    return [
        {"name": "rows", "train": alone, "share": FIRST_SHARE, "learning_rate": rate},
        everything,
    ]
