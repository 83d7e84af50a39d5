# Text: the demo's generated world, and corpora cleaned and split.
from revocab.demoworld import BASELINES, CONVERSATIONS, WORLD_PARTS

WITHOUT = () if EXPERIMENT.world and EXPERIMENT.world.conversations else CONVERSATIONS


use rule job as build_demoworld with:
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
    params:
        **params_of("build_demoworld"),


use rule job as prepare_corpus with:
    input:
        unpack(needs("prepare_corpus")),
    output:
        manifest=f"{PATHS.corpus('{corpus}')}/manifest.json",
        train=f"{PATHS.corpus('{corpus}')}/train.jsonl.gz",
        heldout=f"{PATHS.corpus('{corpus}')}/heldout.jsonl.gz",
    log:
        f"{RESULTS}/logs/prepare_corpus/{{corpus}}.log",
    params:
        **params_of("prepare_corpus"),
