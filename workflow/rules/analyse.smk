# Analysis that needs no text: parameter counts, embedding similarity, cost at a real model's size.


rule count_parameters:
    input:
        code=code("count_parameters"),
    output:
        f"{RESULTS}/parameters.csv",
    log:
        f"{RESULTS}/logs/count_parameters.log",
    params:
        arguments=repeated(
            "--architecture", [entry.model_dump_json() for entry in EXPERIMENT.parameters]
        ),
    shell:
        "{PYTHON:q} scripts/count_parameters.py {params.arguments:q} --out {output:q} 2> {log:q}"


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


rule measure_similarity:
    input:
        models=similarity_inputs,
        code=code("measure_similarity"),
    output:
        manifest=f"{RESULTS}/similarity/{{group}}/manifest.json",
        table=f"{RESULTS}/similarity/{{group}}/similarity.csv",
    log:
        f"{RESULTS}/logs/measure_similarity/{{group}}.log",
    params:
        arguments=similarity_arguments,
        out=folder,
    shell:
        "{PYTHON:q} scripts/measure_similarity.py {params.arguments:q} --out {params.out:q} 2> {log:q}"


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


rule measure_scale:
    input:
        pairs=(
            f"{RESULTS}/intersections/{EXPERIMENT.scale.source_tokenizer}--"
            f"{EXPERIMENT.scale.target_tokenizer}/manifest.json"
            if EXPERIMENT.scale
            else []
        ),
        code=code("measure_scale", "initialise/methods"),
    output:
        manifest=f"{RESULTS}/scale/manifest.json",
        table=f"{RESULTS}/scale/scale.csv",
    log:
        f"{RESULTS}/logs/measure_scale.log",
    params:
        arguments=scale_arguments(EXPERIMENT.scale),
        out=folder,
    shell:
        "{PYTHON:q} scripts/measure_scale.py {params.arguments:q} --out {params.out:q} 2> {log:q}"
