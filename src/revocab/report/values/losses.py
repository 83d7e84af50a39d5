"""Losses of a run, and how much it was trained on; what an experiment may lack for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from revocab.closed import PLACES, Id, Step, TokenizerId, unknown
from revocab.languages import language_label
from revocab.report.annotations import Experiment, Layout, Run
from revocab.report.kind import manifest
from revocab.report.references import unknowns
from revocab.report.results import Results, number
from revocab.report.results.heldout_losses import heldout_curve, loss_at
from revocab.report.table_parts.table import MISSING, Better, Cell, text
from revocab.report.values.run_value import RunValue


class TrainingText(RunValue):
    """How much a run was trained on, in all or of one language."""

    exact: ClassVar[bool] = True
    #: Key of the count in a run's manifest.
    counted: ClassVar[str]

    language: Id | None = Field(default=None, description="default: all of them")

    def header(self) -> str:
        if self.language is None:
            return f"{self.counted.capitalize()} (M)"
        return f"{language_label(self.language)} {self.counted} (M)"

    def of_training(self, results: Results, run: Run) -> Cell:
        if not run.trains:
            return text(MISSING)
        where = f"runs/{run.id}/manifest.json"
        value = self._count(results, results.json(where) or {})
        return Cell(value, scale=1e-6, digits=3, provenance=where)

    def _count(self, results: Results, manifest: dict[str, Any]) -> float | None:
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

    def problems(self, experiment: Experiment, key: str, runs: Sequence[Run]) -> Iterator[str]:
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

    #: Language of the held-out text.
    language: Id
    #: Checkpoint at which it is measured.
    step: Step = "last"
    #: Tokenizer in whose tokens it is told; none: bits per byte.
    reference: TokenizerId | None = None
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
        curve = heldout_curve(results, run, self.language, self.reference, answers=self.answers)
        loss = loss_at(run, curve, self.step)
        if loss is None and isinstance(self.step, int) and self.step not in run.steps:
            return text(MISSING)
        return Cell(loss, digits=3, provenance=results.heldout(run)[1])

    def problems(self, experiment: Experiment, key: str, runs: Sequence[Run]) -> Iterator[str]:
        if self.answers:
            named = (experiment.corpora.get(corpus) for corpus in experiment.evaluation.heldout)
            known = {corpus.language for corpus in named if corpus and corpus.holds_conversations}
            if self.language not in known:
                about = "language with held-out conversations"
                yield unknown(f"{key}.language", self.language, known, about)
        else:
            yield from without_heldout_text(experiment, key, [self.language], "language")
        yield from unmeasured_steps(experiment, f"{key}.step", runs, [self.step])

    def needs(self, layout: Layout, runs: Sequence[Run]) -> list[str]:
        if self.reference is None:
            return []
        trainings = (single for run in runs for single in layout.replicates(run.id))
        length = next(filter(None, map(layout.heldout_length, trainings)), None)
        return [manifest(layout.paths.heldout(self.reference, str(length)))] if length else []


class FirstStepLoss(RunValue):
    """Training loss of a run's first step, before any update: what its new rows begin with."""

    better: ClassVar[Better | None] = "lower"

    #: A token, or a byte.
    per: Literal["token", "byte"] = "token"

    def header(self) -> str:
        return f"First-step loss ({'bits per byte' if self.per == 'byte' else 'nats per token'})"

    def of_training(self, results: Results, run: Run) -> Cell:
        if not run.trains:
            return text(MISSING)
        where = f"runs/{run.id}/losses.csv"
        column = "bits_per_byte" if self.per == "byte" else "loss"
        first = next((row for row in results.csv(where) if row["step"] == "1"), {})
        return Cell(number(first.get(column)), digits=3, provenance=where)


def unit(reference: str | None) -> str:
    return f"nats per token of {reference}" if reference else "bits per byte"


def text_languages(experiment: Experiment) -> list[str]:
    """Return the languages of held-out text that is no conversation, in the file's order."""
    from revocab.experiment.lineage import text_corpora  # imports the schema, which imports kinds

    corpora = experiment.corpora
    texts = text_corpora(experiment, experiment.evaluation.heldout)
    return list(dict.fromkeys(corpora[corpus].language for corpus in texts if corpus in corpora))


def without_heldout_text(
    experiment: Experiment, key: str, languages: Iterable[str] = (), listed: str = "languages"
) -> Iterator[str]:
    """Yield a problem if there is no held-out text, and for languages, under a key ``listed``,
    without any.
    """
    if not experiment.evaluation.heldout:
        yield f"{key}: shows held-out loss, and evaluation.heldout names no corpus; name one"
        return
    known = text_languages(experiment)
    yield from unknowns(f"{key}.{listed}", languages, known, "language with held-out text")


def unmeasured_steps(
    experiment: Experiment,
    key: str,
    runs: Iterable[Run],
    steps: Iterable[Step],
    also: Iterable[str] = (),
) -> Iterator[str]:
    """Yield the steps at which no run has a held-out loss; ``also``: other words that may stand."""
    numbers: set[int] = set()
    names: dict[str, None] = dict.fromkeys([*PLACES, *also])
    for run in runs:
        if recipe := experiment.recipes.get(run.recipe or ""):
            numbers.update(recipe.heldout_steps)
            names.update(dict.fromkeys(run.stage_ends))
    if not numbers:
        return  # all runs have step 0 and no other, whatever is wanted
    for step in steps:
        if step not in numbers and step not in names:
            yield (
                f"{key}: held-out loss is measured at no step {step!r} of these runs (measured: "
                f"{', '.join(map(str, sorted(numbers)))}; or by name: {', '.join(names)}); "
                "heldout_every of their recipes adds steps"
            )
