"""From a YAML mapping to a validated :class:`Experiment`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from revocab import yaml_file
from revocab.closed import problems_of
from revocab.config.checks import all_problems
from revocab.config.misfits import problems_beside
from revocab.config.nulls import nothing_taken_away, without_nulls
from revocab.config.schema import Experiment
from revocab.config.written_out import with_all_runs
from revocab.errors import RevocabError
from revocab.training.named_recipes import with_named_recipes


def substitute(value: Any, data_root: str) -> Any:
    """Return ``value`` with ``{data_root}`` replaced in every string inside it."""
    if isinstance(value, str):
        return value.replace("{data_root}", data_root)
    if isinstance(value, dict):
        return {key: substitute(one, data_root) for key, one in value.items()}
    if isinstance(value, list):
        return [substitute(one, data_root) for one in value]
    return value


def validate(values: dict[str, Any], files: Iterable[str | Path] = ()) -> Experiment:
    """Return the experiment that ``values`` describe.

    ``files`` are those that the values were read from; a key that stands twice in one is a problem.
    Raises :class:`RevocabError` with every problem found: unknown keys, wrong types, dangling ids,
    shares that do not sum to 1; impossible combinations and missing files as far as the sections
    that tell them have the right shape.
    """
    root = values.get("data_root")
    if root is not None:
        values = substitute(values, str(root))
    contents = list(contents_of(files))
    wrong = [problem for _, _, repeated in contents for problem in repeated]
    wrong += several_experiments(contents, {} if root is None else {"data_root": root})
    wrong += nothing_taken_away((name, content) for name, content, _ in contents)
    values, recipe_problems = with_named_recipes(without_nulls(values))
    values, run_problems = with_all_runs(values)
    problems = [*wrong, *recipe_problems, *run_problems]
    try:
        experiment = Experiment.model_validate(values)
    except ValidationError as error:
        problems += problems_of(error, Experiment)
        problems += problems_beside(values, error)
        raise RevocabError(dict.fromkeys(problems)) from None
    problems += all_problems(experiment)
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


def several_experiments(
    contents: Sequence[tuple[str, Any, list[str]]], also: dict[str, Any]
) -> list[str]:
    """Return the problem of files of which more than the first are experiments of their own.

    An overlay, which may rename the experiment and give it other runs, is no valid
    experiment alone, even with the keys in ``also``.
    """
    whole = [contents[0][0]] if contents else []
    for file, content, _ in contents[1:]:
        if isinstance(content, dict) and {"experiment", "runs"} <= content.keys():
            try:
                validate({**content, **also})
            except RevocabError:
                continue
            whole.append(file)
    if len(whole) < 2:
        return []
    return [
        f"{' and '.join(whole)}: each is a whole experiment, and they would be mixed; give one"
        " --configfile of them, and after it only overlays"
    ]


def read(*paths: str | Path, **overrides: Any) -> Experiment:
    """Read and validate an experiment; ``overrides`` replace top-level keys.

    Of several files, each is laid over those before it, key by key, as Snakemake does.
    """
    values: dict[str, Any] = {}
    for path in paths:
        values = overlaid(values, read_values(path))
    return validate({**values, **overrides}, files=paths)


def read_values(path: str | Path) -> dict[str, Any]:
    try:
        values, _ = yaml_file.read(Path(path))
    except FileNotFoundError:
        raise RevocabError(f"{path}: no such file") from None
    except yaml.YAMLError as error:
        raise RevocabError(f"{path}: not valid YAML ({error})") from None
    if not isinstance(values, dict):
        raise RevocabError(f"{path}: expected a mapping of keys, received {type(values).__name__}")
    return values


def overlaid(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Return ``base`` with the keys of ``over``; mappings that both have are laid over, too."""
    found = dict(base)
    for key, value in over.items():
        both = isinstance(value, dict) and isinstance(base.get(key), dict)
        found[key] = overlaid(base[key], value) if both else value
    return found
