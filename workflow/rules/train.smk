# Packed tokens, pretraining of stand-ins, continual training of runs.


rule pack_tokens:
    input:
        tokenizer=manifest(PATHS.tokenizer("{tokenizer}")),
        corpora=lambda w: LAYOUT.corpora(options.packing(LAYOUT, w.mixture, w.recipe).shares),
        heldout=lambda w: LAYOUT.texts_held_out(w.recipe),
        chat_template=lambda w: LAYOUT.chat_template(EXPERIMENT.recipes[w.recipe].chat_template),
    output:
        manifest(PATHS.packed("{tokenizer}", "{mixture}", "{recipe}")),
    log:
        f"{RESULTS}/logs/pack_tokens/{{tokenizer}}--{{mixture}}--{{recipe}}.log",
    conda:
        CORE
    params:
        **decided("pack_tokens", lambda w: options.packing(LAYOUT, w.mixture, w.recipe)),
    shell:
        "{params.python:q} -m revocab pack_tokens --tokenizer {input.tokenizer:q}"
        " --corpora {input.corpora:q} --heldout {input.heldout:q}"
        " --chat-template {input.chat_template:q} --out {output:q}"
        " --options {params.options:q} --job {params.job:q} 2> {log:q}"
        f"  # {code_of('pack_tokens')}"


rule pack_heldout:
    input:
        tokenizer=manifest(PATHS.tokenizer("{tokenizer}")),
        corpora=LAYOUT.corpora(LAYOUT.heldout_corpora, "heldout"),
    output:
        manifest(PATHS.heldout("{tokenizer}", "{length}")),
    log:
        f"{RESULTS}/logs/pack_heldout/{{tokenizer}}--{{length}}.log",
    conda:
        CORE
    params:
        **decided(
            "pack_heldout",
            lambda w: options.heldout(w.length),
            order=lambda w: LAYOUT.heldout_corpora,
        ),
    shell:
        "{params.python:q} -m revocab pack_heldout --tokenizer {input.tokenizer:q}"
        " --corpora {input.corpora:q} --out {output:q}"
        " --options {params.options:q} --job {params.job:q} 2> {log:q}"
        f"  # {code_of('pack_heldout')}"


# Held-out text and conversations, for recipes that learn answers alone.
rule pack_heldout_answers:
    input:
        tokenizer=manifest(PATHS.tokenizer("{tokenizer}")),
        corpora=LAYOUT.corpora(EXPERIMENT.evaluation.heldout, "heldout"),
        chat_template=lambda w: LAYOUT.chat_template(EXPERIMENT.recipes[w.recipe].chat_template),
    output:
        manifest(PATHS.heldout_answers("{tokenizer}", "{recipe}")),
    log:
        f"{RESULTS}/logs/pack_heldout_answers/{{tokenizer}}--{{recipe}}.log",
    conda:
        CORE
    params:
        **decided(
            "pack_heldout_answers",
            lambda w: options.heldout_answers(EXPERIMENT, w.recipe),
            order=lambda w: EXPERIMENT.evaluation.heldout,
        ),
    shell:
        "{params.python:q} -m revocab pack_heldout --tokenizer {input.tokenizer:q}"
        " --corpora {input.corpora:q} --chat-template {input.chat_template:q} --out {output:q}"
        " --options {params.options:q} --job {params.job:q} 2> {log:q}"
        f"  # {code_of('pack_heldout')}"


rule adapt_model:
    input:
        model=lambda w: LAYOUT.checkpoint(LAYOUT.runs[w.run], 0).manifest,
        packed=lambda w: LAYOUT.packed(PATHS.run(w.run)),
        heldout=lambda w: LAYOUT.heldout_of(PATHS.run(w.run)),
        source=lambda w: [model.manifest for model in LAYOUT.adapter_source(w.run)],
    # Only the manifest is declared: checkpoints and resume state beside it survive a failed job.
    output:
        manifest(PATHS.run("{run}")),
    log:
        f"{RESULTS}/logs/adapt_model/{{run}}.log",
    wildcard_constraints:
        run=one_of(LAYOUT.trained),
    priority: 10
    conda:
        CORE
    resources:
        gpu=1,
    params:
        **decided(
            "adapt_model",
            lambda w: options.run_training(EXPERIMENT, w.run),
            model=lambda w: LAYOUT.checkpoint(LAYOUT.runs[w.run], 0).folder,
            source=lambda w: [model.folder for model in LAYOUT.adapter_source(w.run)],
        ),
        **started(lambda w: options.run_training(EXPERIMENT, w.run)),
    # exec: a signal that Slurm sends before the time limit must not end a shell around the training.
    shell:
        "exec {params.starter:q} {params.gpus:q} {params.python:q} {params.launcher:q} -m revocab train_model"
        " --model {params.model:q} --packed {input.packed:q} --heldout {input.heldout:q}"
        " --source {params.source:q} --out {output:q}"
        " --options {params.options:q} --job {params.job:q} {params.machine:q} 2> {log:q}"
        f"  # {code_of('train_model')}"


rule pretrain_stand_in:
    input:
        model=manifest(f"{PATHS.model('{model}')}/untrained"),
        packed=lambda w: LAYOUT.packed(PATHS.model(w.model)),
        heldout=lambda w: LAYOUT.heldout_of(PATHS.model(w.model)),
    output:
        manifest(PATHS.model("{model}")),
    log:
        f"{RESULTS}/logs/pretrain_stand_in/{{model}}.log",
    wildcard_constraints:
        model=one_of(LAYOUT.stand_ins),
    priority: 100
    conda:
        CORE
    resources:
        gpu=1,
    params:
        **decided("pretrain_stand_in", lambda w: options.pretraining(EXPERIMENT, w.model)),
        **started(lambda w: options.pretraining(EXPERIMENT, w.model)),
        untrained=lambda w: f"{PATHS.model(w.model)}/untrained",
    shell:
        "exec {params.starter:q} {params.gpus:q} {params.python:q} {params.launcher:q} -m revocab train_model"
        " --model {params.untrained:q} --packed {input.packed:q} --heldout {input.heldout:q}"
        " --out {output:q}"
        " --options {params.options:q} --job {params.job:q} {params.machine:q} 2> {log:q}"
        f"  # {code_of('train_model')}"


# Checkpoints that nothing is to read any more, as a recipe's `keep` says.
rule drop_checkpoints:
    input:
        manifest=manifest(PATHS.run("{run}")),
        readers=lambda w: LAYOUT.readers_of_dropped(w.run),
    output:
        f"{PATHS.run('{run}')}/dropped.json",
    log:
        f"{RESULTS}/logs/drop_checkpoints/{{run}}.log",
    wildcard_constraints:
        run=one_of(LAYOUT.dropping),
    conda:
        CORE
    params:
        **decided("drop_checkpoints", lambda w: options.dropping(LAYOUT, w.run)),
        code=code_of("drop_checkpoints"),
    shell:
        "{params.python:q} -m revocab drop_checkpoints --manifest {input.manifest:q} --out {output:q}"
        " --options {params.options:q} --job {params.job:q} 2> {log:q}"


rule measure_heldout:
    input:
        models=lambda w: LAYOUT.manifests(w.run, None),
        heldout=lambda w: LAYOUT.heldout_windows(w.run),
    output:
        f"{PATHS.run('{run}')}/measured_heldout.csv",
    log:
        f"{RESULTS}/logs/measure_heldout/{{run}}.log",
    wildcard_constraints:
        run=one_of(LAYOUT.measured),
    conda:
        CORE
    resources:
        gpu=divided("measure_heldout"),
    params:
        **decided(
            "measure_heldout",
            lambda w: options.nothing(),
            models=lambda w: LAYOUT.steps(w.run, None),
        ),
        code=code_of("measure_heldout"),
        gpus=own_gpus,
        machine=machine("measure_heldout"),
    shell:
        "{params.gpus:q} {params.python:q} -m revocab measure_heldout --models {params.models:q}"
        " --heldout {input.heldout:q} --out {output:q}"
        " --options {params.options:q} --job {params.job:q} {params.machine:q} 2> {log:q}"
