# Input and params functions of analyse.smk.


def compared(group):
    """Return a group's scored runs with the target vocabulary: the ones whose rows correspond."""
    return [run for run in evaluated(group) if run.trains and not keeps_vocabulary(run)]


def similarity_arguments(wildcards):
    """Return the options of measure_similarity for a group."""
    group = EXPERIMENT.runs[wildcards.group]
    runs = compared(wildcards.group)
    folders = [f"{run.id}={step_folder(run, 0)}={step_folder(run, run.steps[-1])}" for run in runs]
    return repeated("--run", folders) + options(
        group=wildcards.group,
        helper=f"{group.helper}={model_folder(group.helper)}" if group.helper else None,
        target_tokenizer=tokenizer_folder(group.target),
        anchors=EXPERIMENT.similarity.anchors,
        relative=EXPERIMENT.similarity.relative,
        last_step=max((run.steps[-1] for run in runs), default=0),
        seed=EXPERIMENT.seed,
    )


def similarity_inputs(wildcards):
    """Return the models that measure_similarity reads for a group."""
    helper = EXPERIMENT.runs[wildcards.group].helper
    return [run_manifest(run) for run in compared(wildcards.group)] + (
        [model_manifest(helper)] if helper else []
    )


def scale_arguments(scale):
    """Return the options of measure_scale, or nothing where the experiment has no such part."""
    if scale is None:
        return []
    methods = [
        f"{name}={json.dumps({'method': entry.method or name, **entry.options})}"
        for name, entry in scale.methods.items()
    ]
    pairs = f"{RESULTS}/intersections/{scale.source_tokenizer}--{scale.target_tokenizer}"
    return repeated("--method", methods) + options(
        source_tokenizer=tokenizer_folder(scale.source_tokenizer),
        target_tokenizer=tokenizer_folder(scale.target_tokenizer),
        pairs=pairs,
        hidden_size=scale.hidden_size,
        helper_hidden_size=scale.helper_hidden_size,
        seed=EXPERIMENT.seed,
    )
