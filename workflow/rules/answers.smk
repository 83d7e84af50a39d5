# Conversations that a model of the experiment answers itself, and those of them that a judge keeps.
from revocab.answering.options import CONVERSATIONS as CONVERSATIONS_FILE


use rule job as answer_prompts with:
    input:
        unpack(needs("answer_prompts")),
    output:
        manifest=f"{PATHS.answers('{corpus}')}/manifest.json",
        conversations=f"{PATHS.answers('{corpus}')}/{CONVERSATIONS_FILE}",
    log:
        f"{RESULTS}/logs/answer_prompts/{{corpus}}.log",
    wildcard_constraints:
        **ids_of("answer_prompts"),
    conda:
        lambda wildcards: environment_file(answering_engine(wildcards), "generation")
    resources:
        gpu=divided("answer_prompts"),
    params:
        **params_of(
            "answer_prompts",
            python=lambda wildcards: python_of(answering_engine(wildcards), "generation"),
        ),


use rule job as judge_answers with:
    input:
        unpack(needs("judge_answers")),
    output:
        manifest=f"{PATHS.judged('{corpus}')}/manifest.json",
        conversations=f"{PATHS.judged('{corpus}')}/{CONVERSATIONS_FILE}",
        verdicts=f"{PATHS.judged('{corpus}')}/verdicts.jsonl.gz",
    log:
        f"{RESULTS}/logs/judge_answers/{{corpus}}.log",
    wildcard_constraints:
        **ids_of("judge_answers"),
    conda:
        lambda wildcards: environment_file(judging_engine(wildcards), "generation")
    resources:
        gpu=divided("judge_answers"),
    params:
        **params_of(
            "judge_answers",
            python=lambda wildcards: python_of(judging_engine(wildcards), "generation"),
        ),
