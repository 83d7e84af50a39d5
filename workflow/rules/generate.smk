# Generation: the same stored prompts for every checkpoint.


rule build_prompts:
    input:
        pool=lambda wildcards: source_files(GENERATION.tasks[wildcards.task].pool),
        test=lambda wildcards: source_files(GENERATION.tasks[wildcards.task].test),
        code=code("build_prompts"),
    output:
        prompts=f"{RESULTS}/prompts/{{task}}.jsonl",
        manifest=f"{RESULTS}/prompts/{{task}}.manifest.json",
    log:
        f"{RESULTS}/logs/build_prompts/{{task}}.log",
    wildcard_constraints:
        task=one_of(GENERATION.tasks),
    conda:
        "../../envs/core.yaml"
    params:
        python=not_recorded(PYTHON),
        arguments=prompt_arguments,
    shell:
        "{params.python:q} scripts/build_prompts.py --task {wildcards.task} {params.arguments:q}"
        " --out {output.prompts:q} 2> {log:q}"


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
    conda:
        engine_environment(GENERATION.engine)
    params:
        python=not_recorded(GENERATION_PYTHON),
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
            limit=LIMITS.copy().pop() if len(LIMITS) == 1 else None,
        ),
        # Which reason stands in COMET's empty rows; the text and its other scores are the same.
        comet=not_recorded(options(comet_apart=GENERATION.comet_model is not None)),
        out=folder,
    shell:
        "{params.python:q} scripts/generate_text.py --run {wildcards.run} {params.models:q}"
        " {params.prompts:q} {params.arguments:q} {params.comet:q} --out {params.out:q} 2> {log:q}"


rule score_comet:
    input:
        outputs=f"{RESULTS}/runs/{{run}}/generation/manifest.json",
        prompts=[f"{RESULTS}/prompts/{task}.jsonl" for task in GENERATION.tasks],
        code=code("score_comet"),
    output:
        table=f"{RESULTS}/runs/{{run}}/generation/comet.csv",
        by_item=f"{RESULTS}/runs/{{run}}/generation/comet_items.jsonl.gz",
    log:
        f"{RESULTS}/logs/score_comet/{{run}}.log",
    conda:
        "../../envs/comet.yaml"
    params:
        python=not_recorded(comet_python()),
        folder=folder,
        prompts=repeated(
            "--prompts", [f"{task}={RESULTS}/prompts/{task}.jsonl" for task in GENERATION.tasks]
        ),
        models=repeated("--model", [f"{name}={model}" for name, model in COMET_MODELS.items()]),
    shell:
        "{params.python:q} scripts/score_comet.py --run {wildcards.run} --generation {params.folder:q}"
        " {params.prompts:q} {params.models:q} --out {output.table:q} 2> {log:q}"
