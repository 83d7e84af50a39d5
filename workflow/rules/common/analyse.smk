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


def significance_steps(group):
    """Return the steps at which tables compare a group's runs."""
    tables = EXPERIMENT.tables.values()
    return sorted(
        {t.step for t in tables if t.kind == "significance" and t.group == group}, key=str
    )


def significance_inputs(wildcards):
    """Return the scores of every compared run."""
    runs = evaluated(wildcards.group)
    comet = ["generation/comet_items.jsonl.gz"] if scores_with_comet() else []
    files = ["multiple_choice_items.jsonl.gz", "generation/manifest.json", *comet]
    return [f"{RESULTS}/runs/{run.id}/{name}" for run in runs for name in files]


def efficiency_runs():
    """Return the runs whose cost tables show."""
    wanted = []
    for table in EXPERIMENT.tables.values():
        if table.kind != "efficiency":
            continue
        runs = evaluated(table.group)
        trained = [run for run in runs if run.trains]
        chosen = (
            [run for run in trained if not keeps_vocabulary(run)][:1]
            if table.runs is None
            else [run for run in trained if run.id in table.runs]
        )
        wanted += [run for run in runs if not run.trains] + chosen
    return list({run.id: run for run in wanted}.values())


def efficiency_arguments(wildcards):
    """Return the options of measure_efficiency for a run: its last checkpoint, the text, sizes."""
    setting = EXPERIMENT.evaluation.efficiency
    run = RUNS[wildcards.run]
    return options(
        step=run.steps[-1],
        model=step_folder(run, run.steps[-1]),
        text=f"{corpus_folder(setting.corpus)}/heldout.jsonl.gz",
        language=EXPERIMENT.corpora[setting.corpus].language,
        engine=GENERATION.engine,
        **setting.model_dump(),
    )
