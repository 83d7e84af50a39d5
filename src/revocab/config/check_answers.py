"""Checks on corpora that a model of the experiment answers: what they need, and that this ends."""

from __future__ import annotations

from collections.abc import Iterator

from revocab.answering.judge import judges
from revocab.closed import RunStep
from revocab.config.check_models import changed_models, node, read_by
from revocab.config.check_runs import checkpoint_problems
from revocab.config.lineage import first_cycle, method_runs, run_ids, scored_as_they_are
from revocab.config.schema import Experiment
from revocab.config.schema.data import OwnAnswers
from revocab.models.change import ModelReference


def own_answers(experiment: Experiment) -> Iterator[tuple[str, str, OwnAnswers]]:
    """Yield id, key and options of every corpus that a model answers."""
    for name, corpus in experiment.corpora.items():
        if corpus.answers is not None:
            yield name, f"corpora.{name}.answers", corpus.answers


def named_models(given: OwnAnswers) -> Iterator[tuple[str, ModelReference]]:
    """Yield key and value of the models that answer and judge."""
    yield "model", given.model
    if given.judge_model is not None:
        yield "judge_model", given.judge_model


def answer_references(experiment: Experiment) -> Iterator[tuple[str, str, str]]:
    """Yield the (key, id, kind of thing) that answered corpora refer to, but for runs."""
    for _, key, given in own_answers(experiment):
        for option, one in named_models(given):
            if isinstance(one, str):
                yield f"{key}.{option}", one, "model"


def check_answers(experiment: Experiment) -> Iterator[str]:
    """Yield a problem for every answered corpus that lacks something, or is read by its model."""
    known, reads = run_ids(experiment), corpora_read(experiment)
    for name, key, given in own_answers(experiment):
        if experiment.corpora[name].messages_field is None:
            yield (
                f"{key}: answers are those of conversations, and corpora.{name} holds text; give it"
                " a messages_field"
            )
        for option, one in named_models(given):
            if isinstance(one, RunStep):
                yield from checkpoint_problems(experiment, f"{key}.{option}", one, known)
        needs = given.judge is not None and judges()[given.judge.kind].needs_model
        if needs == (given.judge_model is None):
            kind = given.judge.kind if given.judge else "none"
            yield f"{key}.judge_model: judge {kind!r} " + (
                "needs a model; name one" if needs else "uses no model; remove it"
            )
        path = first_cycle(reads, corpus_node(name))
        if path:
            yield (
                f"{key}: answered by what is trained on it ({' reads '.join(path)}); take another"
                " model, or train on another corpus"
            )


def corpus_node(corpus: str) -> str:
    """Return what stands for a corpus among models and runs (ids hold no space)."""
    return f"corpus {corpus}"


def corpora_read(experiment: Experiment) -> dict[str, list[str]]:
    """Return what corpora, tokenizers, models and runs are made from, as :func:`node` has it."""
    e = experiment
    found = {
        corpus_node(name): [node(one) for _, one in named_models(given)]
        for name, _, given in own_answers(e)
    }
    tokenizers = {name: tokenizer.construction()[1] for name, tokenizer in e.tokenizers.items()}
    for name, options in tokenizers.items():
        mixtures = [mixture for _, mixture in options.given_mixtures()]
        found[f"tokenizer {name}"] = [corpus_node(one) for mixture in mixtures for one in mixture]
        found[f"tokenizer {name}"] += [f"tokenizer {one}" for _, one in options.given_tokenizers()]
    changed = {name: given for name, _, given in changed_models(e)}
    for name, model in e.models.items():
        found[name] = [f"tokenizer {model.tokenizer}"]
        if name in changed:
            found[name] += [node(one) for _, one in changed[name].references()]
        if model.pretrain:
            found[name] += trained_on(e, model.pretrain.mixture, model.pretrain.recipe)
    for run, source in scored_as_they_are(e).items():
        found[f"run {run}"] = [source]
    for run, (group, name) in method_runs(e).items():
        mixture, recipe = (group.setting(name, key) for key in ("mixture", "recipe"))
        target = group.setting(name, "target")
        found[f"run {run}"] = [*read_by(group, name), *([f"tokenizer {target}"] if target else [])]
        found[f"run {run}"] += trained_on(e, mixture, recipe)
    return found


def trained_on(experiment: Experiment, mixture: str | None, recipe: str | None) -> list[str]:
    """Return the corpora of a training; none where what is named is not there."""
    given = experiment.recipes.get(recipe or "")
    stages = [stage.mixture or mixture for stage in (given and given.stages) or ()] or [mixture]
    mixtures = [experiment.mixtures.get(one or "", {}) for one in stages] if given else []
    return [corpus_node(corpus) for one in mixtures for corpus in one]
