# Models to start from: fetched, built as stand-ins, made of others, or given new embeddings.


rule fetch_model:
    output:
        f"{PATHS.model('{model}')}/manifest.json",
    log:
        f"{RESULTS}/logs/fetch_model/{{model}}.log",
    wildcard_constraints:
        model=one_of(PLAN.fetched),
    conda:
        "../../envs/core.yaml"
    params:
        code=code("fetch_model"),
        python=not_recorded(PYTHON),
        job=job("fetch_model"),
    shell:
        "{params.python:q} scripts/fetch_model.py {params.job:q} 2> {log:q}"


rule build_stand_in:
    input:
        unpack(needs("build_stand_in")),
    output:
        f"{PATHS.model('{model}')}/untrained/manifest.json",
    log:
        f"{RESULTS}/logs/build_stand_in/{{model}}.log",
    wildcard_constraints:
        model=one_of(PLAN.stand_ins),
    conda:
        "../../envs/core.yaml"
    params:
        code=code("build_stand_in"),
        python=not_recorded(PYTHON),
        job=job("build_stand_in"),
    shell:
        "{params.python:q} scripts/build_stand_in.py {params.job:q} 2> {log:q}"


rule change_model:
    input:
        unpack(needs("change_model")),
    output:
        f"{PATHS.model('{model}')}/manifest.json",
    log:
        f"{RESULTS}/logs/change_model/{{model}}.log",
    wildcard_constraints:
        model=one_of(PLAN.changed),
    conda:
        "../../envs/core.yaml"
    params:
        code=code("change_model"),
        python=not_recorded(PYTHON),
        job=job("change_model"),
    shell:
        "{params.python:q} scripts/change_model.py {params.job:q} 2> {log:q}"


rule train_auxiliary:
    input:
        unpack(needs("train_auxiliary")),
    output:
        f"{PATHS.auxiliary('{target}')}/manifest.json",
    log:
        f"{RESULTS}/logs/train_auxiliary/{{target}}.log",
    wildcard_constraints:
        target=one_of(run.target for run in PLAN.runs.values() if run.auxiliary),
    conda:
        "../../envs/core.yaml"
    params:
        code=code("train_auxiliary"),
        python=not_recorded(PYTHON),
        job=job("train_auxiliary"),
    shell:
        "{params.python:q} scripts/train_auxiliary.py {params.job:q} 2> {log:q}"


rule init_embeddings:
    input:
        unpack(needs("init_embeddings")),
    output:
        f"{PATHS.run('{run}')}/init/manifest.json",
    log:
        f"{RESULTS}/logs/init_embeddings/{{run}}.log",
    wildcard_constraints:
        run=one_of(PLAN.made),
    conda:
        "../../envs/core.yaml"
    params:
        code=code("init_embeddings"),
        python=not_recorded(PYTHON),
        job=job("init_embeddings"),
    shell:
        "{params.python:q} scripts/init_embeddings.py {params.job:q} 2> {log:q}"
