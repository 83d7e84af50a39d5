# Text: the demo's generated world, and corpora cleaned and split.


rule build_world:
    input:
        code=code("build_demoworld"),
    output:
        manifest=f"{RESOURCES}/world/manifest.json",
        baselines=f"{RESOURCES}/world/baselines.json",
        parts=expand(f"{RESOURCES}/world/{{part}}.jsonl.gz", part=sorted(WORLD_PARTS)),
    log:
        f"{RESULTS}/logs/build_world.log",
    params:
        arguments=options(**EXPERIMENT.world.model_dump()) if EXPERIMENT.world else [],
        out=folder,
    shell:
        "{PYTHON:q} scripts/build_demoworld.py {params.arguments:q} --out {params.out:q} 2> {log:q}"


def corpus_arguments(wildcards):
    """Return the options of prepare_corpus for a corpus."""
    corpus = EXPERIMENT.corpora[wildcards.corpus]
    hub = corpus.source.hub
    place = (
        options(hub=hub.id, name=hub.name, split=hub.split, revision=hub.revision)
        if hub
        else options(file=source_files(corpus.source)[0])
    )
    return place + options(
        language=corpus.language,
        text_field=corpus.text_field,
        limit_documents=corpus.limit_documents,
        limit_bytes=corpus.limit_bytes,
        heldout_bytes=corpus.heldout_bytes,
    )


rule prepare_corpus:
    input:
        data=lambda wildcards: source_files(EXPERIMENT.corpora[wildcards.corpus].source),
        code=code("prepare_corpus"),
    output:
        manifest=f"{RESOURCES}/corpora/{{corpus}}/manifest.json",
        train=f"{RESOURCES}/corpora/{{corpus}}/train.jsonl.gz",
        heldout=f"{RESOURCES}/corpora/{{corpus}}/heldout.jsonl.gz",
    log:
        f"{RESULTS}/logs/prepare_corpus/{{corpus}}.log",
    params:
        arguments=corpus_arguments,
        out=folder,
    shell:
        "{PYTHON:q} scripts/prepare_corpus.py --corpus {wildcards.corpus} {params.arguments:q}"
        " --out {params.out:q} 2> {log:q}"
