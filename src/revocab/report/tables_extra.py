"""Tables beyond the paper's: which differences are more than chance, and what a model costs."""

from __future__ import annotations

from typing import Any

from revocab.config.expand import Run
from revocab.report import notes
from revocab.report.layout import Cell, Line, Table, text
from revocab.report.names import METRICS, family_label, main_metric, method_label
from revocab.report.results import Results, number
from revocab.report.scores import AVERAGE, average_task
from revocab.report.significance import LEVEL
from revocab.report.tables_scores import generation_columns, generation_task_label

#: Column of an efficiency table: key in the measurement, header, factor, digits, higher is better.
EFFICIENCY = (
    ("tokens_per_word", "Tokens per word", 1, 3, False),
    ("characters_per_token", "Characters per token", 1, 3, True),
    ("prompt_characters_per_second", "Prompt characters/s", 1, 0, True),
    ("generated_characters_per_second", "Generated characters/s", 1, 0, True),
    ("first_token_seconds", "First token (ms)", 1000, 1, False),
    ("seconds_per_100_characters", "100 characters (ms)", 1000, 1, False),
    ("cache_bytes_per_1000_characters", "Cache per 1000 characters (kB)", 1e-3, 1, False),
    ("peak_memory_bytes", "Peak memory (MB)", 1e-6, 0, False),
)


def significance_columns(
    results: Results, language: str | None
) -> list[tuple[str, str | None, str, float]]:
    """Return (task, metric, header, scale) of each column; no metric: whichever the task has.

    A metric that the experiment leaves out has no column here: there are no items to compare.
    """
    if language is None:
        has_comet = bool(results.experiment["evaluation"]["generation"]["comet_model"])
        return [
            (task, metric, f"{generation_task_label(results, task)} {METRICS[metric]}", 1)
            for task, metric in generation_columns(results)
            if metric != "comet22" or has_comet
        ]
    tasks = results.choice_tasks(language)
    families = [results.family(task) for task in tasks]
    columns = [
        (task, None, family_label(family) if families.count(family) == 1 else task, 100)
        for task, family in zip(tasks, families, strict=True)
    ]
    return [*columns, (average_task(language), AVERAGE, "AVG", 100)]


def significance_table(results: Results, identifier: str, entry: dict[str, Any]) -> Table:
    """Return the differences between pairs of a group's runs, the significant ones marked."""
    path = f"significance/{entry['group']}/significance.csv"
    rows = [row for row in results.csv(path) if row["step"] == str(entry["step"])]
    against = f"{entry['group']}-{entry['against']}" if entry.get("against") else None
    runs = {run.id: run for run in results.group(entry["group"])}
    columns = significance_columns(results, entry.get("language"))
    found = {(r["run"], r["other"], r["task"], r["metric"]): (r, 1) for r in rows}
    found |= {(r["other"], r["run"], r["task"], r["metric"]): (r, -1) for r in rows}
    pairs = list(dict.fromkeys((row["run"], row["other"]) for row in rows))
    if against:
        pairs = [(one, against) for one in runs if one != against]
    lines = []
    for first, second in pairs:
        cells = []
        for task, metric, _, scale in columns:
            wanted = metric or main_metric(results.family(task), results.scores.metrics)
            key = (first, second, task)
            row, sign = found.get((*key, wanted)) or found.get((*key, "acc")) or (None, 1)
            cells.append(difference_cell(row, sign, scale, path))
        label = f"{method_label(runs[first])} − {method_label(runs[second])}"
        lines.append(Line([text(label), *cells]))
    sizes = sorted({int(row["resamples"]) for row in rows})
    return Table(
        identifier,
        entry["kind"],
        entry["title"],
        ["Difference", *[header for _, _, header, _ in columns]],
        lines,
        [
            "Points of the first run minus the second's on the same items, at checkpoint "
            f"{entry['step']} (a base model: as it is). Bold: p < {LEVEL} in a paired permutation "
            "test, adjusted for the pairs of a column (Holm). The CSV has the 95 % interval of a "
            "paired bootstrap and the adjusted p."
            + (f" Resamples: {', '.join(map(str, sizes))}." if sizes else ""),
            "Chance in the choice of items only: one training run per method.",
            *notes.synthetic(results),
        ],
    )


def difference_cell(row: dict[str, str] | None, sign: int, scale: float, provenance: str) -> Cell:
    """Return a signed difference with its interval and adjusted p-value."""
    if row is None:
        return Cell(scale=scale)
    low, high = sorted(sign * float(row[name]) for name in ("low", "high"))
    p_value = float(row["p_holm"])
    return Cell(
        sign * float(row["difference"]) + 0.0,
        scale=scale,
        mark="best" if p_value < LEVEL else None,
        provenance=provenance,
        interval=(low, high),
        p_value=p_value,
    )


def efficiency_runs(results: Results, entry: dict[str, Any]) -> list[Run]:
    """Return the runs of an efficiency table: those it names, after the base model.

    By default the first scored run with another vocabulary.
    """
    trained = [run for run in results.group(entry["group"]) if run.trains]
    names = entry.get("runs")
    if names is None:
        chosen = [run for run in trained if run.target != run.source_tokenizer][:1]
    else:
        chosen = [run for run in trained if run.id in names]
    return [results.base(entry["group"]), *chosen]


def efficiency_table(results: Results, identifier: str, entry: dict[str, Any]) -> Table:
    """Return what base and adapted models cost on the same text, and the ratio of both."""
    runs = efficiency_runs(results, entry)
    measured = {run.id: results.json("efficiency", f"{run.id}.json") for run in runs}
    lines, base = [], measured[runs[0].id]
    for run in runs:
        one = measured[run.id]
        where = f"efficiency/{run.id}.json"
        cells = [efficiency_cell(one, column, where) for column in EFFICIENCY]
        lines.append(Line([text(method_label(run)), *cells]))
        if one and base and run is not runs[0]:
            ratios = [text(ratio(one.get(key), base.get(key))) for key, *_ in EFFICIENCY]
            lines.append(Line([text(f"{method_label(run)} / base"), *ratios]))
    return Table(
        identifier,
        entry["kind"],
        entry["title"],
        ["Model", *[header for _, header, *_ in EFFICIENCY]],
        lines,
        [*efficiency_notes(results, base), *notes.synthetic(results)],
    )


def efficiency_cell(one: dict[str, Any] | None, column: tuple, where: str) -> Cell:
    """Return one measurement as a cell."""
    key, _, factor, digits, _ = column
    value = number((one or {}).get(key))
    return Cell(value, scale=factor, digits=digits, provenance=where)


def ratio(one: float | None, base: float | None) -> str:
    """Return how many times the base's value, or a dash."""
    return f"×{one / base:.2f}" if one and base else "–"


def efficiency_notes(results: Results, base: dict[str, Any] | None) -> list[str]:
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
