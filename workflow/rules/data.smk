# Text: the demo's generated world, and corpora cleaned and split.
from revocab.demoworld.file_names import CONVERSATIONS, WORLD_PARTS
from revocab.evaluation.multiple_choice.blind import BASELINES

WITHOUT = () if EXPERIMENT.world and EXPERIMENT.world.conversations else CONVERSATIONS


rule build_demoworld:
    input:
        unpack(needs("build_demoworld")),
    output:
        manifest=f"{PATHS.world}/manifest.json",
        baselines=f"{PATHS.world}/{BASELINES}",
        parts=expand(
            f"{PATHS.world}/{{part}}.jsonl.gz", part=sorted(WORLD_PARTS.difference(WITHOUT))
        ),
    log:
        f"{RESULTS}/logs/build_demoworld.log",
    conda:
        "../../envs/core.yaml"
    params:
        code=code("build_demoworld"),
        python=not_recorded(PYTHON),
        job=job("build_demoworld"),
    shell:
        "{params.python:q} scripts/build_demoworld.py {params.job:q} 2> {log:q}"


rule prepare_corpus:
    input:
        unpack(needs("prepare_corpus")),
    output:
        manifest=f"{PATHS.corpus('{corpus}')}/manifest.json",
        train=f"{PATHS.corpus('{corpus}')}/train.jsonl.gz",
        heldout=f"{PATHS.corpus('{corpus}')}/heldout.jsonl.gz",
    log:
        f"{RESULTS}/logs/prepare_corpus/{{corpus}}.log",
    conda:
        "../../envs/core.yaml"
    params:
        code=code("prepare_corpus"),
        python=not_recorded(PYTHON),
        job=job("prepare_corpus"),
    shell:
        "{params.python:q} scripts/prepare_corpus.py {params.job:q} 2> {log:q}"
