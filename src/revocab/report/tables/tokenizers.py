"""What is measured of tokenizers, and of the sizes and speed of models, as files have it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal

from revocab.closed import GroupId
from revocab.corpora.word_splitters import SENTENCES
from revocab.languages import language_label
from revocab.report.annotations import Experiment, Layout, Run
from revocab.report.kind import ParallelOptions, TableOptions, TokenizerOptions
from revocab.report.pivot import with_headings
from revocab.report.published import PublishedCell
from revocab.report.results import BY_CORPUS, PARALLEL, Results, number
from revocab.report.runs import method_label
from revocab.report.table import MISSING, Cell, Row, Table, text

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


class FertilityTable(TokenizerOptions, TableOptions):
    """Mean tokens per word, tokenizers by corpora."""

    kind: Literal["fertility"]

    def published(self, results: Results, identifier: str) -> list[PublishedCell]:
        """Return those of corpora whose words are counted as the paper counts them."""
        counted = results.measured_tokenizers.items()
        others = {place for place, row in counted if row["splitter"] != SENTENCES}
        cells = super().published(results, identifier)
        return [cell for cell in cells if (cell.row, cell.column.split()[-1]) not in others]

    def build(self, results: Results) -> Table:
        setting, corpora = results.experiment.fertility, results.experiment.corpora
        rows = []
        for tokenizer in setting.tokenizers:
            rows.append(Row([text(tokenizer)]))
            for corpus in setting.corpora:
                measured = results.measured_tokenizers.get((tokenizer, corpus), {})
                value = number(measured.get("fertility"))
                cell = Cell(value, provenance=BY_CORPUS, exact=True, better="lower")
                rows[-1].cells.append(cell)
        over = ["", *[language_label(corpora[corpus].language) for corpus in setting.corpora]]
        return Table(["Tokenizer", *setting.corpora], rows, over=over)


class TokenizersTable(TokenizerOptions, TableOptions):
    """Tokens per word and character, words split, unknown and byte tokens, by corpus."""

    kind: Literal["tokenizers"]

    def build(self, results: Results) -> Table:
        """Return a block per corpus with a row per tokenizer."""
        experiment, measured, rows = results.experiment, results.measured_tokenizers, []
        for corpus in experiment.fertility.corpora:
            language = language_label(experiment.corpora[corpus].language)
            for tokenizer in experiment.fertility.tokenizers:
                cells = cells_of(measured.get((tokenizer, corpus), {}), OF_TOKENIZERS, BY_CORPUS)
                rows.append((f"{corpus} ({language})", tokenizer, cells))
        return Table(["Tokenizer", *headers(OF_TOKENIZERS)], with_headings(rows))


class ParityTable(ParallelOptions, TableOptions):
    """Tokens for parallel text, tokenizers by languages, and the ratio to the first language."""

    kind: Literal["parity"]

    def build(self, results: Results) -> Table:
        measured, parallel = results.parallel_text, results.experiment.fertility.parallel
        languages = parallel.languages if parallel else []
        rows = []
        for tokenizer in results.experiment.fertility.tokenizers:
            counts = [measured.get((tokenizer, language), {}) for language in languages]
            cells = [cell for row in counts for cell in cells_of(row, OF_PARALLEL_TEXT, PARALLEL)]
            rows.append(Row([text(tokenizer), *cells]))
        header = ["Tokenizer", *headers(OF_PARALLEL_TEXT) * len(languages)]
        over = [language_label(language) for language in languages for _ in OF_PARALLEL_TEXT]
        return Table(header, rows, over=["", *over])


class ParametersTable(TableOptions):
    """Vocabulary size and parameter count, counted on the meta device."""

    kind: Literal["parameters"]

    of_text: ClassVar[bool] = False

    def published(self, results: Results, identifier: str) -> list[PublishedCell]:
        return []  # they are part of the cells' text

    def build(self, results: Results) -> Table:
        counts = {
            (row["label"], int(row["vocabulary_size"])): int(row["parameters"])
            for row in results.csv(SIZES)
        }
        rows = []
        for model in results.experiment.parameters:
            count = counts.get((model.label, model.vocabulary_size))
            printed = results.paper.value("", model.label, "Parameters")
            shown = [MISSING, MISSING] if count is None else [human(count), f"{count:,}"]
            shown[0] += f" ({human(printed)})" if printed else ""
            cells = [text(model.label), text(str(model.vocabulary_size))]
            rows.append(Row([*cells, *(text(content, SIZES) for content in shown)]))
        return Table(["Model", "Vocabulary", "Parameters", "Exactly"], rows)

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        if not experiment.parameters:
            yield f"{key}: shows the models of 'parameters', which names none; add one"

    def needs(self, layout: Layout) -> list[str]:
        return [layout.paths.parameters]


def human(count: float) -> str:
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


TABLE = (FertilityTable, TokenizersTable, ParityTable, ParametersTable, EfficiencyTable)
