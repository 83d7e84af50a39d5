"""Text, tokenizers, and what vocabularies share."""

from __future__ import annotations

from revocab.config.pairs import compared_pairs
from revocab.corpora.prepare import CorpusJob, CorpusOptions
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
    assert given is not None  # else nothing asks for the job
    return Step("build_demoworld", plan.paths.world, WorldJob(**given.model_dump()))


def prepare_corpus(plan: Plan, corpus: str) -> Step:
    """Return the job of one corpus."""
    given = plan.experiment.corpora[corpus]
    options = given.model_dump(include=set(CorpusOptions.model_fields))
    job = CorpusJob(corpus=corpus, source=given.source.form, **options)
    return Step(
        "prepare_corpus", plan.paths.corpus(corpus), job, {"files": plan.source(given.source)}
    )


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
