# Input and params functions of init.smk.


FETCHED = {name for name, model in EXPERIMENT.models.items() if not model.pretrain}


STAND_INS = {name for name, model in EXPERIMENT.models.items() if model.pretrain}


def stand_in_arguments(wildcards):
    """Return the options of build_stand_in for a model."""
    pretrain = EXPERIMENT.models[wildcards.model].pretrain
    lengths = [recipe.sequence_length for recipe in EXPERIMENT.recipes.values()]
    return options(
        **pretrain.architecture.model_dump(),
        context_length=max([*lengths, EXPERIMENT.evaluation.generation.context_length]),
        seed=EXPERIMENT.seed,
    )


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
