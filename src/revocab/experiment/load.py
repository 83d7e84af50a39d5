"""From a YAML mapping to a validated :class:`Experiment`.

Null means an option's default, or that a thing goes away: an overlay takes away what an earlier
file gives (``runs: {llama: null}``, ``evaluation: {generation: null}``). Only ``recipe`` and
``for`` of a run say something themselves: not that of its group.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import reduce
from pathlib import Path
from typing import Any, get_origin

import yaml
from pydantic import ValidationError

from revocab import extensions, yaml_file
from revocab.closed import checked, located, nearest, problems_of
from revocab.errors import RevocabError
from revocab.experiment.checks import check
from revocab.experiment.schema import Experiment
from revocab.experiment.written_out import WrittenOut, as_in_file
from revocab.training.named_recipes import with_named_recipes

#: Keys of a group or run of which null is a value.
SAID = ("recipe", "for")


def substitute(value: Any, data_root: str) -> Any:
    if isinstance(value, str):
        return value.replace("{data_root}", data_root)
    if isinstance(value, dict):
        return {key: substitute(inner, data_root) for key, inner in value.items()}
    if isinstance(value, list):
        return [substitute(inner, data_root) for inner in value]
    return value


def validate(values: dict[str, Any], files: Iterable[str | Path] = ()) -> Experiment:
    """Return the experiment that ``values`` describe.

    ``files`` are those that the values were read from; a key that stands twice in one is a problem.
    Raises :class:`RevocabError` with every problem found: unknown keys, wrong types; of a file that
    has the right shape dangling ids, shares that do not sum to 1, impossible combinations, missing
    files.
    """
    root = values.get("data_root")
    if root is not None:
        values = substitute(values, str(root))
    contents: list[tuple[str, Any, list[str]]] = []
    for file in files:
        with suppress(FileNotFoundError, UnicodeDecodeError, yaml.YAMLError):  # an address, JSON
            contents.append((str(file), *yaml_file.read(Path(file))))
    wrong = [problem for _, _, repeated in contents for problem in repeated]
    wrong += extensions.problems(values.get("extensions"))
    wrong += several_experiments(contents, {} if root is None else {"data_root": root})
    wrong += nothing_taken_away((name, content) for name, content, _ in contents)
    values, recipe_problems = with_named_recipes(without_nulls(values))
    wrong += recipe_problems
    try:
        experiment = Experiment.model_validate(values)
    except ValidationError as error:
        wrong += problems_of(error, Experiment)
        rest = without_unknown_keys(values, error)
        if rest is None:
            raise RevocabError(wrong) from None
        experiment = rest
    written = WrittenOut(experiment, values.get("recipes") or {})
    known = dict.fromkeys([*wrong, *written.problems])
    problems = [*known, *as_in_file(check(written.result), written)]
    if problems:
        raise RevocabError(problems)
    return written.result


def without_unknown_keys(values: dict[str, Any], error: ValidationError) -> Experiment | None:
    """Return the rest of a file in which nothing but unknown keys is wrong, and none of them is
    like a known one; None for others, of which checks would tell what only follows from that.
    """
    rest = copy.deepcopy(values)
    for fault in error.errors(include_url=False):
        *way, last = located(Experiment, fault["loc"])[0]
        there: Any = located(Experiment, fault["loc"][:-1])[1]
        known = getattr(there, "model_fields", ())
        if fault["type"] != "extra_forbidden" or nearest(last, known):
            return None
        inner: Any = rest
        for key in way:
            inner = inner[int(key) if isinstance(inner, list) else key]
        del inner[last]
    try:
        return Experiment.model_validate(rest)
    except ValidationError:  # what an unknown key is there for is missing without it
        return None


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
    return validate({**laid_over(paths), **overrides}, files=paths)


def as_stated(values: dict[str, Any]) -> Experiment:
    """Return the experiment of values whose ids, and files that they name, are not checked.

    Raises :class:`RevocabError` on what has the wrong shape; a page about a file needs no data.
    """
    values, problems = with_named_recipes(without_nulls(values))
    written = WrittenOut(checked(Experiment, values), values.get("recipes") or {})
    if problems := [*problems, *written.problems]:
        raise RevocabError(problems)
    return written.result


def read_values(path: str | Path) -> dict[str, Any]:
    """Return what an experiment file or overlay says.

    Raises :class:`RevocabError` for what is no file, no UTF-8, no YAML (with the line) or no
    mapping.
    """
    try:
        values, _ = yaml_file.read(Path(path))
    except FileNotFoundError:
        raise RevocabError(f"{path}: no such file") from None
    except OSError as error:
        raise RevocabError(f"{path}: cannot be read as a file ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise RevocabError(
            f"{path}: not UTF-8 text (byte {error.start}); save it as UTF-8"
        ) from None
    except yaml.YAMLError as error:
        raise RevocabError(f"{path}{yaml_file.fault(error)}") from None
    if not isinstance(values, dict):
        raise RevocabError(f"{path}: expected a mapping of keys, received {type(values).__name__}")
    return values


def laid_over(paths: Iterable[str | Path]) -> dict[str, Any]:
    return reduce(overlaid, map(read_values, paths), {})


def overlaid(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    laid = dict(base)
    for key, value in over.items():
        both = isinstance(value, dict) and isinstance(base.get(key), dict)
        laid[key] = overlaid(base[key], value) if both else value
    return laid


def without_nulls(values: Any, *path: str) -> Any:
    """Return ``values`` without the keys that are null, but for :data:`SAID` of runs."""
    if isinstance(values, list):
        return [without_nulls(value, *path) for value in values]
    if not isinstance(values, dict):
        return values
    return {
        key: without_nulls(value, *path, str(key))
        for key, value in values.items()
        if value is not None or (path[:1] == ("runs",) and key in SAID)
    }


def nothing_taken_away(files: Iterable[tuple[str, Any]]) -> Iterator[str]:
    """Yield a problem for every thing under an id that a file takes away and no file before it
    gives.

    ``files`` are names and contents in the order in which they are laid over one another.
    """
    defined: set[tuple[str, ...]] = set()
    for name, content in files:
        leaves = dict(_leaves(content))
        for path in (path for path, value in leaves.items() if value is None):
            by_id = get_origin(located(Experiment, path[:-1])[1]) is dict
            if by_id and path not in defined:
                yield (
                    f"{'.'.join(path)}: null in {name} removes it, but no earlier file sets it; "
                    "remove the line, or write {} for an entry with all defaults"
                )
        defined |= {path[:end] for path in leaves for end in range(1, len(path) + 1)}


def _leaves(value: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(inner, *path, str(key))
    else:
        yield path, value
