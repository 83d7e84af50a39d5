# What all rules share: the experiment's plan, interpreters, and how a job becomes a command line.
import json
import os
import re
import sys
from functools import cache
from pathlib import Path

from snakemake.settings.types import DeploymentMethod, RerunTrigger

from revocab import extensions

extensions.use(config.get("extensions"))  # before anything is found

from revocab.config import validate
from revocab.config.checks import all_warnings
from revocab.costs import experiment as costs
from revocab.costs.sizes import Sizes
from revocab.errors import RevocabError
from revocab.evaluation.inference.engine import environment_of, interpreter
from revocab.plan import Plan
from revocab.plan.plan import find_rule
from revocab.plan.rerun import CodeParams, arguments_digest
from revocab.rule import near
from revocab.workflow import gpus, launch, supervise, warm
from revocab.workflow.run import record_machine

try:
    PLAN = Plan(validate(config, files=workflow.configfiles))
except RevocabError as error:
    print(error.render(), file=sys.stderr)
    sys.exit(1)

EXPERIMENT = PLAN.experiment
PATHS = PLAN.paths
RESULTS = PATHS.results
supervise.announce(RESULTS, workflow)
if workflow.is_main_process:
    for warning in all_warnings(EXPERIMENT):
        print(f"warning: {warning}", file=sys.stderr)


# Called once Snakemake has the lock, and not for the jobs that it starts.
onstart:
    check_interpreters()
    record_machine(Path(RESULTS))
    if workflow.local_exec and not USES_CONDA:  # its jobs have other interpreters
        warm.start()
    if code_params().kept:
        print(code_params().report(), file=sys.stderr)


# Jobs of this machine take turns on its GPUs: a profile may ask for more, and snakemake --cores N says
# nothing of them. With a number of jobs they are a cluster's, which gives each its own.
LOCAL = workflow.is_main_process and workflow.resource_settings.nodes is None
if LOCAL and (there := len(gpus.devices())):
    there *= int(os.environ.get("SLURM_JOB_NUM_NODES", "1"))
    limit = getattr(workflow.global_resources.get("gpu"), "value", None)
    workflow.global_resources["gpu"] = there if limit is None else min(there, limit)


# --- interpreters -------------------------------------------------------------------------------

# The interpreter that runs Snakemake, so that no environment needs to be activated; with --sdm conda
# the one of the rule's environment.
USES_CONDA = DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method
PYTHON = "python" if USES_CONDA else sys.executable
GENERATION = EXPERIMENT.evaluation.generation
CHOICES = EXPERIMENT.evaluation.multiple_choice


def python_of(engine, part):
    """Return the interpreter of an engine, for rules that run it for a part of the evaluation.

    It need not be there yet: a dry run shows it, and check_interpreters asks for it.
    """
    own = None if USES_CONDA or engine is None else environment_of(engine, part)
    try:
        return own.expected() if own else PYTHON
    except RevocabError as error:
        print(error.render(), file=sys.stderr)
        sys.exit(1)


def check_interpreters():
    """Stop a run at its start where the engine of a job that is due has no environment."""
    evaluation = EXPERIMENT.evaluation
    parts = {
        "score_multiple_choice": "multiple_choice",
        "generate_text": "generation",
        "measure_efficiency": "generation",
    }
    due = {job.rule.name for job in workflow.dag.needrun_jobs()}
    asked = [
        (getattr(evaluation, part).engine, part) for rule, part in parts.items() if rule in due
    ]
    answers = [corpus.answers for corpus in EXPERIMENT.corpora.values() if corpus.answers]
    if "answer_prompts" in due:
        asked += [(entry.engine, "generation") for entry in answers]
    if "judge_answers" in due:
        asked += [(getattr(entry.judge, "engine", None), "generation") for entry in answers]
    try:
        for engine, part in dict.fromkeys(asked):
            USES_CONDA or engine is None or interpreter(engine, part, PYTHON)
    except RevocabError as error:
        print(error.render(), file=sys.stderr)
        sys.exit(1)


def engine_python(part):
    """Return the interpreter of rules that run the engine of a part of the evaluation."""
    return python_of(getattr(EXPERIMENT.evaluation, part).engine, part)


def answering_engine(wildcards):
    """Return the engine that answers the questions of a corpus."""
    return EXPERIMENT.corpora[wildcards.corpus].answers.engine


def judging_engine(wildcards):
    """Return the engine of the judge of a corpus, where it runs one."""
    return getattr(EXPERIMENT.corpora[wildcards.corpus].answers.judge, "engine", None)


def environment_file(engine, part):
    """Return the conda environment of an engine for a part of the evaluation; None: no engine."""
    own = environment_of(engine, part) if engine else None
    return f"../../envs/{own.name if own else 'core'}.yaml"


def engine_environment(part):
    """Return the conda environment of rules that run the engine of a part of the evaluation."""
    return environment_file(getattr(EXPERIMENT.evaluation, part).engine, part)


def comet_python():
    """Return the interpreter of the COMET environment; where there is none, the command says so."""
    path = os.environ.get("REVOCAB_COMET_PYTHON", ".venv-comet/bin/python")
    return path if Path(path).exists() and not USES_CONDA else PYTHON


CHOICES_PYTHON = engine_python("multiple_choice")
GENERATION_PYTHON = engine_python("generation")
COMET_PYTHON = comet_python()


# --- wildcards ----------------------------------------------------------------------------------


def one_of(ids):
    """Return a wildcard pattern that matches exactly these ids."""
    return "|".join(map(re.escape, sorted(ids))) or "(?!)"


wildcard_constraints:
    corpus=one_of(EXPERIMENT.corpora),
    tokenizer=one_of(EXPERIMENT.tokenizers),
    source=one_of(EXPERIMENT.tokenizers),
    target=one_of(EXPERIMENT.tokenizers),
    mixture=one_of(EXPERIMENT.mixtures),
    recipe=one_of(EXPERIMENT.recipes),
    model=one_of(EXPERIMENT.models),
    group=one_of(EXPERIMENT.runs),
    run=one_of(PLAN.runs),
    length=r"\d+",


def ids_of(rule):
    """Return the wildcard constraints of a rule that is for some things of a kind alone."""
    (wildcard,) = find_rule(rule).wildcards
    return {wildcard: one_of(ids for (ids,) in find_rule(rule).known(PLAN))}


# --- from a job to a command line ---------------------------------------------------------------


def named(rule, wildcards):
    """Return the name of a job in the plan."""
    return "--".join([rule, *(wildcards[name] for name in find_rule(rule).wildcards)])


def needs(rule):
    """Return the input function of a rule: the files that its job reads, by name."""
    return lambda wildcards: PLAN.job(named(rule, wildcards)).files()


@cache
def code_params():
    """Return what decides whether changed code runs a job again."""
    return CodeParams(PLAN, keeps=RerunTrigger.CODE not in workflow.rerun_triggers)


# What runs a job again: its code, its inputs, and every param that is a value or a function of
# wildcards alone. Snakemake records none of a function that also takes output, resources or threads:
# what decides a result must never be in one, what only says how a machine computes it always is.
def params_of(rule, python=PYTHON, job=None, **fixed):
    """Return the params of a rule.

    ``code`` and ``job`` run its jobs again when they change; ``words`` are its command line, with
    the job as JSON, or from standard input (``-``). What only a machine decides comes from the profile, under the names
    of the command's machine options; ``fixed`` are further values that nothing computed depends on.
    """
    options = find_rule(rule).command.machine.model_fields

    def code(wildcards):
        outputs = workflow.get_rule(rule).output[:1]
        output = outputs[0].apply_wildcards(wildcards)
        recorded = workflow.persistence.params(output) or ()
        return code_params().param(named(rule, wildcards), Path(output), recorded)

    def words(wildcards, resources, threads):
        step = PLAN.job(named(rule, wildcards))
        values = {name: resources.get(name) for name in options if name != "threads"} | fixed
        values |= {"threads": threads} if "threads" in options else {}
        if "gpus" in options and (resources.get("gpu") or 0) > 1:
            values["gpus"] = resources.get("gpu")
        given = {name: value for name, value in values.items() if value is not None}
        machine = step.job.usable(given)
        return PLAN.words(step, job) + (["--machine", json.dumps(machine)] if machine else [])

    return {
        "code": code,
        "job": lambda wildcards: arguments_digest(PLAN, named(rule, wildcards)),
        "gpus": lambda wildcards, resources: gpus_for(resources.get("gpu") or 0),
        "python": lambda wildcards, resources: python(wildcards) if callable(python) else python,
        "words": words,
    }


@cache
def model_sizes():
    """Return the sizes of the experiment's models, and the memory of a GPU, in bytes."""
    return Sizes(PLAN, {}, {}), (gpus.memory() if LOCAL else None) or costs.USUAL


def divided(rule):
    """Return how many GPUs a job of a rule gets that runs a model, which the profile may change."""

    def count(wildcards):
        (name,) = (wildcards[name] for name in find_rule(rule).wildcards)
        sizes, each = model_sizes()
        return costs.devices_for(costs.memory_of(PLAN, sizes, rule, name), each)

    return count


def gpus_for(count):
    """Return the words by which a job waits for its GPUs; a cluster gives them to it itself."""
    return gpus.words(count) if LOCAL else []


def started(rule):
    """Return the params that say how Python starts a rule's trainings, and on how many GPUs."""

    def batch_size(wildcards):
        return PLAN.job(named(rule, wildcards)).job.batch_size

    def starter(wildcards, resources, threads):
        try:
            given = {**dict(resources.items()), "threads": threads}
            return launch.starter(given, batch_size(wildcards))
        except RevocabError as error:
            print(error.render(), file=sys.stderr)
            sys.exit(1)

    def launcher(wildcards, resources):
        return launch.launcher(resources, batch_size(wildcards))

    def own_gpus(wildcards, resources):
        return gpus_for(launch.gpus_used(resources, batch_size(wildcards)))

    return {"starter": starter, "gpus": own_gpus, "launcher": launcher}
