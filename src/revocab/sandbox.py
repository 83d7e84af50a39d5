"""Rendering of templates that somebody else wrote, with limits of size and time.

Jinja's sandbox keeps a template from the interpreter, but not from asking for 10**10 characters or
iterations. Here everything that a template does is paid for out of one budget per rendering, before
it is done where its result may be larger than what it is made of. No signal and no process is
needed, so that this holds in threads, too.

Only loops, macros and blocks repeat code, so each of their turns costs as much as its body is long,
and whatever else takes time or memory is one of: operators, filters, tests,
methods, literals of containers, slices, comparisons, output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jinja2 import Template, TemplateSyntaxError, nodes
from jinja2.exceptions import SecurityError
from jinja2.runtime import LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from revocab import template_budget as budget
from revocab.template_budget import Refused

ALLOWED = (
    f"allowed are templates of {budget.MAX_TEMPLATE:,} characters, texts of {budget.MAX_TEXT:,},"
    " loops over what is given, and the methods and filters of text that do not multiply it"
)

#: Names of our own filters; no template can write them.
_SIZED, _TURN, _COPIED = " sized", " turn", " copied"

_METHODS_OF_TEXT = budget.names(
    "capitalize casefold center count endswith find format format_map index isalnum isalpha isascii"
    " isdecimal isdigit islower isnumeric isspace istitle isupper join ljust lower lstrip partition"
    " removeprefix removesuffix replace rfind rindex rjust rpartition rsplit rstrip split"
    " splitlines startswith strip swapcase title upper zfill"
)
#: The methods that may be called, by type; of numbers, bytes and types none.
_METHODS: tuple[tuple[Any, frozenset[str]], ...] = (
    (str, _METHODS_OF_TEXT),
    (Mapping, frozenset({"copy", "get", "items", "keys", "values"})),
    ((list, tuple), frozenset({"copy", "count", "index"})),
    ((int, float, complex, bytes, bytearray, type), frozenset()),
)


def explain(error: Exception) -> str:
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


class _Filters(dict[str, Any]):
    """Filters, of which each that is put in is limited."""

    def __setitem__(self, name: str, function: Callable[..., Any]) -> None:
        super().__setitem__(name, budget.limited_filter(name, function))


class _LimitedTemplate(Template):
    """A template with a budget for each rendering."""

    def render(self, *args: Any, **kwargs: Any) -> str:
        return "".join(self.generate(*args, **kwargs))

    def generate(self, *args: Any, **kwargs: Any) -> Iterator[str]:
        before = budget.spent.get()
        budget.spent.set(0)
        length = 0
        try:
            for text in super().generate(*args, **kwargs):
                length += len(text)
                if length > budget.MAX_TEXT:
                    raise Refused(f"it writes more than {budget.MAX_TEXT:,} characters")
                yield text
        finally:
            budget.spent.set(before)


class Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox with limits; takes the options of any environment."""

    template_class = _LimitedTemplate
    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "%"})

    def __init__(self, *args: Any, **kwargs: Any):
        # Jinja would compute constants while it compiles, where no budget is.
        super().__init__(*args, **kwargs | {"optimized": False, "finalize": budget.written})
        filters = {name: self.filters[name] for name in sorted(budget.FILTERS)}
        self.filters = _Filters()
        for name, function in filters.items():
            self.filters[name] = function
        for name, ours in ((_SIZED, budget.sized), (_TURN, budget.turn), (_COPIED, budget.copied)):
            dict.__setitem__(self.filters, name, ours)
        self.tests = {
            name: budget.limited_test(test) if name in budget.DEEP_TESTS else test
            for name, test in self.tests.items()
        }
        self.globals.pop("lipsum", None)
        self.globals["range"] = budget.limited_range

    def compile(self, source: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(source, str) and len(source) > budget.MAX_TEMPLATE:
            raise Refused(f"it has {len(source):,} characters")
        return super().compile(source, *args, **kwargs)

    def _generate(self, source: nodes.Template, *args: Any, **kwargs: Any) -> str:
        """Compile a template, with what is to be paid for put in; Jinja's hook for that."""
        for power in source.find_all(nodes.Pow):
            raise Refused(f"line {power.lineno}: the operator **")
        _Payments(self).visit(source)
        return super()._generate(source, *args, **kwargs)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        if not super().is_safe_attribute(obj, attr, value):
            return False
        return next((attr in names for kind, names in _METHODS if isinstance(obj, kind)), True)

    def getitem(self, obj: Any, argument: Any) -> Any:
        # A tuple is hashed whole each time.
        return super().getitem(obj, budget.sized(argument) if type(argument) is tuple else argument)

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        wrapped = super().wrap_str_format(value)
        if wrapped is None:
            return None

        def formatted(*args: Any, **kwargs: Any) -> str:
            budget.check_format(value.__self__, budget.BRACES, "{}", (args, kwargs))
            return wrapped(*args, **kwargs)

        return formatted

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        for number in (left, right):
            if isinstance(number, int) and number.bit_length() > budget.MAX_TEXT // 1000:
                raise Refused(f"operator {operator} of a number of {number.bit_length():,} bits")
        if operator == "*":
            for several, times in ((left, right), (right, left)):
                if isinstance(several, str | bytes) and isinstance(times, int):
                    budget.spend_text(len(several) * max(0, times), "operator *")
                elif isinstance(several, list | tuple) and isinstance(times, int):
                    budget.spend(len(several) * max(0, times), "operator *")
        elif operator == "%" and isinstance(left, str | bytes):
            budget.check_format(str(left), budget.PERCENT, "%", right)
        elif operator == "+" and isinstance(left, str) and isinstance(right, str):
            budget.spend_text(len(left) + len(right), "operator +")
        made = super().call_binop(context, operator, left, right)
        budget.spend(budget.size_of(made, deep=False), f"operator {operator}")
        return made

    def call(__self, __context: Any, __obj: Any, *args: Any, **kwargs: Any) -> Any:
        owner, name = getattr(__obj, "__self__", None), getattr(__obj, "__name__", "a call")
        deep = isinstance(owner, str | list | tuple | LoopContext)
        for part in (owner, *args, *kwargs.values()) if deep else (*args, *kwargs.values()):
            budget.spend(1 + budget.size_of(part, deep=deep), name)
        if isinstance(owner, str):
            budget.check_text(name, owner, args, kwargs)
            if name == "join" and args:
                args = (list(args[0]),)
                budget.spend(budget.size_of(args[0]), name)
                budget.spend_text(len(owner) * len(args[0]), name)
        made = super().call(__context, __obj, *args, **kwargs)
        budget.spend(budget.size_of(made, deep=False), name)
        return made


class _Payments(NodeTransformer):
    """Puts payments into a template's tree."""

    def __init__(self, environment: Sandbox):
        self.environment = environment

    def _filter(self, node: nodes.Expr, name: str) -> nodes.Filter:
        made = nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)
        made.environment = self.environment
        return made

    def _repeated(self, node: Any) -> Any:
        """Begin each turn of a loop, macro or block with its payment: its nodes and texts."""
        texts = sum(len(text.data) for text in node.find_all(nodes.TemplateData))
        cost = sum(1 for _ in node.find_all(nodes.Node)) + texts // budget.CHARACTERS
        self.generic_visit(node)
        turn = self._filter(nodes.Const(cost, lineno=node.lineno), _TURN)
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
