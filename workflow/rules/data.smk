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
    conda:
        "../../envs/core.yaml"
    params:
        python=not_recorded(PYTHON),
        arguments=options(**EXPERIMENT.world.model_dump()) if EXPERIMENT.world else [],
        out=folder,
    shell:
        "{params.python:q} scripts/build_demoworld.py {params.arguments:q} --out {params.out:q} 2> {log:q}"


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
    conda:
        "../../envs/core.yaml"
    params:
        python=not_recorded(PYTHON),
        arguments=corpus_arguments,
        out=folder,
    shell:
        "{params.python:q} scripts/prepare_corpus.py --corpus {wildcards.corpus} {params.arguments:q}"
        " --out {params.out:q} 2> {log:q}"
