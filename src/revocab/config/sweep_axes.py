"""What the axes of a sweep set: which keys, what is wrong with a value, and what it makes of a
recipe or mixture.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from pydantic import ValidationError

from revocab.closed import near, problems_of, unknown
from revocab.config.raw_runs import RawRun
from revocab.config.schema.runs import RunMethod
from revocab.initialise.method import Method, methods
from revocab.training.named_recipes import laid_over
from revocab.training.recipe import PackingOptions, Recipe, Stage

#: Keys of a run that an axis may set, beside its method's options; and where their ids are defined.
RUN_KEYS = ("method", "target", "helper", "mixture", "recipe", "start", "donor")
SECTIONS = {"target": "tokenizers", "helper": "models", "mixture": "mixtures", "recipe": "recipes"}
#: Options of a recipe, and of its stages, that decide which rows are packed.
ROWS = {*PackingOptions.model_fields, "batch_size", "steps", "tokens"}
STAGE_ROWS = {"steps", "tokens", "share", "mixture"}
STAGES = "stages"


@dataclass(frozen=True)
class Setting:
    """One value of one axis, as a run of a sweep has it."""

    #: Where the file has the axis.
    key: str
    #: What it sets: a key of a run, ``recipe`` or ``mixture``, and what of that.
    what: str
    inside: str
    name: str
    value: Any

    @property
    def place(self) -> str:
        """Where the file has the value."""
        return f"{self.key}.values.{self.name}"

    @property
    def decides_rows(self) -> bool:
        """Whether the option of a recipe decides which rows are packed."""
        first, *rest = self.inside.split(".")
        return rest[-1] in STAGE_ROWS if first == STAGES and rest else first in ROWS


def method_of(run: RawRun, settings: list[Setting]) -> Method | None:
    """Return the method of a run of a sweep."""
    said = next((one.value for one in settings if one.what == "method"), None)
    return methods().get(str(said or run.entry.get("method", run.name)))


def axis_problems(run: RawRun, setting: Setting, method: Method | None) -> Iterator[str]:
    """Yield a problem if an axis sets what a run has not, or what it says itself."""
    key, what, inside = f"{setting.key}.set", setting.what, setting.inside
    if inside and what == "recipe":
        yield from _option_problems(key, inside.split("."))
    elif inside and what == "mixture":
        return  # mixture_problems
    elif what == "seed":
        yield f"{key}: 'seed' cannot be an axis; give 'seeds: [1, 2, 3]' next to the sweep"
    elif inside or (method is not None and what not in {*RUN_KEYS, *method.options.model_fields}):
        options = sorted(method.options.model_fields) if method else []
        allowed = [*RUN_KEYS, *options, "recipe.<option>", "mixture.<corpus>"]
        given = f"{what}.{inside}".rstrip(".")
        yield (
            f"{key}: {given!r} cannot be set by a sweep (allowed: {', '.join(allowed)})"
            f"{near(given, allowed)}"
        )
    elif what in run.entry:
        yield f"{run.key}.{what}: given here, and {setting.key} sets it; remove one of them"


def _option_problems(key: str, path: list[str]) -> Iterator[str]:
    """Yield a problem for an option that no recipe or stage has."""
    stage = path[0] == STAGES
    known = {*(Stage if stage else Recipe).model_fields} - {STAGES, "name"}
    if len(path) != (3 if stage else 1):
        yield (
            f"{key}: {'.'.join(path)!r} is not an option of a recipe; give recipe.<option> or "
            "recipe.stages.<name>.<option>"
        )
    elif path[-1] not in known:
        yield unknown(key, path[-1], known, "option of a stage" if stage else "option of a recipe")


def value_problems(
    run: RawRun, setting: Setting, method: Method | None, values: Mapping[str, Any]
) -> Iterator[str]:
    """Yield a problem if a key of a run, or an option of its method, cannot have a value."""
    what, place = setting.what, setting.place
    if what in SECTIONS:
        known = values.get(SECTIONS[what]) or {}
        if setting.value not in list(known):
            kind = SECTIONS[what].removesuffix("s")
            yield unknown(place, str(setting.value), list(known), kind)
    elif what == "method":
        known = {name: one for name, one in methods().items() if one.trains}
        if setting.value not in list(known):
            yield unknown(place, str(setting.value), known, "method")
    elif what in RUN_KEYS:
        yield from _refused(RunMethod, {what: setting.value}, place)
    elif method is not None:
        own = {k: v for k, v in run.entry.items() if k in method.options.model_fields}
        if not [*_refused(method.options, own, place)]:
            yield from _refused(method.options, {**own, what: setting.value}, place)


def _refused(model: Any, given: dict[str, Any], place: str) -> Iterator[str]:
    """Yield the problems of values for a model."""
    try:
        model.model_validate(given)
    except ValidationError as error:
        yield from problems_of(error, model, place)


# Recipes ------------------------------------------------------------------------------------------


def is_recipe(values: dict[str, Any]) -> bool:
    """Return whether these are the values of a recipe."""
    return not [*recipe_refusals(values, "")]


def recipe_refusals(values: dict[str, Any], place: str) -> Iterator[str]:
    """Yield the problems of the values of a recipe."""
    yield from _refused(Recipe, values, place)


def recipe_with(recipe: dict[str, Any], settings: list[Setting]) -> dict[str, Any]:
    """Return a recipe with options of its own and of its stages."""
    for one in settings:
        first, *rest = one.inside.split(".")
        changes = {STAGES: {rest[0]: {rest[1]: one.value}}} if rest else {first: one.value}
        recipe = laid_over(recipe, changes)
    return recipe


def recipe_problems(recipe: dict[str, Any], setting: Setting) -> Iterator[str]:
    """Yield a problem if an option of a recipe that is right cannot have a value."""
    stage = setting.inside.split(".")[1:2]
    names = [one["name"] for one in recipe.get(STAGES) or ()]
    if stage and stage[0] not in names:
        yield unknown(f"{setting.key}.set", stage[0], names, "stage")
    else:
        yield from recipe_refusals(recipe_with(recipe, [setting]), setting.place)


# Mixtures -----------------------------------------------------------------------------------------


def mixture_with(mixture: Mapping[str, Any], settings: list[Setting]) -> dict[str, Any]:
    """Return a mixture with other shares; corpora that none is given for keep their proportions.

    Shares are taken as the decimal fractions that they are written as: a tenth stays a tenth.
    """
    chosen = {one.inside: exact(one.value) for one in settings}
    fixed = {name: exact(one) for name, one in mixture.items() if one != "size"}
    rest = {name: share for name, share in fixed.items() if name not in chosen}
    before = 1 - sum(share for name, share in fixed.items() if name in chosen)
    after = 1 - sum(chosen.values())
    shares = {**{name: share * after / before for name, share in rest.items()}, **chosen}
    return {name: float(shares[name]) if name in shares else one for name, one in mixture.items()}


def mixture_problems(identifier: str, shares: dict[str, Any], setting: Setting) -> Iterator[str]:
    """Yield a problem if a corpus of a mixture cannot have a share."""
    corpus, share = setting.inside, setting.value
    if corpus not in shares:
        yield unknown(f"{setting.key}.set", corpus, list(shares), f"corpus in {identifier!r}")
    elif not _is_share(shares[corpus]) or len(shares) == 1:
        yield (
            f"{setting.key}.set: {corpus!r} has {shares[corpus]!r} of mixture {identifier!r}; give "
            "it a share below 1 there, so that the other corpora have the rest"
        )
    elif not _is_share(share) or share >= 1:
        yield f"{setting.place}: give a share above 0 and below 1, received {share!r}"


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1


def exact(share: float) -> Fraction:
    """Return a share as the decimal fraction that it is written as."""
    return Fraction(str(share))


# Tokens held constant -----------------------------------------------------------------------------


def held_steps(tokens: int, share: float, per_step: int) -> int:
    """Return the steps after which a corpus with a share of all tokens has given ``tokens``."""
    return math.ceil(tokens / exact(share) / per_step)


def hold_problems(
    key: str, corpus: str, identifier: str, mixture: dict[str, Any], recipe: dict[str, Any]
) -> Iterator[str]:
    """Yield what forbids to hold the tokens of a corpus constant."""
    if corpus not in mixture:
        yield unknown(key, corpus, list(mixture), f"corpus in {identifier!r}")
    elif not _is_share(mixture[corpus]):
        yield f"{key}: mixture {identifier!r} says {mixture[corpus]!r} for its share; give a number"
    stages = recipe.get(STAGES) or ()
    # Tokens of all stages are shared out over other steps in proportion; of some, they contradict.
    budgets = ("steps",) if all("tokens" in one for one in stages) else ("steps", "tokens")
    for stage in stages:
        own = [key for key in (*budgets, "mixture") if stage.get(key) is not None]
        if own:
            yield (
                f"{key}: stage {stage['name']!r} of the recipe has its own {' and '.join(own)}; "
                "give stages shares of the steps, and one mixture"
            )
