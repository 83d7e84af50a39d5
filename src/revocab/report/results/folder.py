"""A results folder read as data. Missing files read as empty: layouts show without results."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, partial
from operator import itemgetter
from pathlib import Path
from typing import Any

from pydantic import Field

from revocab.closed import Closed, Job, checked
from revocab.errors import RevocabError, all_of
from revocab.evaluation.metrics import COMET, COMET_APART, NO_COMET
from revocab.io import number, read_csv, read_json, read_jsonl
from revocab.marker import Marked
from revocab.report.annotations import Experiment, Run
from revocab.report.published import PaperValues, read_published, score_place
from revocab.report.results.scores import (
    HELPER_SIMILARITY,
    Record,
    Scores,
    other_items,
    shown_scale,
)
from revocab.report.runs import RunIndex
from revocab.training.records import HELDOUT, MEASURED

#: What is measured of each tokenizer on each corpus and on parallel text, and how text is cut.
BY_CORPUS, PARALLEL = "fertility/fertility.csv", "fertility/parallel.csv"
#: Of a folder that is read by way of its manifest: what tables and figures are made of.
TABLES = (".csv", ".jsonl", "timing.json")


class ResultsFolder(Closed):
    """Finished results."""

    results: Path = Field(description="results folder to read")
    experiment: Path | None = Field(
        default=None, description="default: experiment.json in the results folder"
    )


class ExperimentJob(Job):
    """An experiment with every default, and its runs."""

    experiment: dict[str, Any]
    runs: list[dict[str, Any]] = Field(default_factory=list)


def read_experiment(path: Path) -> Experiment:
    """Return the validated experiment of ``experiment.json``. Raises :class:`RevocabError` naming
    the file and every key that is wrong or missing: it was written with every default, but for keys
    that are left out where they say nothing, so that what is missing is older than the key.
    """
    # The schema is made of table kinds, which read results: neither can import the other first.
    from revocab.experiment.schema import Experiment

    content = read_json(path)
    written = content.get("experiment") if isinstance(content, dict) else None
    missing = [
        f"{path}: experiment.{key}: required and not given"
        for key, field in Experiment.model_fields.items()
        if isinstance(written, dict) and key not in written and field.exclude_if is None
    ]
    try:
        return all_of([partial(checked, Experiment, written, f"{path}: experiment")], missing)[0]
    except RevocabError as error:
        advice = "rebuild it with revocab write_experiment"
        raise RevocabError(f"{problem}; {advice}" for problem in error.problems) from None


class Results(RunIndex):
    """One experiment's results folder: its validated configuration, runs and measurements."""

    def __init__(self, root: str | Path, experiment: str | Path | None = None):
        """Read ``experiment`` (none: ``experiment.json`` of the folder). Raises
        :class:`RevocabError` naming the file and every key that is wrong.
        """
        self.root = Path(root)
        self.experiment_file = Path(experiment) if experiment else self.root / "experiment.json"
        read = read_experiment(self.experiment_file)
        super().__init__(read, read.expanded.values())
        self._read: dict[Path, list[dict[str, str]]] = {}

    @property
    def inputs(self) -> list[Path]:
        """Return the files that everything here is made from: never a place to write."""
        return [self.experiment_file, self.root / "scores.parquet"]

    @property
    def name(self) -> str:
        return self.experiment.experiment

    @cached_property
    def paper(self) -> PaperValues:
        return read_published(self.experiment.paper_values)

    def csv(self, *parts: str) -> list[dict[str, str]]:
        """Return the rows of a CSV file in the folder (none: no such file), which is read once."""
        path = self.root.joinpath(*parts)
        if path not in self._read:
            self._read[path] = read_csv(path) if path.is_file() else []
        return self._read[path]

    @cached_property
    def measured_tokenizers(self) -> dict[tuple[str, str], dict[str, str]]:
        return {(row["tokenizer"], row["corpus"]): row for row in self.csv(BY_CORPUS)}

    @cached_property
    def parallel_text(self) -> dict[tuple[str, str], dict[str, str]]:
        return {(row["tokenizer"], row["language"]): row for row in self.csv(PARALLEL)}

    def generation(self, run: Run) -> list[dict[str, str]]:
        """Return a run's generation scores, those of COMET in place of its empty rows. Each row
        names the file it stands in (``provenance``). Scores of a COMET model that the experiment no
        longer names are left in their file.
        """
        path, known = f"runs/{run.scored_id}/generation", self.comet_metrics
        rows, apart = (
            [{**row, "provenance": f"{path}/{name}"} for row in self.csv(path, name)]
            for name in ("scores.csv", "comet.csv")
        )
        if COMET not in known:  # it was there when this run generated
            rows = [{**row, "reason": row["reason"].replace(COMET_APART, NO_COMET)} for row in rows]
        place = itemgetter("step", "task", "metric")
        scored = {place(row): row for row in apart if row["metric"] in known}
        return [row for row in rows if place(row) not in scored] + [*scored.values()]

    def jsonl(self, *parts: str) -> Iterator[dict[str, Any]]:
        return read_jsonl(self.root.joinpath(*parts)) if self.has(*parts) else iter(())

    def json(self, *parts: str) -> Any:
        return read_json(self.root.joinpath(*parts)) if self.has(*parts) else None

    def has(self, *parts: str) -> bool:
        return self.root.joinpath(*parts).is_file()

    def published_place(self, run: Run, step: int) -> tuple[str, int, str]:
        """Return the source model, step and name under which a paper's values for a run stand."""
        group = self.experiment.runs[run.group]
        reference = None if run.made else group.references.get(run.name)
        at = reference.paper_step if reference else group.paper_steps.get(step, step)
        return group.label, at, run.name

    def printed(self, run: Run, step: int, task: str, metric: str) -> float | None:
        """Return what the paper prints of a score, in the unit of ours: the one place where ours
        and theirs are joined.
        """
        column = task
        if metric == HELPER_SIMILARITY:
            column = metric
        elif task in self.experiment.evaluation.generation.tasks:
            column = f"{task} {metric}"
        printed = self.paper.value(*score_place(*self.published_place(run, step), column))
        return None if printed is None else printed / shown_scale(metric)

    @cached_property
    def scores(self) -> Scores:
        path = self.root / "scores.parquet"
        return Scores.read(path) if path.is_file() else Scores([])

    @cached_property
    def other_items(self) -> dict[str, tuple[int, int]]:
        """Return tasks whose items are not those of the published values: how many are scored, and
        how many were expected.
        """
        return other_items(self.experiment, self.scores.rows)

    @cached_property
    def similarities(self) -> list[Record]:
        return [
            {**row, "similarity": number(row["similarity"]), "step": int(row["step"]),
             "provenance": str(path.relative_to(self.root))}
            for path in sorted(self.root.glob("similarity/**/similarity.csv"))
            for row in read_csv(path)
        ]  # fmt: skip

    def heldout(self, run: Run) -> tuple[list[Record], str]:
        """Return held-out losses of a run (of its first replicate), and the file they stand in. A
        base model has those of step 0 of a run in its group that keeps its vocabulary (the same
        weights and windows); else, if it was pretrained here, those at the end of pretraining; else
        its own.
        """

        def losses(path: str) -> list[Record]:
            return [
                {**row, **{key: number(row[key]) for key in ("loss", "bits_per_byte")},
                 **{key: int(row[key]) for key in ("step", "bytes")}}
                for row in self.csv(path)
            ]  # fmt: skip

        run = self.replicates(run)[0]
        if run.base:
            unchanged = [other for other in self.runs if other.group == run.group]
            unchanged = [other for other in unchanged if other.keeps_vocabulary and other.trains]
            files = [(f"runs/{other.id}/{HELDOUT}", 0) for other in unchanged if not other.start]
            for path, step in (*files, (f"models/{run.source}/{HELDOUT}", None)):
                if rows := losses(path):
                    at = max(row["step"] for row in rows) if step is None else step
                    return [{**row, "step": 0} for row in rows if row["step"] == at], path
            if run.scores_of:
                return self.heldout(self.run(run.scores_of))
        own = f"runs/{run.scored_id}/{HELDOUT if run.trains else MEASURED}"
        return losses(own), own


def outputs_file(run: Run, step: int, task: str) -> str:
    return f"runs/{run.scored_id}/generation/step-{step:06d}/{task}.jsonl"


def files_read(inputs: ResultsFolder, command: str, group: str | None = None) -> Iterator[Path]:
    """Yield the files that a command reads of finished results, of a group or of all. Nothing where
    the results lie elsewhere now than where their jobs wrote them.
    """
    from revocab.experiment.layout import Layout
    from revocab.experiment.paths import MANIFEST

    results = Results(inputs.results, inputs.experiment)
    layout, home = Layout(results.experiment), results.root.parent.parent
    if (home / layout.paths.results).resolve() != results.root.resolve():
        return
    for path in dict.fromkeys(home / file for file in layout.read_by(command, group)):
        yield path
        if path.name == MANIFEST and (folder := Marked.find(path.parent)):  # stands for its tables
            tables = (name for name in folder.names if name.endswith(TABLES))
            yield from (folder.folder / name for name in tables)
