# Analysis that needs no text: parameter counts, embedding similarity, cost at a real model's size.


rule count_parameters:
    input:
        code=code("count_parameters"),
    output:
        f"{RESULTS}/parameters.csv",
    log:
        f"{RESULTS}/logs/count_parameters.log",
    conda:
        "../../envs/core.yaml"
    params:
        python=not_recorded(PYTHON),
        arguments=lambda wildcards: repeated(
            "--architecture", [entry.model_dump_json() for entry in EXPERIMENT.parameters]
        ),
    shell:
        "{params.python:q} scripts/count_parameters.py {params.arguments:q} --out {output:q} 2> {log:q}"


rule measure_similarity:
    input:
        models=similarity_inputs,
        code=code("measure_similarity"),
    output:
        manifest=f"{RESULTS}/similarity/{{group}}/manifest.json",
        table=f"{RESULTS}/similarity/{{group}}/similarity.csv",
    log:
        f"{RESULTS}/logs/measure_similarity/{{group}}.log",
    conda:
        "../../envs/core.yaml"
    params:
        python=not_recorded(PYTHON),
        arguments=similarity_arguments,
        out=folder,
    shell:
        "{params.python:q} scripts/measure_similarity.py {params.arguments:q} --out {params.out:q} 2> {log:q}"


rule measure_scale:
    input:
        pairs=(
            f"{RESULTS}/intersections/{EXPERIMENT.scale.source_tokenizer}--"
            f"{EXPERIMENT.scale.target_tokenizer}/manifest.json"
            if EXPERIMENT.scale
            else []
        ),
        code=code("measure_scale", "initialise/methods"),
    output:
        manifest=f"{RESULTS}/scale/manifest.json",
        table=f"{RESULTS}/scale/scale.csv",
    log:
        f"{RESULTS}/logs/measure_scale.log",
    conda:
        "../../envs/core.yaml"
    params:
        python=not_recorded(PYTHON),
        arguments=lambda wildcards: scale_arguments(EXPERIMENT.scale),
        out=folder,
    shell:
        "{params.python:q} scripts/measure_scale.py {params.arguments:q} --out {params.out:q} 2> {log:q}"


rule compare_runs:
    input:
        experiment=settings_of("scores"),
        scores=f"{RESULTS}/scores.parquet",
        by_item=significance_inputs,
        code=code("compare_runs"),
    output:
        f"{RESULTS}/significance/{{group}}/significance.csv",
    log:
        f"{RESULTS}/logs/compare_runs/{{group}}.log",
    conda:
        "../../envs/core.yaml"
    params:
        python=not_recorded(PYTHON),
        results=lambda wildcards: RESULTS,
        steps=lambda wildcards: repeated("--step", significance_steps(wildcards.group)),
        arguments=options(
            resamples=EXPERIMENT.evaluation.significance.resamples, seed=EXPERIMENT.seed
        ),
    shell:
        "{params.python:q} scripts/compare_runs.py --results {params.results:q} --experiment {input.experiment:q}"
        " --group {wildcards.group} {params.steps:q} {params.arguments:q} --out {output:q} 2> {log:q}"


# Nothing else runs beside it: it measures time.
rule measure_efficiency:
    input:
        model=lambda wildcards: run_manifest(RUNS[wildcards.run]),
        text=lambda wildcards: corpus_files([EXPERIMENT.evaluation.efficiency.corpus], "heldout"),
        code=code("measure_efficiency"),
    output:
        f"{RESULTS}/efficiency/{{run}}.json",
    log:
        f"{RESULTS}/logs/measure_efficiency/{{run}}.log",
    conda:
        engine_environment(GENERATION.engine)
    threads: workflow.cores or 1
    params:
        python=not_recorded(GENERATION_PYTHON),
        arguments=efficiency_arguments,
    shell:
        "{params.python:q} scripts/measure_efficiency.py --run {wildcards.run}"
        " {params.arguments:q} --out {output:q} 2> {log:q}"
