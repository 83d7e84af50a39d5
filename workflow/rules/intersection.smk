# Which tokens two vocabularies share.


def identity_of(wildcards):
    """Return the token identity of the runs between two tokenizers (bytes where no run says)."""
    pair = (wildcards.source, wildcards.target)
    found = [run.identity for run in RUNS.values() if (run.source_tokenizer, run.target) == pair]
    return found[0] if found else "bytes"


rule intersect_vocabularies:
    input:
        source=lambda wildcards: tokenizer_manifest(wildcards.source),
        target=lambda wildcards: tokenizer_manifest(wildcards.target),
        code=code("intersect_vocabularies"),
    output:
        manifest=f"{RESULTS}/intersections/{{source}}--{{target}}/manifest.json",
        pairs=f"{RESULTS}/intersections/{{source}}--{{target}}/pairs.parquet",
        report=f"{RESULTS}/intersections/{{source}}--{{target}}/report.json",
    log:
        f"{RESULTS}/logs/intersect_vocabularies/{{source}}--{{target}}.log",
    params:
        source=lambda wildcards: tokenizer_folder(wildcards.source),
        target=lambda wildcards: tokenizer_folder(wildcards.target),
        identity=identity_of,
        out=folder,
    shell:
        "{PYTHON:q} scripts/intersect_vocabularies.py --source {params.source:q}"
        " --target {params.target:q} --identity {params.identity} --out {params.out:q} 2> {log:q}"


def intersection_pairs():
    """Return every pair of tokenizers to intersect: what runs need, and what the file adds."""
    needed = [
        (run.source_tokenizer, run.target)
        for run in RUNS.values()
        if run.source_tokenizer != run.target
    ]
    extra = list(EXPERIMENT.intersections)
    if EXPERIMENT.scale:
        extra.append((EXPERIMENT.scale.source_tokenizer, EXPERIMENT.scale.target_tokenizer))
    return [f"{source}--{target}" for source, target in dict.fromkeys(needed + extra)]
