# Generation: the same stored prompts for every checkpoint.

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


rule build_prompts:
    input:
        pool=lambda wildcards: source_files(GENERATION.tasks[wildcards.task].pool),
        test=lambda wildcards: source_files(GENERATION.tasks[wildcards.task].test),
        code=code("build_prompts"),
    output:
        f"{RESULTS}/prompts/{{task}}.jsonl",
    log:
        f"{RESULTS}/logs/build_prompts/{{task}}.log",
    wildcard_constraints:
        task=one_of(GENERATION.tasks),
    params:
        arguments=prompt_arguments,
    shell:
        "{PYTHON:q} scripts/build_prompts.py --task {wildcards.task} {params.arguments:q}"
        " --out {output:q} 2> {log:q}"


rule generate_text:
    input:
        model=lambda wildcards: run_manifest(RUNS[wildcards.run]),
        prompts=[f"{RESULTS}/prompts/{task}.jsonl" for task in GENERATION.tasks],
        code=code("generate_text"),
    output:
        manifest=f"{RESULTS}/runs/{{run}}/generation/manifest.json",
        scores=f"{RESULTS}/runs/{{run}}/generation/scores.csv",
    log:
        f"{RESULTS}/logs/generate_text/{{run}}.log",
    params:
        models=lambda wildcards: step_arguments(
            RUNS[wildcards.run], RUNS[wildcards.run].select(GENERATION.steps)
        ),
        prompts=repeated(
            "--prompts", [f"{task}={RESULTS}/prompts/{task}.jsonl" for task in GENERATION.tasks]
        ),
        arguments=options(
            engine=GENERATION.engine,
            max_new_tokens=GENERATION.max_new_tokens,
            context_length=GENERATION.context_length,
            comet_model=GENERATION.comet_model,
            limit=LIMITS.copy().pop() if len(LIMITS) == 1 else None,
        ),
        out=folder,
    shell:
        "{PYTHON:q} scripts/generate_text.py --run {wildcards.run} {params.models:q}"
        " {params.prompts:q} {params.arguments:q} --out {params.out:q} 2> {log:q}"
