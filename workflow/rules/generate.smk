# Generation: the same stored prompts for every checkpoint.


rule build_prompts:
    input:
        unpack(needs("build_prompts")),
    output:
        prompts=PATHS.prompts("{task}"),
        manifest=f"{RESULTS}/prompts/{{task}}.manifest.json",
    log:
        f"{RESULTS}/logs/build_prompts/{{task}}.log",
    wildcard_constraints:
        task=one_of(GENERATION.tasks),
    conda:
        "../../envs/core.yaml"
    params:
        code=code("build_prompts"),
        python=not_recorded(PYTHON),
        job=job("build_prompts"),
    shell:
        "{params.python:q} scripts/build_prompts.py {params.job:q} 2> {log:q}"


rule generate_text:
    input:
        unpack(needs("generate_text")),
    output:
        manifest=f"{PATHS.generation('{run}')}/manifest.json",
        scores=f"{PATHS.generation('{run}')}/scores.csv",
    log:
        f"{RESULTS}/logs/generate_text/{{run}}.log",
    conda:
        engine_environment("generation")
    resources:
        gpu=1,
    params:
        code=code("generate_text"),
        python=not_recorded(GENERATION_PYTHON),
        job=job("generate_text"),
        # Which reason stands in COMET's empty rows; the text and its other scores are the same.
        machine=machine(
            "device", "dtype", "batch_size", comet_apart=GENERATION.comet_model is not None
        ),
    shell:
        "{params.python:q} scripts/generate_text.py {params.job:q} {params.machine:q} 2> {log:q}"


rule score_comet:
    input:
        unpack(needs("score_comet")),
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
        code=code("score_comet"),
        python=not_recorded(COMET_PYTHON),
        job=job("score_comet"),
        machine=machine("device", "batch_size"),
    shell:
        "{params.python:q} scripts/score_comet.py {params.job:q} {params.machine:q} 2> {log:q}"
