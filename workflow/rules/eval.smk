# Multiple choice with lm-evaluation-harness: every checkpoint of a run in one process.

TASKS = EXPERIMENT.evaluation.multiple_choice.tasks


def task_arguments(wildcards):
    """Return the options of build_task for a task."""
    task = TASKS[wildcards.task]
    if task.harness:
        return options(harness=task.harness)
    template = options(template=f"config/tasks/{task.template}.yaml")
    if task.data is None:
        return template
    hub = task.data.hub
    if hub:
        return template + options(hub=hub.id, name=hub.name, split=hub.split, revision=hub.revision)
    return template + options(data=source_files(task.data)[0])


def task_inputs(wildcards):
    """Return a task's data file, if it has one here."""
    data = TASKS[wildcards.task].data
    return source_files(data) if data else []


rule build_task:
    input:
        data=task_inputs,
        templates=sorted(map(str, Path("config/tasks").glob("*.yaml"))),
        code=code("build_task"),
    output:
        f"{RESULTS}/tasks/{{task}}.yaml",
    log:
        f"{RESULTS}/logs/build_task/{{task}}.log",
    wildcard_constraints:
        task=one_of(TASKS),
    params:
        arguments=task_arguments,
    shell:
        "{PYTHON:q} scripts/build_task.py --task {wildcards.task} {params.arguments:q}"
        " --out {output:q} 2> {log:q}"


rule score_multiple_choice:
    input:
        model=lambda wildcards: run_manifest(RUNS[wildcards.run]),
        tasks=[f"{RESULTS}/tasks/{task}.yaml" for task in TASKS],
        code=code("score_multiple_choice"),
    output:
        f"{RESULTS}/runs/{{run}}/multiple_choice.csv",
    log:
        f"{RESULTS}/logs/score_multiple_choice/{{run}}.log",
    params:
        models=lambda wildcards: step_arguments(
            RUNS[wildcards.run], RUNS[wildcards.run].scored_steps()
        ),
        tasks=repeated("--task", [f"{RESULTS}/tasks/{task}.yaml" for task in TASKS]),
        arguments=options(
            shots=EXPERIMENT.evaluation.multiple_choice.shots,
            limit=EXPERIMENT.evaluation.multiple_choice.limit,
        ),
    shell:
        "{PYTHON:q} scripts/score_multiple_choice.py --run {wildcards.run} {params.models:q}"
        " {params.tasks:q} {params.arguments:q} --out {output:q} 2> {log:q}"
