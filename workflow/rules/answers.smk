# Conversations that a model of the experiment answers itself, and those of them that a judge keeps.
from revocab.answering.options import CONVERSATIONS as CONVERSATIONS_FILE


rule answer_prompts:
    input:
        unpack(needs("answer_prompts")),
    output:
        manifest=f"{PATHS.answers('{corpus}')}/manifest.json",
        conversations=f"{PATHS.answers('{corpus}')}/{CONVERSATIONS_FILE}",
    log:
        f"{RESULTS}/logs/answer_prompts/{{corpus}}.log",
    wildcard_constraints:
        corpus=one_of(PLAN.answered),
    conda:
        engine_environment("generation")
    resources:
        gpu=1,
    params:
        code=code("answer_prompts"),
        python=lambda wildcards, resources: answering_python(wildcards.corpus),
        job=job("answer_prompts"),
        machine=machine("device", "dtype", "batch_size"),
    shell:
        "{params.python:q} scripts/answer_prompts.py {params.job:q} {params.machine:q} 2> {log:q}"


rule judge_answers:
    input:
        unpack(needs("judge_answers")),
    output:
        manifest=f"{PATHS.judged('{corpus}')}/manifest.json",
        conversations=f"{PATHS.judged('{corpus}')}/{CONVERSATIONS_FILE}",
        verdicts=f"{PATHS.judged('{corpus}')}/verdicts.jsonl.gz",
    log:
        f"{RESULTS}/logs/judge_answers/{{corpus}}.log",
    wildcard_constraints:
        corpus=one_of(PLAN.judged),
    conda:
        engine_environment("generation")
    resources:
        gpu=1,
    params:
        code=code("judge_answers"),
        python=lambda wildcards, resources: judging_python(wildcards.corpus),
        job=job("judge_answers"),
        machine=machine("device", "dtype", "batch_size"),
    shell:
        "{params.python:q} scripts/judge_answers.py {params.job:q} {params.machine:q} 2> {log:q}"
