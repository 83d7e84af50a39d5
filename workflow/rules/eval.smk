# Multiple choice with lm-evaluation-harness: every checkpoint of a run in one process.


rule build_task:
    input:
        data=task_inputs,
        templates=sorted(map(str, Path("config/tasks").rglob("*.yaml"))),
        code=code("build_task"),
    output:
        f"{RESULTS}/tasks/{{task}}.yaml",
    log:
        f"{RESULTS}/logs/build_task/{{task}}.log",
    wildcard_constraints:
        task=one_of(TASKS),
    conda:
        "../../envs/core.yaml"
    params:
        python=not_recorded(PYTHON),
        arguments=task_arguments,
    shell:
        "{params.python:q} scripts/build_task.py --task {wildcards.task} {params.arguments:q}"
        " --out {output:q} 2> {log:q}"


rule score_multiple_choice:
    input:
        model=lambda wildcards: run_manifest(RUNS[wildcards.run]),
        tasks=[f"{RESULTS}/tasks/{task}.yaml" for task in TASKS],
        code=code("score_multiple_choice"),
    output:
        table=f"{RESULTS}/runs/{{run}}/multiple_choice.csv",
        by_item=f"{RESULTS}/runs/{{run}}/multiple_choice_items.jsonl.gz",
    log:
        f"{RESULTS}/logs/score_multiple_choice/{{run}}.log",
    conda:
        engine_environment(CHOICES.engine)
    params:
        python=not_recorded(CHOICES_PYTHON),
        models=lambda wildcards: step_arguments(
            RUNS[wildcards.run], RUNS[wildcards.run].scored_steps()
        ),
        tasks=repeated("--task", [f"{RESULTS}/tasks/{task}.yaml" for task in TASKS]),
        arguments=options(
            shots=CHOICES.shots,
            limit=CHOICES.limit,
            engine=CHOICES.engine,
            long_prompts=CHOICES.long_prompts,
        ),
    shell:
        "{params.python:q} scripts/score_multiple_choice.py --run {wildcards.run} {params.models:q}"
        " {params.tasks:q} {params.arguments:q} --out {output.table:q} 2> {log:q}"
