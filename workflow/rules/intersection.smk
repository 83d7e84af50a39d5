# Which tokens two vocabularies share.


rule intersect_vocabularies:
    input:
        unpack(needs("intersect_vocabularies")),
    output:
        manifest=f"{PATHS.intersection('{source}', '{target}')}/manifest.json",
        pairs=f"{PATHS.intersection('{source}', '{target}')}/pairs.parquet",
        report=f"{PATHS.intersection('{source}', '{target}')}/report.json",
        page=f"{PATHS.intersection('{source}', '{target}')}/report.md",
    log:
        f"{RESULTS}/logs/intersect_vocabularies/{{source}}--{{target}}.log",
    conda:
        "../../envs/core.yaml"
    params:
        code=code("intersect_vocabularies"),
        python=not_recorded(PYTHON),
        job=job("intersect_vocabularies"),
    shell:
        "{params.python:q} scripts/intersect_vocabularies.py {params.job:q} 2> {log:q}"
