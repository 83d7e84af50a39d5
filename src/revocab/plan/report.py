"""From results to scores, tables, figures and the page."""

from __future__ import annotations

from collections.abc import Iterable

from revocab.closed import Job
from revocab.config.expand import as_json
from revocab.config.paths import MANIFEST
from revocab.config.reads import read_by
from revocab.evaluation.multiple_choice.blind import BASELINES
from revocab.plan.evaluation import scored_files
from revocab.plan.plan import Plan
from revocab.plan.step import Artefact, Step
from revocab.report.inputs import ExperimentJob, ScoresJob
from revocab.report.kind import (
    FIGURE_ENDINGS,
    TABLE_ENDINGS,
    KindOptions,
)
from revocab.training.outputs.loss_tables import MEASURED


def write_experiment(plan: Plan) -> Step:
    """Return the job that writes the experiment and its runs."""
    return Step(
        "write_experiment",
        f"{plan.paths.results}/experiment.json",
        ExperimentJob(**as_json(plan.experiment)),
    )


def write_settings(plan: Plan, part: str) -> Step:
    """Return the job that writes what a part of the report reads of the experiment."""
    job = ExperimentJob(**read_by(part, plan.experiment))
    return Step("write_experiment", plan.paths.settings(part), job)


def collect_scores(plan: Plan) -> Step:
    """Return the job that collects every score."""
    out = f"{plan.paths.results}/scores.parquet"
    also = (*_scored(plan), *plan.published)
    return Step("collect_scores", out, ScoresJob(), plan.results("scores"), also)


def make_tables(plan: Plan) -> Step:
    """Return the job that makes the tables."""
    inputs = plan.results("tables", "scores.parquet")
    out, given = f"{plan.paths.results}/tables", plan.experiment.tables.values()
    return Step("make_tables", out, Job(), inputs, _needed(plan, given))


def make_figures(plan: Plan) -> Step:
    """Return the job that draws the figures."""
    inputs = plan.results("figures", "scores.parquet")
    out, given = f"{plan.paths.results}/figures", plan.experiment.figures.values()
    return Step("make_figures", out, Job(), inputs, _needed(plan, given))


def check_artefacts(plan: Plan) -> Step:
    """Return the job that checks tables, figures and scores."""
    also = (*tables(plan), *figures(plan), *_baselines(plan))
    out, inputs = f"{plan.paths.results}/checks.json", plan.results("checks", "scores.parquet")
    return Step("check_artefacts", out, Job(), inputs, also)


def build_report(plan: Plan) -> Step:
    """Return the job that builds the page."""
    paths, experiment = plan.paths, plan.experiment
    measured = [paths.fertility] if experiment.fertility.tokenizers else []
    measured += [f"{paths.results}/scale"] if experiment.scale else []
    more = [f"{folder}/{MANIFEST}" for folder in measured]
    pairs = [f"{paths.intersection(*pair)}/{MANIFEST}" for pair in plan.intersections]
    read = ("experiment.json", "checks.json")
    results = Artefact(paths.results, tuple(f"{paths.results}/{file}" for file in read))
    also = (*tables(plan), *figures(plan), *pairs, *more, *_baselines(plan))
    return Step("build_report", f"{paths.results}/report.html", Job(), {"results": results}, also)


def tables(plan: Plan) -> list[str]:
    """Return the files of every table."""
    folder = f"{plan.paths.results}/tables"
    return [f"{folder}/{name}.{one}" for name in plan.experiment.tables for one in TABLE_ENDINGS]


def figures(plan: Plan) -> list[str]:
    """Return the files of every figure."""
    folder = f"{plan.paths.results}/figures"
    return [f"{folder}/{name}.{one}" for name in plan.experiment.figures for one in FIGURE_ENDINGS]


def _needed(plan: Plan, given: Iterable[KindOptions]) -> tuple[str, ...]:
    """Return the files that tables or figures read beside the scores, each once."""
    files = [file for one in given for file in one.needs(plan)]
    return tuple(dict.fromkeys(files))


def _shown(plan: Plan) -> tuple[str, ...]:
    """Return the files that tables and figures read beside the scores, each once."""
    e = plan.experiment
    files = _needed(plan, e.tables.values())
    return tuple(dict.fromkeys([*files, *_needed(plan, e.figures.values())]))


def _baselines(plan: Plan) -> list[str]:
    """Return how blind baselines score on items made here: the world's, and probes in use."""
    scored = {task for run in plan.evaluated() for task in plan.choice_tasks(run)}
    folders = [plan.paths.world] if plan.experiment.world else []
    folders += [plan.paths.probe(task) for task in plan.probes if task in scored]
    return [f"{folder}/{BASELINES}" for folder in folders]


def _scored(plan: Plan) -> list[str]:
    """Return every file that scores are collected from."""
    groups = plan.experiment.runs
    similarities = {f"{plan.paths.similarity(group)}/{MANIFEST}" for group in groups}
    runs = [plan.checkpoint(run, run.steps[-1]).files for run in plan.runs.values()]
    runs += [(f"{plan.paths.run(run.id)}/{MEASURED}",) for run in plan.measured]
    found = [
        *[file for file in _shown(plan) if file in similarities],
        *[file for files in runs for file in files],
        *[file for run in plan.evaluated() for file in scored_files(plan, run)],
    ]
    return list(dict.fromkeys(found))  # groups may share a base model
