"""The reference page of the experiment file, from the schema that checks it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from revocab.closed import HUB_ID, ID, LANGUAGE, Refers, is_model, kinds_in, plain

ABOVE = re.compile(r"((?:^[ ]*#:.*\n)+)^[ ]*(\w+)[ ]*:", re.M)
Model = type[BaseModel]
#: What texts of a pattern are.
TEXTS = {ID: "id", LANGUAGE: "language code", HUB_ID: "Hub id"}
NAMES = {str: "text", int: "whole number", float: "number", bool: "true or false", Any: "any"}
#: The model that a heading is of.
TITLES: dict[str, Model] = {}


@cache
def comments(model: type) -> dict[str, str]:
    """Return the ``#:`` comment above each key of a class, by key."""
    try:
        source = inspect.getsource(model)
    except (OSError, TypeError):
        return {}  # made at run time: its keys are those of its bases
    return {
        key: " ".join(line.strip().removeprefix("#:").strip() for line in lines.splitlines())
        for lines, key in ABOVE.findall(source)
    }


def about(model: Model, key: str) -> str:
    """Return what a key means: its description, the comment above it, or what its model says."""
    if key not in model.model_fields:  # a flag has another name where a key of it would hide one
        key = next(name for name, field in model.model_fields.items() if field.alias == key)
    field = model.model_fields[key]
    if field.description:
        return field.description
    for base in model.__mro__:
        if key in comments(base):
            return comments(base)[key]
    if model.__name__ in ("Tokenizer", "Model") and key in summaries():
        return summaries()[key]
    inner = [kind for kind in kinds_in(field.annotation) if is_model(kind)]
    return first_paragraph(inner[0]) if len(inner) == 1 else ""


@cache
def summaries() -> dict[str, str]:
    """Return what methods, constructions and changes say of themselves, by name."""
    from revocab.initialise.method import methods
    from revocab.models.change import changes
    from revocab.vocabulary.building.construction import constructions

    kinds: dict[str, Any] = {**methods(), **constructions(), **changes()}
    return {name: kind.summary for name, kind in kinds.items()}


def first_paragraph(thing: Any) -> str:
    return " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())


def sentence(text: str) -> str:
    text = text.strip().replace("``", "`")
    text = re.sub(r":(?:class|mod|func|data):`~?([^`]*)`", r"`\1`", text)
    return text[:1].upper() + text[1:] + ("" if not text or text[-1] in ".!?" else ".")


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<<", "&lt;&lt;").replace("\n", " ")


def code(value: Any) -> str:
    return f"`{value}`".replace("|", "\\|")


def shown(annotation: Any, metadata: Iterable[Any] = ()) -> str:
    """Return a type in words; models are links to their part of the page."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return shown(inner[0], inner[1:])
    if named := named_text(metadata):
        return named
    if is_model(annotation):
        return f"[{title(annotation)}](#{anchor(title(annotation))})"
    if origin is None:
        return NAMES.get(annotation, getattr(annotation, "__name__", str(annotation)))
    return shown_parts(origin, inner)


def shown_parts(origin: Any, inner: tuple[Any, ...]) -> str:
    if origin is Literal:
        return " or ".join(code(value) for value in inner)
    if origin is dict:
        return f"{shown(inner[0])} → {shown(inner[1])}"
    if origin in (list, tuple):
        return f"list of {shown(inner[0])}"
    kinds = [part for part in inner if is_model(part)]
    if len(kinds) > 3:
        return f"one of the [kinds](#{anchor(family(kinds))})"
    return " or ".join(dict.fromkeys(shown(part) for part in inner if part is not NoneType))


def named_text(metadata: Iterable[Any]) -> str | None:
    """Return what a text is: what an id refers to, or what its pattern is that of."""
    for part in metadata:
        if isinstance(part, Refers):
            return f"id of a {part.to}"
        if getattr(part, "pattern", None) in TEXTS:
            return TEXTS[part.pattern]
    return None


def bounds(field: FieldInfo) -> str:
    found = [
        f"{sign} {limit:,}"
        for part in field.metadata
        for name, sign in (("ge", "≥"), ("gt", ">"), ("le", "≤"), ("lt", "<"))
        if (limit := getattr(part, name, None)) is not None
    ]
    return f" {', '.join(found)}" if found else ""


def default(field: FieldInfo) -> str:
    if field.is_required():
        return "**required**"
    value = field.get_default(call_default_factory=True)
    if isinstance(value, BaseModel):
        return ""
    if value is None or value in ([], {}, ()):
        return ""
    return code(str(value).lower() if isinstance(value, bool) else value)


def anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@cache
def title(model: Model) -> str:
    """Return a model's heading: its class in words, a kind by its name; no two have the same."""
    words = heading_of(model)
    owner = TITLES.setdefault(words, model)
    same = owner is model or heading_kind(owner) == heading_kind(model) is not None
    return words if same else f"{words} ({model.__module__.rpartition('.')[2].replace('_', ' ')})"


def heading_kind(model: Model) -> tuple[str, str] | None:
    kind = kind_name(model)
    return (kind, "method") if kind and "Method" in model.__name__ else None


def heading_of(model: Model) -> str:
    name = re.sub(r"(Options|Entry|Choice)$", "", model.__name__)
    for ending, what in (("Table", "Table"), ("Figure", "Figure"), ("Task", "Task")):
        kind = kind_name(model)
        if name.endswith(ending) and kind:
            return f"{what}: {kind}"
    if kind := kind_name(model):
        return f"{'Method' if 'Method' in name else 'Judge'}: {kind}"
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return words[:1] + words[1:].lower()


def kind_name(model: Model) -> str | None:
    for key in ("kind", "method"):
        field = model.model_fields.get(key)
        if field and get_origin(plain(field.annotation)) is Literal:
            return str(get_args(plain(field.annotation))[0])
    return None


def family(kinds: list[Model]) -> str:
    """Return the heading over several kinds."""
    what, _, _ = title(kinds[0]).partition(":")
    return f"Kinds of {what.lower()}s" if what != "Method" else "Methods and their options"


def shared_keys(kinds: list[Model]) -> list[str]:
    first, *rest = (list(kind.model_fields) for kind in kinds)
    return [key for key in first if all(key in other for other in rest)]


def row(model: Model, key: str, shared: bool) -> str:
    field = model.model_fields[key]
    hints = {}
    with suppress(NameError, TypeError):
        hints = get_type_hints(model, include_extras=True)
    annotation = hints.get(key, field.annotation)
    kind = shown(annotation, field.metadata) + bounds(field)
    words = about(model, key)
    if key in ("kind", "method") and kind_name(model):
        kind, words = "a name below" if shared else code(kind_name(model)), "Which kind it is"
    return f"| `{key}` | {cell(kind)} | {default(field)} | {cell(sentence(words))} |"


def keys_table(model: Model, keys: Iterable[str], shared: bool = False) -> list[str]:
    rows = [row(model, key, shared) for key in keys]
    if not rows:
        return ["It has no options of its own.", ""]
    return ["| key | value | default | meaning |", "| --- | --- | --- | --- |", *rows, ""]


class ExperimentPage:
    """Every key that an experiment file can have, section by section."""

    def __init__(self, root: Model):
        self.root = root
        self.told: set[str] = set()
        self.lines: list[str] = []

    def text(self) -> str:
        head = [
            "# Keys of the experiment file",
            "",
            "Every key that an experiment file may have, from the schema that checks it. Any other"
            " key is an error. What the parts are for is told in [Experiments](../experiments.md).",
            "",
            "## Top level",
            "",
            *keys_table(self.root, self.root.model_fields),
        ]
        for key, field in self.root.model_fields.items():
            if list(models_in(field)):
                self.lines += [f"## {key}", ""]
                self.tell_all(models_in(field))
        return "\n".join([*head, *self.lines]).rstrip() + "\n"

    def tell_all(self, models: Iterable[Model]) -> None:
        kinds = list(models)
        if len(kinds) > 3:
            self.tell_kinds(kinds)
            return
        for model in kinds:
            self.tell(model, model.model_fields)

    def tell_kinds(self, kinds: list[Model]) -> None:
        heading = family(kinds)
        if heading in self.told:
            return
        self.told.add(heading)
        shared = shared_keys(kinds)
        self.lines += [f"### {heading}", "", "Each has these keys, and those of its kind.", ""]
        self.lines += keys_table(kinds[0], shared, shared=True)
        for kind in kinds:
            self.tell(kind, [key for key in kind.model_fields if key not in shared])
        self.tell_inside(kinds[0], shared)

    def tell(self, model: Model, keys: Iterable[str]) -> None:
        if title(model) in self.told:
            return
        self.told.add(title(model))
        keys = list(keys)
        self.lines += [f"### {title(model)}", ""]
        words = summaries().get(str(kind_name(model))) or first_paragraph(model)
        if words and model.__name__ not in words:
            self.lines += [cell(sentence(words)), ""]
        self.lines += keys_table(model, keys)
        self.tell_inside(model, keys)

    def tell_inside(self, model: Model, keys: Iterable[str]) -> None:
        for key in keys:
            self.tell_all(models_in(model.model_fields[key]))


def models_in(field: FieldInfo) -> Iterator[Model]:
    return (kind for kind in kinds_in(field.annotation) if is_model(kind))


def unexplained(root: Model) -> list[str]:
    """Return the keys below a model of which nothing is said: no words, and no telling type."""
    found, seen, to_read = [], set(), [root]
    while to_read:
        model = to_read.pop()
        if model in seen:
            continue
        seen.add(model)
        for key, field in model.model_fields.items():
            to_read += models_in(field)
            refers = any(isinstance(part, Refers) for part in field.metadata)
            if key not in ("kind", "method") and not (refers or about(model, key)):
                found.append(f"{model.__name__}.{key}")
    return sorted(set(found))


def experiment_page() -> str:
    from revocab.experiment.schema import Experiment

    return ExperimentPage(Experiment).text()
