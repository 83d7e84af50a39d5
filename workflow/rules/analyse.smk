# Analysis that needs no text: parameter counts, embedding similarity, cost at a real model's size.


use rule job as count_parameters with:
    input:
        unpack(needs("count_parameters")),
    output:
        f"{RESULTS}/parameters.csv",
    log:
        f"{RESULTS}/logs/count_parameters.log",
    params:
        **params_of("count_parameters"),


use rule job as measure_similarity with:
    input:
        unpack(needs("measure_similarity")),
    output:
        manifest=f"{PATHS.similarity('{group}')}/manifest.json",
        table=f"{PATHS.similarity('{group}')}/similarity.csv",
    log:
        f"{RESULTS}/logs/measure_similarity/{{group}}.log",
    params:
        **params_of("measure_similarity"),


use rule job as measure_scale with:
    input:
        unpack(needs("measure_scale")),
    output:
        manifest=f"{RESULTS}/scale/manifest.json",
        table=f"{RESULTS}/scale/scale.csv",
    log:
        f"{RESULTS}/logs/measure_scale.log",
    params:
        **params_of("measure_scale"),


use rule job as compare_runs with:
    input:
        unpack(needs("compare_runs")),
    output:
        PATHS.significance("{group}"),
    log:
        f"{RESULTS}/logs/compare_runs/{{group}}.log",
    params:
        **params_of("compare_runs"),


# Nothing else runs beside it: it measures time. On a cluster, which has no number of cores, the profile
# sets its threads.
use rule job as measure_efficiency with:
    input:
        unpack(needs("measure_efficiency")),
    output:
        PATHS.efficiency("{run}"),
    log:
        f"{RESULTS}/logs/measure_efficiency/{{run}}.log",
    conda:
        engine_environment("generation")
    threads: workflow.resource_settings.cores or 1
    resources:
        gpu=divided("measure_efficiency"),
    params:
        **params_of("measure_efficiency", python=GENERATION_PYTHON),
