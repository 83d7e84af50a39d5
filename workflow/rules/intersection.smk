# Which tokens two vocabularies share.


rule intersect_vocabularies:
    input:
        source=manifest(PATHS.tokenizer("{source}")),
        target=manifest(PATHS.tokenizer("{target}")),
    output:
        manifest=manifest(PATHS.intersection("{source}", "{target}")),
        pairs=f"{PATHS.intersection('{source}', '{target}')}/pairs.parquet",
        report=f"{PATHS.intersection('{source}', '{target}')}/report.json",
        page=f"{PATHS.intersection('{source}', '{target}')}/report.md",
    log:
        f"{RESULTS}/logs/intersect_vocabularies/{{source}}--{{target}}.log",
    conda:
        CORE
    params:
        **decided(
            "intersect_vocabularies",
            lambda w: options.intersection(EXPERIMENT, w.source, w.target),
        ),
    shell:
        "{params.python:q} -m revocab intersect_vocabularies --source {input.source:q}"
        " --target {input.target:q} --out {output.manifest:q}"
        " --options {params.options:q} --job {params.job:q} 2> {log:q}"
        f"  # {code_of('intersect_vocabularies')}"
