"""What a template pays for its rendering, and may not ask for: see :mod:`revocab.sandbox`."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

from jinja2 import pass_context
from jinja2.exceptions import SecurityError
from jinja2.runtime import LoopContext
from jinja2.sandbox import MAX_RANGE
from jinja2.utils import Namespace

#: Characters of a template; the longest known chat templates have 30,000.
MAX_TEMPLATE = 100_000
#: Characters of a text, made or written; integers have as many bits at most, divided by 1,000.
MAX_TEXT = 5_000_000
#: What a rendering may cost: an element of a container or a node of the template executed is 1.
MAX_COST = 5_000_000
#: Characters that cost 1.
CHARACTERS = 32
#: Of widths in formats, and of the characters that are stripped or searched from the right, for
#: which Python's time is a product.
MAX_WIDTH = 999


def names(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Filters whose time is that of the elements, whatever is in them.
SHALLOW_FILTERS = names(
    "attr count d default first items last length list map random reject rejectattr"
    " reverse select selectattr"
)
FILTERS = SHALLOW_FILTERS | names(
    "abs capitalize center dictsort e escape filesizeformat float forceescape format groupby indent"
    " int join lower max min replace round safe sort string sum title tojson trim truncate unique"
    " upper urlencode wordcount"
)
#: Tests that compare, or make a text.
DEEP_TESTS = names("== != < <= > >= eq equalto ge greaterthan gt in le lessthan lower lt ne upper")
#: Methods and filters with a width, or that take as long as two texts multiplied.
WITH_WIDTHS = names(
    "center ljust lstrip rfind rindex rjust round rpartition rsplit rstrip strip tojson trim zfill"
)
#: ``%`` and ``{}`` of formats with widths of at most three digits.
PERCENT = re.compile(r"%(\(\w+\))?[-+ #0]?\d{0,3}(\.\d{1,3})?[a-zA-Z%]")
BRACES = re.compile(r"\{\{|\}\}|\{[\w.\[\]]*(![rsa])?(:[^{}\d]?[^{}\d]*\d{0,3}(\.\d{1,3})?\D?)?\}")
#: What holds values and is no mapping. The abstract classes of a dict's views take twenty times as
#: long to be recognised.
CONTAINERS: Any = (
    list,
    tuple,
    set,
    frozenset,
    type({}.keys()),
    type({}.values()),
    type({}.items()),
)

spent: ContextVar[int] = ContextVar("spent", default=0)


class Refused(SecurityError):
    """A template does what the limits do not allow."""


def spend(cost: int, what: str) -> None:
    total = spent.get() + abs(cost)
    if total > MAX_COST:
        raise Refused(f"{what} takes too much time or memory")
    spent.set(total)


def spend_text(length: int, what: str) -> None:
    if length > MAX_TEXT:
        raise Refused(f"{what} would make a text of {length:,} characters")
    spend(length // CHARACTERS, what)


def size_of(value: Any, *, deep: bool = True) -> int:
    """Return what it costs to copy, compare or print a value; above MAX_COST not exactly.

    What a value holds several times counts several times.
    """
    size, waiting = 0, [value]
    while waiting and size <= MAX_COST:
        item = waiting.pop()
        if isinstance(item, (str, bytes)):
            size += 1 + len(item) // CHARACTERS
        elif isinstance(item, CONTAINERS):
            size += len(item)
            waiting += item if deep else ()
        elif isinstance(item, dict):
            size += len(item)
            waiting += (*item.keys(), *item.values()) if deep else ()
        elif isinstance(item, range):
            size += len(item)
        elif isinstance(item, Namespace) and deep:
            size += 10  # one may hold itself
            waiting.append(object.__getattribute__(item, "_Namespace__attrs"))
    return size


def sized(value: Any, what: str = "a value") -> Any:
    spend(size_of(value), what)
    return value


def copied(value: Any) -> Any:
    spend(size_of(value, deep=False), "a slice")
    return value


def turn(cost: int) -> bool:
    spend(cost, "a loop, macro or block")
    return True


def limited_range(*args: int) -> range:
    numbers = range(*args)
    if len(numbers) > MAX_RANGE:
        raise Refused(f"range of {len(numbers):,} numbers")
    return numbers


@pass_context  # so that Jinja computes nothing while it compiles
def written(_context: Any, value: Any) -> Any:
    return sized(value, "what is written")


def check_widths(what: str, values: Any) -> None:
    for value in values:
        if (isinstance(value, int) and abs(value) > MAX_WIDTH) or (
            isinstance(value, str) and len(value) > MAX_WIDTH
        ):
            raise Refused(f"{what} with a width, or characters, above {MAX_WIDTH}")


def check_format(text: str, pattern: re.Pattern[str], special: str, values: Any) -> None:
    """Refuse a format with wide fields; of what it makes, every field may be the longest value."""
    if set(pattern.sub("", text)) & set(special):
        raise Refused(f"format {text[:80]!r}: its fields may be at most {MAX_WIDTH} wide")
    fields = sum(text.count(character) for character in special)
    spend_text(len(text) + fields * (MAX_WIDTH + CHARACTERS * size_of(values)), "a format")


def check_text(name: str, text: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Pay for a method or filter of a text that makes more of it than it is, or is slow."""
    arguments = (*args, *kwargs.values())
    if name == "replace" and len(arguments) >= 2:
        text, old, new = str(text), str(arguments[0]), str(arguments[1])
        times = text.count(old) if old else len(text) + 1
        spend_text(len(text) + times * max(0, len(new) - len(old)), "replace")
    elif name == "indent":
        width = kwargs.get("width", args[0] if args else 4)
        check_widths(name, [width])
        lines = len(str(text).splitlines()) + 1
        spend_text(lines * (width if isinstance(width, int) else len(width)), name)
    elif name in WITH_WIDTHS:
        check_widths(name, arguments)


def limited_filter(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a filter that pays for what it is given and for what it makes."""
    what, deep = f"filter {name}", name not in SHALLOW_FILTERS
    context = 1 if hasattr(function, "jinja_pass_arg") else 0

    @functools.wraps(function)
    def limited(*args: Any, **kwargs: Any) -> Any:
        before, (value, *rest) = args[:context], args[context:]
        if isinstance(value, Iterator) and not isinstance(value, LoopContext):
            value = list(value)
        for part in (value, *rest, *kwargs.values()):
            spend(size_of(part, deep=deep), what)
        check_text(name, value, tuple(rest), kwargs)
        if name == "join":
            separator = str(kwargs.get("d", rest[0] if rest else ""))
            spend_text(len(separator) * size_of(value, deep=False), what)
        elif name == "format":
            check_format(str(value), PERCENT, "%", (rest, kwargs))
        elif name == "sum" and not isinstance(
            kwargs.get("start", rest[1] if len(rest) > 1 else 0), int | float
        ):
            raise Refused("filter sum of what are no numbers")
        made = function(*before, value, *rest, **kwargs)
        if isinstance(made, str):
            spend_text(len(made), what)
        elif isinstance(made, list):
            spend(len(made), what)
        return made

    return limited


def limited_test(function: Any) -> Callable[..., Any]:
    @functools.wraps(function)
    def limited(*args: Any) -> Any:
        sized(args, "a comparison")
        return function(*args)

    return limited
