"""Say on the error stream what is being done, for command lines that take more than a moment."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

#: Something that is told each step in words.
Say = Callable[[str], None]


def silent(text: str) -> None:
    """Say nothing."""


def spoken() -> Say:
    started = time.perf_counter()

    def say(text: str) -> None:
        print(f"{time.perf_counter() - started:7.1f} s  {text}", file=sys.stderr, flush=True)

    return say
