"""How kinds of things are found: every module of a package defines one under the same name."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from operator import attrgetter
from types import ModuleType
from typing import Any


def found_in(
    package: ModuleType, attribute: str, name: Callable[[Any], str] = attrgetter("name")
) -> dict[str, Any]:
    """Return what every module of a package has under ``attribute``, by its name, sorted."""
    found = [
        getattr(importlib.import_module(f"{package.__name__}.{module.name}"), attribute)
        for module in pkgutil.iter_modules(package.__path__)
    ]
    return {name(one): one for one in sorted(found, key=name)}
