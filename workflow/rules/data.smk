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
        **decided("build_demoworld", lambda w: options.world(EXPERIMENT)),
    shell:
        "{params.python:q} -m revocab build_demoworld --out {output.manifest:q}"
        " --options {params.options:q} --job {params.job:q} 2> {log:q}"
        f"  # {code_of('build_demoworld')}"


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
        **decided(
            "prepare_corpus",
            lambda w: options.corpus(EXPERIMENT, w.corpus),
            order=lambda w: LAYOUT.corpus_files(w.corpus),
        ),
    shell:
        "{params.python:q} -m revocab prepare_corpus --files {input.files:q} --out {output.manifest:q}"
        " --options {params.options:q} --job {params.job:q} 2> {log:q}"
        f"  # {code_of('prepare_corpus')}"
