# Multiple choice with lm-evaluation-harness: every checkpoint of a run in one process.
from revocab.evaluation.probes.kind import ITEMS


rule build_probe:
    input:
        unpack(needs("build_probe")),
    output:
        manifest=f"{PATHS.probe('{task}')}/manifest.json",
        rows=f"{PATHS.probe('{task}')}/{ITEMS}",
        baselines=f"{PATHS.probe('{task}')}/{BASELINES}",
    log:
        f"{RESULTS}/logs/build_probe/{{task}}.log",
    wildcard_constraints:
        task=one_of(PLAN.probes),
    conda:
        "../../envs/core.yaml"
    params:
        code=code("build_probe"),
        python=not_recorded(PYTHON),
        job=job("build_probe"),
    shell:
        "{params.python:q} scripts/build_probe.py {params.job:q} 2> {log:q}"


rule build_task:
    input:
        unpack(needs("build_task")),
    output:
        PATHS.task("{task}"),
    log:
        f"{RESULTS}/logs/build_task/{{task}}.log",
    wildcard_constraints:
        task=one_of(CHOICES.tasks),
    priority: 1  # a data set that is not the one meant stops the run before much is computed
    conda:
        "../../envs/core.yaml"
    params:
        code=code("build_task"),
        python=not_recorded(PYTHON),
        job=job("build_task"),
    shell:
        "{params.python:q} scripts/build_task.py {params.job:q} 2> {log:q}"


rule score_multiple_choice:
    input:
        unpack(needs("score_multiple_choice")),
    output:
        table=f"{PATHS.run('{run}')}/multiple_choice.csv",
        by_item=f"{PATHS.run('{run}')}/multiple_choice_items.jsonl.gz",
    log:
        f"{RESULTS}/logs/score_multiple_choice/{{run}}.log",
    conda:
        engine_environment("multiple_choice")
    resources:
        gpu=1,
    params:
        code=code("score_multiple_choice"),
        python=not_recorded(CHOICES_PYTHON),
        job=job("score_multiple_choice"),
        machine=machine("device", "dtype", "batch_size"),
    shell:
        "{params.python:q} scripts/score_multiple_choice.py {params.job:q} {params.machine:q} 2> {log:q}"
