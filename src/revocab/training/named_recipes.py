"""Recipes that are taken by name: those of the literature, a YAML file each in ``recipes/``.

Dropping a file there adds one. Its keys are those of :class:`revocab.training.recipe.Recipe`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from revocab import yaml_file
from revocab.closed import Job, unknown
from revocab.errors import RevocabError
from revocab.extensions import files_in
from revocab.limits import ALL_CHECKPOINTS, RUNS, BatchSize, Steps, Tokens
from revocab.training.budgets import resolved, steps_of
from revocab.training.recipe import Recipe
from revocab.verb import Shorthand

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
    """Return an experiment's values with each recipe that says ``from: NAME`` laid over that one.

    Its stages are changed by name: ``stages: {embeddings: {mixture: even}}``; a list replaces them.
    Beside it a problem for every recipe and stage that is not there.
    """
    recipes = values.get("recipes")
    if not isinstance(recipes, dict):
        return values, []
    problems, resolved_recipes = [], {}
    for name, recipe in recipes.items():
        resolved_recipes[name] = recipe
        if isinstance(recipe, dict):
            resolved_recipes[name], own = named_recipe(f"recipes.{name}", recipe)
            problems += own
    return {**values, "recipes": resolved_recipes}, problems


def named_recipe(key: str, recipe: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return a recipe with what its ``from`` names, and the problems of its names.

    Names that are not there leave a recipe that can be checked for other problems.
    """
    changed = recipe.get("stages")
    by_name = changed if isinstance(changed, dict) else {}
    rest = {other: value for other, value in recipe.items() if other != "stages" or not by_name}
    if "from" not in recipe:
        if not by_name:
            return recipe, []
        return rest, [
            f"{key}.stages: stages by name change those of a named recipe, and no 'from:' is given;"
            " name one, or give a list of stages"
        ]
    source = recipe["from"]
    if source not in recipe_names():
        kept = {other: value for other, value in rest.items() if other not in ("tokens", "share")}
        checked = laid_over(UNKNOWN_RECIPE, {**kept, **UNKNOWN_LENGTH})
        return checked, [unknown(f"{key}.from", str(source), recipe_names(), "recipe")]
    base, problems = yaml_file.read(files_in(FOLDER, ".yaml")[source])
    known = [stage["name"] for stage in base.get("stages", ())]
    problems += [
        unknown(f"{key}.stages", stage, known, f"stage in recipe {source!r} named")
        for stage in by_name
        if stage not in known
    ]
    return laid_over(base, recipe if known else rest), problems


def in_shares(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Return recipe ``base`` with its stages' tokens as shares where ``changes`` gives a budget of
    the whole, so that the stages keep their proportions.
    """
    stages = base.get("stages", ())
    if not {"steps", "tokens"} & changes.keys() or not all("tokens" in stage for stage in stages):
        return base
    total = sum(stage["tokens"] for stage in stages)
    shared = [
        {**{key: value for key, value in stage.items() if key != "tokens"},
         "share": stage["tokens"] / total}
        for stage in stages
    ]  # fmt: skip
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
    kept = {key: value for key, value in base.items() if key not in replaced}
    return {**kept, **{key: value for key, value in changes.items() if key != "from"}}


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
        values, _ = named_recipe("--recipe", {**changes, "from": self.recipe})
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
        asked = self.changes()
        if asked and "rows" in values:
            raise RevocabError(
                "--rows: is steps times batch size; give it, or --steps and --batch-size, not both"
            )
        if self.recipe is not None or not asked:
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
