# Models to start from: fetched, built as stand-ins, made of others, or given new embeddings.


use rule job as fetch_model with:
    output:
        f"{PATHS.model('{model}')}/manifest.json",
    log:
        f"{RESULTS}/logs/fetch_model/{{model}}.log",
    wildcard_constraints:
        **ids_of("fetch_model"),
    params:
        **params_of("fetch_model"),


use rule job as build_stand_in with:
    input:
        unpack(needs("build_stand_in")),
    output:
        f"{PATHS.model('{model}')}/untrained/manifest.json",
    log:
        f"{RESULTS}/logs/build_stand_in/{{model}}.log",
    wildcard_constraints:
        **ids_of("build_stand_in"),
    params:
        **params_of("build_stand_in"),


use rule job as change_model with:
    input:
        unpack(needs("change_model")),
    output:
        f"{PATHS.model('{model}')}/manifest.json",
    log:
        f"{RESULTS}/logs/change_model/{{model}}.log",
    wildcard_constraints:
        **ids_of("change_model"),
    params:
        **params_of("change_model"),


use rule job as train_auxiliary with:
    input:
        unpack(needs("train_auxiliary")),
    output:
        f"{PATHS.auxiliary('{target}')}/manifest.json",
    log:
        f"{RESULTS}/logs/train_auxiliary/{{target}}.log",
    wildcard_constraints:
        **ids_of("train_auxiliary"),
    params:
        **params_of("train_auxiliary"),


use rule job as init_embeddings with:
    input:
        unpack(needs("init_embeddings")),
    output:
        f"{PATHS.run('{run}')}/init/manifest.json",
    log:
        f"{RESULTS}/logs/init_embeddings/{{run}}.log",
    wildcard_constraints:
        **ids_of("init_embeddings"),
    params:
        **params_of("init_embeddings"),
