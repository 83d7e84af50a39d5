# Models to start from: fetched, built as stand-ins, or given new embeddings.

FETCHED = {name for name, model in EXPERIMENT.models.items() if not model.pretrain}
STAND_INS = {name for name, model in EXPERIMENT.models.items() if model.pretrain}


rule fetch_model:
    input:
        code=code("fetch_model"),
    output:
        f"{RESULTS}/models/{{model}}/manifest.json",
    log:
        f"{RESULTS}/logs/fetch_model/{{model}}.log",
    wildcard_constraints:
        model=one_of(FETCHED),
    params:
        arguments=lambda wildcards: options(
            hub=EXPERIMENT.models[wildcards.model].hub,
            revision=EXPERIMENT.models[wildcards.model].revision,
            path=EXPERIMENT.models[wildcards.model].path,
        ),
        out=lambda wildcards: model_folder(wildcards.model),
    shell:
        "{PYTHON:q} scripts/fetch_model.py {params.arguments:q} --out {params.out:q} 2> {log:q}"


def stand_in_arguments(wildcards):
    """Return the options of build_stand_in for a model."""
    pretrain = EXPERIMENT.models[wildcards.model].pretrain
    lengths = [recipe.sequence_length for recipe in EXPERIMENT.recipes.values()]
    return options(
        **pretrain.architecture.model_dump(),
        context_length=max([*lengths, EXPERIMENT.evaluation.generation.context_length]),
        seed=EXPERIMENT.seed,
    )


rule build_stand_in:
    input:
        tokenizer=lambda wildcards: tokenizer_manifest(EXPERIMENT.models[wildcards.model].tokenizer),
        code=code("build_stand_in"),
    output:
        f"{RESULTS}/models/{{model}}/untrained/manifest.json",
    log:
        f"{RESULTS}/logs/build_stand_in/{{model}}.log",
    wildcard_constraints:
        model=one_of(STAND_INS),
    params:
        tokenizer=lambda wildcards: tokenizer_folder(EXPERIMENT.models[wildcards.model].tokenizer),
        arguments=stand_in_arguments,
        out=folder,
    shell:
        "{PYTHON:q} scripts/build_stand_in.py --tokenizer {params.tokenizer:q} {params.arguments:q}"
        " --out {params.out:q} 2> {log:q}"


def keeps_vocabulary(run):
    """Return whether a run goes on with the source's own tokenizer."""
    return run.target == run.source_tokenizer


def init_inputs(wildcards):
    """Return what init_embeddings reads: source, and where the method needs them tokenizer, helper."""
    run = RUNS[wildcards.run]
    needed = {"source": model_manifest(run.source)}
    if not keeps_vocabulary(run):
        needed["target"] = tokenizer_manifest(run.target)
        needed["pairs"] = (
            f"{RESULTS}/intersections/{run.source_tokenizer}--{run.target}/manifest.json"
        )
    if run.helper:
        needed["helper"] = model_manifest(run.helper)
    return needed


def init_arguments(wildcards):
    """Return the options of init_embeddings for a run."""
    run = RUNS[wildcards.run]
    pairs = f"{RESULTS}/intersections/{run.source_tokenizer}--{run.target}"
    keeps = keeps_vocabulary(run)
    return options(
        source=model_folder(run.source),
        target_tokenizer=None if keeps else tokenizer_folder(run.target),
        pairs=None if keeps else pairs,
        identity=None if keeps else run.identity,
        helper=model_folder(run.helper) if run.helper else None,
        method=run.method,
        seed=run.seed,
    ) + repeated("--option", [f"{key}={value}" for key, value in run.options.items()])


rule init_embeddings:
    input:
        unpack(init_inputs),
        code=code("init_embeddings", "initialise/methods"),
    output:
        f"{RESULTS}/runs/{{run}}/init/manifest.json",
    log:
        f"{RESULTS}/logs/init_embeddings/{{run}}.log",
    wildcard_constraints:
        run=one_of(run.id for run in RUNS.values() if run.trains),
    params:
        arguments=init_arguments,
        out=folder,
    shell:
        "{PYTHON:q} scripts/init_embeddings.py {params.arguments:q} --out {params.out:q} 2> {log:q}"
