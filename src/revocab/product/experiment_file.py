"""The experiment file that `adapt` and `advise` write: what was chosen, each value with its reason
(``experiment.yaml.j2``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import wrap
from typing import Any

from revocab.languages import language_label
from revocab.product import choices as chosen
from revocab.product.inputs import STAND_IN, STAND_IN_TOKENS, Text

FOLDER = Path(__file__).parent
CHECK, TABLE = "check", "before-and-after"
#: Steps of the check that an advised experiment begins with.
CHECK_STEPS = 4


@dataclass(frozen=True)
class ExperimentFile:
    """What the file is made of."""

    #: Its first line: the same command continues with the file.
    command: str
    #: The model's name; its folder or Hub id, as the keys ``path`` or ``hub``, None for a stand-in;
    #: its tokens.
    name: str
    place: Mapping[str, Any] | None
    before: int
    method: str
    choices: chosen.Choices
    file: str = "adapt.yaml"
    experiment: str = "adapt"
    #: Of an advised experiment: how long its training takes, and what runs a short check first.
    hours: str = ""
    check: str = ""
    way: chosen.Way = chosen.TOGETHER
    #: How the vocabulary is made, its options besides base, corpora and size, and why.
    construction: str = "extend"
    options: Mapping[str, Any] = field(default_factory=dict)
    reasons: Sequence[str] = ()
    #: Of a model that the method reads besides, as of the model.
    helper: Mapping[str, Any] | None = None

    @property
    def entry(self) -> str:
        """The run's name in its group, which tables show: what it is."""
        size = self.choices.vocabulary
        if self.construction == "extend":
            return f"extended-by-{size - self.before}-tokens"
        return f"{self.construction}-{size}-tokens"

    def text(self) -> str:
        from revocab.report.template import environment

        choices, sizes = self.choices, chosen.bytes_by_language
        labels = ", ".join(language_label(text.language) for text in choices.texts)
        target: dict[str, Any] = {"base": "source", "corpora": chosen.shares(sizes(choices.texts))}
        target |= {"size": choices.vocabulary, **self.options, "limit_bytes": 50_000_000}
        group = {"label": self.name, "source": "source", "target": "target"}
        group |= {"helper": "helper"} if self.helper else {}
        group |= {"mixture": "adaptation", "recipe": "adapt"}
        values = {
            "title": f"{self.name} adapted to {labels}",
            "entry": self.entry,
            "reasons": [line for reason in self.reasons for line in wrap(reason, 96)],
            "target": target,
            "mixture": flow(chosen.mixture(choices.texts, choices.keep)),
            "kept": "" if self.place else flow(chosen.shares(sizes(choices.keep))),
            "group": group,
            "languages": flow([text.language for text in choices.corpora]),
            "rate": choices.embedding_rate,
            "alone": chosen.ALONE[self.way],
            "check_steps": CHECK_STEPS,
            "stand_in": STAND_IN,
            "stand_in_tokens": STAND_IN_TOKENS,
            "chosen": chosen,
            "corpus": lambda text: corpus(text, choices.heldout),
            "flow": flow,
        }
        template = environment(FOLDER).get_template("experiment.yaml.j2")
        return template.render({**vars(self), **values}) + "\n"


def flow(value: Any) -> str:
    """Return a value on one line, as YAML reads it."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, float):
        return f"{value:.1e}" if value and abs(value) < 0.01 else f"{value:g}"
    return json.dumps(value, ensure_ascii=False)


def corpus(text: Text, most: int) -> dict[str, Any]:
    """Return the entry of a text; one without empty lines is read line by line."""
    lines = {"text_documents": "lines"} if text.by_line else {}
    held = {"heldout_bytes": chosen.heldout_bytes(text.bytes, most)}
    return {"language": text.language, "source": {"path": str(text.path)}, **lines, **held}
