"""What base and adapted models cost on the same text, and the ratio of both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from revocab.closed import Id
from revocab.report import notes
from revocab.report.kind import KindOptions, TableKind
from revocab.report.names import method_label
from revocab.report.references import unknown_groups, unknown_runs
from revocab.report.results import Results, number
from revocab.report.table_parts.table import MISSING, Cell, Row, Table, text

if TYPE_CHECKING:
    from revocab.config.expand import Run
    from revocab.config.layout import Layout
    from revocab.config.schema import Experiment

#: Key in the measurement, header, factor, digits.
COLUMNS = (
    ("tokens_per_word", "Tokens per word", 1, 3),
    ("characters_per_token", "Characters per token", 1, 3),
    ("prompt_characters_per_second", "Prompt characters/s", 1, 0),
    ("generated_characters_per_second", "Generated characters/s", 1, 0),
    ("first_token_seconds", "First token (ms)", 1000, 1),
    ("seconds_per_100_characters", "100 characters (ms)", 1000, 1),
    ("cache_bytes_per_1000_characters", "Cache per 1000 characters (kB)", 1e-3, 1),
    ("peak_memory_bytes", "Peak memory (MB)", 1e-6, 0),
)


class EfficiencyTable(KindOptions):
    """What base and adapted models cost on the same text (``evaluation.efficiency``)."""

    kind: Literal["efficiency"]
    group: Id
    #: Run ids beside the base model; none: the first scored run with another vocabulary.
    runs: list[Id] | None = None


def timed(runs: Sequence[Run], options: EfficiencyTable) -> list[Run]:
    """Return the runs that the table shows, of all runs: the base model's first.

    Replicates are equally fast: the first stands for all.
    """
    scored = [run for run in runs if run.group == options.group and run.evaluate]
    made = [run for run in scored if run.made]
    if options.runs is None:
        chosen = [run for run in made if not run.keeps_vocabulary][:1]
    else:
        first = {run.replicate_of: run.id for run in reversed(made)}
        wanted = {first.get(one, one) for one in options.runs}
        chosen = [run for run in made if run.id in wanted]
    return [run for run in scored if not run.made] + chosen


def build(results: Results, identifier: str, options: EfficiencyTable) -> Table:
    """Return a row per run, and under each but the base model's its ratio to that one."""
    runs = timed(results.runs, options)
    measured = {run.id: results.json("efficiency", f"{run.scored_id}.json") for run in runs}
    rows, base = [], measured[runs[0].id]
    for run in runs:
        one = measured[run.id]
        where = f"efficiency/{run.scored_id}.json"
        cells = [
            Cell(number((one or {}).get(key)), scale=factor, digits=digits, provenance=where)
            for key, _, factor, digits in COLUMNS
        ]
        rows.append(Row([text(method_label(run)), *cells]))
        if one and base and run is not runs[0]:
            ratios = [text(ratio(one.get(key), base.get(key))) for key, *_ in COLUMNS]
            rows.append(Row([text(f"{method_label(run)} / base"), *ratios]))
    return Table(
        identifier,
        options.kind,
        options.title,
        ["Model", *[header for _, header, *_ in COLUMNS]],
        rows,
        [*measured_note(base), *notes.synthetic(results)],
    )


def ratio(one: float | None, base: float | None) -> str:
    """Return how many times the base's value, or a dash."""
    return f"×{one / base:.2f}" if one and base else MISSING


def measured_note(base: dict[str, Any] | None) -> list[str]:
    """Return how costs were measured."""
    if not base:
        return []
    threads = f" with {base['threads']} threads" if base["device"] == "cpu" else ""
    return [
        f"The same {base['characters']:,} characters of {base['corpus']}: {base['prompts']} "
        f"prompts, {base['new_tokens']} tokens generated after each, batches of "
        f"{base['batch_size']}, median of {base['repeats']}. Engine: {base['engine']} on "
        f"{base['device']}{threads}, {base['dtype']}. "
        "Generated characters are tokens per second times the characters per token of this text, "
        "so that what a model happens to write does not count. First token and 100 characters: one "
        "prompt at a time. Cache: keys and values. These are times of one machine.",
    ]


def problems(experiment: Experiment, key: str, options: EfficiencyTable) -> Iterator[str]:
    """Yield a problem for a group or run that is not there, and if nothing is measured."""
    yield from unknown_groups(experiment, key, options.group)
    yield from unknown_runs(experiment, key, options.runs or ())
    if experiment.evaluation.efficiency is None:
        yield f"{key}: needs evaluation.efficiency, received none; name its corpus there"


def needs(layout: Layout, options: EfficiencyTable) -> list[str]:
    """Return the measurements that it shows."""
    return [
        layout.paths.efficiency(run.scored_id) for run in timed(list(layout.runs.values()), options)
    ]


TABLE = TableKind(options=EfficiencyTable, build=build, problems=problems, needs=needs, timed=timed)
