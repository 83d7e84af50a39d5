# Analysis of models: parameters, embedding similarity, cost at a real model's size, speed, new tokens.
from revocab.evaluation.options import UNTRAINED_AND_TRAINED


rule count_parameters:
    output:
        PATHS.parameters,
    log:
        f"{RESULTS}/logs/count_parameters.log",
    conda:
        CORE
    params:
        **decided("count_parameters", lambda w: options.parameters(EXPERIMENT)),
        code=code_of("count_parameters"),
    shell:
        "{params.python:q} -m revocab count_parameters --out {output:q}"
        " --options {params.options:q} --job {params.job:q} 2> {log:q}"


rule measure_similarity:
    input:
        target_tokenizer=lambda w: LAYOUT.tokenizers([EXPERIMENT.runs[w.group].target]),
        first=lambda w: [
            LAYOUT.checkpoint(run, 0).manifest for run in LAYOUT.with_new_rows(w.group)
        ],
        last=lambda w: [
            LAYOUT.checkpoint(run, run.steps[-1]).manifest for run in LAYOUT.with_new_rows(w.group)
        ],
        helper_model=lambda w: [model.manifest for model in LAYOUT.group_helper(w.group)],
        helper_pairs=lambda w: LAYOUT.helper_pairs(
            EXPERIMENT.runs[w.group].helper, EXPERIMENT.runs[w.group].target
        ),
    output:
        manifest=manifest(PATHS.similarity("{group}")),
        table=f"{PATHS.similarity('{group}')}/similarity.csv",
    log:
        f"{RESULTS}/logs/measure_similarity/{{group}}.log",
    conda:
        CORE
    params:
        **decided(
            "measure_similarity",
            lambda w: options.similarity(LAYOUT, w.group),
            first=lambda w: LAYOUT.by_run(w.group, first=True),
            last=lambda w: LAYOUT.by_run(w.group, first=False),
            helper_model=lambda w: [model.folder for model in LAYOUT.group_helper(w.group)],
        ),
        code=code_of("measure_similarity"),
    shell:
        "{params.python:q} -m revocab measure_similarity --target-tokenizer {input.target_tokenizer:q}"
        " --first {params.first:q} --last {params.last:q} --helper-model {params.helper_model:q}"
        " --helper-pairs {input.helper_pairs:q} --out {output.manifest:q}"
        " --options {params.options:q} --job {params.job:q} 2> {log:q}"


rule measure_scale:
    input:
        source_tokenizer=lambda w: LAYOUT.tokenizers([EXPERIMENT.scale.source_tokenizer]),
        target_tokenizer=lambda w: LAYOUT.tokenizers([EXPERIMENT.scale.target_tokenizer]),
        pairs=lambda w: manifest(
            PATHS.intersection(
                EXPERIMENT.scale.source_tokenizer, EXPERIMENT.scale.target_tokenizer
            )
        ),
    output:
        manifest=manifest(PATHS.scale),
        table=f"{PATHS.scale}/scale.csv",
    log:
        f"{RESULTS}/logs/measure_scale.log",
    conda:
        CORE
    params:
        **decided("measure_scale", lambda w: options.scale(EXPERIMENT)),
        code=code_of("measure_scale"),
    shell:
        "{params.python:q} -m revocab measure_scale --source-tokenizer {input.source_tokenizer:q}"
        " --target-tokenizer {input.target_tokenizer:q} --pairs {input.pairs:q}"
        " --out {output.manifest:q}"
        " --options {params.options:q} --job {params.job:q} 2> {log:q}"


rule compare_runs:
    input:
        experiment=PATHS.experiment_file,
        scores=f"{RESULTS}/scores.parquet",
        by_item=lambda w: LAYOUT.items_of_group(w.group),
    output:
        PATHS.significance("{group}"),
    log:
        f"{RESULTS}/logs/compare_runs/{{group}}.log",
    conda:
        CORE
    params:
        **decided("compare_runs", lambda w: options.comparison(LAYOUT, w.group)),
        results=lambda w: RESULTS,
        code=code_of("compare_runs"),
    shell:
        "{params.python:q} -m revocab compare_runs --results {params.results:q} --out {output:q}"
        " --options {params.options:q} --job {params.job:q} 2> {log:q}"


# Nothing else runs beside it: it measures time. On a cluster, which has no number of cores, the profile
# sets its threads.
rule measure_efficiency:
    input:
        model=lambda w: LAYOUT.last_checkpoint(w.run).manifest,
        text=lambda w: LAYOUT.corpora([EXPERIMENT.evaluation.efficiency.corpus], "heldout"),
    output:
        PATHS.efficiency("{run}"),
    log:
        f"{RESULTS}/logs/measure_efficiency/{{run}}.log",
    conda:
        environment_file(GENERATION.engine, "generation")
    threads: workflow.resource_settings.cores or 1
    resources:
        gpu=divided("measure_efficiency"),
    params:
        **decided(
            "measure_efficiency",
            lambda w: options.efficiency(EXPERIMENT, w.run),
            python=GENERATION_PYTHON,
            model=lambda w: LAYOUT.last_checkpoint(w.run).folder,
        ),
        code=code_of("measure_efficiency"),
        gpus=own_gpus,
        machine=machine("measure_efficiency"),
    shell:
        "{params.gpus:q} {params.python:q} -m revocab measure_efficiency --model {params.model:q}"
        " --text {input.text:q} --out {output:q}"
        " --options {params.options:q} --job {params.job:q} {params.machine:q} 2> {log:q}"


rule measure_adoption:
    input:
        tokenizer=lambda w: LAYOUT.tokenizers([LAYOUT.runs[w.run].source_tokenizer]),
        models=lambda w: LAYOUT.manifests(w.run, UNTRAINED_AND_TRAINED),
        prepared=lambda w: manifest(PATHS.corpus(EXPERIMENT.evaluation.adoption.corpus)),
    output:
        PATHS.adoption("{run}"),
    log:
        f"{RESULTS}/logs/measure_adoption/{{run}}.log",
    conda:
        CORE
    resources:
        gpu=divided("measure_adoption"),
    params:
        **decided(
            "measure_adoption",
            lambda w: options.adoption(EXPERIMENT, w.run),
            models=lambda w: LAYOUT.steps(w.run, UNTRAINED_AND_TRAINED),
        ),
        code=code_of("measure_adoption"),
        gpus=own_gpus,
        machine=machine("measure_adoption"),
    shell:
        "{params.gpus:q} {params.python:q} -m revocab measure_adoption --tokenizer {input.tokenizer:q}"
        " --models {params.models:q} --prepared {input.prepared:q} --out {output:q}"
        " --options {params.options:q} --job {params.job:q} {params.machine:q} 2> {log:q}"
