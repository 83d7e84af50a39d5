# From results to tables, figures and the page.
from revocab.plan import report as page


localrules:
    write_experiment,


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
        job=job("write_experiment"),
    shell:
        "{PYTHON:q} scripts/write_experiment.py {params.job:q} 2> {log:q}"


rule collect_scores:
    input:
        unpack(needs("collect_scores")),
        experiment=ancient(f"{RESULTS}/experiment.json"),
        code=code("collect_scores"),
    output:
        parquet=f"{RESULTS}/scores.parquet",
        csv=f"{RESULTS}/scores.csv",
    log:
        f"{RESULTS}/logs/collect_scores.log",
    conda:
        "../../envs/core.yaml"
    params:
        job=job("collect_scores"),
        reads=reads("collect_scores"),
    shell:
        "{PYTHON:q} scripts/collect_scores.py {params.job:q} 2> {log:q}"


rule make_tables:
    input:
        unpack(needs("make_tables")),
        experiment=ancient(f"{RESULTS}/experiment.json"),
        code=code("make_tables"),
    output:
        page.tables(PLAN),
    log:
        f"{RESULTS}/logs/make_tables.log",
    conda:
        "../../envs/core.yaml"
    params:
        job=job("make_tables"),
        reads=reads("make_tables"),
    shell:
        "{PYTHON:q} scripts/make_tables.py {params.job:q} 2> {log:q}"


rule make_figures:
    input:
        unpack(needs("make_figures")),
        experiment=ancient(f"{RESULTS}/experiment.json"),
        code=code("make_figures"),
    output:
        page.figures(PLAN),
    log:
        f"{RESULTS}/logs/make_figures.log",
    conda:
        "../../envs/core.yaml"
    params:
        job=job("make_figures"),
        reads=reads("make_figures"),
    shell:
        "{PYTHON:q} scripts/make_figures.py {params.job:q} 2> {log:q}"


rule check_artefacts:
    input:
        unpack(needs("check_artefacts")),
        experiment=ancient(f"{RESULTS}/experiment.json"),
        code=code("check_artefacts"),
    output:
        f"{RESULTS}/checks.json",
    log:
        f"{RESULTS}/logs/check_artefacts.log",
    conda:
        "../../envs/core.yaml"
    params:
        job=job("check_artefacts"),
        reads=reads("check_artefacts"),
    shell:
        "{PYTHON:q} scripts/check_artefacts.py {params.job:q} 2> {log:q}"


rule build_report:
    input:
        unpack(needs("build_report")),
        experiment=ancient(f"{RESULTS}/experiment.json"),
        template="src/revocab/report/templates/report.html.j2",
        code=code("build_report"),
    output:
        report(f"{RESULTS}/report.html", caption="../report/report.rst", category="Report"),
    log:
        f"{RESULTS}/logs/build_report.log",
    conda:
        "../../envs/core.yaml"
    params:
        job=job("build_report"),
        reads=reads("build_report"),
    shell:
        "{PYTHON:q} scripts/build_report.py {params.job:q} 2> {log:q}"
