# An argument that is too long for a command line is a file, and an input of its job: written anew, and
# the job run again, when it changes. printf is the shell's own and takes a text of any length.


localrules:
    write_argument,


rule write_argument:
    output:
        f"{PATHS.argument('{job}')}.{{flag}}.json",
    log:
        f"{RESULTS}/logs/write_argument/{{job}}.{{flag}}.log",
    wildcard_constraints:
        flag="inputs|job",
    conda:
        "../../envs/core.yaml"
    params:
        text=lambda wildcards: PLAN.argument(wildcards.job, wildcards.flag),
    shell:
        "printf %s {params.text:q} > {output:q} 2> {log:q}"
