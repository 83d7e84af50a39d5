# Contents page. The experiment file (below config) says what; workflow/rules say how.
from snakemake.utils import min_version

min_version("9.0")

# Snakemake merges --configfile into the default one; an experiment file stands alone instead.
if "experiment" not in config:

    configfile: "config/demos/demo.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/answers.smk"
include: "workflow/rules/tokenizer.smk"
include: "workflow/rules/intersection.smk"
include: "workflow/rules/init.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/eval.smk"
include: "workflow/rules/generate.smk"
include: "workflow/rules/analyse.smk"
include: "workflow/rules/report.smk"


# The console shows a job as one line, without its files. A workflow that has this one as a module may
# have rules of its own.
for each in workflow.rules:
    each.message = each.message or f"{each.name} {{wildcards}}"


rule all:
    default_target: True
    input:
        f"{RESULTS}/report.html",
        f"{RESULTS}/checks.json",
        f"{RESULTS}/scores.parquet",  # which a job that failed may have taken away
    localrule: True
