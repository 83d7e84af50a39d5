"""The experiment file of `revocab probe`: starts and ways on, beside the old vocabulary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from revocab.adapting.choices import TOGETHER, Choices, Way
from revocab.adapting.experiment_file import (
    STAND_IN_RECIPE,
    TOKENIZERS,
    Asked,
    block,
    flow,
    group_of,
    head,
    languages_of,
    measured_lines,
    model_lines,
    recipe_of,
)
from revocab.languages import language_label

FILE, GROUP = "probe.yaml", "probed"
#: The run that goes on with the old vocabulary.
UNCHANGED = "unchanged"
#: Held-out losses in a training besides the one before it.
POINTS = 4
#: Where all are compared: after as many operations.
EQUAL = "equal-flops"
ORDERS = "orders"


@dataclass(frozen=True)
class Start:
    """A start with a way on, and the name of its run."""

    name: str
    method: str
    way: Way


def starts(methods: Sequence[str], ways: Sequence[Way]) -> list[Start]:
    """Return what is probed: every method in the first way, and the first method in all of them."""
    made = [(method, ways[0]) for method in methods] + [(methods[0], way) for way in ways[1:]]
    return [
        Start(method if way == TOGETHER else f"{method}-{way}", method, way)
        for method, way in dict.fromkeys(made)
    ]


def ranking_id(language: str) -> str:
    return f"ranking-{language}"


def rounded(choices: Choices) -> Choices:
    """Return the same with a number of steps that the held-out losses divide evenly."""
    return replace(choices, steps=-(-choices.steps // POINTS) * POINTS)


def probe_text(asked: Asked, probed: Sequence[Start], seeds: int) -> str:
    """Return the file; ``asked.choices`` are those of one training, :func:`rounded`."""
    lines = [
        *head(asked, ": starts and ways on for"),
        *_recipes(asked, probed, seeds),
        *model_lines(asked),
        *_runs(asked, probed, seeds),
        *measured_lines(languages_of(asked)),
        *_shown(asked, probed),
    ]
    return "\n".join(lines) + "\n"


def recipe_id(way: Way) -> str:
    return f"probe-{way}"


def _recipes(asked: Asked, probed: Sequence[Start], seeds: int) -> Iterator[str]:
    choices = asked.choices
    trainings, tokens = (len(probed) + 1) * seeds, choices.trained_tokens
    yield f"\n# {trainings} trainings of {tokens:,} tokens each; {choices.minutes:.1f} minutes"
    yield "# or so. The rate is constant after the warm-up: the loss at a step is that of a"
    yield "# training that ends there, so that curves may be compared after as many operations."
    yield "recipes:"
    for way in dict.fromkeys([TOGETHER, *(start.way for start in probed)]):
        recipe = {
            **recipe_of(choices, way),
            "schedule": "constant",
            "checkpoint_every": choices.steps,
            "heldout_every": choices.steps // POINTS,
            "keep": "last",
        }
        yield from block(recipe_id(way), recipe)
    if asked.place is None:
        yield f"  stand-in: {flow(STAND_IN_RECIPE)}"


def _runs(asked: Asked, probed: Sequence[Start], seeds: int) -> Iterator[str]:
    yield "\nruns:"
    group = {**group_of(asked, recipe_id(TOGETHER)), "seeds": [*range(1, seeds + 1)]}
    yield from block(GROUP, group)
    yield "    methods:"
    yield "      # As long with the old vocabulary: what all are compared with."
    yield f"      {UNCHANGED}: {flow({'method': 'lapt', 'evaluate': False})}"
    for start in probed:
        run: dict[str, Any] = {"evaluate": False}
        if start.name != start.method:
            run |= {"method": start.method, "recipe": recipe_id(start.way)}
        yield f"      {start.name}: {flow(run)}"


def _shown(asked: Asked, probed: Sequence[Start]) -> Iterator[str]:
    half = asked.choices.steps // POINTS * (POINTS // 2)
    names = [start.name for start in probed]
    yield "\ntables:"
    for language in languages_of(asked):
        ranking = {
            "kind": "ranking",
            "title": f"{language_label(language)}: held-out bits per byte",
            "groups": {GROUP: language},
            "reference": UNCHANGED,
            "points": [0, half, "last", "equal-text", EQUAL],
            "differences": ["equal-text", EQUAL],
            "rank_by": EQUAL,
        }
        yield from block(ranking_id(language), ranking)
    if len(names) > 1:
        orders = {
            "kind": "rank_correlation",
            "title": "What the order at an earlier step says of that at the end",
            "groups": {GROUP: asked.choices.texts[0].language},
            "methods": names,
            "steps": [0, half],
        }
        yield from block(ORDERS, orders)
    yield f"  tokenizers: {flow(TOKENIZERS)}"
    yield "figures:"
    for language in languages_of(asked):
        heldout = {
            "kind": "heldout",
            "title": f"Held-out loss: {language_label(language)}",
            "languages": [language],
            "over": "flops",
            "reference": f"{GROUP}-{UNCHANGED}",
            "runs": [f"{GROUP}-{name}" for name in (UNCHANGED, *names)],
        }
        yield f"  heldout-{language}: {flow(heldout)}"
