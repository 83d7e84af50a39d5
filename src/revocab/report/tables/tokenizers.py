"""What is measured of tokenizers, and of the sizes and speed of models, as files have it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

from revocab.closed import GroupId
from revocab.corpora.word_splitters import SENTENCES
from revocab.languages import language_label
from revocab.report.annotations import Experiment, Layout, Run
from revocab.report.kind import ParallelOptions, TableOptions, TokenizerOptions
from revocab.report.names import method_label
from revocab.report.results import BY_CORPUS, FLOORS, PARALLEL, Results, number
from revocab.report.table_parts.table import MISSING, Cell, Row, Table, text

#: A column: its key in the file, its header, the scale and the digits that are shown.
Measures = Sequence[tuple[str, str, float, int]]

OF_TOKENIZERS: Measures = (
    ("fertility", "Tokens/word", 1, 3),
    ("fertility_corpus", "Tokens/word, whole corpus", 1, 3),
    ("characters_per_token", "Characters/token", 1, 2),
    ("bytes_per_token", "Bytes/token", 1, 2),
    ("words_split", "Words split %", 100, 1),
    ("unknown_rate", "Unknown %", 100, 3),
    ("byte_rate", "Byte tokens %", 100, 3),
)
OF_FLOORS: Measures = (
    ("tokens_per_word", "Tokens/word", 1, 2),
    ("floor", "Floor", 1, 2),
    ("joined_floor", "Floor, marks joined", 1, 2),
)
OF_PARALLEL_TEXT: Measures = (
    ("tokens", "Tokens", 1, 0),
    ("characters_per_token", "Characters/token", 1, 2),
    ("parity", "Parity", 1, 2),
)
OF_MODELS: Measures = (
    ("tokens_per_word", "Tokens per word", 1, 3),
    ("characters_per_token", "Characters per token", 1, 3),
    ("prompt_characters_per_second", "Prompt characters/s", 1, 0),
    ("generated_characters_per_second", "Generated characters/s", 1, 0),
    ("first_token_seconds", "First token (ms)", 1000, 1),
    ("seconds_per_100_characters", "100 characters (ms)", 1000, 1),
    ("cache_bytes_per_1000_characters", "Cache per 1000 characters (kB)", 1e-3, 1),
    ("peak_memory_bytes", "Peak memory (MB)", 1e-6, 0),
)
SIZES = "parameters.csv"


def cells_of(row: Mapping[str, Any], measures: Measures, provenance: str) -> list[Cell]:
    return [
        Cell(number(row.get(key)), scale=scale, digits=digits, provenance=provenance)
        for key, _, scale, digits in measures
    ]


def headers(measures: Measures) -> list[str]:
    return [header for _, header, *_ in measures]


def by_corpus(results: Results, cells: Callable[[str, str], list[Cell]]) -> list[Row]:
    """Return a block per corpus with a row per tokenizer."""
    rows = []
    for corpus in results.experiment.fertility.corpora:
        language = results.experiment.corpora[corpus].language
        rows.append(Row(section=f"{corpus} ({language_label(language)})"))
        for tokenizer in results.experiment.fertility.tokenizers:
            rows.append(Row([text(tokenizer), *cells(tokenizer, corpus)]))
    return rows


class FertilityTable(TokenizerOptions, TableOptions):
    """Mean tokens per word, tokenizers by corpora."""

    kind: Literal["fertility"]

    def build(self, results: Results) -> Table:
        """Return our values; published ones where words are counted as the paper counts them."""
        setting, corpora = results.experiment.fertility, results.experiment.corpora
        measured = results.measured_tokenizers
        rows = []
        for tokenizer in setting.tokenizers:
            cells = []
            for corpus in setting.corpora:
                row = measured.get((tokenizer, corpus), {})
                alike = not row or row["splitter"] == SENTENCES
                theirs = results.paper.fertility(tokenizer, corpus) if alike else None
                value = number(row.get("fertility"))
                cell = Cell(value, published=theirs, provenance=BY_CORPUS)
                cells.append(replace(cell, exact=True, better="lower"))
            rows.append(Row([text(tokenizer), *cells]))
        over = ["", *[language_label(corpora[corpus].language) for corpus in setting.corpora]]
        return Table(["Tokenizer", *setting.corpora], rows, over=over)


class TokenizersTable(TokenizerOptions, TableOptions):
    """Tokens per word and character, words split, unknown and byte tokens, by corpus."""

    kind: Literal["tokenizers"]

    def build(self, results: Results) -> Table:
        measured = results.measured_tokenizers

        def cells(tokenizer: str, corpus: str) -> list[Cell]:
            return cells_of(measured.get((tokenizer, corpus), {}), OF_TOKENIZERS, BY_CORPUS)

        return Table(["Tokenizer", *headers(OF_TOKENIZERS)], by_corpus(results, cells))


class FloorTable(TokenizerOptions, TableOptions):
    """Tokens per word and the fewest that any vocabulary can have with the tokenizer's splitter."""

    kind: Literal["floor"]

    def build(self, results: Results) -> Table:
        measured = {(row["tokenizer"], row["corpus"]): row for row in results.csv(FLOORS)}

        def cells(tokenizer: str, corpus: str) -> list[Cell]:
            row = measured.get((tokenizer, corpus))
            found = cells_of(row or {}, OF_FLOORS, FLOORS)
            # A splitter with nothing to repair has no joined floor: a dash, and no gap.
            return [text(MISSING) if row and cell.value is None else cell for cell in found]

        return Table(["Tokenizer", *headers(OF_FLOORS)], by_corpus(results, cells))


class ParityTable(ParallelOptions, TableOptions):
    """Tokens for parallel text, tokenizers by languages, and the ratio to the first language."""

    kind: Literal["parity"]

    def build(self, results: Results) -> Table:
        measured, parallel = results.parallel_text, results.experiment.fertility.parallel
        languages = parallel.languages if parallel else []
        rows = []
        for tokenizer in results.experiment.fertility.tokenizers:
            found = [measured.get((tokenizer, language), {}) for language in languages]
            cells = [cell for row in found for cell in cells_of(row, OF_PARALLEL_TEXT, PARALLEL)]
            rows.append(Row([text(tokenizer), *cells]))
        header = ["Tokenizer", *headers(OF_PARALLEL_TEXT) * len(languages)]
        over = [language_label(language) for language in languages for _ in OF_PARALLEL_TEXT]
        return Table(header, rows, over=["", *over])


class ParametersTable(TableOptions):
    """Vocabulary size and parameter count, counted on the meta device."""

    kind: Literal["parameters"]

    of_text: ClassVar[bool] = False

    def build(self, results: Results) -> Table:
        counts = {
            (row["label"], int(row["vocabulary_size"])): int(row["parameters"])
            for row in results.csv(SIZES)
        }
        rows = []
        for model in results.experiment.parameters:
            count = counts.get((model.label, model.vocabulary_size))
            printed = results.paper.parameters(model.label)
            shown = MISSING if count is None else human(count)
            shown += f" ({printed})" if printed else ""
            exact = MISSING if count is None else f"{count:,}"
            cells = [text(model.label), text(str(model.vocabulary_size))]
            rows.append(Row([*cells, text(shown, SIZES), text(exact, SIZES)]))
        return Table(["Model", "Vocabulary", "Parameters", "Exactly"], rows)

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        if not experiment.parameters:
            yield f"{key}: shows the models of 'parameters', which names none; add one"

    def needs(self, layout: Layout) -> list[str]:
        return [layout.paths.parameters]


def human(count: int) -> str:
    """Return a parameter count as papers print it, such as ``7.24B`` or ``8.1M``."""
    if count >= 1e9:
        return f"{count / 1e9:.2f}B"
    return f"{count / 1e6:.1f}M" if count >= 1e6 else f"{count / 1e3:.0f}K"


class EfficiencyTable(TableOptions):
    """What base and adapted models cost on the same text (``evaluation.efficiency``), and the ratio
    of both.
    """

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
            rows.append(Row([text(method_label(run)), *cells_of(measured, OF_MODELS, where)]))
            if place == 0:
                base = measured
            elif measured and base:
                ratios = [ratio(measured.get(key), base.get(key)) for key, *_ in OF_MODELS]
                rows.append(Row([text(f"{method_label(run)} / base"), *map(text, ratios)]))
        return Table(["Model", *headers(OF_MODELS)], rows)

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        if experiment.evaluation.efficiency is None:
            yield f"{key}: needs evaluation.efficiency, received none; name its corpus there"

    def needs(self, layout: Layout) -> list[str]:
        runs = self.timed(list(layout.runs.values()))
        return [layout.paths.efficiency(run.scored_id) for run in runs]


def ratio(value: float | None, base: float | None) -> str:
    return f"×{value / base:.2f}" if value and base else MISSING


TABLE = (
    FertilityTable, TokenizersTable, FloorTable, ParityTable, ParametersTable, EfficiencyTable,
)  # fmt: skip
