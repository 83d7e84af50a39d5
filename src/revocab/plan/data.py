"""Text, tokenizers, and what vocabularies share."""

from __future__ import annotations

from revocab.answering.options import (
    CONVERSATIONS,
    MESSAGES,
    AnswerJob,
    AnswerOptions,
    JudgeJob,
)
from revocab.config.pairs import compared_pairs
from revocab.corpora.prepare import CorpusJob, CorpusOptions
from revocab.corpora.source import Form
from revocab.demoworld.build import WorldJob
from revocab.fertility.measure import FertilityJob, FertilityOptions
from revocab.intersection.intersect import IntersectionJob
from revocab.plan.evaluation import chat_template
from revocab.plan.plan import Plan
from revocab.plan.step import Artefact, Given, Step
from revocab.tokenizer_building.construction import TokenizerJob


def build_demoworld(plan: Plan) -> Step:
    """Return the job that makes the demo's text."""
    given = plan.experiment.world
    assert given is not None  # or nothing would ask for the job
    return Step("build_demoworld", plan.paths.world, WorldJob(**given.model_dump()))


def prepare_corpus(plan: Plan, corpus: str) -> Step:
    """Return the job of one corpus; one that a model answers is made of its conversations."""
    given = plan.experiment.corpora[corpus]
    options = given.model_dump(include=set(CorpusOptions.model_fields))
    form, files = given.source.form, plan.source(given.source)
    if given.answers is not None:
        judged = given.answers.judge is not None
        folder = plan.paths.judged(corpus) if judged else plan.paths.answers(corpus)
        form, files = Form(), [Artefact.file(f"{folder}/{CONVERSATIONS}")]
        options["messages_field"] = MESSAGES
    job = CorpusJob(corpus=corpus, source=form, **options)
    return Step("prepare_corpus", plan.paths.corpus(corpus), job, {"files": files})


def answer_prompts(plan: Plan, corpus: str) -> Step:
    """Return the job that lets a model answer the questions of a corpus."""
    given = plan.experiment.corpora[corpus]
    answers = given.answers
    assert answers is not None and given.messages_field is not None  # else nothing asks for it
    options = answers.model_dump(include=set(AnswerOptions.model_fields))
    job = AnswerJob(source=given.source.form, messages_field=given.messages_field, **options)
    inputs: dict[str, Given] = {
        "model": plan.referred(answers.model),
        "files": plan.source(given.source),
        "chat_template": chat_template(answers.chat_template),
    }
    return Step("answer_prompts", plan.paths.answers(corpus), job, inputs)


def judge_answers(plan: Plan, corpus: str) -> Step:
    """Return the job that judges a model's answers."""
    answers = plan.experiment.corpora[corpus].answers
    assert answers is not None and answers.judge is not None  # else nothing asks for it
    job = JudgeJob(kind=answers.judge.kind, option=answers.judge.given())
    inputs: dict[str, Given] = {
        "conversations": Artefact.file(f"{plan.paths.answers(corpus)}/{CONVERSATIONS}"),
        "model": plan.referred(answers.judge_model) if answers.judge_model else None,
    }
    return Step("judge_answers", plan.paths.judged(corpus), job, inputs)


def build_tokenizer(plan: Plan, tokenizer: str) -> Step:
    """Return the job of one tokenizer."""
    construction, given = plan.experiment.tokenizers[tokenizer].construction()
    inputs: dict[str, Given] = {
        option: plan.corpora(mixture) for option, mixture in given.given_mixtures()
    }
    inputs |= {option: plan.tokenizer(other) for option, other in given.given_tokenizers()}
    # A folder may lie outside the workflow: nothing waits for it.
    inputs |= {option: Artefact(path, ()) for option, path in given.given_folders()}
    inputs |= {option: chat_template(named) for option, named in given.given_templates()}
    job = TokenizerJob(construction=construction, option=given.given())
    return Step("build_tokenizer", plan.paths.tokenizer(tokenizer), job, inputs)


def measure_fertility(plan: Plan) -> Step:
    """Return the job of the report on tokenizers."""
    given = plan.experiment.fertility
    options = given.model_dump(include=set(FertilityOptions.model_fields))
    parallel = given.parallel
    job = FertilityJob(
        **options,
        parallel=parallel.source.form if parallel else None,
        languages=parallel.languages if parallel else [],
    )
    inputs: dict[str, Given] = {
        "tokenizers": {one: plan.tokenizer(one) for one in given.tokenizers},
        "corpora": plan.corpora(given.corpora),
        "parallel_files": plan.source(parallel.source) if parallel else [],
    }
    return Step("measure_fertility", plan.paths.fertility, job, inputs)


def intersect_vocabularies(plan: Plan, source: str, target: str) -> Step:
    """Return the job of one pair of tokenizers."""
    compared = compared_pairs(plan.experiment, plan.runs.values())
    identity = {"identity": compared[pair]} if (pair := (source, target)) in compared else {}
    roles = plan.experiment.roles
    job = IntersectionJob(
        **identity, source_roles=roles.get(source, {}), target_roles=roles.get(target, {})
    )
    inputs: dict[str, Given] = {"source": plan.tokenizer(source), "target": plan.tokenizer(target)}
    return Step("intersect_vocabularies", plan.paths.intersection(source, target), job, inputs)
