# From results to tables, figures and the page.
REPORT_TEMPLATES = [
    extensions.from_here(file) for file in sorted(extensions.PACKAGE.glob("report/templates/*"))
]


rule write_experiment:
    output:
        PATHS.experiment_file,
    log:
        f"{RESULTS}/logs/write_experiment.log",
    localrule: True
    conda:
        CORE
    params:
        **decided("write_experiment", lambda w: options.record(EXPERIMENT)),
        code=code_of("write_experiment"),
    # The experiment may be too long for an argument; printf is the shell's own.
    shell:
        "printf %s {params.options:q} | {params.python:q} -m revocab write_experiment --options -"
        " --out {output:q} --job {params.job:q} 2> {log:q}"


rule collect_scores:
    input:
        experiment=PATHS.experiment_file,
        scored=LAYOUT.scored,
        published=LAYOUT.published,
    output:
        parquet=f"{RESULTS}/scores.parquet",
        csv=f"{RESULTS}/scores.csv",
    log:
        f"{RESULTS}/logs/collect_scores.log",
    conda:
        CORE
    params:
        **decided("collect_scores", lambda w: options.nothing()),
        results=lambda w: RESULTS,
        code=code_of("collect_scores"),
    shell:
        "{params.python:q} -m revocab collect_scores --results {params.results:q} --out {output.parquet:q}"
        " --options {params.options:q} --job {params.job:q} 2> {log:q}"


rule make_tables:
    input:
        experiment=PATHS.experiment_file,
        scores=f"{RESULTS}/scores.parquet",
        shown=LAYOUT.read_by_tables,
        templates=REPORT_TEMPLATES,
    output:
        LAYOUT.tables,
    log:
        f"{RESULTS}/logs/make_tables.log",
    conda:
        CORE
    params:
        **decided("make_tables", lambda w: options.nothing()),
        results=lambda w: RESULTS,
        code=code_of("make_tables"),
    shell:
        "{params.python:q} -m revocab make_tables --results {params.results:q} --out {params.results:q}/tables"
        " --options {params.options:q} --job {params.job:q} 2> {log:q}"


rule make_figures:
    input:
        experiment=PATHS.experiment_file,
        scores=f"{RESULTS}/scores.parquet",
        shown=LAYOUT.read_by_figures,
    output:
        LAYOUT.figures,
    log:
        f"{RESULTS}/logs/make_figures.log",
    conda:
        CORE
    params:
        **decided("make_figures", lambda w: options.nothing()),
        results=lambda w: RESULTS,
        code=code_of("make_figures"),
    shell:
        "{params.python:q} -m revocab make_figures --results {params.results:q} --out {params.results:q}/figures"
        " --options {params.options:q} --job {params.job:q} 2> {log:q}"


rule check_artefacts:
    input:
        experiment=PATHS.experiment_file,
        scores=f"{RESULTS}/scores.parquet",
        tables=LAYOUT.tables,
        figures=LAYOUT.figures,
        dropped=LAYOUT.drops,
    output:
        f"{RESULTS}/checks.json",
    log:
        f"{RESULTS}/logs/check_artefacts.log",
    conda:
        CORE
    params:
        **decided("check_artefacts", lambda w: options.nothing()),
        results=lambda w: RESULTS,
        code=code_of("check_artefacts"),
    shell:
        "{params.python:q} -m revocab check_artefacts --results {params.results:q} --out {output:q}"
        " --options {params.options:q} --job {params.job:q} 2> {log:q}"


rule build_report:
    input:
        experiment=PATHS.experiment_file,
        checks=f"{RESULTS}/checks.json",
        tables=LAYOUT.tables,
        figures=LAYOUT.figures,
        described=LAYOUT.described,
        templates=REPORT_TEMPLATES,
    output:
        report(f"{RESULTS}/report.html", caption="../report/report.rst", category="Report"),
    log:
        f"{RESULTS}/logs/build_report.log",
    conda:
        CORE
    params:
        **decided("build_report", lambda w: options.nothing()),
        results=lambda w: RESULTS,
        code=code_of("build_report"),
    shell:
        "{params.python:q} -m revocab build_report --results {params.results:q} --out {output:q}"
        " --options {params.options:q} --job {params.job:q} 2> {log:q}"
