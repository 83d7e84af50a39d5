# From results to tables, figures and the page.
from revocab.config.reads import READ
from revocab.plan import report as page


localrules:
    write_experiment,
    write_settings,


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
        code=code("write_experiment"),
        python=not_recorded(PYTHON),
        job=job("write_experiment"),
    shell:
        "{params.python:q} scripts/write_experiment.py {params.job:q} 2> {log:q}"


use rule write_experiment as write_settings with:
    input:
        unpack(needs("write_settings")),
    output:
        PATHS.settings("{part}"),
    log:
        f"{RESULTS}/logs/write_settings/{{part}}.log",
    wildcard_constraints:
        part=one_of(READ),
    params:
        code=code("write_settings"),
        python=not_recorded(PYTHON),
        job=job("write_settings"),


rule collect_scores:
    input:
        unpack(needs("collect_scores")),
    output:
        parquet=f"{RESULTS}/scores.parquet",
        csv=f"{RESULTS}/scores.csv",
    log:
        f"{RESULTS}/logs/collect_scores.log",
    conda:
        "../../envs/core.yaml"
    params:
        code=code("collect_scores"),
        python=not_recorded(PYTHON),
        job=job("collect_scores"),
    shell:
        "{params.python:q} scripts/collect_scores.py {params.job:q} 2> {log:q}"


rule make_tables:
    input:
        unpack(needs("make_tables")),
    output:
        page.tables(PLAN),
    log:
        f"{RESULTS}/logs/make_tables.log",
    conda:
        "../../envs/core.yaml"
    params:
        code=code("make_tables"),
        python=not_recorded(PYTHON),
        job=job("make_tables"),
    shell:
        "{params.python:q} scripts/make_tables.py {params.job:q} 2> {log:q}"


rule make_figures:
    input:
        unpack(needs("make_figures")),
    output:
        page.figures(PLAN),
    log:
        f"{RESULTS}/logs/make_figures.log",
    conda:
        "../../envs/core.yaml"
    params:
        code=code("make_figures"),
        python=not_recorded(PYTHON),
        job=job("make_figures"),
    shell:
        "{params.python:q} scripts/make_figures.py {params.job:q} 2> {log:q}"


rule check_artefacts:
    input:
        unpack(needs("check_artefacts")),
    output:
        f"{RESULTS}/checks.json",
    log:
        f"{RESULTS}/logs/check_artefacts.log",
    conda:
        "../../envs/core.yaml"
    params:
        code=code("check_artefacts"),
        python=not_recorded(PYTHON),
        job=job("check_artefacts"),
    shell:
        "{params.python:q} scripts/check_artefacts.py {params.job:q} 2> {log:q}"


rule build_report:
    input:
        unpack(needs("build_report")),
        template="src/revocab/report/page/templates/report.html.j2",
    output:
        report(f"{RESULTS}/report.html", caption="../report/report.rst", category="Report"),
    log:
        f"{RESULTS}/logs/build_report.log",
    conda:
        "../../envs/core.yaml"
    params:
        code=code("build_report"),
        python=not_recorded(PYTHON),
        job=job("build_report"),
    shell:
        "{params.python:q} scripts/build_report.py {params.job:q} 2> {log:q}"
