# Input and params functions of generate.smk.


GENERATION = EXPERIMENT.evaluation.generation


#: What the score table records as the limit: one number where all tasks share it.
LIMITS = {task.limit for task in GENERATION.tasks.values()}


def prompt_arguments(wildcards):
    """Return the options of build_prompts for a generative task."""
    task = GENERATION.tasks[wildcards.task]
    return [
        *options(kind=task.kind, shots=task.shots, limit=task.limit, pool_limit=task.pool_limit),
        "--direction",
        *task.direction,
        *options(seed=EXPERIMENT.seed, pool=source_spec(task.pool), test=source_spec(task.test)),
    ]
