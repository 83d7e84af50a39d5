"""Numbers of a bill: each is a sum of products, computed from the very formula that is printed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

#: A number, or a number with what it counts.
Factor = float | tuple[float, str]
#: By how much each following prefix is more, and the prefixes of units.
STEP, PREFIXES = 1000, ("", "k", "M", "G", "T", "P", "E", "Z", "Y")
#: Units that take no prefix.
PLAIN = ("hours", "kWh", "kg CO2")
HOUR, KILO = (3600, "s"), (1000, "")


@dataclass(frozen=True)
class Amount:
    """What a number is called, its unit, and the sum of ``products`` over ``over``."""

    name: str
    unit: str
    products: Sequence[Sequence[Factor]]
    over: Sequence[Factor] = ()

    @property
    def value(self) -> float:
        divisor = math.prod(map(number, self.over))
        return sum(math.prod(map(number, product)) for product in self.products) / divisor

    @property
    def formula(self) -> str:
        terms = [" x ".join(map(shown, product)) for product in self.products if product]
        whole = " + ".join(terms) or "0"
        inner = f"({whole})" if self.over and len(terms) > 1 else whole
        return " / ".join([inner, *map(shown, self.over)])

    def told(self) -> str:
        return f"{self.name}: {short(self.value, self.unit)} = {self.formula}"


def number(factor: Factor) -> float:
    return factor[0] if isinstance(factor, tuple) else factor


def shown(factor: Factor) -> str:
    value = number(factor)
    digits = f"{value:,.0f}" if value == int(value) and value < 1e15 else f"{value:.10g}"
    return f"{digits} {factor[1]}".strip() if isinstance(factor, tuple) else digits


def total(name: str, amounts: Iterable[Amount]) -> Amount:
    listed = list(amounts)
    unit = listed[0].unit if listed else ""
    return Amount(name, unit, [[amount.value] for amount in listed])


def device_hours(name: str, flops: float, speed: Sequence[Factor]) -> Amount:
    """Return the hours of one device; ``speed`` are the factors of its operations per second."""
    return Amount(name, "hours", [[(flops, "FLOP")]], [*speed, HOUR])


def short(value: float, unit: str) -> str:
    """Return a number in three digits or so, such as ``12.6 G tokens`` or ``93 MB``."""
    if unit in PLAIN:
        return f"{value:,.3g} {unit}" if value < STEP else f"{value:,.0f} {unit}"
    power = min(int(math.log(value, STEP) + 1e-9), len(PREFIXES) - 1) if value >= STEP else 0
    digits, prefix = f"{value / STEP**power:.3g}", PREFIXES[power]
    if unit in ("B", "FLOP", "FLOP/s"):
        return f"{digits} {prefix}{unit}"
    return f"{digits} {prefix} {unit}".replace("  ", " ")
