# Conversations that a model of the experiment answers itself, and those of them that a judge keeps.
from revocab.corpora.answers.options import CONVERSATIONS as CONVERSATIONS_FILE


rule answer_prompts:
    input:
        model=lambda w: LAYOUT.referred(LAYOUT.answers_of(w.corpus).model).manifest,
        files=lambda w: LAYOUT.source_files(EXPERIMENT.corpora[w.corpus].source),
        chat_template=lambda w: LAYOUT.chat_template(LAYOUT.answers_of(w.corpus).chat_template),
    output:
        manifest=manifest(PATHS.answers("{corpus}")),
        conversations=f"{PATHS.answers('{corpus}')}/{CONVERSATIONS_FILE}",
    log:
        f"{RESULTS}/logs/answer_prompts/{{corpus}}.log",
    wildcard_constraints:
        corpus=one_of(LAYOUT.answered),
    conda:
        lambda w: environment_file(LAYOUT.answers_of(w.corpus).engine, "generation")
    resources:
        gpu=divided("answer_prompts"),
    params:
        **decided(
            "answer_prompts",
            lambda w: options.answers(EXPERIMENT, w.corpus),
            order=lambda w: LAYOUT.source_files(EXPERIMENT.corpora[w.corpus].source),
            python=lambda w: python_of(LAYOUT.answers_of(w.corpus).engine, "generation"),
            model=lambda w: LAYOUT.referred(LAYOUT.answers_of(w.corpus).model).folder,
        ),
        gpus=own_gpus,
        machine=machine("answer_prompts"),
    shell:
        "{params.gpus:q} {params.python:q} -m revocab answer_prompts --model {params.model:q}"
        " --files {input.files:q} --chat-template {input.chat_template:q} --out {output.manifest:q}"
        " --options {params.options:q} --job {params.job:q} {params.machine:q} 2> {log:q}"
        f"  # {code_of('answer_prompts')}"


rule judge_answers:
    input:
        conversations=f"{PATHS.answers('{corpus}')}/{CONVERSATIONS_FILE}",
        model=lambda w: [model.manifest for model in LAYOUT.judge_model(w.corpus)],
    output:
        manifest=manifest(PATHS.judged("{corpus}")),
        conversations=f"{PATHS.judged('{corpus}')}/{CONVERSATIONS_FILE}",
        verdicts=f"{PATHS.judged('{corpus}')}/verdicts.jsonl.gz",
    log:
        f"{RESULTS}/logs/judge_answers/{{corpus}}.log",
    wildcard_constraints:
        corpus=one_of(LAYOUT.judged),
    conda:
        lambda w: environment_file(
            getattr(LAYOUT.answers_of(w.corpus).judge, "engine", None), "generation"
        )
    resources:
        gpu=divided("judge_answers"),
    params:
        **decided(
            "judge_answers",
            lambda w: options.judge(EXPERIMENT, w.corpus),
            python=lambda w: python_of(
                getattr(LAYOUT.answers_of(w.corpus).judge, "engine", None), "generation"
            ),
            model=lambda w: [model.folder for model in LAYOUT.judge_model(w.corpus)],
        ),
        gpus=own_gpus,
        machine=machine("judge_answers"),
    shell:
        "{params.gpus:q} {params.python:q} -m revocab judge_answers"
        " --conversations {input.conversations:q} --model {params.model:q}"
        " --out {output.manifest:q}"
        " --options {params.options:q} --job {params.job:q} {params.machine:q} 2> {log:q}"
        f"  # {code_of('judge_answers')}"
