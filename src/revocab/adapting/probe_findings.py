"""What a probe says: which starts may be the best, what they gain over the old vocabulary.

Losses are held-out bits per byte after as many operations of training, lower is better, by seed;
those of several new languages are means over them, seed by seed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import fmean
from typing import Literal

from pydantic import Field

from revocab.adapting.choices import Way
from revocab.closed import Closed, Language, OneLine, checked
from revocab.errors import RevocabError
from revocab.evaluation.over_seeds import FEWEST_SEEDS
from revocab.evaluation.ranking import paired_difference, possible_best
from revocab.io import read_json
from revocab.limits import Count, Tokens

#: The file in a probe's folder.
RECORD = "probe.json"
BySeed = Mapping[int, float]


class Difference(Closed):
    """A mean difference in bits per byte, and its interval; none with fewer than two seeds."""

    value: float
    low: float | None = None
    high: float | None = None
    #: Whether the interval is of enough seeds, and on which side of 0 it lies.
    side: Literal["below", "above"] | None = None

    @property
    def half_width(self) -> float | None:
        return None if self.low is None or self.high is None else (self.high - self.low) / 2

    def in_words(self) -> str:
        where = "below" if self.value < 0 else "above"
        if self.half_width is None:
            return f"{abs(self.value):.3f} bits per byte {where} (no interval)"
        return f"{abs(self.value):.3f} ± {self.half_width:.3f} bits per byte {where}"


class Ranked(Closed):
    """A start with its way on."""

    name: OneLine
    method: OneLine
    way: Way
    #: None: it has none, since training blew up.
    loss: float | None
    minus_unchanged: Difference | None = None
    #: None: it is the best in the mean.
    minus_best: Difference | None = None
    may_be_best: bool = False


class Judgement(Closed):
    """What a probe found: all starts by loss, and what to do."""

    unchanged: float | None
    ranked: list[Ranked]
    #: adapt: the recommended start is below the old vocabulary beyond chance. keep: every start
    #: that may be the best is above it beyond chance. unclear: neither.
    verdict: Literal["adapt", "keep", "unclear"]
    #: The name of the start to take; none where the verdict is keep.
    recommended: OneLine | None

    def start(self, name: str | None) -> Ranked | None:
        return next((ranked for ranked in self.ranked if ranked.name == name), None)

    @property
    def best(self) -> Ranked:
        return self.ranked[0]


class Probe(Closed):
    """The record of a probe, which `revocab advise` reads."""

    model: OneLine
    #: Where the model is, as keys of an experiment.
    place: dict[str, OneLine]
    languages: list[Language] = Field(min_length=1)
    #: Tokens of the new vocabulary.
    vocabulary: Count
    #: Share of the held-out text's tokens that it saves.
    saved: float
    #: Of each training.
    steps: Count
    tokens: Tokens
    seeds: Count
    judgement: Judgement

    @property
    def chosen(self) -> Ranked | None:
        """Return the start that is recommended; None: the old vocabulary is ahead."""
        return self.judgement.start(self.judgement.recommended)


def read_probe(folder: Path) -> Probe:
    """Return the record of a probe; raise :class:`RevocabError` where there is none, or another."""
    file = folder / RECORD
    if not file.is_file():
        raise RevocabError(
            f"{folder}: has no {RECORD}; give the folder of a finished revocab probe (its --out)"
        )
    return checked(Probe, read_json(file), f"{file}: ")


def difference(first: BySeed, second: BySeed, comparisons: int) -> Difference | None:
    """Return the first's losses minus the second's; None where either has none."""
    value, interval = paired_difference([first], [second], comparisons=comparisons)
    if value is None:
        return None
    if interval is None:
        return Difference(value=value)
    low, high = interval.low, interval.high
    side: Literal["below", "above"] | None = None
    if interval.seeds >= FEWEST_SEEDS and (high < 0 or low > 0):
        side = "below" if high < 0 else "above"
    return Difference(value=value, low=low, high=high, side=side)


def judge(
    unchanged: BySeed, losses: Mapping[str, BySeed], starts: Mapping[str, tuple[str, Way]]
) -> Judgement:
    """Return what losses say, by the name of a start; ``starts`` has its method and way.

    Of the starts that may be the best, the first named is recommended that is below the old
    vocabulary beyond chance, else the first that is not above it: a better mean within chance is no
    reason for another one. Intervals of differences hold for all starts at once (Bonferroni).
    """
    means = {name: fmean(losses[name].values()) for name in starts if losses[name]}
    best = min(means, key=lambda name: means[name], default="")
    possible = dict(zip(means, possible_best([[losses[name]] for name in means]), strict=True))
    entries: list[Ranked] = []
    for name, (method, way) in starts.items():
        behind = None
        if name in means and name != best:
            behind = difference(losses[name], losses[best], len(starts) - 1)
        entries.append(
            Ranked(
                name=name,
                method=method,
                way=way,
                loss=means.get(name),
                minus_unchanged=difference(losses[name], unchanged, len(starts)),
                minus_best=behind,
                may_be_best=possible.get(name, False),
            )
        )
    ranked = sorted(entries, key=lambda entry: (entry.loss is None, entry.loss))
    sides = {
        entry.name: entry.minus_unchanged.side if entry.minus_unchanged else None
        for entry in entries
        if entry.may_be_best
    }
    below = [name for name, side in sides.items() if side == "below"]
    left = below or [name for name, side in sides.items() if side is None]
    return Judgement(
        unchanged=fmean(unchanged.values()) if unchanged else None,
        ranked=ranked,
        verdict="adapt" if below else "unclear" if left else "keep",
        recommended=left[0] if left else None,
    )


# In words ----------------------------------------------------------------------------------------


def sentences(probe: Probe) -> Iterator[str]:
    judgement = probe.judgement
    yield f"do: {recommendation(probe)}"
    yield from say_differences(judgement)
    yield from say_limits(probe)


def recommendation(probe: Probe) -> str:
    judgement, budget = probe.judgement, f"{probe.tokens:,} tokens"
    chosen, best = probe.chosen, judgement.best
    saves = f"the new vocabulary takes {probe.saved:.0%} fewer tokens for the text"
    if best.loss is None:
        return (
            "no start has a loss: every training blew up; try a smaller learning_rate in the file"
        )
    if best.minus_unchanged is None:
        return (
            "the old vocabulary has no loss to compare with: its trainings blew up; try a smaller"
            " learning_rate in the file"
        )
    if chosen is None or chosen.minus_unchanged is None:
        return (
            f"do not adapt at this budget: after {budget} of training {best.name}, the best, ends"
            f" {best.minus_unchanged.in_words()} the old vocabulary. {saves.capitalize()}, and a"
            " longer training may turn the order"
        )
    gain = f"{chosen.minus_unchanged.in_words()} the old vocabulary after {budget}"
    if judgement.verdict == "adapt":
        return f"adapt with {chosen.name}: {gain}; {saves}"
    few = f"which fewer than {FEWEST_SEEDS} seeds cannot tell from chance"
    chance = few if probe.seeds < FEWEST_SEEDS else "which is within chance"
    return (
        f"unclear: {chosen.name} is {gain}, {chance}; {saves}, so adapt with {chosen.name} if that"
        " is what you want"
    )


def say_differences(judgement: Judgement) -> Iterator[str]:
    ranked = judgement.ranked
    sides = {entry.name: entry.minus_unchanged and entry.minus_unchanged.side for entry in ranked}
    ended = [entry for entry in ranked if entry.loss is not None]
    for what, names in (
        ("ends below the old vocabulary beyond chance", [n for n in sides if sides[n] == "below"]),
        ("ends above the old vocabulary beyond chance", [n for n in sides if sides[n] == "above"]),
        ("not the best, beyond chance", [each.name for each in ended if not each.may_be_best]),
        ("without a loss, since training blew up", [e.name for e in ranked if e.loss is None]),
    ):
        if names:
            yield f"{what}: {', '.join(names)}"


def say_limits(probe: Probe) -> Iterator[str]:
    judgement = probe.judgement
    possible = [entry.name for entry in judgement.ranked if entry.may_be_best]
    if probe.seeds < FEWEST_SEEDS:
        yield (
            f"cannot tell: whether any difference is more than chance; with {probe.seeds} of at"
            f" least {FEWEST_SEEDS} seeds nothing is (give --seeds {FEWEST_SEEDS})"
        )
    elif len(possible) > 1:
        taken = judgement.recommended
        why = f"; {taken} is named first, so it is taken" if taken in possible else ""
        yield f"cannot tell: which of {', '.join(possible)} is the best{why}"
    behind = [entry.minus_best for entry in judgement.ranked if entry.minus_best]
    halves = [difference.half_width for difference in behind if difference.half_width is not None]
    if halves:
        yield (
            f"cannot tell: differences from {judgement.best.name} below about"
            f" {max(halves):.3f} bits per byte after {probe.steps:,} steps with {probe.seeds} seeds"
        )
    yield (
        f"cannot tell: what comes after {probe.steps:,} steps; the table of orders says how much"
        " the order changed within them"
    )
