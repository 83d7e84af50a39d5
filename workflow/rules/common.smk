# What all rules share: the experiment's plan, interpreters, and how a job becomes a command line.
import json
import os
import re
import sys
from functools import cache
from pathlib import Path

from snakemake.settings.types import DeploymentMethod, RerunTrigger

from revocab.commands.train_model import Machine as TrainingMachine
from revocab.config import validate
from revocab.errors import RevocabError
from revocab.evaluation.inference.engine import environment_of, interpreter
from revocab.plan import Plan
from revocab.plan.decisions import Decisions
from revocab.plan.kept import Kept
from revocab.plan.show import flags_of
from revocab.workflow import launch
from revocab.workflow.lock import record_holder

try:
    PLAN = Plan(validate(config, files=workflow.configfiles))
    DECISIONS = Decisions.read(PLAN)
except RevocabError as error:
    print(error.render(), file=sys.stderr)
    sys.exit(1)

EXPERIMENT = PLAN.experiment
PATHS = PLAN.paths
RESULTS = PATHS.results


# Called once Snakemake has the lock, and not for the jobs that it starts.
onstart:
    record_holder()


# --- interpreters -------------------------------------------------------------------------------

# The interpreter that runs Snakemake, so that no environment needs to be activated; with --sdm conda
# the one of the rule's environment.
USES_CONDA = DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method
PYTHON = "python" if USES_CONDA else sys.executable
GENERATION = EXPERIMENT.evaluation.generation
CHOICES = EXPERIMENT.evaluation.multiple_choice


def python_of(engine, part):
    """Return the interpreter of an engine, for rules that run it for a part of the evaluation."""
    if USES_CONDA:
        return PYTHON
    try:
        return interpreter(engine, part, PYTHON)
    except RevocabError as error:
        print(error.render(), file=sys.stderr)
        sys.exit(1)


def engine_python(part):
    """Return the interpreter of rules that run the engine of a part of the evaluation."""
    return python_of(getattr(EXPERIMENT.evaluation, part).engine, part)


def answering_python(corpus):
    """Return the interpreter of the engine that answers the questions of a corpus."""
    return python_of(EXPERIMENT.corpora[corpus].answers.engine, "generation")


def judging_python(corpus):
    """Return the interpreter of the judge of a corpus: its engine's, where it runs one."""
    engine = getattr(EXPERIMENT.corpora[corpus].answers.judge, "engine", None)
    return PYTHON if engine is None else python_of(engine, "generation")


def engine_environment(part):
    """Return the conda environment of rules that run the engine of a part of the evaluation."""
    own = environment_of(getattr(EXPERIMENT.evaluation, part).engine, part)
    return f"../../envs/{own.name if own else 'core'}.yaml"


def comet_python():
    """Return the interpreter of the COMET environment; where there is none, the command says so."""
    path = os.environ.get("REVOCAB_COMET_PYTHON", ".venv-comet/bin/python")
    return path if Path(path).exists() and not USES_CONDA else PYTHON


CHOICES_PYTHON = engine_python("multiple_choice")
GENERATION_PYTHON = engine_python("generation")
COMET_PYTHON = comet_python()


# --- from a job to a command line ---------------------------------------------------------------


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


@cache
def kept():
    """Return what decides on code, and say, once, what is kept though its code has changed.

    Snakemake knows its triggers only when it asks for the first param.
    """
    found = Kept(PLAN, RerunTrigger.CODE not in workflow.rerun_triggers, DECISIONS)
    told = found.report(flags_of(workflow.configfiles, workflow.config_settings.config_args or ()))
    if told and workflow.is_main_process:
        print(told, file=sys.stderr)
    return found


def code(rule):
    """Return the param that changes where a rule's code asks for its outputs to be made again."""

    def compared(wildcards):
        outputs = [one.apply_wildcards(wildcards) for one in workflow.get_rule(rule).output[:1]]
        recorded = [workflow.persistence.params(one) for one in outputs]
        return kept().param(rule, Path(outputs[0]), recorded[0]) if outputs else None

    return compared


def needs(rule):
    """Return the input function of a rule: the files that its job reads, by name."""
    return lambda wildcards: PLAN.step(rule, **wildcards).files()


# What runs a job again: its code, its inputs, and every param that is a value or a function of
# wildcards alone. Snakemake records none of a function that also takes output, resources or threads:
# what decides a result must never be in one, what only says how a machine computes it always is.
def job(rule):
    """Return the param that decides a rule's result: its inputs' paths and its job, as arguments."""
    return lambda wildcards: PLAN.step(rule, **wildcards).arguments()


def not_recorded(value):
    """Return a param that runs nothing again when it changes."""
    return lambda wildcards, resources: value


def machine(*names, **fixed):
    """Return the param that passes what the profile says of a machine, under these names.

    ``fixed`` are values that nothing computed depends on either.
    """

    def given(wildcards, resources, threads):
        found = {name: resources.get(name) for name in names if name != "threads"} | fixed
        found |= {"threads": threads} if "threads" in names else {}
        found = {name: value for name, value in found.items() if value is not None}
        return ["--machine", json.dumps(found)] if found else []

    return given


# What a profile may say of training; losses depend on none of it beyond rounding.
TRAINING_MACHINE = machine(*TrainingMachine.model_fields)


def starter(wildcards, resources, threads):
    """Return what starts Python for a training: nothing, or srun on several nodes."""
    try:
        return launch.starter({**dict(resources.items()), "threads": threads})
    except RevocabError as error:
        print(error.render(), file=sys.stderr)
        sys.exit(1)


def launcher(wildcards, resources):
    """Return how Python starts a training: itself, torchrun or accelerate."""
    return launch.launcher(resources)
