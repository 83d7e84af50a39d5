# Input and params functions of generate.smk.


GENERATION = EXPERIMENT.evaluation.generation


#: What the score table records as the limit: one number where all tasks share it.
LIMITS = {task.limit for task in GENERATION.tasks.values()}


GENERATION_PYTHON = engine_python(GENERATION.engine, "evaluation.generation.engine", "transformers")


def prompt_arguments(wildcards):
    """Return the options of build_prompts for a generative task."""
    task = GENERATION.tasks[wildcards.task]
    return [
        *options(kind=task.kind, shots=task.shots, limit=task.limit, pool_limit=task.pool_limit),
        "--direction",
        *task.direction,
        *options(unit=task.unit),
        *options(seed=EXPERIMENT.seed, pool=source_spec(task.pool), test=source_spec(task.test)),
    ]


#: COMET metrics and their models, as the experiment names them.
COMET_MODELS = {
    metric: model
    for metric, model in (("comet22", GENERATION.comet_model), ("xcomet", GENERATION.xcomet_model))
    if model
}


def comet_python():
    """Return the interpreter of the COMET environment; where there is none, the script says so."""
    path = os.environ.get("REVOCAB_COMET_PYTHON", ".venv-comet/bin/python")
    return path if Path(path).exists() and not USES_CONDA else PYTHON


def scores_with_comet():
    """Return whether any translation is scored with COMET."""
    return bool(COMET_MODELS) and any(
        task.kind == "translation" for task in GENERATION.tasks.values()
    )
