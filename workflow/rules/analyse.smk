# Analysis that needs no text: parameter counts, embedding similarity, cost at a real model's size.


rule count_parameters:
    input:
        unpack(needs("count_parameters")),
    output:
        f"{RESULTS}/parameters.csv",
    log:
        f"{RESULTS}/logs/count_parameters.log",
    conda:
        "../../envs/core.yaml"
    params:
        code=code("count_parameters"),
        python=not_recorded(PYTHON),
        job=job("count_parameters"),
    shell:
        "{params.python:q} scripts/count_parameters.py {params.job:q} 2> {log:q}"


rule measure_similarity:
    input:
        unpack(needs("measure_similarity")),
    output:
        manifest=f"{PATHS.similarity('{group}')}/manifest.json",
        table=f"{PATHS.similarity('{group}')}/similarity.csv",
    log:
        f"{RESULTS}/logs/measure_similarity/{{group}}.log",
    conda:
        "../../envs/core.yaml"
    params:
        code=code("measure_similarity"),
        python=not_recorded(PYTHON),
        job=job("measure_similarity"),
    shell:
        "{params.python:q} scripts/measure_similarity.py {params.job:q} 2> {log:q}"


rule measure_scale:
    input:
        unpack(needs("measure_scale")),
    output:
        manifest=f"{RESULTS}/scale/manifest.json",
        table=f"{RESULTS}/scale/scale.csv",
    log:
        f"{RESULTS}/logs/measure_scale.log",
    conda:
        "../../envs/core.yaml"
    params:
        code=code("measure_scale"),
        python=not_recorded(PYTHON),
        job=job("measure_scale"),
    shell:
        "{params.python:q} scripts/measure_scale.py {params.job:q} 2> {log:q}"


rule compare_runs:
    input:
        unpack(needs("compare_runs")),
    output:
        PATHS.significance("{group}"),
    log:
        f"{RESULTS}/logs/compare_runs/{{group}}.log",
    conda:
        "../../envs/core.yaml"
    params:
        code=code("compare_runs"),
        python=not_recorded(PYTHON),
        job=job("compare_runs"),
    shell:
        "{params.python:q} scripts/compare_runs.py {params.job:q} 2> {log:q}"


# Nothing else runs beside it: it measures time. On a cluster, which has no number of cores, the profile
# sets its threads.
rule measure_efficiency:
    input:
        unpack(needs("measure_efficiency")),
    output:
        PATHS.efficiency("{run}"),
    log:
        f"{RESULTS}/logs/measure_efficiency/{{run}}.log",
    conda:
        engine_environment("generation")
    threads: workflow.resource_settings.cores or 1
    resources:
        gpu=1,
    params:
        code=code("measure_efficiency"),
        python=not_recorded(GENERATION_PYTHON),
        job=job("measure_efficiency"),
        machine=machine("device", "dtype"),
    shell:
        "{params.python:q} scripts/measure_efficiency.py {params.job:q} {params.machine:q} 2> {log:q}"
