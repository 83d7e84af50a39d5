# Generation: the same stored prompts for every checkpoint.


rule build_prompts:
    input:
        pool_files=lambda w: LAYOUT.task_text(GENERATION.tasks[w.task].pool),
        test_files=lambda w: LAYOUT.task_text(GENERATION.tasks[w.task].test),
    output:
        prompts=PATHS.prompts("{task}"),
        manifest=f"{RESULTS}/prompts/{{task}}.manifest.json",
    log:
        f"{RESULTS}/logs/build_prompts/{{task}}.log",
    wildcard_constraints:
        task=one_of(GENERATION.tasks),
    conda:
        CORE
    params:
        **decided(
            "build_prompts",
            lambda w: options.prompts(EXPERIMENT, w.task),
            order=lambda w: [
                LAYOUT.task_text(GENERATION.tasks[w.task].pool),
                LAYOUT.task_text(GENERATION.tasks[w.task].test),
            ],
        ),
        code=code_of("build_prompts"),
    shell:
        "{params.python:q} -m revocab build_prompts --pool-files {input.pool_files:q}"
        " --test-files {input.test_files:q} --out {output.prompts:q}"
        " --options {params.options:q} --job {params.job:q} 2> {log:q}"


rule generate_text:
    input:
        models=lambda w: LAYOUT.manifests(w.run, GENERATION.steps),
        chat_template=lambda w: LAYOUT.chat_template_of(w.run),
        prompts=lambda w: LAYOUT.prompts(w.run),
    output:
        manifest=manifest(PATHS.generation("{run}")),
        scores=f"{PATHS.generation('{run}')}/scores.csv",
    log:
        f"{RESULTS}/logs/generate_text/{{run}}.log",
    conda:
        environment_file(GENERATION.engine, "generation")
    resources:
        gpu=divided("generate_text"),
    params:
        **decided(
            "generate_text",
            lambda w: options.generation(LAYOUT, w.run),
            order=lambda w: LAYOUT.generation_tasks(w.run),
            python=GENERATION_PYTHON,
            models=lambda w: LAYOUT.steps(w.run, GENERATION.steps),
        ),
        code=code_of("generate_text"),
        gpus=own_gpus,
        machine=machine("generate_text", comet_apart=GENERATION.comet_model is not None),
    shell:
        "{params.gpus:q} {params.python:q} -m revocab generate_text --models {params.models:q}"
        " --prompts {input.prompts:q} --chat-template {input.chat_template:q}"
        " --out {output.manifest:q}"
        " --options {params.options:q} --job {params.job:q} {params.machine:q} 2> {log:q}"


rule score_comet:
    input:
        generation=manifest(PATHS.generation("{run}")),
        prompts=lambda w: LAYOUT.prompts(w.run),
    output:
        table=f"{PATHS.generation('{run}')}/comet.csv",
        by_item=f"{PATHS.generation('{run}')}/comet_items.jsonl.gz",
    log:
        f"{RESULTS}/logs/score_comet/{{run}}.log",
    conda:
        "../../envs/comet.yaml"
    resources:
        gpu=1,
    params:
        **decided(
            "score_comet",
            lambda w: options.comet(LAYOUT, w.run),
            order=lambda w: LAYOUT.generation_tasks(w.run),
            python=COMET_PYTHON,
        ),
        code=code_of("score_comet"),
        gpus=own_gpus,
        machine=machine("score_comet"),
    shell:
        "{params.gpus:q} {params.python:q} -m revocab score_comet --generation {input.generation:q}"
        " --prompts {input.prompts:q} --out {output.table:q}"
        " --options {params.options:q} --job {params.job:q} {params.machine:q} 2> {log:q}"
