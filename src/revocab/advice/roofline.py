"""What a million characters cost a model, from its configuration alone, term by term; and after how
many a new vocabulary has paid for its training.

A term computes and moves bytes, and takes as long as the slower of the two (Williams et al. 2009,
"Roofline"). Training and reading a prompt compute; writing, a token at a time, moves all weights
and the cache. Operations are those of :mod:`revocab.training.machine.operations`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

from revocab.bill.amounts import HOUR, Amount, Factor
from revocab.bill.outline import Outline
from revocab.training.estimates import ModelShape, StepOptions, state_bytes
from revocab.training.machine.operations import operations

MILLION = 1_000_000
#: The precision of a training's forward pass.
TRAINED_AS = "bfloat16"


@dataclass(frozen=True)
class Shape:
    """The sizes of a model that decide what its tokens cost; but for its vocabulary's, fixed."""

    vocabulary: int
    hidden: int
    #: Weights that every token is multiplied by, without the head.
    body: int
    #: Parameters without a row for each token, and matrices with one: 1 where they are tied.
    rest: int
    tables: int
    #: Width of all query heads of all layers, and numbers that a token leaves in the cache.
    attended: int
    cached: int
    itemsize: int

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Shape:
        """Raise :class:`RevocabError` for a configuration whose sizes are missing or unknown."""
        model = Outline(config)
        settings = model.config
        rows, hidden = settings.vocab_size, settings.hidden_size
        tables = 1 if settings.tie_word_embeddings else 2
        step = operations(model)
        width = step.width
        return cls(
            vocabulary=rows,
            hidden=hidden,
            body=step.forward - rows * hidden,
            rest=sum(weight.numel() for weight in model.parameters()) - tables * rows * hidden,
            tables=tables,
            attended=width,
            cached=2 * width * settings.num_key_value_heads // settings.num_attention_heads,
            itemsize=model.itemsize,
        )

    def resized(self, vocabulary: int) -> Shape:
        return replace(self, vocabulary=vocabulary)

    @property
    def head(self) -> int:
        return self.vocabulary * self.hidden

    @property
    def parameters(self) -> int:
        return self.rest + self.tables * self.head


@dataclass(frozen=True)
class Service:
    """A device, and how a model is used on it."""

    #: Factors of operations, and of bytes, per second.
    speed: Sequence[Factor]
    bandwidth: Sequence[Factor]
    #: Texts that are written at once, the characters before each token, a row of training.
    batch: int
    context: int
    length: int


def computed(name: str, product: Sequence[Factor], on: Service) -> Amount:
    return Amount(name, "s", [product], on.speed)


def slower(moved: Sequence[Factor], over: Sequence[Factor], time: Amount, on: Service) -> Amount:
    """Return the time of a term: that of its operations, or of the bytes that it moves."""
    other = Amount(time.name, "s", [moved], [*on.bandwidth, *over])
    return max(time, other, key=attrgetter("value"))


def tokens_of(per_character: float) -> Factor:
    return (MILLION * per_character, "tokens")


def training(shape: Shape, per_character: float, on: Service) -> list[Amount]:
    tokens = tokens_of(per_character)
    wide: Sequence[Factor] = (12, (shape.attended, "wide"), (on.length, "positions"))
    return [
        computed("body", [tokens, 6, (shape.body, "weights")], on),
        computed("head", [tokens, 6, (shape.head, "weights")], on),
        computed("attention", [tokens, *wide], on),
    ]


def writing(shape: Shape, per_character: float, on: Service) -> list[Amount]:
    """Return the seconds of writing a million characters: the batch shares every weight read."""
    tokens, stored = tokens_of(per_character), (shape.itemsize, "B")
    before: Factor = (on.context * per_character, "positions")
    terms = [
        slower(
            [tokens, (weights, "weights"), stored], [(on.batch, "texts")],
            computed(name, [tokens, 2, (weights, "weights")], on), on,
        )
        for name, weights in (("body", shape.body), ("head", shape.head))
    ]  # fmt: skip
    attention = computed("attention, cache", [tokens, 4, (shape.attended, "wide"), before], on)
    return [*terms, slower([tokens, (shape.cached, "numbers"), stored, before], [], attention, on)]


def reading(shape: Shape, per_character: float, on: Service) -> list[Amount]:
    """Return the seconds of reading a million characters of prompts; their ends alone need a head.

    A position attends to those before it, half of the context in the mean.
    """
    tokens = tokens_of(per_character)
    before: Factor = (on.context * per_character / 2, "positions")
    return [
        computed("body", [tokens, 2, (shape.body, "weights")], on),
        computed("attention", [tokens, 4, (shape.attended, "wide"), before], on),
    ]


def memory(shape: Shape, per_character: float, on: Service) -> list[Amount]:
    """Return the bytes of served weights, of the batch's cache, and of a training's states."""
    stored: Factor = (shape.itemsize, "B")
    count, row = shape.parameters, (shape.hidden, "wide")
    sizes = ModelShape(count, count, 1, shape.hidden, 1, 1, shape.vocabulary)
    states = state_bytes(sizes, StepOptions(on.length, TRAINED_AS)) / count
    cache = [(on.batch, "texts"), (on.context * per_character, "positions"), stored]
    rows: Factor = (shape.vocabulary, "rows")
    weights = [[(shape.rest, "weights"), stored], [shape.tables, rows, row, stored]]
    return [
        Amount("weights", "B", weights),
        Amount("cache", "B", [[*cache, (shape.cached, "numbers")]]),
        Amount("training states", "B", [[(count, "weights"), (states, "B")]]),
    ]


def total(amounts: Sequence[Amount]) -> float:
    return sum(amount.value for amount in amounts)


def hours_of(shape: Shape, tokens: float, on: Service) -> Amount:
    each = (total(training(shape, 1.0, on)), "s")
    return Amount("training", "hours", [[(tokens, "tokens"), each]], [(MILLION, "tokens"), HOUR])


def break_even(hours: Amount, before: Sequence[Amount], after: Sequence[Amount]) -> Amount | None:
    """Return the characters whose cheaper writing takes as long as training; None for none."""
    saved = total(before) - total(after)
    if saved <= 0:
        return None
    cost = [(hours.value, "hours"), HOUR, (MILLION, "characters")]
    return Amount("break even", "characters", [cost], [(saved, "s saved")])
