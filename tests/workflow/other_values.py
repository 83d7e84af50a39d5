"""For every key of the schema a change of every_key.yaml: derived from the schema and the file.

Another value is of the key's type, or stands under the same key elsewhere, or is the id of a thing
of the same section. Where the file may not have both (a path and a pattern, tokens and steps), what
stands beside the key goes. Which of them the experiment allows, and what it runs again, is tried.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel

from revocab.experiment import Experiment

Changes = dict[str, Any]
#: Values tried of a key without a companion, and with each.
ALONE, TOGETHER = 12, 3
#: Names of keys of mappings that the file leaves out.
NAMES = ("it", "en", "text")
#: Text that is the id of nothing.
TEXTS = ("other", "it", "en", "fr", "last", "first", "bleu")
#: By the name of a key, what it takes and nothing else in the file has.
BY_NAME: dict[str, Any] = {
    "chat_template": "chatml", "template": "chatml", "pattern": "items/*.jsonl", "files": "*.jsonl",
    "world": "parallel.test", "path": "items/other.jsonl", "vectors": "vectors/two.txt",
    "templates": "items", "labels": ["From", "To"], "between_shots": "\n###\n",
    "steps": ["first", "last", 0], "paper_values": "corrected", "data_root": "elsewhere",
    "scripts": ["Latin"], "words": "models/two/config.json",
}  # fmt: skip
TEXT = "evaluation.generation.tasks"
HUBS = ("corpora.web.source", f"{TEXT}.hub.pool", f"{TEXT}.hub.test", "fertility.parallel.source")
#: Keys that need more than another value.
BY_HAND: dict[str, Changes] = {
    "models.*.path": {"models.plain.path": "models/two"},
    "corpora.*.answers.judge.kind": {
        "corpora.graded.answers.judge": {"kind": "rule", "checks": {"language": "en"}},
        "corpora.graded.answers.judge_model": None,
    },
    "corpora.*.answers.judge_model": {"corpora.graded.answers.judge_model": "plain"},
    "corpora.*.copying": {"corpora.chat.copying": "sentence", "corpora.chat.messages_field": None},
    "corpora.*.source.lines.*": {
        "corpora.it.source.lines.it": "items/it.txt",
        "corpora.it.source.world": None,
        "corpora.it.text_field": "it",
    },
    f"{TEXT}.*.kind": {
        f"{TEXT}.world.kind": "question_answering",
        f"{TEXT}.world.direction": ["it"],
    },
    f"{TEXT}.*.score": {f"{TEXT}.copying.score": "copied_released"},
    f"{TEXT}.*.taught_by": {f"{TEXT}.world.taught_by": "pairs"},
    "fertility.parallel.source.lines.*": {
        "fertility.parallel.source.lines.it": "items/it.txt",
        "fertility.parallel.source.lines.en": "items/en.txt",
        "fertility.parallel.source.hub": None,
    },
    "recipes.*.loss": {
        "recipes.answers.loss": "all",
        "recipes.answers.chat_template": None,
        "runs.tuned.mixture": "even",
    },
    "models.*.vocabulary_only": {
        "models.helper.vocabulary_only": True,
        "models.helper.hub": "o/helper",
        "models.helper.path": None,
    },
    "recipes.*.tokens": {"recipes.adapt.tokens": 4096, "recipes.adapt.steps": None},
    "recipes.*.stages.*.share": {
        "recipes.staged.stages.0.share": 0.25,
        "recipes.staged.stages.0.steps": None,
        "recipes.staged.stages.1.share": 0.75,
        "recipes.staged.stages.1.steps": None,
    },
    "recipes.*.stages.*.steps": {
        "recipes.staged.stages.0.steps": 3,
        "recipes.staged.stages.1.steps": 5,
    },
    "recipes.*.stages.*.tokens": {
        "recipes.staged.stages.0.tokens": 512,
        "recipes.staged.stages.0.steps": None,
        "recipes.staged.steps": None,
    },
    "runs.*.paper_steps.*": {"runs.main.paper_steps.4": 200},
    **{
        f"tokenizers.*.{way}.corpora.*": {
            f"tokenizers.{name}.{way}.corpora.it": 0.9,
            f"tokenizers.{name}.{way}.corpora.en": 0.1,
        }
        for name, way in (("optimised", "optimise"), ("replaced", "replace"))
    },
    **{
        f"tokenizers.*.{way}.word_steps": {
            f"tokenizers.{name}.{way}.word_steps": True,
            f"tokenizers.{name}.{way}.words": "models/two/config.json",
        }
        for name, way in (("extended", "extend"), ("target", "train"))
    },
    "runs.*.methods.*.method": {"runs.main.methods.fvt.method": "mean"},
    "runs.*.methods.*.mixture": {"runs.main.methods.fvt.mixture": "even"},
    "runs.*.methods.*.target": {"runs.main.methods.fvt.target": "replaced"},
    "runs.*.methods.*.replicate_of": {"runs.second.methods.rows-first.replicate_of": "again-too"},
    "scale.methods.*.method": {"scale.methods.quick.method": "mean"},
    "runs.*.languages": {"runs.second.languages": ["it"], "tables.second-en": None},
}
#: A sweep with other values; a group's is that of its run in the file.
SWEEP_OF_GROUP = {
    "runs.third.for.rate.low.recipe.learning_rate": 1.0e-4,
    "runs.third.for.rate.high.recipe.learning_rate": 1.0e-3,
    "runs.third.for.hold.it": 1000,
    "runs.third.methods.swept": {"method": "mean", "evaluate": False},
}
OTHER_SWEEP: dict[str, tuple[str, Any]] = {
    "*.*.*": ("rate.low.recipe.learning_rate", 2.0e-4), "hold.*": ("hold.it", 2000),
    "seed": ("seed", [4]),
}  # fmt: skip
for pattern, (key, value) in OTHER_SWEEP.items():
    BY_HAND[f"runs.*.for.{pattern}"] = {**SWEEP_OF_GROUP, f"runs.third.for.{key}": value}
    BY_HAND[f"runs.*.methods.*.for.{pattern}"] = {f"runs.third.methods.swept.for.{key}": value}
# Parity is over several corpora, and not for a donor's tokens.
for tokenizer, way in {"optimised": "optimise", "replaced": "replace"}.items():
    options = f"tokenizers.{tokenizer}.{way}"
    several = {f"{options}.donor": None, f"{options}.corpora": {"it": 0.5, "web": 0.5}}
    BY_HAND[f"tokenizers.*.{way}.parity"] = {f"{options}.parity": "bytes", **several}
DECODING = {
    "evaluation.generation": "evaluation.generation", "corpora.*.answers": "corpora.own.answers",
    "corpora.*.answers.judge": "corpora.graded.answers.judge",
}  # fmt: skip
for pattern, place in DECODING.items():
    for name, value in {"top_p": 0.5, "top_k": 5}.items():
        drawn = {f"{place}.decoding.{name}": value, f"{place}.decoding.temperature": 0.5}
        BY_HAND[f"{pattern}.decoding.{name}"] = drawn
for source in HUBS:
    names = {f"{source}.hub.names.it": "it", f"{source}.hub.names.en": "en"}
    names[f"{source}.hub.name"] = None
    pattern = source.replace(".web.", ".*.").replace(".hub.", ".*.")
    BY_HAND[f"{pattern}.hub.names.*"] = names


class Place(NamedTuple):
    """One place of a key: the keys that lead there, what it may hold, and what it holds."""

    keys: tuple[str | int, ...]
    kind: Any
    value: Any

    @property
    def dotted(self) -> str:
        return ".".join(map(str, self.keys))


def members(annotation: Any) -> list[Any]:
    origin = get_origin(annotation)
    if origin is Annotated:
        return members(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return [one for part in get_args(annotation) for one in members(part)]
    return [] if annotation is type(None) else [annotation]


def is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def places(annotation: Any, value: Any, at: tuple = (), key: str = "") -> Iterator[tuple]:
    """Yield (key of the schema, place) for all that ``value`` holds or might hold.

    ``*`` in a key is an id or a place in a list.
    """
    for kind in members(annotation):
        if is_model(kind):
            if isinstance(value, kind) or value is None:
                for name, field in kind.model_fields.items():
                    inner = getattr(value, name, None)
                    below = f"{key}.{name}".lstrip(".")
                    yield from places(field.annotation, inner, (*at, name), below)
                if getattr(kind, "others", None):
                    yield from places(dict[str, kind.others], None, at, key)
        elif get_origin(kind) in (dict, Mapping):
            entries = value if isinstance(value, Mapping) and value else dict.fromkeys(NAMES)
            for name, one in entries.items():
                yield from places(get_args(kind)[1], one, (*at, name), f"{key}.*")
        elif get_origin(kind) is list and any(map(is_model, members(get_args(kind)[0]))):
            for number, one in enumerate(value or (None,)):
                yield from places(get_args(kind)[0], one, (*at, number), f"{key}.*")
        else:
            yield key, Place(at, kind, value)


class OtherValues:
    """The places of every key in an experiment, and other values for them."""

    def __init__(self, values: dict[str, Any], experiment: Experiment):
        self.values = values
        self.places: dict[str, list[Place]] = {}
        for key, place in places(Experiment, experiment):
            self.places.setdefault(key, []).append(place)
        for of_key in self.places.values():
            of_key.sort(key=lambda place: len(place.keys) - self._written(place))
        runs = [f"{group}-{name}" for group, of in values["runs"].items() for name in of["methods"]]
        scored = values["evaluation"]
        tasks = [*scored["multiple_choice"]["tasks"], *scored["generation"]["tasks"]]
        sections = [list(one) for one in values.values() if isinstance(one, dict)]
        axes = {
            axis: None
            for group in values["runs"].values()
            for run in group["methods"].values()
            for axis in run.get("axes", ())
        }
        self.ids = [runs, list(axes), tasks, *sections]

    def _written(self, place: Place) -> int:
        """Return how many of the keys that lead to a place stand in the file."""
        here = self.values
        for depth, key in enumerate(place.keys):
            if not (isinstance(here, list) or (isinstance(here, dict) and key in here)):
                return depth
            here = here[key]
        return len(place.keys)

    def changes(self, key: str) -> Iterator[Changes]:
        """Yield changes of a key alone, then with something else taken away."""
        if key in BY_HAND:
            yield BY_HAND[key]
            return
        for place in self.places[key][:3]:
            for value in self.others(key, place)[:ALONE]:
                yield {place.dotted: value}
        for place in self.places[key][:2]:
            for beside in self._beside(place):
                for value in self.others(key, place)[:TOGETHER]:
                    yield {place.dotted: value, beside: None}

    def _beside(self, place: Place) -> Iterator[str]:
        """Yield what stands beside a key, or beside the mapping that holds it."""
        for depth in (len(place.keys) - 1, len(place.keys) - 2):
            here: Any = self.values
            for key in place.keys[:depth]:
                here = here.get(key) if isinstance(here, dict) else here and here[key]
            for name in here if isinstance(here, dict) else ():
                if name != place.keys[depth]:
                    yield ".".join(map(str, (*place.keys[:depth], name)))

    def others(self, key: str, place: Place, kind: Any = None) -> list[Any]:
        """Return values of the right type that a key does not have in this place, likely first."""
        kind, value = kind or place.kind, place.value
        same = [one.value for one in self.places[key] if one.value is not None]
        if get_origin(kind) in (list, tuple):
            (inner, *_) = members(get_args(kind)[0])
            now = list(value or ())
            found = [*map(list, same), now[::-1], now[1:], now[:1]]
            plain = Place(place.keys, inner, now[0] if now else None)
            found += [[one] for one in self.others(key, plain)]
        elif kind is bool:
            found = [not value]
        elif get_origin(kind) is Literal:
            found = list(get_args(kind))
        elif kind in (int, float):
            now = value if isinstance(value, int | float) and value else 1
            found = [one for one in same if isinstance(one, int | float)]
            found += [now * 2, now / 2, now + 1, now * 0.9, 1, 4, 64]
        else:
            found = [one for one in same if isinstance(one, str)]
            alike = [one for ids in self.ids if value in ids for one in ids]
            found += [*alike, *TEXTS, *chain.from_iterable(ids[:2] for ids in self.ids)]
        now = list(value) if isinstance(value, tuple) else value
        found = [BY_NAME[name], *found] if (name := place.keys[-1]) in BY_NAME else found
        kept = [one for one in found if one not in (now, [])]
        return [one for number, one in enumerate(kept) if one not in kept[:number]]
