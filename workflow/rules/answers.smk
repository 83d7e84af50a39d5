# Conversations that a model of the experiment answers itself, and those of them that a judge keeps.
from revocab.answering.options import CONVERSATIONS as CONVERSATIONS_FILE


def answers_of(wildcards):
    """Return what the experiment says of a corpus' answers."""
    return EXPERIMENT.corpora[wildcards.corpus].answers


def judge_model(wildcards):
    """Return the model of a judge as a list, empty where it has none."""
    model = answers_of(wildcards).judge_model
    return [LAYOUT.referred(model)] if model else []


rule answer_prompts:
    input:
        model=lambda w: LAYOUT.referred(answers_of(w).model).manifest,
        files=lambda w: LAYOUT.source_files(EXPERIMENT.corpora[w.corpus].source),
        chat_template=lambda w: LAYOUT.chat_template(answers_of(w).chat_template),
    output:
        manifest=manifest(PATHS.answers("{corpus}")),
        conversations=f"{PATHS.answers('{corpus}')}/{CONVERSATIONS_FILE}",
    log:
        f"{RESULTS}/logs/answer_prompts/{{corpus}}.log",
    wildcard_constraints:
        corpus=one_of(LAYOUT.answered),
    conda:
        lambda w: environment_file(answers_of(w).engine, "generation")
    resources:
        gpu=divided("answer_prompts"),
    params:
        **decided(
            lambda w: options.answers(EXPERIMENT, w.corpus),
            model=lambda w: LAYOUT.referred(answers_of(w).model).folder,
        ),
        python=lambda w, resources: python_of(answers_of(w).engine, "generation"),
        gpus=own_gpus,
        machine=machine("answer_prompts"),
    shell:
        "{params.gpus:q} {params.python:q} -m revocab answer_prompts --model {params.model:q}"
        " --files {input.files:q} --chat-template {input.chat_template:q} --out {output.manifest:q}"
        + END + lasting("answer_prompts")


rule judge_answers:
    input:
        conversations=f"{PATHS.answers('{corpus}')}/{CONVERSATIONS_FILE}",
        model=lambda w: [model.manifest for model in judge_model(w)],
    output:
        manifest=manifest(PATHS.judged("{corpus}")),
        conversations=f"{PATHS.judged('{corpus}')}/{CONVERSATIONS_FILE}",
        verdicts=f"{PATHS.judged('{corpus}')}/verdicts.jsonl.gz",
    log:
        f"{RESULTS}/logs/judge_answers/{{corpus}}.log",
    wildcard_constraints:
        corpus=one_of(LAYOUT.judged),
    conda:
        lambda w: environment_file(getattr(answers_of(w).judge, "engine", None), "generation")
    resources:
        gpu=divided("judge_answers"),
    params:
        **decided(
            lambda w: options.judge(EXPERIMENT, w.corpus),
            model=lambda w: [model.folder for model in judge_model(w)],
        ),
        python=lambda w, resources: python_of(
            getattr(answers_of(w).judge, "engine", None), "generation"
        ),
        gpus=own_gpus,
        machine=machine("judge_answers"),
    shell:
        "{params.gpus:q} {params.python:q} -m revocab judge_answers"
        " --conversations {input.conversations:q} --model {params.model:q}"
        " --out {output.manifest:q}" + END + lasting("judge_answers")
