"""What a profile of Snakemake says of the machine for one rule."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from revocab.errors import RevocabError


def resources_of(profile: Path, rule: str) -> dict[str, Any]:
    """Return the resources and ``threads`` that ``profile/config.yaml`` gives to a rule.

    What depends on the attempt or on other things that Snakemake knows stays the text that it is.
    Raises :class:`RevocabError` if there is no such file, or it is not YAML.
    """
    file = profile / "config.yaml"
    try:
        given = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    except FileNotFoundError:
        raise RevocabError(f"{file}: no such file; give a folder such as profiles/slurm") from None
    except yaml.YAMLError as error:
        raise RevocabError(f"{file}: not valid YAML ({error}); correct it") from None
    found = _pairs(given.get("default-resources"))
    found |= _pairs((given.get("set-resources") or {}).get(rule))
    threads = (given.get("set-threads") or {}).get(rule)
    return found if threads is None else {**found, "threads": threads}


def _pairs(given: Any) -> dict[str, Any]:
    """Return resources as a mapping; Snakemake also takes a list of ``NAME=VALUE``."""
    if isinstance(given, Mapping):
        return dict(given)
    pairs = (str(one).partition("=") for one in given or ())
    return {name: yaml.safe_load(value) for name, _, value in pairs}
