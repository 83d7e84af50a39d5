"""Rendering of tasks' templates in a sandbox; left to itself the harness lets them run commands."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from revocab.errors import RevocabError
from revocab.sandbox import check_length, explain

if TYPE_CHECKING:
    from jinja2 import Template
    from jinja2.sandbox import ImmutableSandboxedEnvironment


def regex_replace(text: str, pattern: str, replacement: str, count: int = 0) -> str:
    """Return a text with matches replaced: the filter that the harness gives to templates."""
    return re.sub(pattern, replacement, text, count=count)


@cache
def environment() -> ImmutableSandboxedEnvironment:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    sandbox = ImmutableSandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True)
    sandbox.filters["regex_replace"] = regex_replace
    return sandbox


@lru_cache(maxsize=1024)  # the harness would compile a template for every use on every row
def compiled(template: str) -> Template:
    check_length(template)
    return environment().from_string(template)


def compile_template(template: str, where: str) -> Template:
    """Return a template, compiled; raise :class:`RevocabError` if it is none."""
    try:
        return compiled(template)
    except Exception as error:  # it may fail in any way that Python code can
        raise RevocabError(f"{where}: {explain(error)}") from None


class Renderer:
    """Stands for the harness's ``apply_template``; names what is refused by file and key.

    A template of the harness's own is named by its beginning.
    """

    def __init__(self) -> None:
        self.places: dict[str, str] = {}

    def __call__(self, template: str, doc: Mapping[str, Any]) -> str:
        where = self.places.get(template, f"template {template[:60]!r}")
        try:
            return compile_template(template, where).render(**doc)
        except RevocabError:
            raise
        except Exception as error:
            raise RevocabError(f"{where}: {explain(error)}") from None


def render_in_sandbox(places: Mapping[str, str]) -> None:
    """Let the harness render every template in the sandbox.

    ``places`` are the files and keys of some, by template.
    """
    from lm_eval import utils

    if not isinstance(utils.apply_template, Renderer):
        utils.apply_template = Renderer()
    utils.apply_template.places.update(places)
