# From results to tables, figures and the page.

REPORT_TEMPLATES = [near(file) for file in sorted(extensions.PACKAGE.glob("report/templates/*"))]


localrules:
    write_experiment,


rule write_experiment:
    input:
        unpack(needs("write_experiment")),
    output:
        f"{RESULTS}/experiment.json",
    log:
        f"{RESULTS}/logs/write_experiment.log",
    conda:
        "../../envs/core.yaml"
    params:
        **params_of("write_experiment", job="-"),
        text=lambda wildcards, resources: PLAN.job("write_experiment").job.canonical(),
    # The experiment may be too long for an argument; printf is the shell's own.
    shell:
        "printf %s {params.text:q} | {params.python:q} {params.words:q} 2> {log:q}"


use rule job as collect_scores with:
    input:
        unpack(needs("collect_scores")),
    output:
        parquet=f"{RESULTS}/scores.parquet",
        csv=f"{RESULTS}/scores.csv",
    log:
        f"{RESULTS}/logs/collect_scores.log",
    params:
        **params_of("collect_scores"),


use rule job as make_tables with:
    input:
        unpack(needs("make_tables")),
        templates=REPORT_TEMPLATES,
    output:
        PLAN.tables,
    log:
        f"{RESULTS}/logs/make_tables.log",
    params:
        **params_of("make_tables"),


use rule job as make_figures with:
    input:
        unpack(needs("make_figures")),
    output:
        PLAN.figures,
    log:
        f"{RESULTS}/logs/make_figures.log",
    params:
        **params_of("make_figures"),


use rule job as check_artefacts with:
    input:
        unpack(needs("check_artefacts")),
    output:
        f"{RESULTS}/checks.json",
    log:
        f"{RESULTS}/logs/check_artefacts.log",
    params:
        **params_of("check_artefacts"),


use rule job as build_report with:
    input:
        unpack(needs("build_report")),
        templates=REPORT_TEMPLATES,
    output:
        report(f"{RESULTS}/report.html", caption="../report/report.rst", category="Report"),
    log:
        f"{RESULTS}/logs/build_report.log",
    params:
        **params_of("build_report"),
