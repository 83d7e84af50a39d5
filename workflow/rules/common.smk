# What all rules share: the experiment, interpreters, and what runs a job again.
import hashlib
import json
import os
import re
import sys
from functools import cache
from pathlib import Path

from snakemake.settings.types import DeploymentMethod

from revocab import extensions

extensions.use(config.get("extensions"))  # before anything is found

from revocab.experiment import validate
from revocab.experiment.check_tasks import unasked_layouts
from revocab.costs import experiment as costs
from revocab.costs.sizes import Sizes
from revocab.cli import legible
from revocab.evaluation.inference.engine import engine_called, interpreter
from revocab.experiment import options
from revocab.experiment.layout import Layout
from revocab.experiment.paths import manifest
from revocab.imports import code_hash
from revocab.command_line import flag_of
from revocab.verbs import find, places
from revocab.workflow import gpus, launch, supervise, warm
from revocab.workflow.run import record_machine

with legible():
    LAYOUT = Layout(validate(config, files=workflow.configfiles))

EXPERIMENT = LAYOUT.experiment
PATHS = LAYOUT.paths
RESULTS = PATHS.results
supervise.announce(RESULTS, workflow)
if workflow.is_main_process:
    for warning in unasked_layouts(EXPERIMENT):
        print(f"warning: {warning}", file=sys.stderr)


# Called once Snakemake has the lock, and not for the jobs that it starts.
onstart:
    check_interpreters()
    record_machine(Path(RESULTS))
    if workflow.local_exec and not USES_CONDA:  # its jobs have other interpreters
        warm.start()


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
CORE = "../../envs/core.yaml"
GENERATION = EXPERIMENT.evaluation.generation
CHOICES = EXPERIMENT.evaluation.multiple_choice


def python_of(engine, part):
    """Return the interpreter of an engine, for rules that run it for a part of the evaluation.

    It need not be there yet: a dry run shows it, and check_interpreters asks for it.
    """
    own = None if USES_CONDA or engine is None else engine_called(engine, part).environment
    with legible():
        return own.expected() if own else PYTHON


def check_interpreters():
    """Stop a run at its start where the engine of a job that is due has no environment."""
    evaluation = EXPERIMENT.evaluation
    parts = {
        "score_multiple_choice": "multiple_choice",
        "generate_text": "generation",
        "measure_efficiency": "generation",
    }
    names = {job.rule.name for job in workflow.dag.needrun_jobs()}

    def due(rule):  # its name has a prefix in a module that gives one
        return any(name.endswith(rule) for name in names)

    asked = [(getattr(evaluation, part).engine, part) for rule, part in parts.items() if due(rule)]
    answers = [corpus.answers for corpus in EXPERIMENT.corpora.values() if corpus.answers]
    if due("answer_prompts"):
        asked += [(entry.engine, "generation") for entry in answers]
    if due("judge_answers"):
        asked += [(getattr(entry.judge, "engine", None), "generation") for entry in answers]
    with legible():
        for engine, part in dict.fromkeys(asked):
            USES_CONDA or engine is None or interpreter(engine, part, PYTHON)


def environment_file(engine, part):
    """Return the conda environment of an engine for a part of the evaluation; None: no engine."""
    own = engine_called(engine, part).environment if engine else None
    return f"../../envs/{own.name if own else 'core'}.yaml"


CHOICES_PYTHON = python_of(CHOICES.engine, "multiple_choice")
GENERATION_PYTHON = python_of(GENERATION.engine, "generation")
COMET_PYTHON = os.environ.get("REVOCAB_COMET_PYTHON", ".venv-comet/bin/python")
if USES_CONDA or not Path(COMET_PYTHON).exists():
    COMET_PYTHON = PYTHON  # where it has no COMET, the command says so


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
    run=one_of(LAYOUT.runs),
    length=r"\d+",


# --- what runs a job again ------------------------------------------------------------------------

# Snakemake compares the input files of a job, its shell command, and each param that is a value or a
# function of wildcards alone; of a function that also takes output, resources or threads it records
# nothing. So what decides a result is recorded as a digest, which is short where it is printed, and
# what only says how a machine computes it is not.


def decided(rule, options, python=PYTHON, order=None, **flags):
    """Return the params that a rule's shell command names: its options, as JSON, and further flags,
    with their digest; its job's name; and the interpreter, which changes nothing.

    ``order`` returns the names behind input files whose order decides a result: Snakemake compares
    input files as a set.
    """

    def text(wildcards):
        return options(wildcards).canonical()

    def digest(wildcards):
        ordered = [order] if order else []
        values = [flag(wildcards) for flag in (*flags.values(), *ordered)]
        words = [text(wildcards), *map(json.dumps, values)]
        return hashlib.sha256("\n".join(words).encode()).hexdigest()[:16]

    def unrecorded(value):
        return lambda wildcards, resources: value(wildcards)

    params = {
        "options": text,
        "job": lambda wildcards: " ".join([rule, *wildcards]),
        "python": python if callable(python) else lambda wildcards: python,
        **flags,
    }
    return {"decided": digest, **{name: unrecorded(value) for name, value in params.items()}}


@cache
def code_of(verb):
    """Return a hash of the code of a verb, which runs a job again where it is a param.

    Of what lasts, weights and what they are made from, it is part of the shell command: with the
    rerun triggers of a cluster's profile, code alone makes none of it again.
    """
    return f"code {code_hash(verb, f'verbs/{places()[verb].module}.py', find(verb).finds)}"


# --- what a machine decides -----------------------------------------------------------------------


def machine(verb, settings=None, **fixed):
    """Return the param with a verb's flags for the machine: what the profile has under their names,
    and ``fixed`` ones, on which nothing computed depends.
    """
    fields = find(verb).machine

    def flags(wildcards, resources, threads):
        values = {name: resources.get(name) for name in fields if name != "threads"} | fixed
        values |= {"threads": threads} if "threads" in fields else {}
        if "gpus" in fields and (resources.get("gpu") or 0) > 1:
            values["gpus"] = resources.get("gpu")
        if settings and not settings(wildcards).can_be_sharded:
            values["fsdp"] = None
        words = []
        for name, value in values.items():
            if fields[name].annotation is bool and value is not None:
                words.append(flag_of(name) if value else flag_of(f"no_{name}"))
            elif value is not None:
                words += [flag_of(name), str(value)]
        return words

    return flags


@cache
def model_sizes():
    """Return the sizes of the experiment's models, and the memory of a GPU, in bytes."""
    return Sizes(LAYOUT, {}, {}), (gpus.memory() if LOCAL else None) or costs.USUAL


def divided(rule):
    """Return how many GPUs a job of a rule gets that runs a model, which the profile may change."""

    def count(wildcards):
        (name,) = wildcards
        sizes, each = model_sizes()
        return costs.devices_for(costs.memory_of(LAYOUT, sizes, rule, name), each)

    return count


def own_gpus(wildcards, resources):
    """Return the words by which a job waits for its GPUs; a cluster gives them to it itself."""
    return gpus.words(resources.get("gpu") or 0) if LOCAL else []


def started(settings):
    """Return the params that say how Python starts a training, and on how many GPUs."""

    def starter(wildcards, resources, threads):
        own = {**dict(resources.items()), "threads": threads}
        with legible():
            return launch.starter(own, settings(wildcards).batch_size)

    def launcher(wildcards, resources):
        return launch.launcher(resources, settings(wildcards).batch_size)

    def waits(wildcards, resources):
        used = launch.gpus_used(resources, settings(wildcards).batch_size)
        return gpus.words(used) if LOCAL else []

    return {
        "starter": starter,
        "gpus": waits,
        "launcher": launcher,
        "machine": machine("train_model", settings),
    }
