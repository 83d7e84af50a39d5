"""`revocab probe`: which start and way on suit a model and text, tried with a small budget.

It trains every start with several seeds, and beside them the model with its old vocabulary, and
says what differs beyond chance, what it cannot tell, and what to do.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml
from pydantic import Field

from revocab.adapting.adapt import FILE as ADAPT_FILE
from revocab.adapting.choices import TOGETHER, Way, choose
from revocab.adapting.experiment_file import Asked, experiment_text
from revocab.adapting.from_texts import (
    Start,
    TextOptions,
    check_free,
    choose_for,
    flops,
    look_at_inputs,
    read_words,
    run,
    write_once,
)
from revocab.adapting.probe_file import (
    FILE,
    GROUP,
    ORDERS,
    UNCHANGED,
    probe_text,
    ranking_id,
    rounded,
    starts,
)
from revocab.adapting.probe_findings import RECORD, Probe, sentences
from revocab.adapting.probe_results import read_results
from revocab.adapting.source import look_at
from revocab.adapting.texts import Text
from revocab.config.expand import run_id
from revocab.config.load import read, validate
from revocab.io import read_json, write_json, write_text
from revocab.limits import Count, Positive
from revocab.plan.plan import Plan

#: The experiment's id, the page, and the folder of the recommended experiment.
EXPERIMENT, PAGE, RECOMMENDED = "probe", "probe.md", "recommended"
ABOUT = """Try starts and ways on with a small budget: revocab probe MODEL --text it=FILE

Trains every start with several seeds, and as long the model with its old vocabulary. Ranks them by
held-out loss with intervals, says what it cannot tell, and recommends one, or not to adapt. MODEL
is a folder or a Hub id; with --demo instead, a small stand-in is trained first. After an
interruption, run the same command again to continue."""


class ProbeOptions(TextOptions):
    """The flags of `revocab probe`."""

    out: Path = Field(default=Path("probed"), description="folder to write")
    methods: list[Start] = Field(
        default=["fvt", "last-piece", "mean", "random"],
        min_length=1,
        description="how new rows are made; of those not told apart the first is recommended",
    )
    ways: list[Way] = Field(
        default=[TOGETHER, "rows-first"],
        min_length=1,
        description="what is trained: all methods in the first way, the first method in all ways",
    )
    seeds: Count = Field(default=3, description="trainings of each")
    minutes: Positive = Field(default=20, description="about so many minutes of training in all")
    dry_run: bool = Field(default=False, description="show what it costs, and write nothing")


def probe(words: Sequence[str]) -> str:
    """Train, and return the findings; or raise :class:`RevocabError`."""
    model, options, command = read_words(words, ProbeOptions, "revocab probe", ABOUT)
    if options.dry_run:
        return show_cost(model, options, command)
    file = options.out / FILE
    write_once(file, command, lambda: experiment_of(ask(model, options, command), options))
    plan = Plan(read(file))
    run(file, options.cores, command)
    return write_findings(model, options, plan)


def ask(model: str | None, options: ProbeOptions, command: str) -> Asked:
    """Look at model and texts, and choose the rest.

    Raises :class:`RevocabError` with all problems.
    """
    inputs = look_at_inputs(model, options, options.out)
    trainings = (len(starts(options.methods, options.ways)) + 1) * options.seeds
    choices = rounded(choose_for(inputs, options, options.minutes / trainings))
    choices = replace(choices, minutes=choices.minutes * trainings)
    return Asked(
        command, inputs.source.name, inputs.place, options.methods[0], choices,
        file=FILE, experiment=EXPERIMENT,
    )  # fmt: skip


def experiment_of(asked: Asked, options: ProbeOptions) -> str:
    return probe_text(asked, starts(options.methods, options.ways), options.seeds)


def show_cost(model: str | None, options: ProbeOptions, command: str) -> str:
    """Return the bill of a probe on this machine, which leaves nothing behind."""
    from revocab.bill.bill import bill_of
    from revocab.bill.device import BillOptions
    from revocab.bill.plan import lines_of

    if options.demo:
        check_free(options.out)  # its text is made there
    with TemporaryDirectory() as folder:
        asked = ask(model, options.model_copy(update={"out": Path(folder)}), command)
        plan = Plan(validate(yaml.safe_load(experiment_of(asked, options))))
        device = BillOptions(peak=flops())
        lines = [*lines_of(bill_of(plan, device), device, explain=False)]
    minutes = f"about {asked.choices.minutes:.1f} minutes of training, and as measured here:"
    return "\n".join([minutes, *lines, "dry run: nothing was written"])


# Findings -----------------------------------------------------------------------------------------


def write_findings(model: str | None, options: ProbeOptions, plan: Plan) -> str:
    """Return what the terminal shows, after writing page, record and the recommended file."""
    out = options.out
    results = out / plan.paths.results
    probed = read_results(plan, out)
    experiment = plan.experiment
    names = [ranking_id(language) for language in experiment.evaluation.heldout]
    tables = [
        (results / "tables" / f"{name}.md").read_text(encoding="utf-8").strip()
        for name in (*names, *([ORDERS] if ORDERS in experiment.tables else []))
    ]
    lines = [*sentences(probed)]
    write_json(out / RECORD, probed.model_dump(mode="json"))
    said = "\n".join(f"- {line}" for line in lines)
    title = f"# {probed.model}: starts and ways on"
    write_text(out / PAGE, "\n\n".join([title, said, *tables]) + "\n")
    after = [
        f"page     {results / 'report.html'}, and {out / PAGE}",
        *next_steps(model, options, plan, probed),
    ]
    return "\n".join(["", "\n\n".join(tables), "", *lines, "", *after])


def next_steps(
    model: str | None, options: ProbeOptions, plan: Plan, probed: Probe
) -> Iterator[str]:
    """Write the experiment file of what is recommended, and yield what to do next.

    A file that is there stays: it may be edited, or have run.
    """
    chosen = probed.chosen
    inputs = look_at_inputs(model, options, options.out)
    wanted_id = run_id(GROUP, chosen.name if chosen else UNCHANGED)
    run = next(run for run in plan.runs.values() if wanted_id in (run.id, run.replicate_of))
    name = model or str((options.out / plan.root(run.id).path).absolute())
    texts = [f"{text.language}={text.path}" for text in inputs.texts]
    keep = pairs("--keep", inputs.keep)
    advise = ["revocab", "advise", name, *texts, *keep, "--probe", str(options.out)]
    yield f"advise   {shlex.join(advise)}"
    if chosen is None:
        yield f"go on    edit {options.out / FILE}: more steps; then the same command again"
        return
    place, source = look_at(name) if model is None else (inputs.place, inputs.source)
    choices = choose(source, inputs.texts, inputs.keep, vocabulary=probed.vocabulary)
    tokens = choices.trained_tokens
    timing = read_json(options.out / plan.paths.run(run.id) / "timing.json")
    choices = replace(choices, minutes=tokens / timing["tokens_per_second"] / 60)
    folder = options.out / RECOMMENDED
    command = shlex.join([
        "revocab", "adapt", name,
        *pairs("--text", inputs.texts), *keep,
        "--method", chosen.method, "--way", chosen.way, "--vocabulary", str(probed.vocabulary),
        "--tokens", str(tokens), "--out", str(folder),
    ])  # fmt: skip
    asked = Asked(command, source.name, place, chosen.method, choices, way=chosen.way)
    file = folder / ADAPT_FILE
    if file.exists():
        yield f"kept     {file}, which was there; without it, it is written anew"
    else:
        write_text(file, experiment_text(asked))
    yield f"adapt    {command}"
    yield f"         ({file}: {tokens:,} tokens, about {choices.minutes:,.0f} minutes here)"


def pairs(flag: str, texts: Sequence[Text]) -> list[str]:
    return [flag, *(f"{text.language}={text.path}" for text in texts)] if texts else []
