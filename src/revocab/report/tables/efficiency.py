"""What base and adapted models cost on the same text, and the ratio of both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from revocab.closed import GroupId
from revocab.report.annotations import Experiment, Layout, Run
from revocab.report.kind import TableOptions
from revocab.report.names import method_label
from revocab.report.results import Results, number
from revocab.report.table_parts.table import MISSING, Cell, Row, Table, text

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


class EfficiencyTable(TableOptions):
    """What base and adapted models cost on the same text (``evaluation.efficiency``)."""

    kind: Literal["efficiency"]
    group: GroupId

    def timed(self, runs: Sequence[Run]) -> list[Run]:
        """Return the models that are shown as they are, the base's first, and the first scored run
        with another vocabulary.
        """
        scored = [run for run in runs if run.group == self.group and run.evaluate]
        adapted = [run for run in scored if run.made and not run.keeps_vocabulary]
        return [run for run in scored if not run.made] + adapted[:1]

    def build(self, results: Results) -> Table:
        rows: list[Row] = []
        base: dict[str, Any] = {}
        for place, run in enumerate(self.timed(results.runs)):
            where = f"efficiency/{run.scored_id}.json"
            measured = results.json(where) or {}
            cells = [
                Cell(number(measured.get(key)), scale=factor, digits=digits, provenance=where)
                for key, _, factor, digits in COLUMNS
            ]
            rows.append(Row([text(method_label(run)), *cells]))
            if place == 0:
                base = measured
            elif measured and base:
                ratios = [text(ratio(measured.get(key), base.get(key))) for key, *_ in COLUMNS]
                rows.append(Row([text(f"{method_label(run)} / base"), *ratios]))
        header = ["Model", *[header for _, header, *_ in COLUMNS]]
        return Table(header, rows, measured_note(base))

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        if experiment.evaluation.efficiency is None:
            yield f"{key}: needs evaluation.efficiency, received none; name its corpus there"

    def needs(self, layout: Layout) -> list[str]:
        runs = self.timed(list(layout.runs.values()))
        return [layout.paths.efficiency(run.scored_id) for run in runs]


def ratio(value: float | None, base: float | None) -> str:
    return f"×{value / base:.2f}" if value and base else MISSING


def measured_note(base: dict[str, Any]) -> list[str]:
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


TABLE = EfficiencyTable
