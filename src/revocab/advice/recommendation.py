"""What is recommended, by ordered rules: each looks at the facts and gives its reason, or none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

from revocab.adapting.choices import BODY_SHARE, NEW_SHARE, PASSES, RATE
from revocab.advice.published import about, published
from revocab.costs.devices import short
from revocab.fertility.floor import NEAR_FLOOR

#: By how much slower the other construction may be before it is taken for keeping every old id.
ALIKE = 1.03


@dataclass(frozen=True)
class Option:
    """One construction at the size that its curve and the text allow."""

    construction: str
    added: int
    vocabulary: int
    #: Shares of the text's tokens, and of the time of writing it, that it saves.
    saved_tokens: float
    saved_time: float
    #: Characters after which it pays at the earliest: with the fewest tokens of published curves,
    #: or those that were asked for; infinite where it never does.
    pays: float


@dataclass(frozen=True)
class Facts:
    """What the rules look at."""

    #: Bytes of all of the text, and its tokens today.
    bytes: int
    tokens: float
    #: Tokens over the least that the splitter allows, and over that of a repaired one.
    over_floor: float
    over_repaired: float
    #: Whether there is text to keep.
    keeps: bool
    options: Sequence[Option]
    #: Tokens of training that are planned, and characters served a month, if they are told.
    planned: float
    passes: float
    served: float | None
    chat: bool
    #: Peak learning rate of embeddings (:func:`revocab.adapting.choices.learning_rate`).
    embedding_rate: float = RATE

    @property
    def best(self) -> Option:
        return fastest(self.options, self.planned)


def fastest(options: Sequence[Option], trained: float = inf) -> Option:
    """Return `extend` unless another writes clearly faster: it keeps every old id.

    So too where ``trained`` tokens are fewer than any published curve of the other construction
    needed: what is dropped would not be learned again.
    """
    for option in options:
        if option.construction == "extend" and trained < min(
            figure.low for figure in about("optimise")
        ):
            return option
    best = max(options, key=lambda option: option.saved_time)
    for option in options:
        slower = (1 - option.saved_time) / (1 - best.saved_time)
        if option.construction == "extend" and slower <= ALIKE:
            return option
    return best


@dataclass(frozen=True)
class Advice:
    """What to do, with reasons; ``against`` has those not to."""

    option: Option | None
    against: list[str]
    reasons: list[str]

    @property
    def headline(self) -> str:
        if self.option is None:
            return f"Don't: {self.against[0]}"
        best = self.option
        return (
            f"{best.construction.capitalize()} by {best.added:,} tokens to {best.vocabulary:,}:"
            f" {best.saved_tokens:.0%} fewer tokens, {best.saved_time:.0%} less time to write; it"
            f" pays off after {short(best.pays, 'characters')} at the earliest"
        )


# --- reasons not to, in the order in which they are looked at -------------------------------------


def too_little_text(facts: Facts) -> str | None:
    least = published().says["least-text"]
    if facts.bytes >= least.value:
        return None
    size = f"{facts.bytes / 1e6:.3g} MB of text"
    return f"{size}, and {least.told()}; find more text, or keep the vocabulary"


def at_the_floor(facts: Facts) -> str | None:
    if facts.over_floor > NEAR_FLOOR:
        return None
    reason = (
        f"the splitter cuts the text into {1 / facts.over_floor:.0%} as many pieces as it has"
        " tokens, and no vocabulary can join pieces"
    )
    if facts.over_repaired > NEAR_FLOOR:
        reason += (
            "; a splitter that keeps vowel signs in words would allow"
            f" {1 / facts.over_repaired:.0%}: use construction extend with join_marks: true"
        )
    return reason


def nothing_saved(facts: Facts) -> str | None:
    little, best = published().says["little"], facts.best
    if best.saved_time >= little.value:
        return None
    return (
        f"too little is saved: {best.saved_tokens:.0%} fewer tokens make writing"
        f" {best.saved_time:.0%} faster ({little.says})"
    )


def pays_too_late(facts: Facts) -> str | None:
    months, pays = published().says["months"], facts.best.pays
    if facts.served is None or pays <= facts.served * months.value:
        return None
    after = "never" if pays == inf else f"after {pays / facts.served:,.0f} months at the earliest"
    return f"at {short(facts.served, 'characters')} per month it pays off {after} ({months.says})"


AGAINST: Sequence[Callable[[Facts], str | None]] = (
    too_little_text, at_the_floor, nothing_saved, pays_too_late,
)  # fmt: skip


# --- reasons for the choices ----------------------------------------------------------------------


def construction(facts: Facts) -> str:
    best = facts.best
    if best.construction == "extend":
        return "extend: old tokens keep their ids, so other text has no more tokens"
    others = [option for option in facts.options if option.construction == "extend"]
    slower = f", and extend {others[0].saved_time:.0%}" if others else ""
    return f"{best.construction}: it saves {best.saved_time:.0%} of the time{slower}"


def size(facts: Facts) -> str:
    best = facts.best
    return f"{best.added:,} new tokens: the curve's knee, or as many as the text can teach"


def method(facts: Facts) -> str:
    return (
        "method fvt: a new row is the mean of its old pieces, and no second model is needed."
        f" {published().says['starts'].told()}"
    )


def recipe(facts: Facts) -> str:
    rates = published().says["rates"]
    least = min(figure.low for figure in about(facts.best.construction))
    reason = (
        f"{short(facts.planned, 'tokens')} of training, {facts.passes:.1f} passes over the text"
    )
    if facts.passes > PASSES * 1.01:
        reason += f": more than {PASSES} teach little; find more text"
    if facts.planned < least:
        reason += (
            f"; no published curve was as good as before with fewer than {short(least, 'tokens')}"
        )
    own = f"embeddings at {facts.embedding_rate:.1e}, all else at a share of {BODY_SHARE:g} of it"
    return f"{reason}. Rates by the model's width: {own}. Published: {rates.told()}"


def mixture(facts: Facts) -> str:
    if not facts.keeps:
        return "no text to keep is given, so the old languages will be forgotten; give --keep"
    return f"{NEW_SHARE:.0%} new text, the rest text to keep"


def chat(facts: Facts) -> str | None:
    if not facts.chat:
        return None
    return f"it has a chat template, and {published().says['chat'].told()}: see method lep"


CHOICES: Sequence[Callable[[Facts], str | None]] = (
    construction, size, method, recipe, mixture, chat,
)  # fmt: skip


def recommend(facts: Facts) -> Advice:
    against = [reason for rule in AGAINST if (reason := rule(facts))]
    reasons = [reason for rule in CHOICES if (reason := rule(facts))]
    return Advice(None if against else facts.best, against, reasons)
