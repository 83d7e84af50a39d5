"""Numbers of a run that tables may show: what it was trained on, its losses, its scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, model_validator

from revocab.closed import Closed, Id, OneLine, Step, exactly_one, unknown
from revocab.languages import language_label
from revocab.report.asked import choices_in
from revocab.report.references import no_choices, unscored_runs
from revocab.report.results import Results, number
from revocab.report.results.heldout_losses import (
    answer_languages,
    counted_files,
    heldout_curve,
    heldout_problems,
    loss_at,
    steps_to_reach,
    unit,
    unmeasured_steps,
)
from revocab.report.table_parts.run_rows import Better
from revocab.report.table_parts.table import MISSING, Cell, text
from revocab.report.values.run_value import RunValue
from revocab.report.values.task_means import (
    macro,
    mean_cell,
    metrics_note,
    micro,
    shown_metrics,
    unknown_choices,
    unknown_task_ids,
)
from revocab.report.values.tokenizer_values import CharactersPerToken, Fertility, Vocabulary

if TYPE_CHECKING:
    from revocab.config.expand import Run
    from revocab.config.layout import Layout
    from revocab.config.schema import Experiment

COUNTS = "Tokens and bytes of training text in millions; tokens are those of a run's own tokenizer."
OWN_TOKENS = (
    "Loss per token of the first step is in a run's own tokens: it compares runs of one tokenizer."
)


class TrainingText(RunValue):
    """How much a run was trained on, in all or of one language."""

    #: Key of the count in a run's manifest.
    counted: ClassVar[str]

    language: Id | None = Field(default=None, description="default: all of them")

    def header(self) -> str:
        """Return what is counted, and of which language."""
        if self.language is None:
            return f"{self.counted.capitalize()} (M)"
        return f"{language_label(self.language)} {self.counted} (M)"

    def cell(self, results: Results, run: Run) -> Cell:
        """Return the count, in millions; a dash for a run that is not trained."""
        if not run.trains:
            return text(MISSING)
        where = f"runs/{run.id}/manifest.json"
        found = results.json(where) or {}
        value = self._count(results, found)
        return Cell(value, scale=1e-6, digits=3, provenance=where)

    def _count(self, results: Results, manifest: dict[str, Any]) -> float | None:
        """Return the count of a run's manifest; None where only a part of its rows was used."""
        if self.language is None:
            return manifest.get(self.counted)
        corpora = manifest.get("corpora")
        if corpora is None:
            return None
        named = results.experiment.corpora
        return sum(
            one[self.counted]
            for corpus, one in corpora.items()
            if corpus in named and named[corpus].language == self.language
        )

    def notes(self, results: Results, header: str) -> list[str]:
        """Return the unit."""
        return [COUNTS]

    def problems(self, experiment: Experiment, key: str, runs: Sequence[str]) -> Iterator[str]:
        """Yield a problem for a language that no corpus has."""
        known = {one.language for one in experiment.corpora.values()}
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
        """Return language and step, and the unit if no other column states it."""
        at = "" if self.step == "last" else f" at {self.step}"
        on = " answer" if self.answers else ""
        return f"{language_label(self.language)}{on} loss{at} ({unit(self.reference)})"

    def cell(self, results: Results, run: Run) -> Cell:
        """Return the loss."""
        curve = heldout_curve(results, run, self.language, self.reference, answers=self.answers)
        return Cell(loss_at(run, curve, self.step), digits=3, provenance=results.heldout(run)[1])

    def problems(self, experiment: Experiment, key: str, runs: Sequence[str]) -> Iterator[str]:
        """Yield a problem for a language, a tokenizer or a step that is not there."""
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
        """Return the counts of the reference tokenizer."""
        return counted_files(layout, runs, self.reference)


class StepsTo(RunValue):
    """Training steps until held-out loss in a language is at or below a loss in bits per byte."""

    better: ClassVar[Better | None] = "lower"

    language: Id
    loss: float = Field(gt=0)
    interpolate: bool = True

    def header(self) -> str:
        """Return language and loss."""
        return f"Steps to {self.loss:g} bits per byte ({language_label(self.language)})"

    def cell(self, results: Results, run: Run) -> Cell:
        """Return the steps; "> 20" where 20 steps do not reach it."""
        if not run.trains:
            return text(MISSING)
        curve = heldout_curve(results, run, self.language)
        provenance = results.heldout(run)[1]
        found = steps_to_reach(curve, self.loss, self.interpolate)
        if found is None and curve:
            return text(f"> {max(curve)}", provenance)
        return Cell(found, digits=1 if self.interpolate else 0, provenance=provenance)

    def notes(self, results: Results, header: str) -> list[str]:
        """Return how steps are counted."""
        how = (
            "interpolated linearly between the steps at which it was measured"
            if self.interpolate
            else "the first measured step at or below it"
        )
        return [f'{header}: {how}; ">": not reached by the run\'s last step.']

    def problems(self, experiment: Experiment, key: str, runs: Sequence[str]) -> Iterable[str]:
        """Yield a problem for a language without held-out text."""
        return heldout_problems(experiment, key, [self.language], None, listed="language")


class FirstStepLoss(RunValue):
    """Training loss of a run's first step, before any update: what its new rows begin with."""

    better: ClassVar[Better | None] = "lower"

    per: Literal["token", "byte"] = "token"

    def header(self) -> str:
        """Return the unit."""
        return f"First-step loss ({'bits per byte' if self.per == 'byte' else 'nats per token'})"

    def cell(self, results: Results, run: Run) -> Cell:
        """Return the loss; a dash for a run that is not trained."""
        if not run.trains:
            return text(MISSING)
        where = f"runs/{run.id}/losses.csv"
        column = "bits_per_byte" if self.per == "byte" else "loss"
        first = next((row for row in results.csv(where) if row["step"] == "1"), {})
        return Cell(number(first.get(column)), digits=3, provenance=where)

    def notes(self, results: Results, header: str) -> list[str]:
        """Return a note on what it cannot be compared with."""
        return [OWN_TOKENS] if self.per == "token" else []


class Average(RunValue):
    """Mean score on the multiple-choice tasks of a language, or on named tasks of any kind."""

    better: ClassVar[Better | None] = "higher"

    language: Id | None = None
    named: list[Id] | None = Field(default=None, min_length=1)
    step: Step = "last"
    by_items: bool = Field(default=False, description="tasks count by their items")
    metrics: dict[Id, OneLine] = Field(
        default_factory=dict,
        description="metrics of generation tasks, instead of their kind's first",
    )

    @model_validator(mode="after")
    def _one_choice(self) -> Average:
        return exactly_one(self, ("language", "named"))

    def header(self) -> str:
        """Return which tasks they are."""
        of = language_label(self.language) if self.language else ", ".join(self.named or ())
        return f"Average ({of})" if self.step == "last" else f"Average ({of}) at {self.step}"

    def tasks(self, experiment: Experiment) -> list[str]:
        """Return the tasks."""
        if self.language is not None:
            return choices_in(experiment, self.language)
        return list(self.named or ())

    def cell(self, results: Results, run: Run) -> Cell:
        """Return the mean, 0 to 100, with its standard error over items."""
        if not run.evaluate:
            return text(MISSING)
        named = self.tasks(results.experiment)
        mean = micro if self.by_items else macro
        return mean_cell(results, run, self.step, named, self.metrics, mean)

    def notes(self, results: Results, header: str) -> list[str]:
        """Return how tasks are averaged, and the metrics of generated text."""
        named = self.tasks(results.experiment)
        if len(named) == 1:
            of = shown_metrics(results, named, self.metrics)
            return [f"{header}: {of + ', ' if of else ''}0 to 100, ± standard error over items."]
        how = "every item" if self.by_items else "every task"
        said = f"{header}: {how} counts alike; 0 to 100, ± standard error over items."
        return [said, *metrics_note(results, named, self.metrics)]

    def problems(self, experiment: Experiment, key: str, runs: Sequence[str]) -> Iterator[str]:
        """Yield a problem for tasks that are not there, and runs that are not scored on them."""
        if self.language is not None:
            yield from no_choices(experiment, key, self.language)
        named = self.tasks(experiment)
        yield from unknown_task_ids(experiment, f"{key}.named", named)
        yield from unknown_choices(experiment, key, self.metrics)
        yield from unscored_runs(experiment, key, runs, named, self.step)


VALUES = (
    "tokens",
    "bytes",
    "heldout",
    "steps_to",
    "first_step_loss",
    "average",
    "fertility",
    "vocabulary",
    "characters_per_token",
)


class OneValue(Closed):
    """Exactly one number of a run, and what readers see in place of its own header."""

    label: OneLine | None = None
    tokens: Tokens | None = None
    bytes: Bytes | None = None
    heldout: HeldoutLoss | None = None
    steps_to: StepsTo | None = None
    first_step_loss: FirstStepLoss | None = None
    average: Average | None = None
    fertility: Fertility | None = None
    vocabulary: Vocabulary | None = None
    characters_per_token: CharactersPerToken | None = None

    @model_validator(mode="after")
    def _one_value(self) -> OneValue:
        return exactly_one(self, VALUES)

    @property
    def name(self) -> str:
        """Return the key of the one that is given."""
        return next(name for name in VALUES if getattr(self, name) is not None)

    @property
    def value(self) -> RunValue:
        """Return the one that is given."""
        return getattr(self, self.name)

    @property
    def header(self) -> str:
        """Return the header of its column."""
        return self.label or self.value.header()
