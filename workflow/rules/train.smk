# Packed tokens, pretraining of stand-ins, continual training of runs.


use rule job as pack_tokens with:
    input:
        unpack(needs("pack_tokens")),
    output:
        f"{PATHS.packed('{tokenizer}', '{mixture}', '{recipe}')}/manifest.json",
    log:
        f"{RESULTS}/logs/pack_tokens/{{tokenizer}}--{{mixture}}--{{recipe}}.log",
    params:
        **params_of("pack_tokens"),


use rule job as pack_heldout with:
    input:
        unpack(needs("pack_heldout")),
    output:
        f"{PATHS.heldout('{tokenizer}', '{length}')}/manifest.json",
    log:
        f"{RESULTS}/logs/pack_heldout/{{tokenizer}}--{{length}}.log",
    params:
        **params_of("pack_heldout"),


# Held-out text and conversations, for recipes that learn answers alone.
use rule job as pack_heldout_answers with:
    input:
        unpack(needs("pack_heldout_answers")),
    output:
        f"{PATHS.heldout_answers('{tokenizer}', '{recipe}')}/manifest.json",
    log:
        f"{RESULTS}/logs/pack_heldout_answers/{{tokenizer}}--{{recipe}}.log",
    params:
        **params_of("pack_heldout_answers"),


rule adapt_model:
    input:
        unpack(needs("adapt_model")),
    # Only the manifest is declared: checkpoints and resume state beside it survive a failed job.
    output:
        f"{PATHS.run('{run}')}/manifest.json",
    log:
        f"{RESULTS}/logs/adapt_model/{{run}}.log",
    wildcard_constraints:
        **ids_of("adapt_model"),
    priority: 10
    conda:
        "../../envs/core.yaml"
    resources:
        gpu=1,
    params:
        **(params_of("adapt_model") | started("adapt_model")),
    # exec: a signal that Slurm sends before the time limit must not end a shell around the training.
    shell:
        "exec {params.starter:q} {params.gpus:q} {params.python:q} {params.launcher:q} {params.words:q} 2> {log:q}"


use rule adapt_model as pretrain_stand_in with:
    input:
        unpack(needs("pretrain_stand_in")),
    output:
        f"{PATHS.model('{model}')}/manifest.json",
    log:
        f"{RESULTS}/logs/pretrain_stand_in/{{model}}.log",
    wildcard_constraints:
        **ids_of("pretrain_stand_in"),
    priority: 100
    params:
        **(params_of("pretrain_stand_in") | started("pretrain_stand_in")),


# Checkpoints that nothing is to read any more, as a recipe's `keep` says.
use rule job as drop_checkpoints with:
    input:
        unpack(needs("drop_checkpoints")),
    output:
        f"{PATHS.run('{run}')}/dropped.json",
    log:
        f"{RESULTS}/logs/drop_checkpoints/{{run}}.log",
    wildcard_constraints:
        **ids_of("drop_checkpoints"),
    params:
        **params_of("drop_checkpoints"),


use rule job as measure_heldout with:
    input:
        unpack(needs("measure_heldout")),
    output:
        f"{PATHS.run('{run}')}/measured_heldout.csv",
    log:
        f"{RESULTS}/logs/measure_heldout/{{run}}.log",
    wildcard_constraints:
        **ids_of("measure_heldout"),
    resources:
        gpu=divided("measure_heldout"),
    params:
        **params_of("measure_heldout"),
