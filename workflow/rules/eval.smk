# Multiple choice with lm-evaluation-harness: every checkpoint of a run in one process.


rule build_task:
    input:
        data=lambda w: LAYOUT.task_data(w.task),
        template=lambda w: LAYOUT.task_template(w.task),
    output:
        PATHS.task("{task}"),
    log:
        f"{RESULTS}/logs/build_task/{{task}}.log",
    wildcard_constraints:
        task=one_of(CHOICES.tasks),
    priority: 1  # a data set that is not the one meant stops the run before much is computed
    conda:
        CORE
    params:
        **decided(
            "build_task",
            lambda w: options.task(EXPERIMENT, w.task),
            templates=lambda w: LAYOUT.own_templates(w.task),
        ),
        code=code_of("build_task"),
    shell:
        "{params.python:q} -m revocab build_task --data {input.data:q} --templates {params.templates:q}"
        " --out {output:q}"
        " --options {params.options:q} --job {params.job:q} 2> {log:q}"


rule score_multiple_choice:
    input:
        models=lambda w: LAYOUT.manifests(w.run, CHOICES.steps),
        chat_template=lambda w: LAYOUT.chat_template_of(w.run),
        tasks=lambda w: map(PATHS.task, LAYOUT.choice_tasks(w.run)),
    output:
        table=f"{PATHS.run('{run}')}/multiple_choice.csv",
        by_item=f"{PATHS.run('{run}')}/multiple_choice_items.jsonl.gz",
    log:
        f"{RESULTS}/logs/score_multiple_choice/{{run}}.log",
    conda:
        environment_file(CHOICES.engine, "multiple_choice")
    resources:
        gpu=divided("score_multiple_choice"),
    params:
        **decided(
            "score_multiple_choice",
            lambda w: options.scoring(EXPERIMENT, w.run),
            order=lambda w: LAYOUT.choice_tasks(w.run),
            python=CHOICES_PYTHON,
            models=lambda w: LAYOUT.steps(w.run, CHOICES.steps),
        ),
        code=code_of("score_multiple_choice"),
        gpus=own_gpus,
        machine=machine("score_multiple_choice"),
    shell:
        "{params.gpus:q} {params.python:q} -m revocab score_multiple_choice"
        " --models {params.models:q} --tasks {input.tasks:q} --chat-template {input.chat_template:q}"
        " --out {output.table:q}"
        " --options {params.options:q} --job {params.job:q} {params.machine:q} 2> {log:q}"
