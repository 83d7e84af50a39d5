"""What tables and figures of the report on tokenizers have in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from revocab.report.kind import KindOptions, manifest

if TYPE_CHECKING:
    from revocab.config.layout import Layout
    from revocab.config.schema import Experiment

#: What is measured of each tokenizer on each corpus, and on parallel text.
BY_CORPUS, PARALLEL = "fertility/fertility.csv", "fertility/parallel.csv"


class TokenizerOptions(KindOptions):
    """A table or figure of every tokenizer that is measured."""

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        if not experiment.fertility.tokenizers:
            yield (
                f"{key}: kind {self.kind!r} shows tokenizers; name them under fertility.tokenizers"
            )

    def needs(self, layout: Layout) -> list[str]:
        return [manifest(layout.paths.fertility)]


class ParallelOptions(TokenizerOptions):
    """A table or figure of text that says the same in several languages."""

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        if experiment.fertility.parallel is None:
            yield (
                f"{key}: kind {self.kind!r} shows parallel text, and fertility.parallel is not "
                "given; add it"
            )
