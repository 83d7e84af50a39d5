# From results to tables, figures and the page.


localrules:
    write_experiment,
    write_settings,


rule write_experiment:
    input:
        code=code("write_experiment", "initialise/methods"),
    output:
        f"{RESULTS}/experiment.json",
    log:
        f"{RESULTS}/logs/write_experiment.log",
    conda:
        "../../envs/core.yaml"
    params:
        python=not_recorded(PYTHON),
        values=lambda wildcards: json.dumps(as_json(EXPERIMENT)),
    shell:
        "{params.python:q} scripts/write_experiment.py --values {params.values:q} --out {output:q} 2> {log:q}"


use rule write_experiment as write_settings with:
    output:
        settings_of("{part}"),
    log:
        f"{RESULTS}/logs/write_settings/{{part}}.log",
    wildcard_constraints:
        part=one_of(READ),
    conda:
        "../../envs/core.yaml"
    params:
        python=not_recorded(PYTHON),
        values=lambda wildcards: json.dumps(read_by(wildcards.part, EXPERIMENT)),


rule collect_scores:
    input:
        experiment=settings_of("scores"),
        results=score_files(),
        published=(
            sorted(map(str, Path(EXPERIMENT.paper_values).glob("*.csv")))
            if EXPERIMENT.paper_values
            else []
        ),
        code=code("collect_scores"),
    output:
        parquet=f"{RESULTS}/scores.parquet",
        csv=f"{RESULTS}/scores.csv",
    log:
        f"{RESULTS}/logs/collect_scores.log",
    conda:
        "../../envs/core.yaml"
    params:
        python=not_recorded(PYTHON),
        results=lambda wildcards: RESULTS,
    shell:
        "{params.python:q} scripts/collect_scores.py --results {params.results:q} --experiment {input.experiment:q} --out {output.parquet:q} 2> {log:q}"


rule make_tables:
    input:
        experiment=settings_of("tables"),
        scores=f"{RESULTS}/scores.parquet",
        more=table_inputs(),
        code=code("make_tables"),
    output:
        [
            f"{RESULTS}/tables/{table}.{ending}"
            for table in EXPERIMENT.tables
            for ending in ("csv", "md", "tex")
        ],
    log:
        f"{RESULTS}/logs/make_tables.log",
    conda:
        "../../envs/core.yaml"
    params:
        python=not_recorded(PYTHON),
        results=lambda wildcards: RESULTS,
        out=folder,
    shell:
        "{params.python:q} scripts/make_tables.py --results {params.results:q} --experiment {input.experiment:q} --out {params.out:q} 2> {log:q}"


rule make_figures:
    input:
        experiment=settings_of("figures"),
        scores=f"{RESULTS}/scores.parquet",
        fertility=f"{RESULTS}/fertility/manifest.json",
        code=code("make_figures"),
    output:
        [
            f"{RESULTS}/figures/{figure}.{ending}"
            for figure in EXPERIMENT.figures
            for ending in ("svg", "png")
        ],
    log:
        f"{RESULTS}/logs/make_figures.log",
    conda:
        "../../envs/core.yaml"
    params:
        python=not_recorded(PYTHON),
        results=lambda wildcards: RESULTS,
        out=folder,
    shell:
        "{params.python:q} scripts/make_figures.py --results {params.results:q} --experiment {input.experiment:q} --out {params.out:q} 2> {log:q}"


rule check_artefacts:
    input:
        experiment=settings_of("checks"),
        tables=rules.make_tables.output,
        figures=rules.make_figures.output,
        world=world_files(),
        code=code("check_artefacts"),
    output:
        f"{RESULTS}/checks.json",
    log:
        f"{RESULTS}/logs/check_artefacts.log",
    conda:
        "../../envs/core.yaml"
    params:
        python=not_recorded(PYTHON),
        results=lambda wildcards: RESULTS,
    shell:
        "{params.python:q} scripts/check_artefacts.py --results {params.results:q} --experiment {input.experiment:q} --out {output:q} 2> {log:q}"


rule build_report:
    input:
        experiment=f"{RESULTS}/experiment.json",
        checks=f"{RESULTS}/checks.json",
        tables=rules.make_tables.output,
        figures=rules.make_figures.output,
        more=report_inputs(),
        template="src/revocab/report/templates/report.html.j2",
        code=code("build_report"),
    output:
        report(f"{RESULTS}/report.html", caption="../report/report.rst", category="Report"),
    log:
        f"{RESULTS}/logs/build_report.log",
    conda:
        "../../envs/core.yaml"
    params:
        python=not_recorded(PYTHON),
        results=lambda wildcards: RESULTS,
    shell:
        "{params.python:q} scripts/build_report.py --results {params.results:q} --out {output:q} 2> {log:q}"
