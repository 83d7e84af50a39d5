# Text: the demo's generated world, and corpora cleaned and split.
from revocab.demoworld import BASELINES, CONVERSATIONS, WORLD_PARTS

WITHOUT = () if EXPERIMENT.world and EXPERIMENT.world.conversations else CONVERSATIONS


rule build_demoworld:
    output:
        manifest=manifest(PATHS.world),
        baselines=f"{PATHS.world}/{BASELINES}",
        parts=expand(
            f"{PATHS.world}/{{part}}.jsonl.gz", part=sorted(WORLD_PARTS.difference(WITHOUT))
        ),
    log:
        f"{RESULTS}/logs/build_demoworld.log",
    conda:
        CORE
    params:
        **decided(lambda w: options.world(EXPERIMENT)),
        machine=machine("build_demoworld"),
    shell:
        "{PYTHON:q} -m revocab build_demoworld --out {output.manifest:q}" + END
        + lasting("build_demoworld")


rule prepare_corpus:
    input:
        files=lambda w: LAYOUT.corpus_files(w.corpus),
    output:
        manifest=manifest(PATHS.corpus("{corpus}")),
        train=f"{PATHS.corpus('{corpus}')}/train.jsonl.gz",
        heldout=f"{PATHS.corpus('{corpus}')}/heldout.jsonl.gz",
    log:
        f"{RESULTS}/logs/prepare_corpus/{{corpus}}.log",
    conda:
        CORE
    params:
        **decided(lambda w: options.corpus(EXPERIMENT, w.corpus)),
        machine=machine("prepare_corpus"),
    shell:
        "{PYTHON:q} -m revocab prepare_corpus --files {input.files:q} --out {output.manifest:q}" + END
        + lasting("prepare_corpus")
