# Multiple choice with lm-evaluation-harness: every checkpoint of a run in one process.


use rule job as build_task with:
    input:
        unpack(needs("build_task")),
    output:
        PATHS.task("{task}"),
    log:
        f"{RESULTS}/logs/build_task/{{task}}.log",
    wildcard_constraints:
        **ids_of("build_task"),
    priority: 1  # a data set that is not the one meant stops the run before much is computed
    params:
        **params_of("build_task"),


use rule job as score_multiple_choice with:
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
        gpu=divided("score_multiple_choice"),
    params:
        **params_of("score_multiple_choice", python=CHOICES_PYTHON),
