# Names shared by all rules: the validated experiment, where things lie, and command-line arguments.
import json
import os
import re
import sys
from pathlib import Path

from snakemake.settings.types import DeploymentMethod

from revocab.config import as_json, expand as expand_runs, validate
from revocab.config.checks import WORLD_PARTS
from revocab.config.expand import checkpoint_steps, stage_mixtures
from revocab.config.reads import READ, read_by
from revocab.errors import RevocabError
from revocab.evaluation.vllm_environment import vllm_python
from revocab.imports import closure

try:
    EXPERIMENT = validate(config, Path(workflow.basedir, "config", "tasks"))
except RevocabError as error:
    print(error.render(), file=sys.stderr)
    sys.exit(1)

# The interpreter that runs Snakemake, so that no environment needs to be activated; with --sdm conda
# the one of the rule's environment.
USES_CONDA = DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method
PYTHON = "python" if USES_CONDA else sys.executable
RESULTS = f"results/{EXPERIMENT.experiment}"
RESOURCES = f"resources/{EXPERIMENT.experiment}"
RUNS = {run.id: run for run in expand_runs(EXPERIMENT)}


def engine_python(engine, key, other):
    """Return the interpreter of rules that run ``engine``: vLLM's own where it is vllm.

    ``key`` is where the experiment names it, ``other`` what it may name instead.
    """
    if engine != "vllm" or USES_CONDA:
        return PYTHON
    try:
        return vllm_python(key, other)
    except RevocabError as error:
        print(error.render(), file=sys.stderr)
        sys.exit(1)


def engine_environment(engine):
    """Return the conda environment of rules that run ``engine``, as rule files name it."""
    return f"../../envs/{'vllm' if engine == 'vllm' else 'core'}.yaml"


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
    run=one_of(RUNS),
    length=r"\d+",


def code(script, *found_at_run_time):
    """Return a script and the modules it stands on: inputs, so that editing them reruns the rule."""
    return [
        str(path) for path in closure(Path(f"scripts/{script}.py"), Path("src"), found_at_run_time)
    ]


def folder(wildcards, output):
    """Return the folder of the first output: what scripts call --out."""
    return str(Path(output[0]).parent)


# What runs a job again: its code, its inputs, and every param that is a value or a function of
# wildcards alone. Snakemake records none of a function that also takes output, resources or threads:
# what decides a result must never be in one, what only says how a machine computes it always is.
def not_recorded(value):
    """Return a param that runs nothing again when it changes."""
    return lambda wildcards, resources: value


def options(**values):
    """Return ``--key value`` arguments; None and False are left out, True is a bare flag."""
    arguments = []
    for key, value in values.items():
        flag = f"--{key.replace('_', '-')}"
        if value is True:
            arguments.append(flag)
        elif value is not None and value is not False:
            arguments += [flag, str(value)]
    return arguments


def repeated(flag, values):
    """Return ``--flag value`` for every value."""
    return [part for value in values for part in (flag, value)]


# --- where things lie ---------------------------------------------------------------------------


def source_files(source):
    """Return the local files behind a data source (none for the Hub)."""
    if source.world:
        return [f"{RESOURCES}/world/{source.world}.jsonl.gz"]
    if source.path:
        return [source.path]
    return list((source.lines or {}).values())


def source_spec(source):
    """Return a data source as one argument: FILE, LANGUAGE=FILE,… or hub:ID:…."""
    if source.hub:
        name = f":{source.hub.name}" if source.hub.name else ":"
        revision = f"@{source.hub.revision}" if source.hub.revision else ""
        renamed = ",".join(f"{ours}={theirs}" for ours, theirs in source.hub.fields.items())
        fields = f"#{renamed}" if renamed else ""
        return f"hub:{source.hub.id}{name}:{source.hub.split}{revision}{fields}"
    if source.lines:
        return ",".join(f"{language}={path}" for language, path in source.lines.items())
    return source_files(source)[0]


def settings_of(part):
    """Return the file with what a part of the report reads of the experiment."""
    return f"{RESULTS}/settings/{part}.json"


def corpus_folder(corpus):
    return f"{RESOURCES}/corpora/{corpus}"


def corpus_files(corpora, part="train"):
    return [f"{corpus_folder(corpus)}/{part}.jsonl.gz" for corpus in corpora]


def tokenizer_folder(tokenizer):
    return f"{RESULTS}/tokenizers/{tokenizer}"


def tokenizer_manifest(tokenizer):
    return f"{tokenizer_folder(tokenizer)}/manifest.json"


def model_manifest(model):
    return f"{RESULTS}/models/{model}/manifest.json"


def model_folder(model):
    """Return the folder that from_pretrained reads: a snapshot, or the last pretraining checkpoint."""
    pretrain = EXPERIMENT.models[model].pretrain
    part = (
        f"checkpoints/step-{EXPERIMENT.recipes[pretrain.recipe].steps:06d}"
        if pretrain
        else "snapshot"
    )
    return f"{RESULTS}/models/{model}/{part}"


def run_manifest(run):
    """Return the file that says a run is trained (for a base model: that it is there)."""
    return f"{RESULTS}/runs/{run.id}/manifest.json" if run.trains else model_manifest(run.source)


def step_folder(run, step):
    """Return the model folder of a run at a step."""
    if not run.trains:
        return model_folder(run.source)
    part = f"checkpoints/step-{step:06d}" if step else "init"
    return f"{RESULTS}/runs/{run.id}/{part}"


def step_arguments(run, steps):
    """Return ``--model STEP=FOLDER`` for every step."""
    return repeated("--model", [f"{step}={step_folder(run, step)}" for step in steps])


def evaluated(group=None):
    """Return the runs whose checkpoints are scored."""
    return [run for run in RUNS.values() if run.evaluate and group in (None, run.group)]


include: "common/data.smk"
include: "common/tokenizer.smk"
include: "common/intersection.smk"
include: "common/init.smk"
include: "common/train.smk"
include: "common/eval.smk"
include: "common/generate.smk"
include: "common/analyse.smk"
include: "common/report.smk"
