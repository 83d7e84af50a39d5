"""Checks on conversations: recipes that learn from answers, and the corpora that hold some."""

from __future__ import annotations

from collections.abc import Iterator

from revocab.chat.template import find_template
from revocab.config.corpora import holds_conversations, text_corpora
from revocab.config.lineage import trainings
from revocab.config.schema import Experiment
from revocab.demoworld.file_names import CONVERSATIONS
from revocab.errors import RevocabError
from revocab.training.recipe import ANSWERS


def check_chat(experiment: Experiment) -> Iterator[str]:
    """Yield a problem for every recipe whose corpora are not of its kind, for templates that are
    not there, for held-out text that is missing, and for conversations that the world does not
    have.
    """
    for key, named in chat_templates(experiment):
        if not under_data_root(named):
            try:
                find_template(named)
            except RevocabError as error:
                yield from (
                    f"{key}: {problem.removeprefix('chat_template: ')}"
                    for problem in error.problems
                )
    found: dict[str, None] = {}
    trained = list(dict.fromkeys(trained_on(experiment)))
    for mixture, recipe in trained:
        found |= dict.fromkeys(_mixture_problems(experiment, mixture, recipe))
    yield from found
    heldout = experiment.evaluation.heldout
    text = [recipe for _, recipe in trained if experiment.recipes[recipe].loss != ANSWERS]
    if text and heldout and not text_corpora(experiment, heldout):
        yield (
            f"evaluation.heldout: names only conversations, and recipe {text[0]!r} trains on"
            " text; name a corpus of text, too"
        )
    world = experiment.world
    for name, corpus in experiment.corpora.items():
        part = corpus.source.world or ""
        if world is not None and not world.conversations and part in CONVERSATIONS:
            yield (
                f"corpora.{name}.source.world: {part!r}, but world.conversations is 0; give"
                " their number"
            )


def chat_templates(experiment: Experiment) -> Iterator[tuple[str, str]]:
    """Yield every chat template that the parts of an experiment name, with its key."""
    for name, tokenizer in experiment.tokenizers.items():
        built, options = tokenizer.construction()
        for option, template in options.given_templates():
            yield f"tokenizers.{name}.{built}.{option}", template
    for name, recipe in experiment.recipes.items():
        if recipe.chat_template:
            yield f"recipes.{name}.chat_template", recipe.chat_template
    for name, group in experiment.runs.items():
        if group.chat and group.chat.template:
            yield f"runs.{name}.chat.template", group.chat.template
    for name, corpus in experiment.corpora.items():
        if corpus.answers and corpus.answers.chat_template:
            yield f"corpora.{name}.answers.chat_template", corpus.answers.chat_template


def under_data_root(path: str) -> bool:
    """Return whether a path names a folder that the experiment was not given."""
    return "{data_root}" in path


def trained_on(experiment: Experiment) -> Iterator[tuple[str, str]]:
    """Yield mixture and recipe of everything that is trained, each of the stages' mixtures apart;
    what is not there is left out.
    """
    for _, mixture, recipe in trainings(experiment):
        if recipe not in experiment.recipes:
            continue
        stages = experiment.recipes[recipe].stages or ()
        for named in dict.fromkeys([stage.mixture or mixture for stage in stages] or [mixture]):
            if named in experiment.mixtures:
                yield named, recipe


def _mixture_problems(experiment: Experiment, mixture: str, recipe: str) -> Iterator[str]:
    """Yield a problem for every corpus of a mixture that a recipe cannot learn from."""
    answers = experiment.recipes[recipe].loss == ANSWERS
    for corpus in experiment.mixtures[mixture]:
        if corpus not in experiment.corpora or answers == holds_conversations(experiment, corpus):
            continue
        if answers:
            yield (
                f"mixtures.{mixture}: corpus {corpus!r} holds text, and recipe {recipe!r} trains"
                f" on answers; give corpora.{corpus} a messages_field, copying or translation, or"
                " take another mixture"
            )
        else:
            yield (
                f"mixtures.{mixture}: corpus {corpus!r} holds conversations, and recipe {recipe!r} "
                f"trains on every token of text; set loss: answers in the recipe, or take another "
                "mixture"
            )
