# Generation: the same stored prompts for every checkpoint.


use rule job as build_prompts with:
    input:
        unpack(needs("build_prompts")),
    output:
        prompts=PATHS.prompts("{task}"),
        manifest=f"{RESULTS}/prompts/{{task}}.manifest.json",
    log:
        f"{RESULTS}/logs/build_prompts/{{task}}.log",
    wildcard_constraints:
        **ids_of("build_prompts"),
    params:
        **params_of("build_prompts"),


use rule job as generate_text with:
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
        gpu=divided("generate_text"),
    params:
        **params_of(
            "generate_text",
            python=GENERATION_PYTHON,
            comet_apart=GENERATION.comet_model is not None,
        ),


use rule job as score_comet with:
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
        **params_of("score_comet", python=COMET_PYTHON),
