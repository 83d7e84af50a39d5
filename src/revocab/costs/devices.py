"""How long operations take on a device; and what a million characters cost a model there, from its
configuration alone, term by term.

A term computes and moves bytes, and takes as long as the slower of the two (Williams et al. 2009,
"Roofline"). Training and reading a prompt compute; writing, a token at a time, moves all weights
and the cache.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, model_validator

from revocab import yaml_file
from revocab.closed import Closed, OneLine, look_up
from revocab.costs.model import FLOAT, WIDTH, Outline, cached_numbers, operations, parameters_of
from revocab.errors import RevocabError
from revocab.limits import Flops, Share, at_most

KNOWN = Path(__file__).parent / "known"
#: Training reaches about so much of what a device does in large products.
UTILISATION = 0.4
#: Text in bytes for each token, where no tokenizer has counted it.
BYTES_PER_TOKEN = 4
HOUR, MILLION = 3600, 1_000_000
#: Prefixes of units, each a thousand times the one before; units that take none.
PREFIXES, PLAIN = ("", "k", "M", "G", "T", "P", "E", "Z", "Y"), ("hours", "kWh", "kg CO2")


def short(value: float, unit: str) -> str:
    """Return a number in three digits or so, such as ``12.6 G tokens`` or ``93 MB``."""
    if unit in PLAIN:
        return f"{value:,.3g} {unit}" if value < 1000 else f"{value:,.0f} {unit}"
    power = min(int(math.log(value, 1000) + 1e-9), len(PREFIXES) - 1) if value >= 1000 else 0
    space = "" if unit in ("B", "FLOP", "FLOP/s") else " "
    return f"{value / 1000**power:.3g} {PREFIXES[power]}{space}{unit}".replace("  ", " ")


@cache
def known(kind: str) -> dict[str, dict[str, Any]]:
    """Return ``devices``, ``models`` or ``data``: sizes that are known, each with its source."""
    value, _ = yaml_file.read(KNOWN / f"{kind}.yaml")
    return value


class Device(Closed):
    """One kind of device, known by its name or by its numbers."""

    gpu: OneLine | None = Field(default=None, description="a known device, such as a100-80gb")
    peak: Flops | None = Field(
        default=None, description="operations per second of one device at its best, bfloat16"
    )
    memory: Annotated[float, Field(gt=0), at_most(10**15, "no device has as much")] | None = Field(
        default=None, description="bytes of memory of one device"
    )
    utilisation: Share = Field(
        default=UTILISATION, description="share of the peak that training reaches"
    )

    @model_validator(mode="after")
    def _one_device(self) -> Device:
        if self.gpu is not None and self.peak is not None:
            raise ValueError("gpu and peak are both given; give one")
        if self.gpu is not None:
            try:
                look_up("gpu", self.gpu, known("devices"), "device")
            except RevocabError as error:
                numbers = ("peak", "memory", "bandwidth", "watts")
                own = [key for key in numbers if key in type(self).model_fields]
                raise ValueError(f"{error}; or give {', '.join(own)}") from None
        return self

    def number(self, key: str) -> float | None:
        """Return ``peak``, ``memory``, ``bandwidth`` or ``watts``, as given or known."""
        own: float | None = getattr(self, key, None)
        if own is not None or self.gpu is None:
            return own
        return float(known("devices")[self.gpu][key])

    @property
    def speed(self) -> float | None:
        """Operations per second; None where no device is named."""
        peak = self.number("peak")
        return None if peak is None else peak * self.utilisation


# --- a million characters -------------------------------------------------------------------------


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
        rows, hidden = model.config.vocab_size, model.config.hidden_size
        tables = 1 if model.config.tie_word_embeddings else 2
        token = operations(model)
        return cls(
            vocabulary=rows,
            hidden=hidden,
            body=token.forward - rows * hidden,
            rest=parameters_of(model) - tables * rows * hidden,
            tables=tables,
            attended=token.width,
            cached=cached_numbers(model.config),
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

    #: Operations, and bytes, per second.
    speed: float
    bandwidth: float
    #: Texts that are written at once, the characters before each token, a row of training.
    batch: int
    context: int
    length: int


def training(shape: Shape, per_character: float, on: Service) -> dict[str, float]:
    """Return the seconds of training on a million characters, all weights, by term."""
    tokens = MILLION * per_character
    return {
        "body": tokens * 6 * shape.body / on.speed,
        "head": tokens * 6 * shape.head / on.speed,
        "attention": tokens * 12 * shape.attended * on.length / on.speed,
    }


def writing(shape: Shape, per_character: float, on: Service) -> dict[str, float]:
    """Return the seconds of writing a million characters: the batch shares every weight read."""
    tokens, before = MILLION * per_character, on.context * per_character

    def slower(operations: float, numbers: float) -> float:
        return tokens * max(operations / on.speed, numbers * shape.itemsize / on.bandwidth)

    return {
        "body": slower(2 * shape.body, shape.body / on.batch),
        "head": slower(2 * shape.head, shape.head / on.batch),
        "attention, cache": slower(4 * shape.attended * before, shape.cached * before),
    }


def reading(shape: Shape, per_character: float, on: Service) -> dict[str, float]:
    """Return the seconds of reading a million characters of prompts; their ends alone need a head,
    and a position attends to those before it, half of the context in the mean.
    """
    tokens, before = MILLION * per_character, on.context * per_character / 2
    return {
        "body": tokens * 2 * shape.body / on.speed,
        "attention": tokens * 4 * shape.attended * before / on.speed,
    }


def memory(shape: Shape, per_character: float, on: Service) -> dict[str, float]:
    """Return the bytes of served weights, of the batch's cache, and of a training's states: weights
    in float32 and bfloat16, gradients and two moments.
    """
    return {
        "weights": shape.parameters * shape.itemsize,
        "cache": on.batch * on.context * per_character * shape.cached * shape.itemsize,
        "training states": shape.parameters * (4 * FLOAT + WIDTH["bfloat16"]),
    }


def training_hours(shape: Shape, tokens: float, on: Service) -> float:
    return tokens / MILLION * sum(training(shape, 1.0, on).values()) / HOUR


def break_even(hours: float, before: Mapping[str, float], after: Mapping[str, float]) -> float:
    """Return the characters whose cheaper writing takes as long as training; infinite for none."""
    saved = sum(before.values()) - sum(after.values())
    return hours * HOUR * MILLION / saved if saved > 0 else math.inf
