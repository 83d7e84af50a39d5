"""What `adapt` decides for the user, from text, model and time, and the experiment file that it and
`advise` write: each value with its reason (``experiment.yaml.j2``).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from textwrap import wrap
from typing import Any, Literal

from revocab.costs.devices import BYTES_PER_TOKEN
from revocab.errors import RevocabError, refuse
from revocab.languages import language_label
from revocab.product.inputs import STAND_IN, STAND_IN_TOKENS, Source, Text

#: Bytes of text for each new token where the user names no size: at about four bytes a token, each
#: new one is then seen some hundred times in one pass.
BYTES_PER_NEW_TOKEN = 500
#: Training tokens for each new token: with fewer, most new rows stay near where they begin. Where
#: the user names the size, the least that is not refused.
TOKENS_PER_NEW_TOKEN, LEAST_TOKENS_PER_NEW_TOKEN = 50, 10
#: Fewer bytes than this for each new token that the user asks for leave most of them unseen.
LEAST_BYTES_PER_NEW_TOKEN = 50
#: With fewer bytes per token of a stand-in, too few pieces repeat to make that many.
STAND_IN_BYTES_PER_TOKEN = 16
#: Sizes of vocabularies are multiples of this, which is also the least that is added.
MULTIPLE = 64
#: A step has so many rows, unless there would be too few or too many steps.
ROWS, MOST_ROWS = 8, 256
FEWEST_STEPS, ENOUGH_STEPS, MANY_STEPS = 20, 100, 2000
#: Passes over a text after which more of the same teach little: Muennighoff et al. 2023, "Scaling
#: Data-Constrained Language Models".
PASSES = 4
#: Shares of the mixture where there is text of the old language to keep.
NEW_SHARE = 0.75
#: Held out of each text: a share, at least and at most so many bytes.
HELDOUT_SHARE, FEWEST_HELDOUT_BYTES, HELDOUT_BYTES = 0.05, 2_000, 50_000
#: Of the time, measuring takes at most this share. All held-out text is read so often: by the base,
#: at the start, the middle and the end, and by both models for the verdict; a reading costs a third
#: of a training step's operations.
MEASURED_SHARE, MEASURINGS, READING = 0.25, 6, 1 / 3
#: How much faster a step is in bfloat16 where the processor has products of it; measuring stays in
#: float32.
BFLOAT16_GAIN = 2.0
#: Bytes of a held-out token, and seconds besides training and measuring: imports, jobs, the report.
HELDOUT_BYTES_PER_TOKEN, OTHER_SECONDS = 3, 60.0
#: What the verdict's test of speed costs, in tokens of training.
SPEED_TEST_TOKENS = 3_000
#: Rate of embeddings of a model 4,096 wide, inversely proportional to the width, and its ceiling.
RATE, RATE_WIDTH, HIGHEST_RATE = 1.0e-4, 4096, 2.0e-3
#: The rate of all other weights as a share of it.
BODY_SHARE = 0.1


#: A way on from a start, and what alone it trains first; none: everything from the first step on.
Way = Literal["together", "rows-first", "embeddings-first"]
TOGETHER: Way = "together"
ALONE: Mapping[Way, str | None]
ALONE = {TOGETHER: None, "rows-first": "new_rows", "embeddings-first": "embeddings"}
#: The share of the steps in which it is.
FIRST_SHARE = 0.2


@dataclass(frozen=True)
class Choices:
    """The values of the experiment file."""

    texts: Sequence[Text]
    keep: Sequence[Text]
    vocabulary: int
    row: int
    rows: int
    steps: int
    embedding_rate: float
    #: Minutes in all, estimated: training, measuring, and what is around them.
    minutes: float
    #: Bytes held out of each text at most.
    heldout: int = HELDOUT_BYTES
    #: Of the forward pass in training.
    precision: str = "float32"

    @property
    def corpora(self) -> list[Text]:
        return [*self.texts, *self.keep]

    @property
    def trained_tokens(self) -> int:
        return self.steps * self.rows * self.row

    @property
    def every(self) -> int:
        """Steps between checkpoints: one in the middle, and the last."""
        return -(-self.steps // 2)


def heldout_bytes(size: int, most: int = HELDOUT_BYTES) -> int:
    return max(1, min(most, int(size * HELDOUT_SHARE)))


def affordable_heldout(tokens: int, texts: int, gain: float) -> int:
    """Return the bytes held out of each of so many texts, which a training of so many tokens can
    afford to measure; ``gain`` is by how much training is faster than float32.
    """
    measured = tokens * MEASURED_SHARE / (1 - MEASURED_SHARE) / (MEASURINGS * READING * gain)
    most = int(measured * HELDOUT_BYTES_PER_TOKEN / texts)
    return max(FEWEST_HELDOUT_BYTES, min(HELDOUT_BYTES, most))


def bytes_by_language(texts: Sequence[Text]) -> dict[str, int]:
    return {text.language: text.bytes for text in texts}


def shares(sizes: Mapping[str, int], total: float = 1.0) -> dict[str, float]:
    """Return shares in proportion to the sizes, so that all are read equally often.

    They are rounded, none to 0, and sum to ``total``.
    """
    *others, last = sizes
    whole = max(1, sum(sizes.values()))
    rounded = {name: round(total * sizes[name] / whole, 4) or 0.0001 for name in others}
    return {**rounded, last: round(total - sum(rounded.values()), 4)}


def mixture(texts: Sequence[Text], keep: Sequence[Text]) -> dict[str, float]:
    if not keep:
        return shares(bytes_by_language(texts))
    old = shares(bytes_by_language(keep), round(1 - NEW_SHARE, 4))
    return {**shares(bytes_by_language(texts), NEW_SHARE), **old}


def vocabulary_size(stated: int | None, base: int, text: int, trained: float | None = None) -> int:
    """Return the tokens of the new vocabulary: ``stated`` or, if None, what ``text`` bytes carry
    and ``trained`` tokens of training (None: enough) can teach.

    At most twice the ``base``: Gosal et al. 2024, Table 1, found no gain beyond. Raises
    :class:`RevocabError` for more than text and training can teach, or no more than the base has.
    """
    tokens = math.inf if trained is None else trained
    if stated is None:
        new = min(base, text // BYTES_PER_NEW_TOKEN)
        if new < MULTIPLE:
            raise RevocabError(
                f"--text: {text:,} bytes in all, but {MULTIPLE} new tokens need"
                f" {MULTIPLE * BYTES_PER_NEW_TOKEN:,}; give more text, or --vocabulary N"
            )
        if tokens < (needed := MULTIPLE * TOKENS_PER_NEW_TOKEN):
            raise RevocabError(
                f"--minutes or --tokens: {tokens:,.0f} tokens of training, but {MULTIPLE} new"
                f" tokens need {needed:,}; give more"
            )
        new = int(min(new, tokens / TOKENS_PER_NEW_TOKEN))
        return (base + new) // MULTIPLE * MULTIPLE or base + new
    if stated <= base:
        raise RevocabError(f"--vocabulary {stated}: the model has {base:,} tokens; give more")
    new, problems = stated - base, []
    for what, has, each in (
        ("bytes of text", text, LEAST_BYTES_PER_NEW_TOKEN),
        ("tokens of training", tokens, LEAST_TOKENS_PER_NEW_TOKEN),
    ):
        if new * each > has:
            most = base + int(has // each)
            fewer = f", or at most {most}" if most > base else ""
            problems.append(
                f"--vocabulary {stated}: {new:,} new tokens need at least {new * each:,} {what},"
                f" received {has:,.0f}; give more{fewer}"
            )
    refuse(problems[:1])
    return stated


def choose(
    source: Source,
    texts: Sequence[Text],
    keep: Sequence[Text],
    *,
    vocabulary: int | None = None,
    tokens: int | None = None,
    minutes: float = math.inf,
    speed: float = 1.0,
    precision: str = "float32",
    limited: bool = True,
) -> Choices:
    """Return what the file will say; ``speed`` is in training tokens per second on this device.

    Raises :class:`RevocabError` with all that is impossible. Not ``limited``: a stated size of the
    vocabulary is taken as it is, however short the training.
    """
    size = sum(text.bytes for text in texts)
    if tokens is None:  # what the time allows, at most four passes
        seconds = max(0.0, minutes * 60 - OTHER_SECONDS - SPEED_TEST_TOKENS / speed)
        allowed = int(min(10**15, seconds * (1 - MEASURED_SHARE) * speed))
        tokens = int(min(PASSES * size / BYTES_PER_TOKEN / (NEW_SHARE if keep else 1.0), allowed))
    trained = tokens if limited or vocabulary is None else None
    vocabulary = vocabulary_size(vocabulary, source.tokens, size, trained)
    row, rows = source.row, ROWS
    while rows > 1 and tokens < ENOUGH_STEPS * rows * row:
        rows //= 2
    while rows < MOST_ROWS and tokens > MANY_STEPS * rows * row:
        rows *= 2
    steps = max(FEWEST_STEPS, tokens // (rows * row))
    rate = learning_rate(source.width)
    gain = BFLOAT16_GAIN if precision == "bfloat16" else 1.0
    heldout = affordable_heldout(tokens, len(texts) + len(keep), gain)
    choices = Choices(texts, keep, vocabulary, row, rows, steps, rate, 0.0, heldout, precision)
    seconds = choices.trained_tokens / speed / (1 - MEASURED_SHARE) + OTHER_SECONDS
    return replace(choices, minutes=(seconds + SPEED_TEST_TOKENS / speed) / 60)


def learning_rate(width: int) -> float:
    """Return the peak rate of embeddings; all else learns at :data:`BODY_SHARE` of it."""
    return float(f"{min(HIGHEST_RATE, RATE * RATE_WIDTH / width):.2g}")


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
    choices: Choices
    file: str = "adapt.yaml"
    experiment: str = "adapt"
    #: Of an advised experiment: how long its training takes, and what runs a short check first.
    hours: str = ""
    check: str = ""
    way: Way = TOGETHER
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

        choices, sizes = self.choices, bytes_by_language
        labels = ", ".join(language_label(text.language) for text in choices.texts)
        target: dict[str, Any] = {"base": "source", "corpora": shares(sizes(choices.texts))}
        target |= {"size": choices.vocabulary, **self.options, "limit_bytes": 50_000_000}
        group = {"label": self.name, "source": "source", "target": "target"}
        group |= {"helper": "helper"} if self.helper else {}
        group |= {"mixture": "adaptation", "recipe": "adapt"}
        values = {
            "title": f"{self.name} adapted to {labels}",
            "entry": self.entry,
            "reasons": [line for reason in self.reasons for line in wrap(reason, 96)],
            "target": target,
            "mixture": flow(mixture(choices.texts, choices.keep)),
            "kept": "" if self.place else flow(shares(sizes(choices.keep))),
            "group": group,
            "languages": flow([text.language for text in choices.corpora]),
            "rate": choices.embedding_rate,
            "alone": ALONE[self.way],
            "check_steps": CHECK_STEPS,
            "stand_in": STAND_IN,
            "stand_in_tokens": STAND_IN_TOKENS,
            "first_share": FIRST_SHARE,
            "body_share": BODY_SHARE,
            "heldout_share": HELDOUT_SHARE,
            "measured_share": MEASURED_SHARE,
            "bytes_per_new_token": BYTES_PER_NEW_TOKEN,
            "tokens_per_new_token": TOKENS_PER_NEW_TOKEN,
            "new_share": NEW_SHARE,
            "passes": PASSES,
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
    held = {"heldout_bytes": heldout_bytes(text.bytes, most)}
    return {"language": text.language, "source": {"path": str(text.path)}, **lines, **held}
