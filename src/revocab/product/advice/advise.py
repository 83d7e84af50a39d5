"""`revocab advise`: whether a new vocabulary is worth it, before anything is trained.

Nothing is read of a model but its configuration and tokenizer.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import Field, model_validator

from revocab import __version__
from revocab.closed import Language
from revocab.costs.devices import Device, Shape, short
from revocab.costs.sizes import read_config
from revocab.errors import RevocabError, all_of
from revocab.experiment.load import validate
from revocab.experiment.paths import Paths
from revocab.io import write_json, write_text
from revocab.languages import language_label
from revocab.limits import TEXT_BYTES, TEXT_TOKENS, BatchSize, Positions, Share, at_most
from revocab.models.hub_or_folder import model_field
from revocab.output import OutputFolder
from revocab.product.advice.findings import FOLDER, KINDS, Findings, about, interval, look
from revocab.product.choices import CHECK, ExperimentFile, choose
from revocab.product.inputs import Text, describe, find, measure_texts, overlaps
from revocab.progress import spoken
from revocab.report.annotations import Axes
from revocab.report.drawing import SPARE_COLOURS, Palette, label_ends, save, style
from revocab.report.page import data_uri
from revocab.report.template import environment, markdown_escape
from revocab.verb import verb

#: The file in the output folder; its stem is the experiment's id.
FILE = "advised.yaml"
#: How new rows are made.
METHOD = "fvt"
#: By how much shares may miss 1.
ROUNDING = 1e-6
#: The device if none is named.
GPU = "a100-80gb"


class AdviseOptions(Device):
    """The flags of `revocab advise`."""

    keep: dict[str, Path] = Field(
        default_factory=dict, description="text of a language that the model should not forget"
    )
    share: dict[Language, Share] = Field(
        default_factory=dict,
        description="share of a language in all that the model will write (default: only"
        " languages of the text)",
    )
    bandwidth: Annotated[float, Field(gt=0), at_most(10**18, "no memory is as fast")] | None = (
        Field(default=None, description="bytes per second that one device reads from its memory")
    )
    batch: BatchSize = Field(default=16, description="texts written at once")
    context: Positions = Field(default=4000, description="characters before the written text")
    budget: Annotated[float, Field(gt=0), TEXT_TOKENS] | None = Field(
        default=None, description="tokens of training; default: four passes over the text"
    )
    served: Annotated[float, Field(gt=0), TEXT_BYTES] | None = Field(
        default=None, description="characters per month that the model will write"
    )
    measure: bool = Field(default=False, description="calculate with the speed of this machine")
    out: Path | None = Field(
        default=None, description="folder for the page, its figures and the experiment file"
    )
    printed: bool = Field(default=False, alias="json", description="print JSON")

    @model_validator(mode="after")
    def _whole_device(self) -> AdviseOptions:
        if (self.peak is None) != (self.bandwidth is None):
            raise ValueError("give both peak and bandwidth, for a device that is not known")
        return self


@verb()
def advise(
    model: str = model_field("model; its weights are not read"),
    text: dict[str, Path] = Field(
        default_factory=dict, description="text of the new language, by its code"
    ),
    *,
    options: AdviseOptions,
    words: Sequence[str],
) -> str:
    """Say whether a new vocabulary is worth it.

    MODEL is a folder or a Hub id; its configuration and tokenizer are read, but no weights.
    Shows what the text costs today, what larger vocabularies would save, what their training
    costs, after how much text it pays off, and what is lost. Recommends what to do; with --out
    also as an experiment file.
    """
    if options.gpu is None and options.peak is None:
        options = options.model_copy(update={"gpu": GPU})
    place, folder, texts, keep = inputs(model, text, options)
    read = [folder, *text.values(), *options.keep.values()]
    # Checked before the work: nothing that somebody else wrote is replaced.
    output = None if options.out is None else OutputFolder(options.out, "advice", read)
    parameters = Shape.of(read_config(folder)).parameters
    findings = look(describe(folder, place, parameters), texts, keep, options, spoken())
    data = data_of(findings)
    if output is not None:
        command = shlex.join(["revocab", "advise", *words])
        content = experiment(command, findings, texts, keep, output.path / FILE)
        with output.replaced() as part:
            write_text(part / FILE, content)
            write_json(part / "advice.json", data)
            write_text(part / "advice.md", page(findings, escape=markdown_escape))
            draw_figures(part, findings)
            write_text(part / "advice.html", page(findings, "layout.html.j2", figures=part))
    if options.printed:
        return json.dumps(data, indent=2, ensure_ascii=False)
    tried = ["revocab", "adapt", model]
    for flag, files in (("--text", text), ("--keep", options.keep)):
        tried += [flag, *(f"{name}={path}" for name, path in files.items())] if files else []
    tried += ["--anyway"] * bool(findings.against)
    tried += ["--tokens", str(int(findings.facts.planned))]
    steps = environment(FOLDER).get_template("next_steps.txt.j2")
    return f"{page(findings)}\n{steps.render(options=options, file=FILE, tried=shlex.join(tried))}"


def inputs(
    model: str, text: dict[str, Path], options: AdviseOptions
) -> tuple[dict[str, str], Path, list[Text], list[Text]]:
    """Return where the model is, and the texts; raise :class:`RevocabError` with all problems."""
    problems = [] if text else ["give text by its language: revocab advise MODEL it=FILE"]
    problems += overlaps(text, options.keep, "the text")
    known = [*text, *options.keep]
    total = sum(options.share.values())
    if total > 1 + ROUNDING:
        problems.append(f"--share: {total:.0%} in all; give shares that sum to at most 1")
    elif options.share and total < 1 - ROUNDING and not {*known} - options.share.keys():
        problems.append(f"--share: {1 - total:.0%} of what is written has no text; give --keep too")
    problems += [
        f"--share {name}=…: no text is in this language; there is {', '.join(known) or 'none'}"
        for name in options.share
        if name not in known
    ]

    def model_found() -> tuple[dict[str, str], Path]:
        place, folder = find(model)
        try:
            Shape.of(read_config(folder))
        except RevocabError as error:
            raise RevocabError(f"{folder}/config.json: {error}; give a model of these") from None
        return place, folder

    measures = (
        partial(measure_texts, *each) for each in ((text, "--text"), (options.keep, "--keep"))
    )
    (place, folder), texts, keep = all_of([model_found, *measures], problems)
    return place, folder, texts, keep


def experiment(
    command: str, findings: Findings, texts: list[Text], keep: list[Text], file: Path
) -> str:
    """Return a valid experiment file; raise :class:`RevocabError` where none can be made."""
    source, best, tokens = findings.source, findings.best, int(findings.facts.planned)
    choices = choose(source, texts, keep, vocabulary=source.tokens + best.added, tokens=tokens)
    run = f"results/{file.stem}/runs/{CHECK}-{METHOD}"
    content = ExperimentFile(
        command, source.name, source.place, source.tokens, METHOD,
        replace(choices, vocabulary=best.vocabulary),
        file=str(file), experiment=file.stem,
        hours=f"{findings.paybacks[0].hours:,.3g} device hours",
        check=shlex.join(["revocab", "run", str(file), "--", f"{run}/manifest.json"]),
        construction=best.construction, options=best.settings,
        reasons=[*(f"Advised against: {reason}" for reason in findings.against), *findings.reasons],
    ).text()  # fmt: skip
    assert Paths(validate(yaml.safe_load(content)).experiment).run(f"{CHECK}-{METHOD}") == run
    return content


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
    """Return the page's numbers: seconds for a million characters, bytes, hours, characters."""
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
        for points, mark in ((curve.points, {"marker": "o", "markersize": 3}), (curve.half, HALF)):
            at = [point.vocabulary for point in points]
            axes.plot(at, [100 * curve.saving(point) for point in points], **{**line, **mark})
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
