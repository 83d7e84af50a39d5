"""Models to start from: fetched, built, made of others, and given new embeddings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from revocab.config.expand import Run
from revocab.initialise.options import InitJob
from revocab.initialise.reading.fasttext import AuxiliaryJob, FastTextOptions
from revocab.initialise.reading.token_vectors import vector_files
from revocab.models.change import ChangeJob, reference_name
from revocab.models.fetch import FetchJob
from revocab.models.parameters import StandInJob
from revocab.plan.plan import Plan
from revocab.plan.step import Artefact, Given, Step


def fetch_model(plan: Plan, model: str) -> Step:
    """Return the job that brings a model here."""
    given = plan.experiment.models[model]
    path = Artefact(given.path, ()) if given.path else None
    job = FetchJob(hub=given.hub, revision=given.revision)
    return Step("fetch_model", f"{plan.paths.model(model)}/snapshot", job, {"path": path})


def build_stand_in(plan: Plan, model: str) -> Step:
    """Return the job that makes a random model of a shape."""
    given = plan.experiment.models[model]
    assert given.pretrain is not None  # a stand-in
    job = StandInJob(
        **given.pretrain.architecture.model_dump(),
        context_length=given.pretrain.context_length,
        seed=plan.experiment.seed,
    )
    inputs: dict[str, Given] = {"tokenizer": plan.tokenizer(given.tokenizer)}
    return Step("build_stand_in", f"{plan.paths.model(model)}/untrained", job, inputs)


def change_model(plan: Plan, model: str) -> Step:
    """Return the job that makes a model of others."""
    found = plan.experiment.models[model].change()
    assert found is not None  # the rule is for such models
    change, given = found
    others = {reference_name(one): plan.referred(one) for _, one in given.given_models()}
    job = ChangeJob(change=change, option=given.given())
    inputs: dict[str, Given] = {"model": plan.referred(given.model), "others": others}
    return Step("change_model", plan.paths.model(model), job, inputs)


def train_auxiliary(plan: Plan, target: str) -> Step:
    """Return the job that trains a target vocabulary's fastText vectors."""
    given = plan.experiment.auxiliary
    assert given is not None  # a run asks for it
    runs = [run for run in plan.runs.values() if run.auxiliary and run.target == target]
    sources = sorted({run.source_tokenizer for run in runs})
    options = given.model_dump(include=set(FastTextOptions.model_fields))
    inputs: dict[str, Given] = {
        "target_tokenizer": plan.tokenizer(target),
        "source_tokenizers": [plan.tokenizer(one) for one in sources],
        "corpora": plan.corpora(given.corpora),
    }
    job = AuxiliaryJob(**options, seed=plan.experiment.seed)
    return Step("train_auxiliary", plan.paths.auxiliary(target), job, inputs)


def init_embeddings(plan: Plan, run: str) -> Step:
    """Return the job that gives a run's source model its new rows."""
    given = plan.runs[run]
    inputs: dict[str, Given] = {"source": plan.origin(given)}
    # The source's own tokenizer folder decides only where the vocabulary is kept.
    decided: dict[str, Any] = {}
    if not given.keeps_vocabulary:
        decided = {"identity": given.identity, "languages": _languages(plan, given)}
        inputs["target_tokenizer"] = plan.tokenizer(given.target)
        inputs["pairs"] = plan.folder(plan.paths.intersection(given.source_tokenizer, given.target))
    if given.helper:
        inputs["helper"] = plan.model(given.helper)
        inputs["helper_pairs"] = plan.helper_pairs(given.helper, given.target)
    if given.donor:
        inputs["adapted"] = plan.other(given.donor)
        inputs["base"] = plan.root(given.donor[0])
    if given.auxiliary:
        inputs["auxiliary"] = plan.folder(plan.paths.auxiliary(given.target))
    if given.vectors:
        inputs["auxiliary"] = _vectors(plan)
    job = InitJob(method=given.method, option=given.options, seed=given.seed, **decided)
    return Step("init_embeddings", f"{plan.paths.run(run)}/init", job, inputs)


def _vectors(plan: Plan) -> Artefact:
    """Return the experiment's file of vectors by token text, with the texts if they are apart."""
    given = plan.experiment.auxiliary
    assert given is not None and given.vectors is not None  # a run asks for it
    return Artefact(given.vectors, tuple(map(str, vector_files(Path(given.vectors)))))


def _languages(plan: Plan, run: Run) -> list[str]:
    """Return the languages that a run learns, each once, in the order of its mixtures."""
    named = [*run.stage_mixtures.values()] or filter(None, [run.mixture])
    mixtures = [plan.experiment.mixtures[one] for one in named]
    corpora = [plan.experiment.corpora[corpus] for mixture in mixtures for corpus in mixture]
    return list(dict.fromkeys(corpus.language for corpus in corpora))
