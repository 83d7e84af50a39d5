"""After how much text a new vocabulary has paid for its training."""

from __future__ import annotations

from collections.abc import Sequence

from revocab.advice.roofline import MILLION, Service, Shape, total, training
from revocab.bill.amounts import HOUR, Amount


def hours_of(shape: Shape, tokens: float, on: Service) -> Amount:
    """Return the device hours of training all weights on so many tokens."""
    each = (total(training(shape, 1.0, on)), "s")
    return Amount("training", "hours", [[(tokens, "tokens"), each]], [(MILLION, "tokens"), HOUR])


def break_even(hours: Amount, before: Sequence[Amount], after: Sequence[Amount]) -> Amount | None:
    """Return the characters whose cheaper writing takes as long as training; None for none."""
    saved = total(before) - total(after)
    if saved <= 0:
        return None
    cost = [(hours.value, "hours"), HOUR, (MILLION, "characters")]
    return Amount("break even", "characters", [cost], [(saved, "s saved")])
