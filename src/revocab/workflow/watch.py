"""Draw text again and again in one place of a terminal, with bars and curves of blocks."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import fmean
from typing import TextIO, TypeVar

#: Eighths of a character's height, the lowest first.
BLOCKS = "▁▂▃▄▅▆▇█"
#: Characters of a curve, and of a bar.
WIDTH, BAR = 40, 30
#: Seconds from one drawing to the next.
EVERY = 3.0
#: Control sequences of terminals (ECMA-48): up by lines, clear from here, and hide the cursor.
UP, CLEAR, HIDE, SHOW = "\x1b[{}A", "\x1b[J", "\x1b[?25l", "\x1b[?25h"

State = TypeVar("State")


def thinned(values: Sequence[float], width: int = WIDTH) -> list[float]:
    """Return at most ``width`` means of neighbours, in order; each value counts in one of them."""
    number = min(width, len(values))
    ends = [len(values) * place // number for place in range(number + 1)] if number else [0]
    return [fmean(values[begin:end]) for begin, end in pairwise(ends)]


def curve(values: Sequence[float]) -> str:
    """Return a character for each value: the lowest block for the least, the full for the greatest.

    Values that are no number, as of a training that diverges, are ``×``.
    """
    finite = [value for value in values if abs(value) < float("inf")]
    least, greatest = min(finite, default=0.0), max(finite, default=0.0)
    top = len(BLOCKS) - 1
    span = greatest - least or 1.0
    return "".join(
        BLOCKS[round(top * (value - least) / span)] if abs(value) < float("inf") else "×"
        for value in values
    )


def bar(share: float, width: int = BAR) -> str:
    """Return a bar of which ``share`` is filled, full only at the end, and per cent."""
    return f"{'█' * int(share * width):░<{width}} {int(100 * share)} %"


def fitted(text: str, columns: int, rows: int) -> list[str]:
    """Return the lines of a text that a terminal shows without scrolling; the last says how many
    are left out.
    """
    lines = [line[: columns - 1] for line in text.splitlines()]
    room = max(1, rows - 1)
    if len(lines) <= room:
        return lines
    return [*lines[: room - 1], f"… {len(lines) - room + 1} more lines"[: columns - 1]]


def watch(
    look: Callable[[], State],
    render: Callable[[State], str],
    goes_on: Callable[[], bool],
    out: TextIO,
    every: float = EVERY,
) -> None:
    """Draw what ``look`` sees on a terminal as long as the work goes on, or until Ctrl-C.

    What is drawn is wiped at the end. Anything but a terminal gets nothing.
    """
    if not out.isatty():
        return
    lines = 0
    try:
        out.write(HIDE)
        while goes_on():
            size = shutil.get_terminal_size()
            frame = fitted(render(look()), size.columns, size.lines)
            out.write(wiped(lines) + "\n".join(frame) + "\n")
            out.flush()
            lines = len(frame)
            time.sleep(every)
    except KeyboardInterrupt:
        pass
    finally:
        out.write(wiped(lines) + SHOW)
        out.flush()


def wiped(lines: int) -> str:
    """Return what takes away the last lines; of a window made narrower, some may stay."""
    return f"\r{UP.format(lines)}{CLEAR}" if lines else ""
