"""What is measured on checkpoints: choices, generated text, speed, similarity."""

from __future__ import annotations

from pathlib import Path

from revocab.chat.template import find_template as find_chat_template
from revocab.config.expand import Run
from revocab.config.paths import MANIFEST
from revocab.evaluation.embedding_similarity import (
    EmbeddingSimilarityJob,
    EmbeddingSimilarityOptions,
)
from revocab.evaluation.generation.kind import PromptOptions, find_kind
from revocab.evaluation.generation.prompts import PromptJob
from revocab.evaluation.inference.chat_prompts import ChatOptions
from revocab.evaluation.multiple_choice.tasks import (
    TaskJob,
    TaskOptions,
    find_template,
    template_files,
)
from revocab.evaluation.options import (
    Asking,
    CometJob,
    ComparisonJob,
    EfficiencyJob,
    EfficiencyOptions,
    GenerationJob,
    GenerationOptions,
    ScoringJob,
    ScoringOptions,
)
from revocab.evaluation.probes.build import ProbeJob
from revocab.evaluation.probes.kind import ProbeOptions
from revocab.initialise.options import ScaledMethod, ScaleJob, ScaleOptions
from revocab.models.parameters import ParametersJob
from revocab.plan.plan import Plan
from revocab.plan.step import Artefact, Given, Step

#: How the file ends that has a score table's scores item by item; it lies beside the table.
BY_ITEM = "_items.jsonl.gz"


def build_task(plan: Plan, task: str) -> Step:
    """Return the job that writes a multiple-choice task's file."""
    given = plan.experiment.evaluation.multiple_choice.tasks[task]
    options = given.model_dump(include=set(TaskOptions.model_fields))
    data = given.data
    if given.harness:
        options["language"] = None  # a shipped task has its own words
    job = TaskJob(task=task, hub=data.hub if data else None, **options)
    files = [plan.probe(task)] if given.probe else plan.source(data) if data else []
    folder = plan.experiment.evaluation.multiple_choice.templates
    own = Path(folder) if folder else None
    template = find_template(given.template, own) if given.template else None
    mine = template is not None and template.parent == own
    inputs: dict[str, Given] = {
        "templates": Artefact(folder, ()) if folder and mine else None,
        "data": files[0] if files else None,
    }
    also = tuple(map(near, template_files(template))) if template else ()
    return Step("build_task", plan.paths.task(task), job, inputs, also)


def build_probe(plan: Plan, task: str) -> Step:
    """Return the job that makes a task's items from held-out text."""
    given = plan.experiment.evaluation.multiple_choice.tasks[task]
    assert given.probe is not None  # or nothing would ask for the job
    options = given.probe.model_dump(include=set(ProbeOptions.model_fields))
    job = ProbeJob(language=given.language, seed=plan.experiment.seed, **options)
    inputs = {"corpora": plan.corpora(given.probe.corpora, "heldout")}
    return Step("build_probe", plan.paths.probe(task), job, inputs)


def near(path: Path) -> str:
    """Return a path relative to the current folder if it lies in it: the same on all machines."""
    inside = path.absolute().is_relative_to(Path.cwd())
    return str(path.absolute().relative_to(Path.cwd()) if inside else path)


def chat_template(named: str | None) -> Artefact | None:
    """Return the file of a chat template that an experiment names, if it names one."""
    return None if named is None else Artefact.file(near(find_chat_template(named)))


def asking(plan: Plan, run: Run) -> tuple[Asking, Artefact | None]:
    """Return how a run's models are asked, and the chat template that all of them are given."""
    chat, most_shots = plan.experiment.runs[run.group].asking
    if chat is None:
        return Asking(most_shots=most_shots), None
    options = ChatOptions(**chat.model_dump(include=set(ChatOptions.model_fields)))
    return Asking(chat=options, most_shots=most_shots), chat_template(chat.template)


def score_multiple_choice(plan: Plan, run: str) -> Step:
    """Return the job that scores a run's checkpoints on every task."""
    given, run_ = plan.experiment.evaluation.multiple_choice, plan.runs[run]
    options = given.model_dump(include=set(ScoringOptions.model_fields))
    asked, template = asking(plan, run_)
    inputs: dict[str, Given] = {
        "models": plan.checkpoints(run_, run_.select(given.steps)),
        "chat_template": template,
        "tasks": [Artefact.file(plan.paths.task(task)) for task in plan.choice_tasks(run_)],
    }
    return Step(
        "score_multiple_choice",
        f"{plan.paths.run(run)}/multiple_choice.csv",
        ScoringJob(run=run, **asked.model_dump(), **options),
        inputs,
    )


def _prompts(plan: Plan, run: Run) -> dict[str, Artefact]:
    """Return the prompts of a run's generative tasks."""
    return {task: Artefact.file(plan.paths.prompts(task)) for task in plan.generation_tasks(run)}


def build_prompts(plan: Plan, task: str) -> Step:
    """Return the job that writes a generative task's prompts."""
    given = plan.experiment.evaluation.generation.tasks[task]
    options = given.model_dump(include=set(PromptOptions.model_fields))
    job = PromptJob(
        option=given.model_dump(mode="json", include=set(find_kind(given.kind).own_options)),
        task=task,
        seed=plan.experiment.seed,
        pool=given.pool.form,
        test=given.test.form,
        **options,
    )
    inputs: dict[str, Given] = {
        "pool_files": plan.task_text(given.pool),
        "test_files": plan.task_text(given.test),
    }
    return Step("build_prompts", plan.paths.prompts(task), job, inputs)


def generate_text(plan: Plan, run: str) -> Step:
    """Return the job that generates text with a run's checkpoints."""
    given, run_ = plan.experiment.evaluation.generation, plan.runs[run]
    options = given.model_dump(include=set(GenerationOptions.model_fields))
    limits = {given.tasks[task].limit for task in plan.generation_tasks(run_)}
    asked, template = asking(plan, run_)
    job = GenerationJob(
        run=run,
        **asked.model_dump(),
        # What the score table records as the limit: one number where all tasks share it.
        limit=next(iter(limits)) if len(limits) == 1 else None,
        **options,
    )
    inputs: dict[str, Given] = {
        "models": plan.checkpoints(run_, run_.select(given.steps)),
        "chat_template": template,
        "prompts": _prompts(plan, run_),
    }
    return Step("generate_text", plan.paths.generation(run), job, inputs)


def comet_models(plan: Plan, run: Run) -> dict[str, str]:
    """Return the COMET models by metric; none if they score no task of the run."""
    given = plan.experiment.evaluation.generation
    tasks = [given.tasks[task] for task in plan.generation_tasks(run)]
    applies = any(find_kind(task.kind).comet_source for task in tasks)
    return given.comet_models if applies else {}


def score_comet(plan: Plan, run: str) -> Step:
    """Return the job that scores a run's outputs with COMET."""
    run_ = plan.runs[run]
    generation = plan.folder(plan.paths.generation(run))
    inputs: dict[str, Given] = {"generation": generation, "prompts": _prompts(plan, run_)}
    return Step(
        "score_comet",
        f"{plan.paths.generation(run)}/comet.csv",
        CometJob(run=run, models=comet_models(plan, run_)),
        inputs,
    )


def scored_files(plan: Plan, run: Run, ending: str = ".csv") -> list[str]:
    """Return the files that hold the scores of a run which the experiment asks for."""
    files = {
        f"multiple_choice{ending}": plan.choice_tasks(run),
        f"generation/{MANIFEST}": plan.generation_tasks(run),
        f"generation/comet{ending}": comet_models(plan, run),
    }
    return [f"{plan.paths.run(run.id)}/{file}" for file, asked in files.items() if asked]


def count_parameters(plan: Plan) -> Step:
    """Return the job that counts parameters of configurations."""
    return Step(
        "count_parameters",
        plan.paths.parameters,
        ParametersJob(models=plan.experiment.parameters),
    )


def measure_similarity(plan: Plan, group: str) -> Step:
    """Return the job that compares the rows of a group's runs with the target vocabulary."""
    experiment = plan.experiment
    given = experiment.runs[group]
    assert given.target is not None  # its new rows are compared
    runs = [run for run in plan.evaluated(group) if run.learns_rows_of(given.target)]
    job = EmbeddingSimilarityJob(
        group=group,
        helper=given.helper,
        last_step=max((run.steps[-1] for run in runs), default=0),
        seed=experiment.seed,
        **experiment.similarity.model_dump(include=set(EmbeddingSimilarityOptions.model_fields)),
    )
    inputs: dict[str, Given] = {
        "target_tokenizer": plan.tokenizer(given.target),
        "first": {run.id: plan.checkpoint(run, 0) for run in runs},
        "last": {run.id: plan.checkpoint(run, run.steps[-1]) for run in runs},
        "helper_model": plan.model(given.helper) if given.helper else None,
        "helper_pairs": plan.helper_pairs(given.helper, given.target),
    }
    return Step("measure_similarity", plan.paths.similarity(group), job, inputs)


def measure_scale(plan: Plan) -> Step:
    """Return the job that measures methods at a real model's size."""
    given = plan.experiment.scale
    assert given is not None  # or nothing would ask for the job
    job = ScaleJob(
        **given.model_dump(include=set(ScaleOptions.model_fields)),
        methods={
            name: ScaledMethod(method=entry.method or name, option=entry.options)
            for name, entry in given.methods.items()
        },
        seed=plan.experiment.seed,
    )
    source, target = given.source_tokenizer, given.target_tokenizer
    inputs: dict[str, Given] = {
        "source_tokenizer": plan.tokenizer(source),
        "target_tokenizer": plan.tokenizer(target),
        "pairs": plan.folder(plan.paths.intersection(source, target)),
    }
    return Step("measure_scale", f"{plan.paths.results}/scale", job, inputs)


def compare_runs(plan: Plan, group: str) -> Step:
    """Return the job that compares the runs of a group item by item."""
    compared = [pair for one in plan.experiment.tables.values() for pair in one.compared()]
    steps = {step for of, step in compared if of == group}
    job = ComparisonJob(
        group=group,
        steps=sorted(steps, key=str),
        resamples=plan.experiment.evaluation.significance.resamples,
        seed=plan.experiment.seed,
    )
    items = [file for run in plan.evaluated(group) for file in scored_files(plan, run, BY_ITEM)]
    out, inputs = plan.paths.significance(group), plan.results("scores", "scores.parquet")
    return Step("compare_runs", out, job, inputs, tuple(items))


def timed_runs(plan: Plan) -> list[Run]:
    """Return the runs whose cost tables show, each once."""
    runs = list(plan.runs.values())
    tables = plan.experiment.tables.values()
    found = [run for one in tables for run in one.timed(runs)]
    return list({run.scored_id: plan.runs[run.scored_id] for run in found}.values())


def measure_efficiency(plan: Plan, run: str) -> Step:
    """Return the job that times a run's last checkpoint."""
    experiment, run_ = plan.experiment, plan.runs[run]
    given = experiment.evaluation.efficiency
    assert given is not None  # or nothing would ask for the job
    job = EfficiencyJob(
        run=run,
        step=run_.steps[-1],
        corpus=given.corpus,
        language=experiment.corpora[given.corpus].language,
        engine=experiment.evaluation.generation.engine,
        **given.model_dump(include=set(EfficiencyOptions.model_fields)),
    )
    inputs: dict[str, Given] = {
        "model": plan.checkpoint(run_, run_.steps[-1]),
        "text": plan.heldout_text(given.corpus),
    }
    return Step("measure_efficiency", plan.paths.efficiency(run), job, inputs)
