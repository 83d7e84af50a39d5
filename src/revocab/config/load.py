"""From a YAML mapping to a validated :class:`Experiment`."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from revocab import yaml_file
from revocab.closed import problems_of, unknown
from revocab.config.checks import all_problems
from revocab.config.nulls import nothing_taken_away, without_nulls
from revocab.config.schema import Experiment
from revocab.errors import RevocabError

TASKS_FOLDER = Path("config/tasks")
#: Beside the tasks: recipes that an experiment takes by name (``from:``).
RECIPES = "recipes"
#: Keys of a recipe or stage that stand for one another: giving one replaces the others of the file.
ALTERNATIVES = (("steps", "tokens", "share"), ("warmup_steps", "warmup_share"))
#: Checked in place of a recipe whose name is not known, so that nothing is said that may be wrong:
#: every step up to a high one is a checkpoint, whatever length the file gives.
UNKNOWN_RECIPE = {"sequence_length": 8, "batch_size": 1, "learning_rate": 1e-4}
UNKNOWN_LENGTH = {"steps": 100_000, "checkpoint_every": 1}


def substitute(value: Any, data_root: str) -> Any:
    """Return ``value`` with ``{data_root}`` replaced in every string inside it."""
    if isinstance(value, str):
        return value.replace("{data_root}", data_root)
    if isinstance(value, dict):
        return {key: substitute(one, data_root) for key, one in value.items()}
    if isinstance(value, list):
        return [substitute(one, data_root) for one in value]
    return value


def validate(
    values: dict[str, Any], tasks_folder: Path = TASKS_FOLDER, files: Iterable[str | Path] = ()
) -> Experiment:
    """Return the experiment that ``values`` describe.

    ``files`` are those that the values were read from; a key that stands twice in one is a problem.
    Raises :class:`RevocabError` with every problem found: unknown keys and wrong types first; where
    the shape is right, also dangling ids, sums, impossible combinations and missing files.
    """
    root = values.get("data_root")
    if root is not None:
        values = substitute(values, str(root))
    contents = list(contents_of(files))
    wrong = [problem for _, _, repeated in contents for problem in repeated]
    wrong += nothing_taken_away((name, content) for name, content, _ in contents)
    values, problems = with_named_recipes(values, tasks_folder.parent / RECIPES)
    values, problems = without_nulls(values), wrong + problems
    try:
        experiment = Experiment.model_validate(values)
    except ValidationError as error:
        problems += problems_of(error, Experiment)
        problems += salvageable_problems(values, error, tasks_folder)
        raise RevocabError(dict.fromkeys(problems)) from None
    problems += all_problems(experiment, tasks_folder)
    if problems:
        raise RevocabError(problems)
    return experiment


def contents_of(files: Iterable[str | Path]) -> Iterator[tuple[str, Any, list[str]]]:
    """Yield name, content and a problem for each key that stands twice, of files that Snakemake has
    read.
    """
    for file in files:
        try:
            yield str(file), *yaml_file.read(Path(file))
        except (FileNotFoundError, UnicodeDecodeError, yaml.YAMLError):
            continue  # an address, or JSON that is no YAML


def with_named_recipes(values: dict[str, Any], folder: Path) -> tuple[dict[str, Any], list[str]]:
    """Return ``values`` with each recipe that says ``from: NAME`` laid over ``folder/NAME.yaml``.

    Its stages are changed by name: ``stages: {embeddings: {mixture: even}}``; a list replaces them.
    Beside it a problem for every recipe and stage that is not there.
    """
    recipes = values.get("recipes")
    if not isinstance(recipes, dict):
        return values, []
    problems, found = [], {}
    for name, recipe in recipes.items():
        found[name] = recipe
        if isinstance(recipe, dict):
            found[name], own = named_recipe(f"recipes.{name}", recipe, folder)
            problems += own
    return {**values, "recipes": found}, problems


def named_recipe(
    key: str, recipe: dict[str, Any], folder: Path
) -> tuple[dict[str, Any], list[str]]:
    """Return a recipe with what its ``from`` names, and the problems of its names.

    Names that are not there leave a recipe that can be checked for other problems.
    """
    changed = recipe.get("stages")
    by_name = changed if isinstance(changed, dict) else {}
    rest = {one: value for one, value in recipe.items() if one != "stages" or not by_name}
    if "from" not in recipe:
        if not by_name:
            return recipe, []
        return rest, [
            f"{key}.stages: stages by name change those of a named recipe, and no 'from:' is given;"
            " name one, or give a list of stages"
        ]
    source = recipe["from"]
    file = folder / f"{source}.yaml"
    if not file.is_file():
        known = ", ".join(sorted(path.stem for path in folder.glob("*.yaml"))) or "none"
        given = {one: value for one, value in rest.items() if one not in ("tokens", "share")}
        checked = laid_over(UNKNOWN_RECIPE, {**given, **UNKNOWN_LENGTH})
        return checked, [f"{key}.from: no recipe {source!r} (known: {known})"]
    base, problems = yaml_file.read(file)
    known = [stage["name"] for stage in base.get("stages", ())]
    problems += [
        unknown(f"{key}.stages", one, known, f"stage in recipe {source!r} named")
        for one in by_name
        if one not in known
    ]
    return laid_over(base, recipe if known else rest), problems


def laid_over(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Return recipe or stage ``base`` with ``changes``; see :data:`ALTERNATIVES`."""
    if isinstance(changes.get("stages"), dict):
        stages = [
            laid_over(stage, changes["stages"].get(stage["name"]) or {})
            for stage in base.get("stages", ())
        ]
        changes = {**changes, "stages": stages}
    replaced = {other for pair in ALTERNATIVES for key in pair if key in changes for other in pair}
    kept = {key: value for key, value in base.items() if key not in replaced}
    return {**kept, **{key: value for key, value in changes.items() if key != "from"}}


def salvageable_problems(
    values: dict[str, Any], error: ValidationError, tasks_folder: Path
) -> list[str]:
    """Return the problems beyond the schema, if the file is readable without unknown keys."""
    errors = error.errors(include_url=False)
    if any(one["type"] != "extra_forbidden" for one in errors):
        return []
    cleaned = copy.deepcopy(values)
    for one in errors:
        parent = cleaned
        for part in one["loc"][:-1]:
            # A discriminated union puts its tag into the location; it is no key of the file.
            parent = parent[part] if not isinstance(parent, dict) or part in parent else parent
        parent.pop(one["loc"][-1], None)
    try:
        return all_problems(Experiment.model_validate(cleaned), tasks_folder)
    except ValidationError:
        return []


def read(path: str | Path, **overrides: Any) -> Experiment:
    """Read and validate an experiment file; ``overrides`` replace top-level keys."""
    try:
        values, _ = yaml_file.read(Path(path))
    except FileNotFoundError:
        raise RevocabError(f"{path}: no such file") from None
    except yaml.YAMLError as error:
        raise RevocabError(f"{path}: not valid YAML ({error})") from None
    if not isinstance(values, dict):
        raise RevocabError(f"{path}: expected a mapping of keys, received {type(values).__name__}")
    return validate({**values, **overrides}, files=[path])
