# Packed tokens, pretraining of stand-ins, continual training of runs.


rule pack_tokens:
    input:
        unpack(needs("pack_tokens")),
    output:
        f"{PATHS.packed('{tokenizer}', '{mixture}', '{recipe}')}/manifest.json",
    log:
        f"{RESULTS}/logs/pack_tokens/{{tokenizer}}--{{mixture}}--{{recipe}}.log",
    conda:
        "../../envs/core.yaml"
    params:
        code=code("pack_tokens"),
        python=not_recorded(PYTHON),
        job=job("pack_tokens"),
        machine=machine("shard_bytes"),
    shell:
        "{params.python:q} scripts/pack_tokens.py {params.job:q} {params.machine:q} 2> {log:q}"


rule pack_heldout:
    input:
        unpack(needs("pack_heldout")),
    output:
        f"{PATHS.heldout('{tokenizer}', '{length}')}/manifest.json",
    log:
        f"{RESULTS}/logs/pack_heldout/{{tokenizer}}--{{length}}.log",
    conda:
        "../../envs/core.yaml"
    params:
        code=code("pack_heldout"),
        python=not_recorded(PYTHON),
        job=job("pack_heldout"),
    shell:
        "{params.python:q} scripts/pack_heldout.py {params.job:q} 2> {log:q}"


# Held-out text and conversations, for recipes that learn answers alone.
use rule pack_heldout as pack_heldout_answers with:
    input:
        unpack(needs("pack_heldout_answers")),
    output:
        f"{PATHS.heldout_answers('{tokenizer}', '{recipe}')}/manifest.json",
    log:
        f"{RESULTS}/logs/pack_heldout_answers/{{tokenizer}}--{{recipe}}.log",
    params:
        code=code("pack_heldout_answers"),
        python=not_recorded(PYTHON),
        job=job("pack_heldout_answers"),


rule adapt_model:
    input:
        unpack(needs("adapt_model")),
    # Only the manifest is declared: checkpoints and resume state beside it survive a failed job.
    output:
        f"{PATHS.run('{run}')}/manifest.json",
    log:
        f"{RESULTS}/logs/adapt_model/{{run}}.log",
    wildcard_constraints:
        run=one_of(PLAN.trained),
    priority: 10
    conda:
        "../../envs/core.yaml"
    resources:
        gpu=1,
    params:
        code=code("adapt_model"),
        python=not_recorded(PYTHON),
        job=job("adapt_model"),
        starter=starter,
        launcher=launcher,
        machine=TRAINING_MACHINE,
    # exec: a signal that Slurm sends before the time limit must not end a shell around the training.
    shell:
        "exec {params.starter:q} {params.python:q} {params.launcher:q} scripts/train_model.py {params.job:q}"
        " {params.machine:q} 2> {log:q}"


use rule adapt_model as pretrain_stand_in with:
    input:
        unpack(needs("pretrain_stand_in")),
    output:
        f"{PATHS.model('{model}')}/manifest.json",
    log:
        f"{RESULTS}/logs/pretrain_stand_in/{{model}}.log",
    wildcard_constraints:
        model=one_of(PLAN.stand_ins),
    priority: 100
    params:
        code=code("pretrain_stand_in"),
        python=not_recorded(PYTHON),
        job=job("pretrain_stand_in"),
        starter=starter,
        launcher=launcher,
        machine=TRAINING_MACHINE,


rule measure_heldout:
    input:
        unpack(needs("measure_heldout")),
    output:
        f"{PATHS.run('{run}')}/measured_heldout.csv",
    log:
        f"{RESULTS}/logs/measure_heldout/{{run}}.log",
    wildcard_constraints:
        run=one_of(run.id for run in PLAN.measured),
    conda:
        "../../envs/core.yaml"
    resources:
        gpu=1,
    params:
        code=code("measure_heldout"),
        python=not_recorded(PYTHON),
        job=job("measure_heldout"),
        machine=machine("device"),
    shell:
        "{params.python:q} scripts/measure_heldout.py {params.job:q} {params.machine:q} 2> {log:q}"
