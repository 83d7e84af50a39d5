"""Recipes like others: of the same file, or of the literature, a YAML file each in ``recipes/``.

Dropping a file there adds one. Its keys are those of :class:`revocab.training.recipe.Recipe`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from revocab import yaml_file
from revocab.closed import Job, unknown
from revocab.command_line import Shorthand
from revocab.errors import RevocabError
from revocab.extensions import files_in
from revocab.limits import ALL_CHECKPOINTS, RUNS, BatchSize, Steps, Tokens
from revocab.training.recipe import Recipe, resolved, steps_of

FOLDER = Path(__file__).parent / "recipes"
#: Keys of a recipe or stage that stand for one another: giving one replaces the others of the file.
ALTERNATIVES = (("steps", "tokens", "share"), ("warmup_steps", "warmup_share"))
#: Checked in place of a recipe whose name is not known, so that nothing is said that may be wrong:
#: every step up to a high one is a checkpoint, whatever length the file gives.
UNKNOWN_RECIPE = {"sequence_length": 8, "batch_size": 1, "learning_rate": 1e-4}
UNKNOWN_LENGTH = {"steps": ALL_CHECKPOINTS // RUNS, "checkpoint_every": 1}


def recipe_names() -> list[str]:
    return [*files_in(FOLDER, ".yaml")]


def with_named_recipes(values: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return an experiment's values with each recipe that says ``like: NAME`` laid over that one,
    which is another of the file, or else of the package. Beside it the problems of their names.
    """
    recipes = values.get("recipes")
    if not isinstance(recipes, dict):
        return values, []
    problems: list[str] = []
    whole: dict[str, Any] = {}

    def resolve(name: str, *below: str) -> Any:
        if name in whole or not isinstance(recipes[name], dict):
            return whole.setdefault(name, recipes[name])
        key, like = f"recipes.{name}", str(recipes[name].get("like"))
        bases: dict[str, Any] = {}
        if like in below:
            problems.append(f"{key}.like: {like} is like {name}, too; name another recipe for one")
            bases[like] = None
        elif like != name and like in recipes:
            bases[like] = resolve(like, name, *below)
        whole[name], own = named_recipe(key, recipes[name], bases)
        problems.extend(own)
        return whole[name]

    return {**values, "recipes": {name: resolve(name) for name in recipes}}, problems


def named_recipe(
    key: str, recipe: dict[str, Any], bases: Mapping[str, Any] | None = None
) -> tuple[dict[str, Any], list[str]]:
    """Return a recipe with what its ``like`` names, of ``bases`` or of the package, and the
    problems of its names.

    Over one that is not there, or is wrong itself, it can be checked for other problems.
    """
    like = recipe.get("like", recipe.get("from"))  # the schema refuses "from", an old name
    if like is None:
        if not isinstance(recipe.get("stages"), dict) or not recipe["stages"]:
            return recipe, []
        return {other: value for other, value in recipe.items() if other != "stages"}, [
            f"{key}.stages: stages by name change those of a named recipe, and no 'like:' is given;"
            " name one, or give a list of stages"
        ]
    problems: list[str] = []
    if bases and str(like) in bases:
        base = bases[str(like)]
        try:
            Recipe.model_validate(base)
        except ValidationError:
            base = None  # its own problems are enough
    elif str(like) in recipe_names():
        base, problems = yaml_file.read(files_in(FOLDER, ".yaml")[str(like)])
    else:
        base, problems = None, [unknown(f"{key}.like", str(like), recipe_names(), "recipe")]
    if base is None:
        dropped = ("tokens", "share", *["stages"] * isinstance(recipe.get("stages"), dict))
        rest = {other: value for other, value in recipe.items() if other not in dropped}
        return laid_over(UNKNOWN_RECIPE, {**rest, **UNKNOWN_LENGTH}), problems
    laid, own = changed_recipe(key, base, recipe)
    return laid, [*problems, *own]


def changed_recipe(
    key: str, base: dict[str, Any], changes: dict[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Return a sound recipe with changes, those of its stages by name, and a problem for each stage
    that is not there; a list replaces them.
    """
    stages, known = changes.get("stages"), [stage["name"] for stage in base.get("stages") or ()]
    if not isinstance(stages, dict):
        return laid_over(base, changes), []
    rest = {other: value for other, value in changes.items() if other != "stages" or known}
    problems = [
        unknown(f"{key}.stages", stage, known, "stage") for stage in stages if stage not in known
    ]
    return laid_over(base, rest), problems


def in_shares(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Return recipe ``base`` with its stages' tokens as shares where ``changes`` gives a budget of
    the whole, so that the stages keep their proportions.
    """
    stages = base.get("stages", ())
    if not {"steps", "tokens"} & changes.keys() or not all("tokens" in stage for stage in stages):
        return base
    shared = [dict(stage) for stage in stages]
    total = sum(stage["tokens"] for stage in stages)
    for stage in shared:
        stage["share"] = stage.pop("tokens") / total
    return {**base, "stages": shared} if stages else base


def laid_over(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    base = in_shares(base, changes)
    if isinstance(changes.get("stages"), dict):
        stages = [
            laid_over(stage, changes["stages"].get(stage["name"], {}))
            for stage in base.get("stages", ())
        ]
        changes = {**changes, "stages": stages}
    replaced = {other for pair in ALTERNATIVES for key in pair if key in changes for other in pair}
    rest = {key: value for key, value in base.items() if key not in replaced}
    return {**rest, **{key: value for key, value in changes.items() if key != "like"}}


class NamedRecipe(Shorthand):
    """A recipe by hand, by its name; other flags change it."""

    recipe: str | None = Field(
        default=None,
        description="named recipe to start from, such as sava or lep; other flags override it",
    )

    def spelt_out(self, flags: dict[str, Any], job: type[Job]) -> dict[str, Any]:
        """Return the flags with what the recipe says of a job; ``rows`` are those of its steps.

        Raises :class:`RevocabError` for a name that there is not, and for flags that contradict.
        """
        if self.recipe is None:
            return flags
        if self.recipe not in recipe_names():
            raise RevocabError(unknown("--recipe", self.recipe, recipe_names(), "recipe"))
        # The stages of packing are others than those of a recipe.
        ours = {key: field.annotation for key, field in Recipe.model_fields.items()}
        fields = job.model_fields.items()
        shared = {key for key, field in fields if key in ours and ours[key] == field.annotation}
        changes = {key: value for key, value in flags.items() if key in shared} | self.changes()
        values, _ = named_recipe("--recipe", {**changes, "like": self.recipe})
        try:
            whole = resolved(values)
        except ValueError as error:
            raise RevocabError(f"--recipe {self.recipe}: {error}") from None
        recipe_flags = {key: value for key, value in whole.items() if key in shared}
        if "rows" in job.model_fields:
            recipe_flags["rows"] = whole["steps"] * whole["batch_size"]
        return {
            **recipe_flags,
            **{key: value for key, value in flags.items() if key not in changes},
        }

    def changes(self) -> dict[str, Any]:
        return {}


class RowBudget(NamedRecipe):
    """How long a training is, in place of the number of rows that it reads."""

    steps: Steps | None = Field(default=None, description="steps of the training")
    batch_size: BatchSize | None = Field(default=None, description="rows of a step")
    tokens: Tokens | None = Field(
        default=None, description="tokens of the training, in place of steps"
    )

    def changes(self) -> dict[str, Any]:
        return self.model_dump(exclude={"recipe"}, exclude_none=True)

    def spelt_out(self, values: dict[str, Any], job: type[Job]) -> dict[str, Any]:
        """Return the flags with the rows that the training reads.

        Raises :class:`RevocabError` for budgets that contradict, or do not say how many rows.
        """
        budget = self.changes()
        if budget and "rows" in values:
            raise RevocabError(
                "--rows: is steps times batch size; give it, or --steps and --batch-size, not both"
            )
        if self.recipe is not None or not budget:
            return super().spelt_out(values, job)
        if (self.steps is None) == (self.tokens is None) or (self.steps and not self.batch_size):
            raise RevocabError("--rows: give --steps and --batch-size, or --tokens, or --rows")
        rows = self.batch_size or 1
        if self.steps is not None:
            return {**values, "rows": self.steps * rows}
        length = str(values.get("sequence_length", ""))
        if not length.isdecimal() or not int(length):
            return values  # which the job's own check of it tells
        return {**values, "rows": steps_of(self.tokens or 0, int(length) * rows) * rows}
