# What almost all rules are: its GPUs, a Python, and the words that follow it. Nothing asks for this one itself.


rule job:
    log:
        f"{RESULTS}/logs/job.log",
    conda:
        "../../envs/core.yaml"
    shell:
        "{params.gpus:q} {params.python:q} {params.words:q} 2> {log:q}"
