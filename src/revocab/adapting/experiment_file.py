"""The experiment file that `adapt` writes: what it chose, with the reason beside each value."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import wrap
from typing import Any

from revocab.adapting.choices import (
    BODY_SHARE,
    BYTES_PER_NEW_TOKEN,
    HELDOUT_BYTES,
    HELDOUT_SHARE,
    MEASURED_SHARE,
    NEW_SHARE,
    PASSES,
    TOGETHER,
    TOKENS_PER_NEW_TOKEN,
    Choices,
    Way,
    bytes_by_language,
    heldout_bytes,
    mixture,
    shares,
    stages,
)
from revocab.adapting.source import STAND_IN, STAND_IN_TOKENS
from revocab.adapting.texts import Text
from revocab.languages import language_label

#: Its id, and with it the name of the results folder.
EXPERIMENT = "adapt"
GROUP, CHECK = "adapted", "check"
#: Steps of the check that an advised experiment begins with.
CHECK_STEPS = 4
TABLE = "before-and-after"
TOKENIZERS = {"kind": "tokenizers", "title": "Tokenizers on held-out text"}
#: How the stand-in is trained.
STAND_IN_RECIPE = {
    "sequence_length": 256,
    "batch_size": 8,
    "steps": 150,
    "warmup_steps": 15,
    "learning_rate": 2.0e-3,
    "weight_decay": 0.1,
    "checkpoint_every": 150,
    "repeat_corpora": True,
}


@dataclass(frozen=True)
class Advised:
    """How long an advised training takes, and what tries it first."""

    time: str
    #: What runs the short check alone.
    check: str


@dataclass(frozen=True)
class Asked:
    """What the user gave, and what was chosen for it."""

    #: Written in the first line: the same command continues with the file.
    command: str
    name: str
    #: The model's folder or Hub id, as the keys ``path`` or ``hub``; None for a stand-in.
    place: Mapping[str, Any] | None
    method: str
    choices: Choices
    #: The file's name and the experiment's, and what `revocab advise` says in place of `adapt`.
    file: str = "adapt.yaml"
    experiment: str = EXPERIMENT
    advised: Advised | None = None
    way: Way = TOGETHER
    #: How the vocabulary is made, its options besides base and corpora, and why.
    construction: str = "extend"
    options: Mapping[str, Any] = field(default_factory=dict)
    reasons: Sequence[str] = ()
    #: Of a model that the method reads besides, as of the model.
    helper: Mapping[str, Any] | None = None
    #: Tokens of the model.
    before: int = 0

    @property
    def entry(self) -> str:
        """The run's name in its group, which tables show: what it is."""
        if self.construction == "extend" and self.before:
            return f"extended-by-{self.choices.vocabulary - self.before}-tokens"
        return f"{self.construction}-{self.choices.vocabulary}-tokens"

    @property
    def run(self) -> str:
        return f"{GROUP}-{self.entry}"


def flow(value: Any) -> str:
    """Return a value on one line, as YAML reads it."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, float):
        return f"{value:.1e}" if value and abs(value) < 0.01 else f"{value:g}"
    return json.dumps(value, ensure_ascii=False)


def block(name: str, values: Mapping[str, Any]) -> Iterator[str]:
    """Yield an entry of a section, with a line for each of its keys."""
    yield f"  {name}:"
    yield from (f"    {key}: {flow(value)}" for key, value in values.items())


def experiment_text(asked: Asked) -> str:
    lines = [*_head(asked), *_training(asked), *_runs(asked), *_shown(asked)]
    return "\n".join(lines) + "\n"


def _head(asked: Asked) -> Iterator[str]:
    """Yield the file as far as tokenizers and mixtures."""
    choices = asked.choices
    labels = ", ".join(language_label(text.language) for text in choices.texts)
    yield f"# {asked.command}"
    yield f"# To change it: edit, and revocab run {asked.file}. Unchanged results are kept."
    if asked.advised:
        yield f"# First a check of {CHECK_STEPS} steps: {asked.advised.check}"
    yield f"experiment: {asked.experiment}"
    yield f"title: {flow(f'{asked.name} adapted to {labels}')}"
    yield "seed: 17"
    kilobytes = choices.heldout / 1000
    yield f"\n# Held out of each text: {HELDOUT_SHARE:.0%}, at most {kilobytes:.0f} kB, so that"
    yield f"# measuring takes at most {MEASURED_SHARE:.0%} of the time."
    yield "corpora:"
    for text in choices.corpora:
        note = "  # no empty line in the file: each line is a document" if text.by_line else ""
        yield f"  {text.language}: {flow(corpus(text, choices.heldout))}{note}"
    yield ""
    yield from _target_reasons(asked)
    added = {
        "base": "source",
        "corpora": shares(bytes_by_language(choices.texts)),
        "size": choices.vocabulary,
        **asked.options,
    }
    yield "tokenizers:"
    yield f"  source: {flow(source_tokenizer(asked))}"
    if asked.helper:
        yield f"  helper: {flow(dict(asked.helper))}"
    yield f"  target: {flow({asked.construction: {**added, 'limit_bytes': 50_000_000}})}"
    kept = f"; {1 - NEW_SHARE:.0%} old text, so that it is not forgotten" if choices.keep else ""
    yield f"\n# Shares of tokens: by size, so that texts are read equally often{kept}."
    yield "mixtures:"
    yield f"  adaptation: {flow(mixture(choices.texts, choices.keep))}"
    if asked.place is None:
        yield f"  stand-in: {flow(shares(bytes_by_language(choices.keep)))}"


def _target_reasons(asked: Asked) -> Iterator[str]:
    if asked.reasons:
        yield from (f"# {line}" for reason in asked.reasons for line in wrap(reason, 96))
        return
    yield "# The old tokens keep their ids, so that old text costs the same. A new token for"
    yield f"# each {BYTES_PER_NEW_TOKEN} bytes of text, so that it is seen often, and for each"
    yield f"# {TOKENS_PER_NEW_TOKEN} tokens of training; at most as many as the old ones; a"
    yield "# multiple of 64. Text beyond 50 MB changes a vocabulary little."


def corpus(text: Text, most: int = HELDOUT_BYTES) -> dict[str, Any]:
    """Return the entry of a text; one without empty lines is read line by line."""
    read = {"text_documents": "lines"} if text.by_line else {}
    held = {"heldout_bytes": heldout_bytes(text.bytes, most)}
    return {"language": text.language, "source": {"path": str(text.path)}, **read, **held}


def source_tokenizer(asked: Asked) -> dict[str, Any]:
    if asked.place is not None:
        return dict(asked.place)
    trained = {
        "corpora": shares(bytes_by_language(asked.choices.keep)),
        "alphabet": "byte_fallback",
    }
    return {"train": {**trained, "vocabulary_size": STAND_IN_TOKENS, "limit_bytes": 20_000_000}}


def recipe_of(choices: Choices, way: Way) -> dict[str, Any]:
    precision = {} if choices.precision == "float32" else {"precision": choices.precision}
    return {
        "sequence_length": choices.row,
        "batch_size": choices.rows,
        "steps": choices.steps,
        "warmup_share": 0.05,
        "weight_decay": 0.1,
        "checkpoint_every": choices.every,
        "repeat_corpora": True,
        **precision,
        "stages": stages(choices, way),
    }


def _training(asked: Asked) -> Iterator[str]:
    choices, recipe = asked.choices, recipe_of(asked.choices, asked.way)
    tokens = choices.trained_tokens
    yield f"\n# {tokens:,} tokens, as asked for or as the time allows, at most {PASSES}"
    time = asked.advised.time if asked.advised else f"{choices.minutes:.1f} minutes here in all"
    yield f"# passes over the text; about {time}. A row fills the"
    yield "# model's context, up to 512 tokens. Embeddings learn at 1e-4 for a width of 4,096,"
    yield f"# faster if it is narrower (at most 2e-3); all else at {BODY_SHARE:g} of that rate."
    yield "recipes:"
    yield from block("adapt", recipe)
    if asked.advised:
        brief: dict[str, Any] = dict.fromkeys(("steps", "checkpoint_every"), CHECK_STEPS)
        if asked.way != TOGETHER:  # its first stage has a single step
            brief["warmup_share"] = 0.0
        yield f"  {CHECK}: {flow({**recipe, **brief})}"
    if asked.place is None:
        yield f"  stand-in: {flow(STAND_IN_RECIPE)}"


def model_lines(asked: Asked) -> Iterator[str]:
    pretrain = {**STAND_IN, "mixture": "stand-in", "recipe": "stand-in"}
    made = {"pretrain": pretrain} if asked.place is None else dict(asked.place)
    yield "\nmodels:"
    yield f"  source: {flow({'tokenizer': 'source', **made})}"
    if asked.helper:
        yield f"  helper: {flow({'tokenizer': 'helper', **asked.helper, 'vocabulary_only': True})}"


def group_of(asked: Asked, recipe: str) -> dict[str, str]:
    helped = {"helper": "helper"} if asked.helper else {}
    return {
        "label": asked.name,
        "source": "source",
        "target": "target",
        **helped,
        "mixture": "adaptation",
        "recipe": recipe,
    }


def _runs(asked: Asked) -> Iterator[str]:
    yield from model_lines(asked)
    group = group_of(asked, "adapt")
    more = {"method": "lapt", "start": {"run": asked.run, "step": "last"}, "evaluate": False}
    yield "\nruns:"
    if asked.advised:
        methods = {"methods": {asked.method: {"evaluate": False}}}
        yield f"  {CHECK}: {flow({**group, 'recipe': CHECK, **methods})}"
    yield from block(GROUP, group)
    yield "    methods:"
    if asked.method == "fvt":
        yield "      # A new row is the mean of the source's rows for its pieces: no second model."
    yield f"      {asked.entry}: {flow({'method': asked.method, 'evaluate': False})}"
    yield "      # Remove a # to train longer from the last checkpoint, or, to compare, as long"
    yield "      # with the old vocabulary."
    yield f"      # more: {flow(more)}"
    yield f"      # unchanged: {flow({'method': 'lapt', 'evaluate': False})}"


def languages_of(asked: Asked) -> list[str]:
    return [text.language for text in asked.choices.corpora]


def measured_lines(languages: list[str]) -> Iterator[str]:
    """Yield what is measured: held-out text of languages, by loss and by both tokenizers."""
    yield f"\nevaluation: {flow({'heldout': languages})}"
    measured = {"split": "heldout", "tokenizers": ["source", "target"], "corpora": languages}
    yield f"fertility: {flow(measured)}"


def _shown(asked: Asked) -> Iterator[str]:
    ids = languages_of(asked)
    columns: list[dict[str, Any]] = [{"vocabulary": {}}]
    for language in ids:
        columns.append({"fertility": {"corpus": language}, "label": f"{language}: tokens per word"})
    for language in ids:
        for step, label in ((0, "start"), ("last", "end")):
            heading = f"{language}: bits per byte, {label}"
            columns.append({"heldout": {"language": language, "step": step}, "label": heading})
    yield from measured_lines(ids)
    runs = [f"{GROUP}-base", asked.run]
    before = {"kind": "runs", "title": "Before and after", "runs": runs}
    yield "\ntables:"
    yield from block(TABLE, before)
    yield "    columns:"
    yield from (f"      - {flow(column)}" for column in columns)
    yield f"  tokenizers: {flow(TOKENIZERS)}"
    yield "figures:"
    for kind, title in (("heldout", "Held-out loss"), ("loss", "Training loss")):
        yield f"  {kind}: {flow({'kind': kind, 'title': title, 'runs': runs[1:]})}"
