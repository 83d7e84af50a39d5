# Input and params functions of train.smk.


def drawn_mixtures(wildcards):
    """Return the shares that a packing draws by: for every stage, or once for all of them."""
    recipe = EXPERIMENT.recipes[wildcards.recipe]
    names = list(stage_mixtures(recipe, wildcards.mixture).values()) or [wildcards.mixture]
    return [EXPERIMENT.mixtures[name] for name in names]


def packed_corpora(wildcards):
    """Return the corpora that a packing draws from, each once."""
    return list(dict.fromkeys(one for mixture in drawn_mixtures(wildcards) for one in mixture))


def pack_arguments(wildcards):
    """Return the options of pack_tokens: shares of the mixtures, and rows for the whole recipe."""
    recipe = EXPERIMENT.recipes[wildcards.recipe]
    mixtures = drawn_mixtures(wildcards)
    shares = [
        f"{one}={','.join(str(mixture.get(one, 0)) for mixture in mixtures)}={corpus_folder(one)}"
        for one in packed_corpora(wildcards)
    ]
    staged = stage_mixtures(recipe, wildcards.mixture)
    rows = {stage.name: stage.steps * recipe.batch_size for stage in recipe.stages or ()}
    heldout = [corpus_folder(corpus) for corpus in EXPERIMENT.evaluation.heldout]
    by_size = any("size" in mixture.values() for mixture in mixtures)
    return (
        repeated("--corpus", shares)
        + repeated("--stage", [f"{name}={rows[name]}" for name in staged])
        + options(
            sequence_length=recipe.sequence_length,
            rows=recipe.steps * recipe.batch_size,
            seed=EXPERIMENT.seed,
            no_document_start=not recipe.document_start,
            document_end=recipe.document_end,
            repeat_corpora=recipe.repeat_corpora,
            document_masking=recipe.document_masking,
            size_exponent=recipe.size_exponent if by_size else None,
        )
        + repeated("--heldout", heldout)
    )


def shard_size(wildcards, resources):
    """Return the size of files of packed tokens, where the profile gives one."""
    return options(shard_bytes=resources.get("shard_bytes"))


def training(tokenizer, mixture, recipe):
    """Return the folders of packed and held-out tokens for a training."""
    length = EXPERIMENT.recipes[recipe].sequence_length
    return (
        f"{RESULTS}/packed/{tokenizer}--{mixture}--{recipe}",
        f"{RESULTS}/heldout/{tokenizer}--{length}",
    )


def recipe_arguments(name, seed):
    """Return a recipe as options of train_model (packing has its own part of it)."""
    packing = {"sequence_length", "document_start", "document_end", "repeat_corpora"}
    packing |= {"document_masking", "size_exponent"}
    recipe = EXPERIMENT.recipes[name]
    stages = [
        json.dumps(stage.model_dump(exclude_none=True, exclude={"mixture"}), sort_keys=True)
        for stage in recipe.stages or ()
    ]
    return options(**recipe.model_dump(exclude={*packing, "stages"}), seed=seed) + repeated(
        "--stage", stages
    )


def launcher(wildcards, resources):
    """Return how Python starts: itself, torchrun where the profile gives more than one GPU, or
    accelerate where it names one of config/accelerate.
    """
    gpus = resources.get("gpu", 0)
    profile = resources.get("accelerate")
    if profile:
        file = f"config/accelerate/{profile}.yaml"
        processes = ["--num_processes", gpus] if gpus else []
        return ["-m", "accelerate.commands.launch", "--config_file", file, *processes]
    return ["-m", "torch.distributed.run", "--nproc-per-node", gpus] if gpus > 1 else []


def micro_batch(wildcards, resources):
    """Return what the profile says of the machine: none of it changes what is computed."""
    numbers = ("micro_batch", "peak_flops", "watts", "carbon_intensity")
    flags = ("fsdp", "activation_checkpointing", "compile", "tensorboard")
    return options(
        **{name: resources.get(name) for name in numbers},
        **{name: bool(resources.get(name)) for name in flags},
    )


def run_training(wildcards):
    run = RUNS[wildcards.run]
    return training(run.target, run.mixture, run.recipe)


def pretraining(wildcards):
    model = EXPERIMENT.models[wildcards.model]
    return training(model.tokenizer, model.pretrain.mixture, model.pretrain.recipe)
