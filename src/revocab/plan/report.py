"""From results to scores, tables, figures and the page."""

from __future__ import annotations

from revocab.closed import Job
from revocab.commands.collect_scores import ScoresJob
from revocab.commands.write_experiment import ExperimentJob
from revocab.config.expand import as_json
from revocab.plan.evaluation import comet_models
from revocab.plan.paths import MANIFEST
from revocab.plan.plan import Plan
from revocab.plan.step import Artefact, Step
from revocab.report.kind import FIGURE_ENDINGS, TABLE_ENDINGS, table_kinds


def write_experiment(plan: Plan) -> Step:
    """Return the job that writes the experiment and its runs."""
    return Step(
        "write_experiment",
        f"{plan.paths.results}/experiment.json",
        ExperimentJob(**as_json(plan.experiment)),
    )


def collect_scores(plan: Plan) -> Step:
    """Return the job that collects every score."""
    return Step(
        "collect_scores",
        f"{plan.paths.results}/scores.parquet",
        ScoresJob(),
        {"results": _results(plan)},
        also=(*_measured(plan), *plan.published),
    )


def make_tables(plan: Plan) -> Step:
    """Return the job that makes the tables; differences and costs are read beside the scores."""
    given = plan.experiment.tables.values()
    more = [file for one in given for file in table_kinds()[one.kind].needs(plan, one)]
    return Step(
        "make_tables",
        f"{plan.paths.results}/tables",
        Job(),
        {"results": _results(plan, "scores.parquet")},
        also=tuple(dict.fromkeys(more)),
    )


def make_figures(plan: Plan) -> Step:
    """Return the job that draws the figures."""
    return Step(
        "make_figures",
        f"{plan.paths.results}/figures",
        Job(),
        {"results": _results(plan, "scores.parquet")},
    )


def check_artefacts(plan: Plan) -> Step:
    """Return the job that checks tables, figures and scores."""
    return Step(
        "check_artefacts",
        f"{plan.paths.results}/checks.json",
        Job(),
        {"results": _results(plan)},
        also=(*tables(plan), *figures(plan)),
    )


def build_report(plan: Plan) -> Step:
    """Return the job that builds the page."""
    return Step(
        "build_report",
        f"{plan.paths.results}/report.html",
        Job(),
        {"results": _results(plan, "checks.json")},
        also=(*tables(plan), *figures(plan)),
    )


def tables(plan: Plan) -> list[str]:
    """Return the files of every table."""
    folder = f"{plan.paths.results}/tables"
    return [f"{folder}/{name}.{one}" for name in plan.experiment.tables for one in TABLE_ENDINGS]


def figures(plan: Plan) -> list[str]:
    """Return the files of every figure."""
    folder = f"{plan.paths.results}/figures"
    return [f"{folder}/{name}.{one}" for name in plan.experiment.figures for one in FIGURE_ENDINGS]


def _results(plan: Plan, *files: str) -> Artefact:
    """Return the results folder, of which the experiment and some files are read."""
    folder = plan.paths.results
    return Artefact(folder, tuple(f"{folder}/{file}" for file in ("experiment.json", *files)))


def _measured(plan: Plan) -> list[str]:
    """Return every file that scores are collected from."""
    paths, experiment = plan.paths, plan.experiment
    comet = ["generation/comet.csv"] if comet_models(plan) else []
    scored = ["multiple_choice.csv", f"generation/{MANIFEST}", *comet]
    generated = experiment.evaluation.generation.tasks
    folders = [
        f"{paths.results}/fertility",
        *[paths.intersection(*pair) for pair in plan.intersections],
        *[paths.similarity(group) for group in experiment.runs],
        *([f"{paths.results}/scale"] if experiment.scale else []),
    ]
    runs = [plan.checkpoint(run, run.steps[-1]).files for run in plan.runs.values()]
    return [
        *[f"{folder}/{MANIFEST}" for folder in folders],
        f"{paths.results}/parameters.csv",
        *[paths.prompts(task) for task in generated],
        *[file for files in runs for file in files],
        *[f"{paths.run(run.id)}/{name}" for run in plan.evaluated() for name in scored],
        *([f"{paths.world}/baselines.json"] if experiment.world else []),
    ]
