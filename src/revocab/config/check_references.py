"""Every id that an experiment refers to, and whether there is such a thing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from revocab.closed import unknown
from revocab.config.check_answers import answer_references
from revocab.config.check_models import model_references
from revocab.config.check_probes import probe_references
from revocab.config.check_runs import run_references
from revocab.config.check_task_texts import text_references
from revocab.config.check_tokenizers import tokenizer_references
from revocab.config.schema import Experiment

#: The section that defines each kind of thing.
SECTIONS = {
    "corpus": "corpora",
    "tokenizer": "tokenizers",
    "model": "models",
    "mixture": "mixtures",
    "recipe": "recipes",
    "group": "runs",
}
#: Where an id is used, the id, and the kind of thing that it should be.
Reference = tuple[str, str, str]


def check_references(experiment: Experiment) -> Iterator[str]:
    """Yield a problem for every id that is used and not defined."""
    known = {what: getattr(experiment, section) for what, section in SECTIONS.items()}
    yield from dangling(references(experiment), known)


def dangling(used: Iterable[Reference], known: Mapping[str, Collection[str]]) -> Iterator[str]:
    """Yield a problem for every reference to what is not there.

    Kinds of things of which ``known`` has no ids are left out.
    """
    for key, value, what in used:
        if what in known and value not in known[what]:
            yield unknown(key, value, known[what], what)


def references(experiment: Experiment) -> Iterator[Reference]:
    """Yield every reference of an experiment."""
    e = experiment
    for name, mixture in e.mixtures.items():
        yield from ((f"mixtures.{name}", corpus, "corpus") for corpus in mixture)
    yield from tokenizer_references(e)
    for name, model in e.models.items():
        yield f"models.{name}.tokenizer", model.tokenizer, "tokenizer"
        if model.pretrain:
            yield f"models.{name}.pretrain.mixture", model.pretrain.mixture, "mixture"
            yield f"models.{name}.pretrain.recipe", model.pretrain.recipe, "recipe"
    yield from model_references(e)
    yield from answer_references(e)
    for name, recipe in e.recipes.items():
        for stage in recipe.stages or ():
            if stage.mixture:
                yield f"recipes.{name}.stages.{stage.name}.mixture", stage.mixture, "mixture"
    yield from run_references(e)
    yield from (("evaluation.heldout", corpus, "corpus") for corpus in e.evaluation.heldout)
    yield from probe_references(e)
    yield from text_references(e)
    if e.evaluation.efficiency:
        yield "evaluation.efficiency.corpus", e.evaluation.efficiency.corpus, "corpus"
    yield from measured_references(e)


def measured_references(experiment: Experiment) -> Iterator[Reference]:
    """Yield the references of what is measured beside the evaluation of runs."""
    e = experiment
    yield from (("fertility.corpora", corpus, "corpus") for corpus in e.fertility.corpora)
    yield from (("fertility.tokenizers", one, "tokenizer") for one in e.fertility.tokenizers)
    yield from (("roles", one, "tokenizer") for one in e.roles)
    yield from (("intersections", one, "tokenizer") for pair in e.intersections for one in pair)
    if e.auxiliary:
        yield from (("auxiliary.corpora", corpus, "corpus") for corpus in e.auxiliary.corpora)
    if e.scale:
        yield "scale.source_tokenizer", e.scale.source_tokenizer, "tokenizer"
        yield "scale.target_tokenizer", e.scale.target_tokenizer, "tokenizer"
