"""Numbers of a run's tokenizer, and one number of any kind, as an experiment file chooses it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from pydantic import model_validator

from revocab.closed import Closed, MeasuredCorpusId, OneLine, exactly_one
from revocab.report.annotations import Layout, Run
from revocab.report.kind import manifest
from revocab.report.results import BY_CORPUS, Results, number
from revocab.report.table_parts.table import Better, Cell
from revocab.report.values.losses import Bytes, FirstStepLoss, HeldoutLoss, Tokens
from revocab.report.values.run_value import RunValue
from revocab.report.values.task_scores import Average, HelperSimilarity, TaskScore


class TokenizerMeasure(RunValue):
    """What the report on tokenizers measured of a run's tokenizer on a corpus."""

    exact: ClassVar[bool] = True
    #: The column of the report.
    measure: ClassVar[str]
    #: What it is called in front of the corpus.
    said: ClassVar[str]

    corpus: MeasuredCorpusId

    def header(self) -> str:
        return f"{self.said} on {self.corpus}"

    def of_training(self, results: Results, run: Run) -> Cell:
        row = results.measured_tokenizers.get((run.target, self.corpus))
        return Cell(number(row[self.measure]), provenance=BY_CORPUS) if row else Cell()

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

    exact: ClassVar[bool] = True

    def header(self) -> str:
        return "Vocabulary"

    def of_training(self, results: Results, run: Run) -> Cell:
        where = f"tokenizers/{run.target}/manifest.json"
        size = (results.json(where) or {}).get("vocabulary_size")
        return Cell(size, digits=0, provenance=where)

    def needs(self, layout: Layout, runs: Sequence[str]) -> list[str]:
        used = dict.fromkeys(run.target for name in runs for run in layout.replicates(name))
        return [manifest(layout.paths.tokenizer(tokenizer)) for tokenizer in used]


class OneValue(Closed):
    """Exactly one number of a run, and what readers see in place of its own header."""

    #: In place of the usual header.
    label: OneLine | None = None
    tokens: Tokens | None = None
    bytes: Bytes | None = None
    heldout: HeldoutLoss | None = None
    first_step_loss: FirstStepLoss | None = None
    average: Average | None = None
    score: TaskScore | None = None
    similarity: HelperSimilarity | None = None
    fertility: Fertility | None = None
    vocabulary: Vocabulary | None = None
    characters_per_token: CharactersPerToken | None = None

    @model_validator(mode="after")
    def _one_value(self) -> OneValue:
        return exactly_one(self, tuple(key for key in OneValue.model_fields if key != "label"))

    @property
    def name(self) -> str:
        return next(key for key, value in self if key != "label" and value is not None)

    @property
    def value(self) -> RunValue:
        return getattr(self, self.name)

    @property
    def header(self) -> str:
        return self.label or self.value.header()
