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
        python=PYTHON,
        arguments=repeated(
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
        python=PYTHON,
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
        python=PYTHON,
        arguments=scale_arguments(EXPERIMENT.scale),
        out=folder,
    shell:
        "{params.python:q} scripts/measure_scale.py {params.arguments:q} --out {params.out:q} 2> {log:q}"
