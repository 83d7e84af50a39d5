"""Losses of a run, and how much it was trained on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, model_validator

from revocab.closed import Id, Step, unknown
from revocab.languages import language_label
from revocab.report.results import Results, number
from revocab.report.results.heldout_losses import heldout_curve, loss_at, steps_to_reach
from revocab.report.table_parts.table import MISSING, Better, Cell, text
from revocab.report.values.heldout_options import (
    answer_languages,
    counted_files,
    heldout_problems,
    unit,
    unmeasured_steps,
)
from revocab.report.values.run_value import RunValue

if TYPE_CHECKING:
    from revocab.config.expand import Run
    from revocab.config.layout import Layout
    from revocab.config.schema import Experiment

COUNTS = "Tokens and bytes of training text in millions; tokens are those of a run's own tokenizer."
OWN_TOKENS = (
    "Loss per token of the first step is in a run's own tokens: it compares runs of one tokenizer."
)
HOW_COUNTED = (
    'interpolated linearly between the steps at which it was measured; ">": not reached by the '
    "run's last step."
)


class TrainingText(RunValue):
    """How much a run was trained on, in all or of one language."""

    #: Key of the count in a run's manifest.
    counted: ClassVar[str]

    language: Id | None = Field(default=None, description="default: all of them")

    def header(self) -> str:
        if self.language is None:
            return f"{self.counted.capitalize()} (M)"
        return f"{language_label(self.language)} {self.counted} (M)"

    def of_training(self, results: Results, run: Run) -> Cell:
        """Return the count, in millions; a dash for a run that is not trained."""
        if not run.trains:
            return text(MISSING)
        where = f"runs/{run.id}/manifest.json"
        value = self._count(results, results.json(where) or {})
        return Cell(value, scale=1e-6, digits=3, provenance=where)

    def _count(self, results: Results, manifest: dict[str, Any]) -> float | None:
        """Return the count of a run's manifest; None where only a part of its rows was used."""
        if self.language is None:
            return manifest.get(self.counted)
        counts = manifest.get("corpora")
        if counts is None:
            return None
        named = results.experiment.corpora
        return sum(
            counted[self.counted]
            for corpus, counted in counts.items()
            if corpus in named and named[corpus].language == self.language
        )

    def notes(self, results: Results, header: str) -> list[str]:
        return [COUNTS]

    def problems(self, experiment: Experiment, key: str, runs: Sequence[str]) -> Iterator[str]:
        known = {corpus.language for corpus in experiment.corpora.values()}
        if self.language is not None and self.language not in known:
            yield unknown(f"{key}.language", self.language, known, "language of a corpus")


class Tokens(TrainingText):
    """Tokens that a run was trained on."""

    counted: ClassVar[str] = "tokens"


class Bytes(TrainingText):
    """Bytes of the text that a run was trained on."""

    counted: ClassVar[str] = "bytes"


class HeldoutLoss(RunValue):
    """Held-out loss in a language, in bits per byte or in a reference tokenizer's tokens."""

    better: ClassVar[Better | None] = "lower"

    language: Id
    step: Step = "last"
    reference: Id | None = None
    answers: bool = Field(
        default=False, description="on answers in held-out conversations instead of text"
    )

    @model_validator(mode="after")
    def _answers_per_byte(self) -> HeldoutLoss:
        if self.answers and self.reference:
            raise ValueError("answers: their loss is per byte; remove 'reference'")
        return self

    def header(self) -> str:
        at = "" if self.step == "last" else f" at {self.step}"
        on = " answer" if self.answers else ""
        return f"{language_label(self.language)}{on} loss{at} ({unit(self.reference)})"

    def of_training(self, results: Results, run: Run) -> Cell:
        """Return the loss; a dash at a step at which only other runs are measured."""
        curve = heldout_curve(results, run, self.language, self.reference, answers=self.answers)
        loss = loss_at(run, curve, self.step)
        if loss is None and isinstance(self.step, int) and self.step not in run.steps:
            return text(MISSING)
        return Cell(loss, digits=3, provenance=results.heldout(run)[1])

    def problems(self, experiment: Experiment, key: str, runs: Sequence[str]) -> Iterator[str]:
        if self.answers:
            known = answer_languages(experiment)
            if self.language not in known:
                about = "language with held-out conversations"
                yield unknown(f"{key}.language", self.language, known, about)
        else:
            yield from heldout_problems(
                experiment, key, [self.language], self.reference, listed="language"
            )
        yield from unmeasured_steps(experiment, f"{key}.step", runs, [self.step])

    def needs(self, layout: Layout, runs: Sequence[str]) -> list[str]:
        return counted_files(layout, runs, self.reference)


class StepsTo(RunValue):
    """Training steps until held-out loss in a language is at or below a loss in bits per byte."""

    better: ClassVar[Better | None] = "lower"

    language: Id
    loss: float = Field(gt=0)

    def header(self) -> str:
        return f"Steps to {self.loss:g} bits per byte ({language_label(self.language)})"

    def of_training(self, results: Results, run: Run) -> Cell:
        """Return the steps; "> 20" where 20 steps do not reach it."""
        if not run.trains:
            return text(MISSING)
        curve = heldout_curve(results, run, self.language)
        provenance = results.heldout(run)[1]
        steps = steps_to_reach(curve, self.loss)
        if steps is None and curve:
            return text(f"> {max(curve)}", provenance)
        return Cell(steps, digits=1, provenance=provenance)

    def notes(self, results: Results, header: str) -> list[str]:
        return [f"{header}: {HOW_COUNTED}"]

    def problems(self, experiment: Experiment, key: str, runs: Sequence[str]) -> Iterable[str]:
        return heldout_problems(experiment, key, [self.language], None, listed="language")


class FirstStepLoss(RunValue):
    """Training loss of a run's first step, before any update: what its new rows begin with."""

    better: ClassVar[Better | None] = "lower"

    per: Literal["token", "byte"] = "token"

    def header(self) -> str:
        return f"First-step loss ({'bits per byte' if self.per == 'byte' else 'nats per token'})"

    def of_training(self, results: Results, run: Run) -> Cell:
        """Return the loss; a dash for a run that is not trained."""
        if not run.trains:
            return text(MISSING)
        where = f"runs/{run.id}/losses.csv"
        column = "bits_per_byte" if self.per == "byte" else "loss"
        first = next((row for row in results.csv(where) if row["step"] == "1"), {})
        return Cell(number(first.get(column)), digits=3, provenance=where)

    def notes(self, results: Results, header: str) -> list[str]:
        return [OWN_TOKENS] if self.per == "token" else []
