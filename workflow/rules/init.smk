# Models to start from: fetched, built as stand-ins, made of others, or given new embeddings.


rule fetch_model:
    output:
        manifest(PATHS.model("{model}")),
    log:
        f"{RESULTS}/logs/fetch_model/{{model}}.log",
    wildcard_constraints:
        model=one_of(LAYOUT.fetched),
    conda:
        CORE
    params:
        **decided(
            "fetch_model",
            lambda w: options.fetch(EXPERIMENT, w.model),
            path=lambda w: EXPERIMENT.models[w.model].path or [],
        ),
        snapshot=f"{PATHS.model('{model}')}/snapshot",
    shell:
        "{params.python:q} -m revocab fetch_model --path {params.path:q} --out {params.snapshot:q}"
        " --options {params.options:q} --job {params.job:q} 2> {log:q}"
        f"  # {code_of('fetch_model')}"


rule build_stand_in:
    input:
        tokenizer=lambda w: LAYOUT.tokenizers([EXPERIMENT.models[w.model].tokenizer]),
    output:
        manifest(f"{PATHS.model('{model}')}/untrained"),
    log:
        f"{RESULTS}/logs/build_stand_in/{{model}}.log",
    wildcard_constraints:
        model=one_of(LAYOUT.stand_ins),
    conda:
        CORE
    params:
        **decided("build_stand_in", lambda w: options.stand_in(EXPERIMENT, w.model)),
    shell:
        "{params.python:q} -m revocab build_stand_in --tokenizer {input.tokenizer:q} --out {output:q}"
        " --options {params.options:q} --job {params.job:q} 2> {log:q}"
        f"  # {code_of('build_stand_in')}"


rule change_model:
    input:
        model=lambda w: LAYOUT.changed_from(w.model).manifest,
    output:
        manifest(PATHS.model("{model}")),
    log:
        f"{RESULTS}/logs/change_model/{{model}}.log",
    wildcard_constraints:
        model=one_of(LAYOUT.changed),
    conda:
        CORE
    params:
        **decided(
            "change_model",
            lambda w: options.change(EXPERIMENT, w.model),
            model=lambda w: LAYOUT.changed_from(w.model).folder,
        ),
        machine=machine("change_model"),
    shell:
        "{params.python:q} -m revocab change_model --model {params.model:q} --out {output:q}"
        " --options {params.options:q} --job {params.job:q} {params.machine:q} 2> {log:q}"
        f"  # {code_of('change_model')}"


rule train_auxiliary:
    input:
        target_tokenizer=manifest(PATHS.tokenizer("{target}")),
        source_tokenizers=lambda w: LAYOUT.tokenizers(LAYOUT.sources_with_vectors(w.target)),
        corpora=lambda w: LAYOUT.corpora(EXPERIMENT.auxiliary.corpora),
    output:
        manifest(PATHS.auxiliary("{target}")),
    log:
        f"{RESULTS}/logs/train_auxiliary/{{target}}.log",
    wildcard_constraints:
        target=one_of(LAYOUT.with_vectors),
    conda:
        CORE
    params:
        **decided(
            "train_auxiliary",
            lambda w: options.auxiliary(EXPERIMENT),
            order=lambda w: EXPERIMENT.auxiliary.corpora,
        ),
    shell:
        "{params.python:q} -m revocab train_auxiliary --target-tokenizer {input.target_tokenizer:q}"
        " --source-tokenizers {input.source_tokenizers:q} --corpora {input.corpora:q}"
        " --out {output:q}"
        " --options {params.options:q} --job {params.job:q} 2> {log:q}"
        f"  # {code_of('train_auxiliary')}"


rule init_embeddings:
    input:
        source=lambda w: LAYOUT.origin(w.run).manifest,
        # Nothing of these where the vocabulary is the source's.
        target_tokenizer=lambda w: LAYOUT.new_tokenizer(w.run),
        pairs=lambda w: LAYOUT.new_pairs(w.run),
        helper=lambda w: [model.manifest for model in LAYOUT.helper(w.run)],
        helper_pairs=lambda w: LAYOUT.helper_pairs(
            LAYOUT.runs[w.run].helper, LAYOUT.runs[w.run].target
        ),
        adapted=lambda w: [model.manifest for model in LAYOUT.adapted(w.run)],
        base=lambda w: [model.manifest for model in LAYOUT.adapted_from(w.run)],
        vectors=lambda w: LAYOUT.vector_files(w.run),
    output:
        manifest(f"{PATHS.run('{run}')}/init"),
    log:
        f"{RESULTS}/logs/init_embeddings/{{run}}.log",
    wildcard_constraints:
        run=one_of(LAYOUT.made),
    conda:
        CORE
    params:
        **decided(
            "init_embeddings",
            lambda w: options.init(LAYOUT, w.run),
            source=lambda w: LAYOUT.origin(w.run).folder,
            helper=lambda w: [model.folder for model in LAYOUT.helper(w.run)],
            adapted=lambda w: [model.folder for model in LAYOUT.adapted(w.run)],
            base=lambda w: [model.folder for model in LAYOUT.adapted_from(w.run)],
            vectors=lambda w: LAYOUT.vectors(w.run),
        ),
        machine=machine("init_embeddings"),
    shell:
        "{params.python:q} -m revocab init_embeddings --source {params.source:q}"
        " --target-tokenizer {input.target_tokenizer:q} --pairs {input.pairs:q}"
        " --helper {params.helper:q} --helper-pairs {input.helper_pairs:q}"
        " --adapted {params.adapted:q} --base {params.base:q} --vectors {params.vectors:q}"
        " --out {output:q}"
        " --options {params.options:q} --job {params.job:q} {params.machine:q} 2> {log:q}"
        f"  # {code_of('init_embeddings')}"
