"""The sections of the page of an advice, and its numbers as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from revocab.advice.findings import KINDS, Findings
from revocab.advice.page import Section
from revocab.advice.published import about, interval
from revocab.advice.text_cost import TextCost
from revocab.costs.devices import short
from revocab.languages import language_label

NEVER = "never"


def title(findings: Findings) -> str:
    languages = ", ".join(language_label(cost.name) for cost in findings.costs)
    return f"{findings.name} for {languages}"


def sections(findings: Findings) -> list[Section]:
    return [
        recommendation(findings),
        text_costs(findings),
        curve(findings),
        gains(findings),
        payback(findings),
        Section("What would be lost", ("what", "what happens"), findings.losses, sentences=True),
    ]


def recommendation(findings: Findings) -> Section:
    advice = findings.advice
    against = [f"against: {reason}" for reason in advice.against]
    begin = ["if you do it anyway:"] if against else []
    return Section("Recommendation", lines=[*against, *begin, *advice.reasons])


def text_costs(findings: Findings) -> Section:
    header = (
        "text", "tokens/word", "characters/token", "words cut", "in bytes", "unknown",
        "tokens/floor", "tokens/character",
    )  # fmt: skip
    costs = [*findings.costs, *findings.kept_costs]
    repaired = [
        f"{cost.name}: the splitter cuts words at vowel signs; if it did not, the floor would be"
        f" {cost.repaired_floor_tokens:,} tokens instead of {cost.floor_tokens:,} (extend with"
        " join_marks: true)"
        for cost in costs
        if cost.repaired_floor_tokens is not None
    ]
    return Section("What the text costs today", header, [*map(cost_row, costs)], repaired)


def cost_row(cost: TextCost) -> list[str]:
    return [
        language_label(cost.name),
        f"{cost.tokens_per_word:.2f}",
        f"{cost.characters / cost.tokens:.2f}",
        "–" if cost.words_cut is None else f"{cost.words_cut:.0%}",
        f"{cost.byte_fallback_share:.1%}",
        f"{cost.unknown:,}",
        f"{cost.tokens_over_floor:.2f}",
        f"{cost.tokens_per_character:.3f}",
    ]


def curve(findings: Findings) -> Section:
    rows, lines = [], []
    for curve in findings.curves:
        half = {point.added: point.tokens for point in curve.half}
        for point in curve.points:
            differs = half[point.added] / point.tokens - 1 if point.added in half else None
            rows.append([
                curve.construction, f"{point.added:,}", f"{point.vocabulary:,}",
                f"{curve.saving(point):.1%}", "–" if differs is None else f"{differs:+.1%}",
            ])  # fmt: skip
        knee = f"the knee is at {curve.knee:,} new tokens" if curve.knee else "no size pays off"
        end = f"; the text gives no more than {curve.most:,}" if curve.most is not None else ""
        lines.append(f"{curve.construction}: {knee}{end}")
    measured = findings.curves[0]
    lines.append(
        f"learned from {short(measured.training_bytes, 'B')}, measured on"
        f" {short(measured.heldout_bytes, 'B')} held out"
    )
    header = ("construction", "new tokens", "vocabulary", "saved", "from half the text")
    return Section("Tokens saved", header, rows, lines, figure="curve")


def gains(findings: Findings) -> Section:
    rows = []
    for kind in KINDS:
        before, after = findings.before[kind], findings.after[kind]
        unit = "B" if kind == "memory" else ""
        rows += [gain_row(f"{kind}: {term}", before[term], after[term], unit) for term in before]
        if kind != "memory":
            sums = sum(before.values()), sum(after.values())
            rows.append(gain_row(f"{kind}, in all", *sums, unit))
    service = findings.use.service
    options = findings.options
    device = "this machine" if options.measure else options.gpu or "stated device"
    lines = [
        f"times are seconds per million characters, on one {device}, by a roofline model;"
        f" {service.batch} texts written at once after {service.context:,} characters each",
    ]
    if findings.use.old is not None and findings.use.share < 1:
        lines.append(f"{findings.use.share:.0%} of what is written is in the new languages")
    return Section("What it buys", ("", "today", "then", "saved"), rows, lines, figure="times")


def gain_row(name: str, old: float, new: float, unit: str) -> list[str]:
    shown = [short(value, unit) if unit else f"{value:,.3g}" for value in (old, new)]
    return [name, *shown, f"{1 - new / old:+.0%}"]


def payback(findings: Findings) -> Section:
    served, rows = findings.options.served, []
    for payback in findings.paybacks:
        pays = payback.pays
        months = f"{round(pays / served, 1):,}" if served and pays < math.inf else "–"
        rows.append([
            payback.name, short(payback.tokens, "tokens"), short(payback.hours, "hours"),
            NEVER if pays == math.inf else short(pays, "characters"), months,
        ])  # fmt: skip
    low, high, open_ended = interval(about(findings.facts.best.construction))
    line = (
        f"published curves regained their quality after {short(low, 'tokens')} to"
        f" {short(high, 'tokens')}{', and some never' if open_ended else ''}: an"
        " interval, not a promise"
    )
    header = ("training", "tokens", "on one device", "pays off after", "months")
    return Section("What it costs", header, rows, [line])


def numbers(findings: Findings) -> Iterator[tuple[str, float]]:
    """Yield each computed number: seconds for a million characters, bytes, hours, characters."""
    for when, kinds in (("today", findings.before), ("then", findings.after)):
        for kind, terms in kinds.items():
            yield from ((f"{kind}, {when}: {term}", value) for term, value in terms.items())
    for payback in findings.paybacks:
        yield f"device hours, {payback.name}", payback.hours
        if payback.pays < math.inf:
            yield f"break even, {payback.name}", payback.pays


def data_of(findings: Findings) -> dict[str, Any]:
    """Return every number of the page."""
    advice, facts = findings.advice, findings.facts
    return {
        "model": findings.name,
        "headline": advice.headline,
        "against": advice.against,
        "reasons": advice.reasons,
        "options": [finite(asdict(option)) for option in facts.options],
        "texts": [asdict(cost) for cost in findings.costs],
        "keep": [asdict(cost) for cost in findings.kept_costs],
        "curves": [asdict(curve) for curve in findings.curves],
        "numbers": dict(numbers(findings)),
        "planned": {"tokens": facts.planned, "passes": facts.passes, "served": facts.served},
        "published": [figure.model_dump() for figure in about(facts.best.construction)],
        "losses": [{"what": what, "happens": effect} for what, effect in findings.losses],
    }


def finite(values: dict[str, Any]) -> dict[str, Any]:
    return {key: None if value == math.inf else value for key, value in values.items()}
