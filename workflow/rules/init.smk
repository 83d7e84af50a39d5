# Models to start from: fetched, built as stand-ins, or given new embeddings.


rule fetch_model:
    input:
        code=code("fetch_model"),
    output:
        f"{RESULTS}/models/{{model}}/manifest.json",
    log:
        f"{RESULTS}/logs/fetch_model/{{model}}.log",
    wildcard_constraints:
        model=one_of(FETCHED),
    conda:
        "../../envs/core.yaml"
    params:
        python=not_recorded(PYTHON),
        arguments=lambda wildcards: options(
            hub=EXPERIMENT.models[wildcards.model].hub,
            revision=EXPERIMENT.models[wildcards.model].revision,
            path=EXPERIMENT.models[wildcards.model].path,
        ),
        out=lambda wildcards: model_folder(wildcards.model),
    shell:
        "{params.python:q} scripts/fetch_model.py {params.arguments:q} --out {params.out:q} 2> {log:q}"


rule build_stand_in:
    input:
        tokenizer=lambda wildcards: tokenizer_manifest(EXPERIMENT.models[wildcards.model].tokenizer),
        code=code("build_stand_in"),
    output:
        f"{RESULTS}/models/{{model}}/untrained/manifest.json",
    log:
        f"{RESULTS}/logs/build_stand_in/{{model}}.log",
    wildcard_constraints:
        model=one_of(STAND_INS),
    conda:
        "../../envs/core.yaml"
    params:
        python=not_recorded(PYTHON),
        tokenizer=lambda wildcards: tokenizer_folder(EXPERIMENT.models[wildcards.model].tokenizer),
        arguments=stand_in_arguments,
        out=folder,
    shell:
        "{params.python:q} scripts/build_stand_in.py --tokenizer {params.tokenizer:q} {params.arguments:q}"
        " --out {params.out:q} 2> {log:q}"


rule train_auxiliary:
    input:
        unpack(auxiliary_inputs),
        code=code("train_auxiliary"),
    output:
        f"{RESULTS}/auxiliary/{{target}}/manifest.json",
    log:
        f"{RESULTS}/logs/train_auxiliary/{{target}}.log",
    wildcard_constraints:
        target=one_of(run.target for run in RUNS.values() if run.auxiliary),
    conda:
        "../../envs/core.yaml"
    params:
        python=not_recorded(PYTHON),
        tokenizer=lambda wildcards: tokenizer_folder(wildcards.target),
        arguments=auxiliary_arguments,
        out=folder,
    shell:
        "{params.python:q} scripts/train_auxiliary.py --target-tokenizer {params.tokenizer:q}"
        " {params.arguments:q} --out {params.out:q} 2> {log:q}"


rule init_embeddings:
    input:
        unpack(init_inputs),
        code=code("init_embeddings", "initialise/methods"),
    output:
        f"{RESULTS}/runs/{{run}}/init/manifest.json",
    log:
        f"{RESULTS}/logs/init_embeddings/{{run}}.log",
    wildcard_constraints:
        run=one_of(run.id for run in RUNS.values() if run.trains),
    conda:
        "../../envs/core.yaml"
    params:
        python=not_recorded(PYTHON),
        arguments=init_arguments,
        out=folder,
    shell:
        "{params.python:q} scripts/init_embeddings.py {params.arguments:q} --out {params.out:q} 2> {log:q}"
