# Which tokens two vocabularies share.


rule intersect_vocabularies:
    input:
        source=lambda wildcards: tokenizer_manifest(wildcards.source),
        target=lambda wildcards: tokenizer_manifest(wildcards.target),
        code=code("intersect_vocabularies"),
    output:
        manifest=f"{RESULTS}/intersections/{{source}}--{{target}}/manifest.json",
        pairs=f"{RESULTS}/intersections/{{source}}--{{target}}/pairs.parquet",
        report=f"{RESULTS}/intersections/{{source}}--{{target}}/report.json",
        page=f"{RESULTS}/intersections/{{source}}--{{target}}/report.md",
    log:
        f"{RESULTS}/logs/intersect_vocabularies/{{source}}--{{target}}.log",
    conda:
        "../../envs/core.yaml"
    params:
        python=not_recorded(PYTHON),
        source=lambda wildcards: tokenizer_folder(wildcards.source),
        target=lambda wildcards: tokenizer_folder(wildcards.target),
        identity=identity_of,
        roles=role_arguments,
        out=folder,
    shell:
        "{params.python:q} scripts/intersect_vocabularies.py --source {params.source:q}"
        " --target {params.target:q} --identity {params.identity} {params.roles:q} --out {params.out:q} 2> {log:q}"
