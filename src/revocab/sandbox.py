"""Rendering of templates that somebody else wrote, with limits of size and time.

Jinja's sandbox keeps a template from the interpreter, but not from asking for 10**10 characters or
iterations. Here everything that a template does is paid for out of one budget per rendering, before
it is done where its result may be larger than what it is made of. No signal and no process is
needed, so that this holds in threads, too.

Only loops, macros and blocks repeat code, so each of their turns costs as much as the whole
template is long, and whatever else takes time or memory is one of: operators, filters, tests,
methods, literals of containers, slices, comparisons, output.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateSyntaxError, nodes, pass_context
from jinja2.exceptions import SecurityError
from jinja2.runtime import LoopContext
from jinja2.sandbox import MAX_RANGE, ImmutableSandboxedEnvironment
from jinja2.utils import Namespace
from jinja2.visitor import NodeTransformer

from revocab.errors import RevocabError

#: Characters of a template; the longest known chat templates have 30,000.
MAX_TEMPLATE = 100_000
#: Characters of a text, made or written; integers have as many bits at most, divided by 1,000.
MAX_TEXT = 5_000_000
#: What a rendering may cost: an element of a container or a node of the template executed is 1.
MAX_COST = 3_000_000
#: Characters that cost 1.
CHARACTERS = 32
#: Of widths in formats, and of the characters that are stripped or searched from the right, for
#: which Python's time is a product.
MAX_WIDTH = 999
ALLOWED = (
    f"allowed are templates of {MAX_TEMPLATE:,} characters, texts of {MAX_TEXT:,}, loops over what"
    " is given, and the methods and filters of text that do not multiply it"
)


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_METHODS_OF_TEXT = _names(
    "capitalize casefold center count endswith find format format_map index isalnum isalpha isascii"
    " isdecimal isdigit islower isnumeric isspace istitle isupper join ljust lower lstrip partition"
    " removeprefix removesuffix replace rfind rindex rjust rpartition rsplit rstrip split"
    " splitlines startswith strip swapcase title upper zfill"
)
#: The methods that may be called, by type; of numbers, bytes and types none.
_METHODS: tuple[tuple[Any, frozenset[str]], ...] = (
    (str, _METHODS_OF_TEXT),
    (Mapping, frozenset({"get", "items", "keys", "values"})),
    ((list, tuple), frozenset({"count", "index"})),
    ((int, float, complex, bytes, bytearray, type), frozenset()),
)
#: Filters whose time is that of the elements, whatever is in them.
_SHALLOW_FILTERS = _names(
    "attr count d default dictsort first items last length list map random reject rejectattr"
    " reverse select selectattr"
)
_FILTERS = _SHALLOW_FILTERS | _names(
    "abs capitalize center e escape filesizeformat float forceescape format groupby indent int join"
    " lower max min replace round safe sort string sum title tojson trim truncate unique upper"
    " urlencode wordcount"
)
#: Tests that compare, or make a text.
_DEEP_TESTS = _names(
    "== != < <= > >= eq equalto ge greaterthan gt in le lessthan lower lt ne upper"
)
#: Methods and filters with a width, or that take as long as two texts multiplied.
_WITH_WIDTHS = _names(
    "center ljust lstrip rfind rindex rjust round rpartition rsplit rstrip strip tojson trim zfill"
)
#: ``%`` and ``{}`` of formats with widths of at most three digits.
_PERCENT = re.compile(r"%(\(\w+\))?[-+ #0]?\d{0,3}(\.\d{1,3})?[a-zA-Z%]")
_BRACES = re.compile(r"\{\{|\}\}|\{[\w.\[\]]*(![rsa])?(:[^{}\d]?[^{}\d]*\d{0,3}(\.\d{1,3})?\D?)?\}")
#: Names of our own filters; no template can write them.
_SIZED, _TURN, _COPIED = " sized", " turn", " copied"

#: What holds values and is no mapping. The abstract classes of a dict's views take twenty times as
#: long to be recognised.
_CONTAINERS: Any = (
    list,
    tuple,
    set,
    frozenset,
    type({}.keys()),
    type({}.values()),
    type({}.items()),
)

_spent: ContextVar[int] = ContextVar("spent", default=0)


class Refused(SecurityError):
    """A template does what the limits do not allow."""


def compile(template: str, *, where: str) -> Template:
    """Return a template, compiled; :func:`render` says how it is rendered.

    Raises :class:`RevocabError`, naming ``where`` (a file and key), for a wrong template and for
    one that is too long.
    """
    return _guarded(lambda: _compiled(template), where)


def render(template: str, context: Mapping[str, object], *, where: str) -> str:
    """Return a template as lm-evaluation-harness renders it: names must exist, and a line break at
    the end stays.

    Raises :class:`RevocabError`, naming ``where`` (a file and key), for whatever goes wrong.
    """
    return _guarded(lambda: _compiled(template).render(context), where)


@functools.lru_cache(maxsize=256)
def _compiled(template: str) -> Template:
    return Sandbox(undefined=StrictUndefined, keep_trailing_newline=True).from_string(template)


def _guarded(function: Callable[[], Any], where: str) -> Any:
    try:
        return function()
    except RevocabError:
        raise
    # A template may fail in any way that Python code can.
    except Exception as error:
        raise RevocabError(f"{where}: {explain(error)}") from None


def explain(error: Exception) -> str:
    """Return in words why a template was not rendered."""
    if isinstance(error, SecurityError):
        return f"template refused: {error}; {ALLOWED}"
    line = f", line {error.lineno}" if isinstance(error, TemplateSyntaxError) else ""
    return f"template cannot be rendered ({type(error).__name__}{line}: {error})"


def limit_chat_templates() -> None:
    """Have transformers render chat templates in :class:`Sandbox`, wherever it is asked to.

    It renders in Jinja's sandbox, without limits, for us, the harness and vLLM alike; so the
    environment is exchanged and everything else about chat templates stays its own.
    """
    from transformers.utils import chat_template_utils

    rendering: Any = chat_template_utils
    if rendering.ImmutableSandboxedEnvironment is not Sandbox:
        rendering.ImmutableSandboxedEnvironment = Sandbox
        rendering._compile_jinja_template.cache_clear()


def _spend(cost: int, what: str) -> None:
    spent = _spent.get() + abs(cost)
    if spent > MAX_COST:
        raise Refused(f"{what} takes too much time or memory")
    _spent.set(spent)


def _spend_text(length: int, what: str) -> None:
    if length > MAX_TEXT:
        raise Refused(f"{what} would make a text of {length:,} characters")
    _spend(length // CHARACTERS, what)


def _size(value: Any, *, deep: bool = True) -> int:
    """Return what it costs to copy, compare or print a value; above MAX_COST not exactly.

    What a value holds several times counts several times.
    """
    size, waiting = 0, [value]
    while waiting and size <= MAX_COST:
        item = waiting.pop()
        if isinstance(item, (str, bytes)):
            size += 1 + len(item) // CHARACTERS
        elif isinstance(item, _CONTAINERS):
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


def _sized(value: Any, what: str = "a value") -> Any:
    """Return a value that is compared, printed or put into another, and pay for all of it."""
    _spend(_size(value), what)
    return value


def _copied(value: Any) -> Any:
    _spend(_size(value, deep=False), "a slice")
    return value


def _turn(cost: int) -> bool:
    _spend(cost, "a loop, macro or block")
    return True


def _range(*args: int) -> range:
    numbers = range(*args)
    if len(numbers) > MAX_RANGE:
        raise Refused(f"range of {len(numbers):,} numbers")
    return numbers


@pass_context  # so that Jinja computes nothing while it compiles
def _written(_context: Any, value: Any) -> Any:
    return _sized(value, "what is written")


def _check_widths(what: str, values: Any) -> None:
    for value in values:
        if (isinstance(value, int) and abs(value) > MAX_WIDTH) or (
            isinstance(value, str) and len(value) > MAX_WIDTH
        ):
            raise Refused(f"{what} with a width, or characters, above {MAX_WIDTH}")


def _check_format(text: str, pattern: re.Pattern[str], special: str, values: Any) -> None:
    """Refuse a format with wide fields; of what it makes, every field may be the longest value."""
    if set(pattern.sub("", text)) & set(special):
        raise Refused(f"format {text[:80]!r}: its fields may be at most {MAX_WIDTH} wide")
    fields = sum(text.count(character) for character in special)
    _spend_text(len(text) + fields * (MAX_WIDTH + CHARACTERS * _size(values)), "a format")


def _check_text(name: str, text: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Pay for a method or filter of a text that makes more of it than it is, or is slow."""
    given = (*args, *kwargs.values())
    if name == "replace" and len(given) >= 2:
        text, old, new = str(text), str(given[0]), str(given[1])
        times = text.count(old) if old else len(text) + 1
        _spend_text(len(text) + times * max(0, len(new) - len(old)), "replace")
    elif name == "indent":
        width = kwargs.get("width", args[0] if args else 4)
        _check_widths(name, [width])
        lines = len(str(text).splitlines()) + 1
        _spend_text(lines * (width if isinstance(width, int) else len(width)), name)
    elif name in _WITH_WIDTHS:
        _check_widths(name, given)


def _limited(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a filter that pays for what it is given and for what it makes."""
    what, deep = f"filter {name}", name not in _SHALLOW_FILTERS
    context = 1 if hasattr(function, "jinja_pass_arg") else 0

    @functools.wraps(function)
    def limited(*args: Any, **kwargs: Any) -> Any:
        before, (value, *rest) = args[:context], args[context:]
        if isinstance(value, Iterator) and not isinstance(value, LoopContext):
            value = list(value)
        for part in (value, *rest, *kwargs.values()):
            _spend(_size(part, deep=deep), what)
        _check_text(name, value, tuple(rest), kwargs)
        if name == "join":
            separator = str(kwargs.get("d", rest[0] if rest else ""))
            _spend_text(len(separator) * _size(value, deep=False), what)
        elif name == "format":
            _check_format(str(value), _PERCENT, "%", (rest, kwargs))
        elif name == "sum" and not isinstance(
            kwargs.get("start", rest[1] if len(rest) > 1 else 0), int | float
        ):
            raise Refused("filter sum of what are no numbers")
        made = function(*before, value, *rest, **kwargs)
        if isinstance(made, str):
            _spend_text(len(made), what)
        elif isinstance(made, list):
            _spend(len(made), what)
        return made

    return limited


class _Filters(dict[str, Any]):
    """Filters, of which each that is put in is limited."""

    def __setitem__(self, name: str, function: Callable[..., Any]) -> None:
        super().__setitem__(name, _limited(name, function))


class _LimitedTemplate(Template):
    """A template with a budget for each rendering."""

    def render(self, *args: Any, **kwargs: Any) -> str:
        return "".join(self.generate(*args, **kwargs))

    def generate(self, *args: Any, **kwargs: Any) -> Iterator[str]:
        before = _spent.get()
        _spent.set(0)
        length = 0
        try:
            for text in super().generate(*args, **kwargs):
                length += len(text)
                if length > MAX_TEXT:
                    raise Refused(f"it writes more than {MAX_TEXT:,} characters")
                yield text
        finally:
            _spent.set(before)


class Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox with limits; takes the options of any environment."""

    template_class = _LimitedTemplate
    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "%"})

    def __init__(self, *args: Any, **kwargs: Any):
        # Jinja would compute constants while it compiles, where no budget is.
        super().__init__(*args, **kwargs | {"optimized": False, "finalize": _written})
        filters = {name: self.filters[name] for name in sorted(_FILTERS)}
        self.filters = _Filters()
        for name, function in filters.items():
            self.filters[name] = function
        for name, ours in ((_SIZED, _sized), (_TURN, _turn), (_COPIED, _copied)):
            dict.__setitem__(self.filters, name, ours)
        self.tests = {
            name: _limited_test(test) if name in _DEEP_TESTS else test
            for name, test in self.tests.items()
        }
        self.globals.pop("lipsum", None)
        self.globals["range"] = _range

    def compile(self, source: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(source, str) and len(source) > MAX_TEMPLATE:
            raise Refused(f"it has {len(source):,} characters")
        return super().compile(source, *args, **kwargs)

    def _generate(self, source: nodes.Template, *args: Any, **kwargs: Any) -> str:
        """Compile a template, with what is to be paid for put in; Jinja's hook for that."""
        for power in source.find_all(nodes.Pow):
            raise Refused(f"line {power.lineno}: the operator **")
        texts = sum(len(text.data) for text in source.find_all(nodes.TemplateData))
        cost = sum(1 for _ in source.find_all(nodes.Node)) + texts // CHARACTERS
        _Payments(self, cost).visit(source)
        return super()._generate(source, *args, **kwargs)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        if not super().is_safe_attribute(obj, attr, value):
            return False
        return next((attr in names for kind, names in _METHODS if isinstance(obj, kind)), True)

    def getitem(self, obj: Any, argument: Any) -> Any:
        # A tuple is hashed whole each time.
        return super().getitem(obj, _sized(argument) if type(argument) is tuple else argument)

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        wrapped = super().wrap_str_format(value)
        if wrapped is None:
            return None

        def formatted(*args: Any, **kwargs: Any) -> str:
            _check_format(value.__self__, _BRACES, "{}", (args, kwargs))
            return wrapped(*args, **kwargs)

        return formatted

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        for number in (left, right):
            if isinstance(number, int) and number.bit_length() > MAX_TEXT // 1000:
                raise Refused(f"operator {operator} of a number of {number.bit_length():,} bits")
        if operator == "*":
            for several, times in ((left, right), (right, left)):
                if isinstance(several, str | bytes) and isinstance(times, int):
                    _spend_text(len(several) * max(0, times), "operator *")
                elif isinstance(several, list | tuple) and isinstance(times, int):
                    _spend(len(several) * max(0, times), "operator *")
        elif operator == "%" and isinstance(left, str | bytes):
            _check_format(str(left), _PERCENT, "%", right)
        elif operator == "+" and isinstance(left, str) and isinstance(right, str):
            _spend_text(len(left) + len(right), "operator +")
        made = super().call_binop(context, operator, left, right)
        _spend(_size(made, deep=False), f"operator {operator}")
        return made

    def call(__self, __context: Any, __obj: Any, *args: Any, **kwargs: Any) -> Any:
        owner, name = getattr(__obj, "__self__", None), getattr(__obj, "__name__", "a call")
        deep = isinstance(owner, str | list | tuple | LoopContext)
        for part in (owner, *args, *kwargs.values()) if deep else (*args, *kwargs.values()):
            _spend(1 + _size(part, deep=deep), name)
        if isinstance(owner, str):
            _check_text(name, owner, args, kwargs)
            if name == "join" and args:
                args = (list(args[0]),)
                _spend(_size(args[0]), name)
                _spend_text(len(owner) * len(args[0]), name)
        made = super().call(__context, __obj, *args, **kwargs)
        _spend(_size(made, deep=False), name)
        return made


def _limited_test(function: Any) -> Callable[..., Any]:
    @functools.wraps(function)
    def limited(*args: Any) -> Any:
        _sized(args, "a comparison")
        return function(*args)

    return limited


class _Payments(NodeTransformer):
    """Puts payments into a template's tree; ``cost`` is that of running all of it once."""

    def __init__(self, environment: Sandbox, cost: int):
        self.environment = environment
        self.cost = cost

    def _filter(self, node: nodes.Expr, name: str) -> nodes.Filter:
        made = nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)
        made.environment = self.environment
        return made

    def _repeated(self, node: Any) -> Any:
        """Begin each turn of a loop, macro or block with its payment."""
        self.generic_visit(node)
        turn = self._filter(nodes.Const(self.cost, lineno=node.lineno), _TURN)
        node.body.insert(0, nodes.ExprStmt(turn, lineno=node.lineno))
        if getattr(node, "test", None) is not None:
            node.test = nodes.And(turn, node.test, lineno=node.lineno)
        return node.set_environment(self.environment)

    visit_For = visit_Macro = visit_CallBlock = visit_Block = _repeated

    def _container(self, node: Any) -> Any:
        self.generic_visit(node)
        return node if getattr(node, "ctx", "load") == "store" else self._filter(node, _SIZED)

    visit_List = visit_Tuple = visit_Dict = _container

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        self.generic_visit(node)
        node.nodes = [self._filter(part, _SIZED) for part in node.nodes]
        return self._filter(node, _SIZED)

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:
        self.generic_visit(node)
        node.expr = self._filter(node.expr, _SIZED)
        for operand in node.ops:
            operand.expr = self._filter(operand.expr, _SIZED)
        return node

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:
        self.generic_visit(node)
        return self._filter(node, _COPIED) if isinstance(node.arg, nodes.Slice) else node
