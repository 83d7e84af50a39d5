"""From results to scores, tables, figures and the page."""

from __future__ import annotations

from revocab.closed import Job
from revocab.commands.collect_scores import ScoresJob
from revocab.commands.write_experiment import ExperimentJob
from revocab.config.expand import as_json
from revocab.config.reads import read_by
from revocab.plan.evaluation import comet_models, efficiency_runs
from revocab.plan.paths import MANIFEST
from revocab.plan.plan import Plan
from revocab.plan.step import Artefact, Step


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
    """Return the job that makes the tables, which show more than scores."""
    paths, experiment = plan.paths, plan.experiment
    kinds = [table for table in experiment.tables.values() if table.kind == "significance"]
    more = [
        f"{paths.results}/fertility/{MANIFEST}",
        f"{paths.results}/parameters.csv",
        *[paths.prompts(task) for task in experiment.evaluation.generation.tasks],
        *[paths.significance(group) for group in dict.fromkeys(table.group for table in kinds)],
        *[paths.efficiency(run.id) for run in efficiency_runs(plan)],
    ]
    inputs = plan.results("tables", "scores.parquet")
    return Step("make_tables", f"{paths.results}/tables", Job(), inputs, tuple(more))


def make_figures(plan: Plan) -> Step:
    """Return the job that draws the figures."""
    inputs = plan.results("figures", "scores.parquet", f"fertility/{MANIFEST}")
    return Step("make_figures", f"{plan.paths.results}/figures", Job(), inputs)


def check_artefacts(plan: Plan) -> Step:
    """Return the job that checks tables, figures and scores."""
    also = (*tables(plan), *figures(plan), *_world(plan))
    out = f"{plan.paths.results}/checks.json"
    return Step("check_artefacts", out, Job(), plan.results("checks"), also)


def build_report(plan: Plan) -> Step:
    """Return the job that builds the page."""
    paths, experiment = plan.paths, plan.experiment
    scale = [f"{paths.results}/scale/{MANIFEST}"] if experiment.scale else []
    pairs = [f"{paths.intersection(*pair)}/{MANIFEST}" for pair in plan.intersections]
    read = ("experiment.json", "checks.json")
    results = Artefact(paths.results, tuple(f"{paths.results}/{file}" for file in read))
    also = (*tables(plan), *figures(plan), *pairs, *scale, *_world(plan))
    return Step("build_report", f"{paths.results}/report.html", Job(), {"results": results}, also)


def tables(plan: Plan) -> list[str]:
    """Return the files of every table."""
    folder = f"{plan.paths.results}/tables"
    endings = ("csv", "md", "tex")
    return [f"{folder}/{table}.{one}" for table in plan.experiment.tables for one in endings]


def figures(plan: Plan) -> list[str]:
    """Return the files of every figure."""
    folder = f"{plan.paths.results}/figures"
    return [
        f"{folder}/{figure}.{one}" for figure in plan.experiment.figures for one in ("svg", "png")
    ]


def _world(plan: Plan) -> list[str]:
    """Return what blind guessers score on the generated world, where there is one."""
    return [f"{plan.paths.world}/baselines.json"] if plan.experiment.world else []


def _scored(plan: Plan) -> list[str]:
    """Return every file that scores are collected from."""
    comet = ["generation/comet.csv"] if comet_models(plan) else []
    scored = ["multiple_choice.csv", f"generation/{MANIFEST}", *comet]
    runs = [plan.checkpoint(run, run.steps[-1]).files for run in plan.runs.values()]
    return [
        *[f"{plan.paths.similarity(group)}/{MANIFEST}" for group in plan.experiment.runs],
        *[file for files in runs for file in files],
        *[f"{plan.paths.run(run.id)}/{name}" for run in plan.evaluated() for name in scored],
    ]
