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


def auxiliary_folder(target):
    """Return the folder of a target tokenizer's fastText vectors."""
    return f"{RESULTS}/auxiliary/{target}"


def auxiliary_sources(target):
    """Return the source tokenizers of the runs that compare tokens in a target's vectors."""
    found = (run for run in RUNS.values() if run.auxiliary and run.target == target)
    return sorted({run.source_tokenizer for run in found})


def auxiliary_corpora():
    """Return the corpora that the fastText vectors are trained on, none where none are asked for."""
    return EXPERIMENT.auxiliary.corpora if EXPERIMENT.auxiliary else []


def auxiliary_inputs(wildcards):
    """Return what train_auxiliary reads: the tokenizers and the corpora."""
    tokenizers = [wildcards.target, *auxiliary_sources(wildcards.target)]
    return {
        "tokenizers": [tokenizer_manifest(one) for one in tokenizers],
        "corpora": corpus_files(auxiliary_corpora()),
    }


def auxiliary_arguments(wildcards):
    """Return the options of train_auxiliary for a target tokenizer."""
    sources = [tokenizer_folder(one) for one in auxiliary_sources(wildcards.target)]
    corpora = [f"{one}={corpus_folder(one)}" for one in auxiliary_corpora()]
    settings = EXPERIMENT.auxiliary.model_dump(exclude={"corpora"})
    return (
        repeated("--source-tokenizer", sources)
        + repeated("--corpus", corpora)
        + options(**settings, seed=EXPERIMENT.seed)
    )


def init_inputs(wildcards):
    """Return what init_embeddings reads: source; where needed tokenizer, helper, fastText vectors."""
    run = RUNS[wildcards.run]
    needed = {"source": model_manifest(run.source)}
    if not keeps_vocabulary(run):
        needed["target"] = tokenizer_manifest(run.target)
        needed["pairs"] = (
            f"{RESULTS}/intersections/{run.source_tokenizer}--{run.target}/manifest.json"
        )
    if run.helper:
        needed["helper"] = model_manifest(run.helper)
    if run.auxiliary:
        needed["auxiliary"] = f"{auxiliary_folder(run.target)}/manifest.json"
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
        auxiliary=auxiliary_folder(run.target) if run.auxiliary else None,
        method=run.method,
        seed=run.seed,
    ) + repeated("--option", [f"{key}={value}" for key, value in run.options.items()])
