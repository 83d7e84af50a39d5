"""Where libraries are that have an environment of their own.

The workflow asks at its start, so nothing heavy is imported here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from revocab.errors import RevocabError


@dataclass(frozen=True)
class Environment:
    """An environment by its name: ``.venv-NAME``, ``REVOCAB_NAME_PYTHON``, ``envs/NAME.yaml``."""

    name: str
    #: Imports there, and nowhere else.
    module: str
    #: The command that makes it, and the page that tells more.
    install: str
    docs: str
    #: Variables that the module reads when it is imported; set unless they are.
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        """Return the interpreter that ``install`` makes, below the current folder."""
        return Path(f".venv-{self.name}/bin/python")

    @property
    def variable(self) -> str:
        return f"REVOCAB_{self.name.upper().replace('-', '_')}_PYTHON"

    def python(self, key: str, others: Sequence[str]) -> str:
        """Return the interpreter: the one that the variable names, the installed one, or this one.

        Raises :class:`RevocabError` where none of them has the module, naming the configuration
        ``key`` that asks for it and the ``others`` that it may hold.
        """
        if installed := self.installed():
            return installed
        if self.is_here():
            return sys.executable
        raise RevocabError(
            f"{key}: {self.module} needs its own environment, and {self.path} is not there; run "
            f"{self.install!r}, name an interpreter in {self.variable}, use --sdm conda, or set "
            f"{key}: {' or '.join(others)}"
        )

    def is_here(self) -> bool:
        return find_spec(self.module) is not None

    def expected(self) -> str:
        """Return the interpreter as :meth:`python` does, or where ``install`` would put it."""
        return self.installed() or (sys.executable if self.is_here() else str(self.path))

    def installed(self) -> str | None:
        """Return the interpreter that the variable names, or the installed one, if any.

        Raises :class:`RevocabError` where the variable names none.
        """
        named = os.environ.get(self.variable)
        if not named:
            return str(self.path) if self.path.is_file() else None
        if Path(named).is_file():
            return named
        raise RevocabError(
            f"{self.variable}: {named!r} is not an interpreter; unset it or {self.install!r}"
        )

    def import_error(self) -> ImportError | None:
        """Import the module; return the error where this interpreter does not have it."""
        for name, value in self.variables.items():
            os.environ.setdefault(name, value)
        try:
            import_module(self.module)
        except ImportError as error:
            return error
        return None

    def require(self, flag: str, value: str, others: Sequence[str]) -> None:
        """Raise :class:`RevocabError` unless the module imports here.

        ``flag`` with ``value`` asks for it on the command line, ``others`` are its other values.
        """
        error = self.import_error()
        if error is not None:
            raise RevocabError(
                f"{flag} {value}: it cannot be imported by {Path(sys.executable).name} "
                f"({error}); make its environment with {self.install!r} ({self.docs}) or name its "
                f"Python in {self.variable}, or use {flag} {' or '.join(others)}"
            )
