"""Numbers of a run's tokenizer that tables may show: its size, and how it cuts text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from revocab.closed import Id, unknown
from revocab.report.kind import manifest
from revocab.report.results import Results, number
from revocab.report.table_parts.table import Better, Cell
from revocab.report.values.run_value import RunValue

if TYPE_CHECKING:
    from revocab.config.expand import Run
    from revocab.config.layout import Layout
    from revocab.config.schema import Experiment


class TokenizerMeasure(RunValue):
    """What the report on tokenizers measured of a run's tokenizer on a corpus."""

    #: The column of the report.
    measure: ClassVar[str]
    #: What it is called in front of the corpus.
    said: ClassVar[str]

    corpus: Id

    def header(self) -> str:
        return f"{self.said} on {self.corpus}"

    def of_training(self, results: Results, run: Run) -> Cell:
        where = "fertility/fertility.csv"
        for row in results.csv(where):
            if (row["tokenizer"], row["corpus"]) == (run.target, self.corpus):
                return Cell(number(row[self.measure]), provenance=where)
        return Cell()

    def problems(self, experiment: Experiment, key: str, runs: Sequence[str]) -> Iterator[str]:
        known = experiment.fertility.corpora
        if self.corpus not in known:
            yield unknown(f"{key}.corpus", self.corpus, known, "corpus under fertility.corpora")

    def needs(self, layout: Layout, runs: Sequence[str]) -> list[str]:
        return [manifest(layout.paths.fertility)]


class Fertility(TokenizerMeasure):
    """Tokens per word, mean over the documents."""

    better: ClassVar[Better | None] = "lower"
    measure: ClassVar[str] = "fertility"
    said: ClassVar[str] = "Fertility"


class CharactersPerToken(TokenizerMeasure):
    """Characters of the corpus divided by its tokens."""

    better: ClassVar[Better | None] = "higher"
    measure: ClassVar[str] = "characters_per_token"
    said: ClassVar[str] = "Characters per token"


class Vocabulary(RunValue):
    """Number of tokens of a run's tokenizer, special ones included."""

    def header(self) -> str:
        return "Vocabulary"

    def of_training(self, results: Results, run: Run) -> Cell:
        where = f"tokenizers/{run.target}/manifest.json"
        found = results.json(where) or {}
        return Cell(found.get("vocabulary_size"), digits=0, provenance=where)

    def needs(self, layout: Layout, runs: Sequence[str]) -> list[str]:
        used = dict.fromkeys(one.target for run in runs for one in layout.replicates(run))
        return [manifest(layout.paths.tokenizer(one)) for one in used]
