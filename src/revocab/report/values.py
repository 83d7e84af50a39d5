"""What a number of a run is: the one way in which tables, figures and claims read one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from revocab.closed import (
    Closed,
    Id,
    MeasuredCorpusId,
    OneLine,
    Step,
    TaskId,
    TaskLanguage,
    TokenizerId,
    exactly_one,
    unknown,
)
from revocab.evaluation.generation.kind import find_kind
from revocab.languages import language_label
from revocab.report.annotations import Experiment, Layout, Run
from revocab.report.kind import manifest
from revocab.report.references import (
    unmeasured_steps,
    unscored,
    without_heldout_text,
    wrong_metrics,
)
from revocab.report.results import BY_CORPUS, Results, number
from revocab.report.results.heldout_losses import heldout_curve, loss_at
from revocab.report.results.scores import (
    AVERAGE,
    HELPER_SIMILARITY,
    average_task,
    mean_score,
    shown_scale,
)
from revocab.report.runs import choices_in
from revocab.report.table import MISSING, OTHERWISE, Better, Cell, mean_over_seeds, text


class RunValue(Closed):
    """One number of a run; hooks say nothing where a value has nothing to say."""

    #: Which value is the better one; None: neither.
    better: ClassVar[Better | None] = None
    #: Whether it has no error: a count or a measure of a tokenizer.
    exact: ClassVar[bool] = False

    @abstractmethod
    def header(self) -> str:
        """Return the header of its column."""

    @abstractmethod
    def of_training(self, results: Results, run: Run) -> Cell:
        """Return the number of one training: empty if it is not there, a dash if it cannot be."""

    def cell(self, results: Results, run: Run) -> Cell:
        """Return the number of a run as it is shown: the mean over its replicates, if it has any.
        Of texts that differ it is a dash. Where a task has other items than expected, the published
        value beside it is marked.
        """
        replicates = results.replicates(run)
        cells = [self.of_training(results, each) for each in replicates]
        seeded = sorted(zip(replicates, cells, strict=True), key=lambda pair: pair[0].seed)
        by_seed = {
            each.seed: cell.value
            for each, cell in seeded
            if cell.value is not None and (run.trains or len(cells) > 1)
        }
        cell = replace(mean_over_seeds(cells), by_seed=by_seed)
        cell.exact, cell.better = self.exact, self.better
        if results.other_items.keys() & set(self.tasks(results.experiment)):
            cell.published_mark = OTHERWISE
        return cell

    def problems(self, experiment: Experiment, key: str, runs: Sequence[Run]) -> Iterable[str]:
        """Yield what the experiment lacks for it, of the runs that it is shown of."""
        return ()

    def needs(self, layout: Layout, runs: Sequence[Run]) -> Iterable[str]:
        """Yield files that it is read from, beside the scores."""
        return ()

    def tasks(self, experiment: Experiment) -> Iterable[str]:
        return ()


class TaskScore(RunValue):
    """A run's score on one task, with the paper's beside it."""

    better: ClassVar[Better | None] = "higher"

    task: TaskId
    metric: str | None = Field(
        default=None, description="default: that of the task's family, or the first of its kind"
    )
    #: Checkpoint at which it is scored.
    step: Step = "last"

    def header(self) -> str:
        return self.task

    def tasks(self, experiment: Experiment) -> list[str]:
        return [self.task]

    def problems(self, experiment: Experiment, key: str, runs: Sequence[Run]) -> Iterator[str]:
        generated = experiment.evaluation.generation.tasks.get(self.task)
        # A task's own score is checked with the task.
        if self.metric is not None and generated and self.metric != generated.score:
            yield from wrong_metrics(experiment, f"{key}.metric", self.task, [self.metric])
        yield from unscored(experiment, key, runs, self.tasks(experiment), self.step)

    def of_training(self, results: Results, run: Run) -> Cell:
        at, metric = run.select([self.step]), self.metric
        if not at:
            return Cell()
        if metric is None and self.task in results.experiment.evaluation.generation.tasks:
            metric = metric_of(results.experiment, self.task, {})
        if metric is None:
            row = results.scores.choice(run.id, at[0], self.task, results.family(self.task))
        else:
            row = results.scores.get(run.id, at[0], self.task, metric)
        metric = metric or (row["metric"] if row else "acc")
        published = results.printed(run, at[0], self.task, metric)
        cell = Cell(published=published, scale=shown_scale(metric))
        if row is not None:
            cell.value, cell.stderr = row["value"], row["stderr"]
            cell.provenance = row["provenance"]
            if row["low"] is not None and row["high"] is not None:
                cell.interval = (row["low"], row["high"])
        return cell


class Average(RunValue):
    """Mean score on the multiple-choice tasks of a language, or on named tasks of any kind."""

    better: ClassVar[Better | None] = "higher"
    #: What the mean is multiplied by when it is shown: 100 for a mean of fractions.
    unit: ClassVar[float] = 1

    #: All multiple-choice tasks of the language.
    language: TaskLanguage | None = None
    #: These tasks.
    named: list[TaskId] | None = Field(default=None, min_length=1)
    #: Checkpoint at which they are scored.
    step: Step = "last"
    metrics: dict[Id, OneLine] = Field(
        default_factory=dict,
        description="metrics of generation tasks, instead of their kind's first",
    )

    @model_validator(mode="after")
    def _one_choice(self) -> Average:
        return exactly_one(self, ("language", "named"))

    def header(self) -> str:
        of = language_label(self.language) if self.language else ", ".join(self.named or ())
        return f"Average ({of})" if self.step == "last" else f"Average ({of}) at {self.step}"

    def tasks(self, experiment: Experiment) -> list[str]:
        if self.language is not None:
            return choices_in(experiment, self.language)
        return list(self.named or ())

    def of_training(self, results: Results, run: Run) -> Cell:
        """Return the unweighted mean and its standard error, items being independent. Without a
        value if a score is missing: a mean over fewer tasks could not be compared.
        """
        if not run.evaluate:
            return text(MISSING)
        generated, cells = results.experiment.evaluation.generation.tasks, []
        for task in self.tasks(results.experiment):
            chosen = task in generated
            metric = metric_of(results.experiment, task, self.metrics) if chosen else None
            score = TaskScore(task=task, metric=metric, step=self.step)
            cells.append(score.of_training(results, run))
        scores = []
        for part in cells:
            factor = part.scale / self.unit
            value, error = part.value, part.stderr
            scores.append((value and value * factor, error and error * factor))
        cell = Cell(scale=self.unit)
        if (mean := mean_score(scores)) is not None:
            (cell.value, cell.stderr), cell.provenance = mean, cells[0].provenance
        if self.language is not None and (at := run.select([self.step])):
            printed = results.printed(run, at[0], average_task(self.language), AVERAGE)
            cell.published = printed and 100 * printed / self.unit
        return cell

    def problems(self, experiment: Experiment, key: str, runs: Sequence[Run]) -> Iterator[str]:
        generated = experiment.evaluation.generation.tasks
        for task, metric in self.metrics.items():
            if task in generated:
                yield from wrong_metrics(experiment, f"{key}.metrics.{task}", task, [metric])
            else:
                yield unknown(f"{key}.metrics", task, generated, "generation task")
        yield from unscored(experiment, key, runs, self.tasks(experiment), self.step)


class HelperSimilarity(RunValue):
    """Mean cosine of relative representations to those of the group's helper, as a fraction."""

    better: ClassVar[Better | None] = "higher"

    #: Checkpoint at which it is measured.
    step: Step

    def header(self) -> str:
        return f"@{self.step}"

    def of_training(self, results: Results, run: Run) -> Cell:
        (step,) = run.select([self.step]) or (None,)
        if step is None:
            return Cell(scale=100)
        cell = Cell(published=results.printed(run, step, "", HELPER_SIMILARITY), scale=100)
        for row in results.similarities:
            if (row["kind"], row["run"], row["step"]) == ("helper", run.id, step):
                cell.value, cell.provenance = row["similarity"], row["provenance"]
        return cell

    def needs(self, layout: Layout, runs: Sequence[Run]) -> list[str]:
        from revocab.experiment.expand import learns_new_rows  # stands on the schema

        groups = layout.experiment.runs
        measured = [name for name in dict.fromkeys(run.group for run in runs)
                    if learns_new_rows(groups[name])]  # fmt: skip
        return [manifest(layout.paths.similarity(group)) for group in measured]


def metric_of(experiment: Experiment, task: str, chosen: Mapping[str, str]) -> str:
    """Return the metric of a generative task: the chosen one, its score, or the first that its kind
    shows.
    """
    entry = experiment.evaluation.generation.tasks[task]
    return chosen.get(task) or entry.score or find_kind(entry.kind).columns()[0]


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
        trained, named = results.json(where) or {}, results.experiment.corpora
        value = trained.get(self.counted)
        if self.language is not None:
            counts = trained.get("corpora")
            known = [corpus for corpus in counts or () if corpus in named]
            spoken = [corpus for corpus in known if named[corpus].language == self.language]
            value = None if counts is None else sum(counts[name][self.counted] for name in spoken)
        return Cell(value, scale=1e-6, digits=3, provenance=where)

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


class Fertility(RunValue):
    """Tokens per word of a corpus, mean over its documents, of a run's tokenizer."""

    better: ClassVar[Better | None] = "lower"
    exact: ClassVar[bool] = True

    corpus: MeasuredCorpusId

    def header(self) -> str:
        return f"Fertility on {self.corpus}"

    def of_training(self, results: Results, run: Run) -> Cell:
        row = results.measured_tokenizers.get((run.target, self.corpus))
        return Cell(number(row["fertility"]), provenance=BY_CORPUS) if row else Cell()

    def needs(self, layout: Layout, runs: Sequence[Run]) -> list[str]:
        return [manifest(layout.paths.fertility)]


class Vocabulary(RunValue):
    """Number of tokens of a run's tokenizer, special ones included."""

    exact: ClassVar[bool] = True

    def header(self) -> str:
        return "Vocabulary"

    def of_training(self, results: Results, run: Run) -> Cell:
        where = f"tokenizers/{run.target}/manifest.json"
        size = (results.json(where) or {}).get("vocabulary_size")
        return Cell(size, digits=0, provenance=where)

    def needs(self, layout: Layout, runs: Sequence[Run]) -> list[str]:
        used = dict.fromkeys(run.target for run in runs)
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
