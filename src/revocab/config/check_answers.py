"""Checks on corpora that a model of the experiment answers."""

from __future__ import annotations

from collections.abc import Iterator

from revocab.answering.judge import judges
from revocab.closed import RunStep
from revocab.config.check_runs import checkpoint_problems
from revocab.config.schema import Experiment
from revocab.config.schema.data import OwnAnswers
from revocab.models.change import ModelReference


def own_answers(experiment: Experiment) -> Iterator[tuple[str, str, OwnAnswers]]:
    for name, corpus in experiment.corpora.items():
        if corpus.answers is not None:
            yield name, f"corpora.{name}.answers", corpus.answers


def named_models(given: OwnAnswers) -> Iterator[tuple[str, ModelReference]]:
    yield "model", given.model
    if given.judge_model is not None:
        yield "judge_model", given.judge_model


def check_answers(experiment: Experiment) -> Iterator[str]:
    for name, key, given in own_answers(experiment):
        if experiment.corpora[name].messages_field is None:
            yield (
                f"{key}: answers are those of conversations, and corpora.{name} holds text; give it"
                " a messages_field"
            )
        for option, one in named_models(given):
            if isinstance(one, RunStep):
                yield from checkpoint_problems(experiment, f"{key}.{option}", one)
        needs = given.judge is not None and judges()[given.judge.kind].needs_model
        if needs == (given.judge_model is None):
            kind = given.judge.kind if given.judge else "none"
            yield f"{key}.judge_model: judge {kind!r} " + (
                "needs a model; name one" if needs else "uses no model; remove it"
            )
