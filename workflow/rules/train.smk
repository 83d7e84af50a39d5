# Packed tokens, pretraining of stand-ins, continual training of runs.


rule pack_tokens:
    input:
        tokenizer=lambda wildcards: tokenizer_manifest(wildcards.tokenizer),
        corpora=lambda wildcards: corpus_files(packed_corpora(wildcards)),
        heldout=corpus_files(EXPERIMENT.evaluation.heldout, "heldout"),
        code=code("pack_tokens"),
    output:
        f"{RESULTS}/packed/{{tokenizer}}--{{mixture}}--{{recipe}}/manifest.json",
    log:
        f"{RESULTS}/logs/pack_tokens/{{tokenizer}}--{{mixture}}--{{recipe}}.log",
    conda:
        "../../envs/core.yaml"
    params:
        python=not_recorded(PYTHON),
        tokenizer=lambda wildcards: tokenizer_folder(wildcards.tokenizer),
        arguments=pack_arguments,
        shards=shard_size,
        out=folder,
    shell:
        "{params.python:q} scripts/pack_tokens.py --tokenizer {params.tokenizer:q} {params.arguments:q}"
        " {params.shards:q} --out {params.out:q} 2> {log:q}"


rule pack_heldout:
    input:
        tokenizer=lambda wildcards: tokenizer_manifest(wildcards.tokenizer),
        corpora=corpus_files(EXPERIMENT.evaluation.heldout, "heldout"),
        code=code("pack_heldout"),
    output:
        f"{RESULTS}/heldout/{{tokenizer}}--{{length}}/manifest.json",
    log:
        f"{RESULTS}/logs/pack_heldout/{{tokenizer}}--{{length}}.log",
    conda:
        "../../envs/core.yaml"
    params:
        python=not_recorded(PYTHON),
        tokenizer=lambda wildcards: tokenizer_folder(wildcards.tokenizer),
        arguments=repeated(
            "--corpus", [f"{one}={corpus_folder(one)}" for one in EXPERIMENT.evaluation.heldout]
        ),
        out=folder,
    shell:
        "{params.python:q} scripts/pack_heldout.py --tokenizer {params.tokenizer:q} {params.arguments:q}"
        " --sequence-length {wildcards.length} --out {params.out:q} 2> {log:q}"


rule adapt_model:
    input:
        model=f"{RESULTS}/runs/{{run}}/init/manifest.json",
        tokens=lambda wildcards: [f"{one}/manifest.json" for one in run_training(wildcards)],
        code=code("train_model"),
    # Only the manifest is declared: checkpoints and resume state beside it survive a failed job.
    output:
        f"{RESULTS}/runs/{{run}}/manifest.json",
    log:
        f"{RESULTS}/logs/adapt_model/{{run}}.log",
    wildcard_constraints:
        run=one_of(run.id for run in RUNS.values() if run.trains),
    priority: 10
    conda:
        "../../envs/core.yaml"
    params:
        python=not_recorded(PYTHON),
        launcher=launcher,
        model=lambda wildcards: step_folder(RUNS[wildcards.run], 0),
        packed=lambda wildcards: run_training(wildcards)[0],
        heldout=lambda wildcards: run_training(wildcards)[1],
        recipe=lambda wildcards: recipe_arguments(
            RUNS[wildcards.run].recipe, RUNS[wildcards.run].seed
        ),
        micro_batch=micro_batch,
        out=folder,
    shell:
        "{params.python:q} {params.launcher:q} scripts/train_model.py --model {params.model:q}"
        " --packed {params.packed:q} --heldout {params.heldout:q} {params.recipe:q}"
        " {params.micro_batch:q} --threads {threads} --out {params.out:q} 2> {log:q}"


use rule adapt_model as pretrain_stand_in with:
    input:
        model=f"{RESULTS}/models/{{model}}/untrained/manifest.json",
        tokens=lambda wildcards: [f"{one}/manifest.json" for one in pretraining(wildcards)],
        code=code("train_model"),
    output:
        f"{RESULTS}/models/{{model}}/manifest.json",
    log:
        f"{RESULTS}/logs/pretrain_stand_in/{{model}}.log",
    wildcard_constraints:
        model=one_of(STAND_INS),
    priority: 100
    conda:
        "../../envs/core.yaml"
    params:
        python=not_recorded(PYTHON),
        launcher=launcher,
        model=lambda wildcards: f"{RESULTS}/models/{wildcards.model}/untrained",
        packed=lambda wildcards: pretraining(wildcards)[0],
        heldout=lambda wildcards: pretraining(wildcards)[1],
        recipe=lambda wildcards: recipe_arguments(
            EXPERIMENT.models[wildcards.model].pretrain.recipe, EXPERIMENT.seed
        ),
        micro_batch=micro_batch,
        out=folder,
