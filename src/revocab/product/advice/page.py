"""The page of an advice (``advice.j2``) as text, Markdown and HTML, its figures, and its numbers.

Style and code of the HTML are those of the report.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from revocab import __version__
from revocab.costs.devices import short
from revocab.languages import language_label
from revocab.product.advice.findings import FOLDER, KINDS, Findings
from revocab.product.advice.recommendation import about, interval
from revocab.report.annotations import Axes
from revocab.report.drawing import SPARE_COLOURS, Palette, label_ends, save, style
from revocab.report.page import data_uri
from revocab.report.template import environment

#: How the curve of half of the text is drawn.
HALF: dict[str, Any] = {"linewidth": 0.8, "alpha": 0.7}


def page(
    findings: Findings,
    layout: str = "layout.md.j2",
    escape: Callable[[str], str] = str,
    figures: Path | None = None,
) -> str:
    """Return the page by a layout: as text or, with ``escape``, in Markdown; or as HTML with the
    figures that lie in a folder inside it.
    """
    costs = [*findings.costs, *findings.kept_costs]
    languages = ", ".join(language_label(cost.name) for cost in findings.costs)
    values = {
        "title": f"{findings.source.name} for {languages}", "found": findings, "costs": costs,
        "amounts": {kind: findings.amounts(kind) for kind in KINDS}, "infinity": math.inf,
        "published": interval(about(findings.best.construction)), "short": short,
        "layout": layout, "escape": escape, "version": __version__,
        "image": lambda name: data_uri((figures or Path()) / f"{name}.svg"),
    }  # fmt: skip
    return environment(FOLDER).get_template("advice.j2").render(values)


def data_of(findings: Findings) -> dict[str, Any]:
    """Return every number of the page: seconds for a million characters, bytes, hours, and
    characters among them.
    """
    facts = findings.facts
    numbers: dict[str, float] = {}
    options = [asdict(option) for option in facts.options]
    for option in options:
        option["pays"] = None if option["pays"] == math.inf else option["pays"]
    for when, amounts in enumerate(("today", "then")):
        for kind in KINDS:
            terms = findings.amounts(kind)[when]
            numbers |= {f"{kind}, {amounts}: {term}": value for term, value in terms.items()}
    for payback in findings.paybacks:
        numbers[f"device hours, {payback.name}"] = payback.hours
        numbers[f"break even, {payback.name}"] = payback.pays
    losses = (line.split(": ", 1) for line in findings.sentences("losses"))
    return {
        "model": findings.source.name,
        "headline": findings.headline,
        "against": findings.against,
        "reasons": findings.reasons,
        "options": options,
        "texts": [asdict(cost) for cost in findings.costs],
        "keep": [asdict(cost) for cost in findings.kept_costs],
        "curves": [asdict(curve) for curve in findings.curves],
        "numbers": {name: value for name, value in numbers.items() if value < math.inf},
        "planned": {"tokens": facts.planned, "passes": facts.passes, "served": facts.served},
        "published": [figure.model_dump() for figure in about(facts.best.construction)],
        "losses": [{"what": what, "happens": effect} for what, effect in losses],
    }


def draw_figures(folder: Path, findings: Findings) -> None:
    from matplotlib import pyplot

    with style():
        figure, axes = pyplot.subplots(figsize=(6.4, 3.2), layout="constrained")
        draw_curves(axes, findings)
        save(figure, folder, "curve", "Tokens saved")
        times = [kind for kind in KINDS if kind != "memory"]
        figure, panels = pyplot.subplots(1, len(times), figsize=(7.6, 2.9), layout="constrained")
        for panel, kind in zip(panels, times, strict=True):
            draw_times(panel, kind, findings)
        panels[0].set_ylabel("seconds per million characters")
        save(figure, folder, "times", "What it buys")


def draw_curves(axes: Axes, findings: Findings) -> None:
    palette = Palette([curve.construction for curve in findings.curves])
    labels: list[tuple[float, str, str]] = []
    for curve in findings.curves:
        line = palette.line(curve.construction)
        for points, look in ((curve.points, {"marker": "o", "markersize": 3}), (curve.half, HALF)):
            at = [point.vocabulary for point in points]
            axes.plot(at, [100 * curve.saving(point) for point in points], **{**line, **look})
        labels.append((100 * curve.saving(curve.points[-1]), curve.construction, line["color"]))
    best = findings.best
    axes.plot([best.vocabulary], [100 * best.saved_tokens], "o", markersize=10, fillstyle="none",
              color="#444444")  # fmt: skip
    axes.set(xlabel="tokens in the vocabulary", ylabel="tokens saved, %")
    axes.set_title("Held-out text; thin: learned from half of the text; ring: the chosen size")
    axes.margins(x=0.04)
    label_ends(axes, labels)


def draw_times(axes: Axes, kind: str, findings: Findings) -> None:
    columns = [*zip(("today", "then"), findings.amounts(kind), strict=True)]
    below = [0.0, 0.0]
    for term, colour in zip(columns[0][1], SPARE_COLOURS, strict=False):
        values = [amounts[term] for _, amounts in columns]
        axes.bar([at for at, _ in columns], values, 0.6, bottom=below, color=colour, label=term)
        below = [low + value for low, value in zip(below, values, strict=True)]
    axes.set_title(kind)
    axes.grid(visible=False, axis="x")
    axes.set_ylim(0, max(below) * 1.35)
    axes.legend(fontsize=7, loc="upper right")
