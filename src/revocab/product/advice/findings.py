"""What `advise` finds: costs of the texts, curves, times and payback; by these numbers which
construction is recommended and what speaks against it, beside the published figures that advice
stands on (``published.yaml``), each with its source and grade.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from revocab import yaml_file
from revocab.closed import Closed, OneLine, checked
from revocab.corpora.word_splitters import available_splitter, start_splitting
from revocab.costs.devices import (
    Service,
    Shape,
    break_even,
    memory,
    reading,
    short,
    training,
    training_hours,
    writing,
)
from revocab.costs.sizes import read_config
from revocab.errors import RevocabError
from revocab.models.findings import Finding
from revocab.product import choices
from revocab.product.advice.curve import (
    KEEP,
    SAMPLE_BYTES,
    SIZES,
    Construction,
    Curve,
    CurvePoint,
    Sample,
    draw_curve,
    sample_text,
)
from revocab.product.check.kind import kinds, look_at
from revocab.product.export.architecture import BY_MODEL_TYPE
from revocab.product.inputs import Source, Text, measure_speed
from revocab.progress import Say
from revocab.vocabulary.token_counts import (
    NEAR_FLOOR,
    count_token_classes,
    measure_floor,
    share_split,
)

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


FILE = Path(__file__).with_name("published.yaml")
#: By how much slower the other construction may be before it is taken for keeping every old id.
ALIKE = 1.03


class Figure(Closed):
    """One figure: who says what, and how well it is known."""

    grade: Literal["measured", "published", "folklore"]
    source: OneLine
    says: OneLine


class Recovered(Figure):
    """Tokens of training after which quality was as before; no ``high``: not reached."""

    constructions: list[OneLine]
    low: float
    high: float | None


class Threshold(Figure):
    """A finding with the number that a rule compares with."""

    value: float


class Published(Closed):
    """The file."""

    recovered: dict[str, Recovered]
    says: dict[str, Threshold]


@cache
def published() -> Published:
    return checked(Published, yaml_file.read(FILE)[0], f"{FILE.name}: ")


def about(construction: str) -> list[Recovered]:
    return [
        figure for figure in published().recovered.values() if construction in figure.constructions
    ]


def interval(figures: Sequence[Recovered]) -> tuple[float, float, bool]:
    """Return the fewest and the most tokens, and whether some curve has no end."""
    ends = [figure.high for figure in figures if figure.high is not None]
    return min(figure.low for figure in figures), max(ends), len(ends) < len(figures)


@dataclass(frozen=True)
class Option:
    """One construction at the size that its curve and the text allow."""

    construction: str
    added: int
    vocabulary: int
    #: Shares of the text's tokens, and of the time of writing it, that it saves.
    saved_tokens: float
    saved_time: float
    #: Characters after which it pays at the earliest: with the fewest tokens of published curves,
    #: or those that were asked for; infinite where it never does.
    pays: float

    @property
    def settings(self) -> dict[str, Any]:
        """The options of the construction besides base, corpora and size."""
        return {} if self.construction == "extend" else {"keep": self.vocabulary - self.added}


@dataclass(frozen=True)
class Facts:
    """What the rules look at."""

    #: Bytes of all of the text, and its tokens today.
    bytes: int
    tokens: float
    #: Tokens over the least that the splitter allows, and over that of a repaired one.
    over_floor: float
    over_repaired: float
    options: Sequence[Option]
    #: Tokens of training that are planned, and characters served a month, if they are stated.
    planned: float
    passes: float
    served: float | None

    @property
    def best(self) -> Option:
        return fastest(self.options, self.planned)

    @property
    def speak_against(self) -> list[str]:
        """The rules that say don't; the first is the headline's."""
        says, best = published().says, self.best
        rules = {
            "least-text": self.bytes < says["least-text"].value,
            "floor": self.over_floor <= NEAR_FLOOR,
            "little": best.saved_time < says["little"].value,
            "months": self.served is not None and best.pays > self.served * says["months"].value,
        }
        return [rule for rule, speaks in rules.items() if speaks]


def fastest(options: Sequence[Option], trained: float = math.inf) -> Option:
    """Return `extend` unless another writes clearly faster: it keeps every old id.

    So too where ``trained`` tokens are fewer than any published curve of the other construction
    needed: what is dropped would not be learned again.
    """
    enough = trained >= interval(about("optimise"))[0]
    best = max(options, key=lambda option: option.saved_time)
    for option in options:
        slower = (1 - option.saved_time) / (1 - best.saved_time)
        if option.construction == "extend" and (slower <= ALIKE or not enough):
            return option
    return best


@dataclass(frozen=True)
class TextCost:
    """A text in a tokenizer's tokens, special tokens left out."""

    name: str
    documents: int
    characters: int
    bytes: int
    words: int
    #: How words are counted (:mod:`revocab.corpora.word_splitters`).
    splitter: str
    tokens: int
    #: Tokens that are bytes of a character, and unknown ones.
    byte_fallback_tokens: int
    unknown: int
    #: Share of running words of more than one token; None where no word has a letter.
    words_cut: float | None
    #: The fewest tokens that any vocabulary could make of it (:func:`measure_floor`).
    floor_tokens: int
    #: The same where vowel signs belong to words; None where the splitter needs no such repair.
    repaired_floor_tokens: int | None
    #: Whether the floor is the splitter's, or what the trainer joins where there is no splitter.
    has_splitter: bool


def measure_text(
    tokenizer: PreTrainedTokenizerFast, documents: list[str], language: str
) -> TextCost:
    """Return what ``documents`` cost; ``language`` (ISO 639) says how words are counted.

    Memory holds all; :func:`revocab.product.advice.curve.sample_text` bounds them. Raises
    :class:`RevocabError` where there is no word, or no floor can be told.
    """
    splitter = available_splitter(language)
    wait = start_splitting(documents, language, splitter)
    counted = count_token_classes(tokenizer, documents)
    floor = measure_floor(tokenizer, documents)
    words = wait()
    if not any(words.counts):
        raise RevocabError(f"{language}: no words in the text; give text with words")
    return TextCost(
        name=language,
        documents=len(documents),
        characters=sum(map(len, documents)),
        bytes=sum(len(text.encode()) for text in documents),
        words=sum(words.counts),
        splitter=splitter,
        tokens=int(counted.tokens.sum()),
        byte_fallback_tokens=int(counted.bytes_.sum()),
        unknown=int(counted.unknown.sum() + counted.lost.sum()),
        words_cut=share_split(tokenizer, words.frequencies),
        floor_tokens=floor.tokens,
        repaired_floor_tokens=floor.repaired_tokens,
        has_splitter=floor.has_splitter,
    )


FOLDER = Path(__file__).parent
#: So much of each text is counted; of one to keep nothing else is read.
COUNTED_BYTES = 1_000_000
#: What is computed of every vocabulary.
KINDS = {"training": training, "reading": reading, "writing": writing, "memory": memory}
#: Sides of a model folder that are looked at without weights.
SIDES = ("chat", "special_ids")


@dataclass(frozen=True)
class Use:
    """A model on its device, and the text that it writes: tokens per character, new and old."""

    shape: Shape
    service: Service
    new: float
    old: float | None
    share: float

    def amounts(self, kind: str, option: Option | None) -> dict[str, float]:
        """Return what all that is written takes, term by term; old text is as it was."""
        shape = self.shape if option is None else self.shape.resized(option.vocabulary)
        new = self.new * (1 - (0.0 if option is None else option.saved_tokens))
        mixed = new if self.old is None else self.share * new + (1 - self.share) * self.old
        return KINDS[kind](shape, mixed, self.service)

    def option(self, curve: Curve, point: CurvePoint, budget: float | None) -> Option:
        plain = Option(
            curve.construction, point.added, point.vocabulary, curve.saving(point), 0.0, math.inf
        )
        before, after = (sum(self.amounts("writing", option).values()) for option in (None, plain))
        least = min(filter(None, (budget, interval(about(curve.construction))[0])))
        pays = self.payback("", least, plain).pays
        return replace(plain, saved_time=1 - after / before, pays=pays)

    def payback(self, name: str, tokens: float, option: Option) -> Payback:
        hours = training_hours(self.shape.resized(option.vocabulary), tokens, self.service)
        writes = (self.amounts("writing", choice) for choice in (None, option))
        return Payback(name, tokens, hours, break_even(hours, *writes))


@dataclass(frozen=True)
class Payback:
    """What training costs at so many tokens, and after how many characters it has paid."""

    name: str
    tokens: float
    hours: float
    #: Infinite: never.
    pays: float


@dataclass(frozen=True)
class Findings:
    """Everything that the page shows; ``sentences.j2`` says it."""

    source: Source
    options: Any
    use: Use
    costs: Sequence[TextCost]
    kept_costs: Sequence[TextCost]
    curves: Sequence[Curve]
    paybacks: Sequence[Payback]
    facts: Facts
    has_chat: bool
    #: Why no GGUF can be made of it, if so, and whether llama.cpp has its splitter.
    gguf_problem: str | None
    gguf_exact: bool
    #: What is wrong with chat and special ids already.
    already: Sequence[Finding]

    @property
    def best(self) -> Option:
        return self.facts.best

    def amounts(self, kind: str) -> tuple[dict[str, float], dict[str, float]]:
        """Return times or sizes as they are and as the recommended option would have them."""
        return self.use.amounts(kind, None), self.use.amounts(kind, self.best)

    @cached_property
    def against(self) -> list[str]:
        return self.sentences("against")

    @cached_property
    def reasons(self) -> list[str]:
        return self.sentences("reasons")

    @cached_property
    def headline(self) -> str:
        return f"Don't: {self.against[0]}" if self.against else self.sentences("recommended")[0]

    def sentences(self, macro: str) -> list[str]:
        """Return the lines of a macro of ``sentences.j2``."""
        from revocab.report.template import environment

        values = {
            "says": published().says, "about": about, "short": short, "choices": choices,
            "near_floor": NEAR_FLOOR, "infinity": math.inf,
        }  # fmt: skip
        module: Any = environment(FOLDER).get_template("sentences.j2").make_module(values)
        return [*filter(None, map(str.strip, getattr(module, macro)(self).splitlines()))]


def look(
    source: Source,
    texts: Sequence[Text],
    keep: Sequence[Text],
    options: Any,
    say: Say,
    *,
    brief: bool = False,
) -> Findings:
    """Look at a model and texts; raise :class:`RevocabError` for what cannot be advised on.

    ``brief``: curves have no more than the recommendation reads of them, which is the same.
    """
    from revocab.vocabulary.tokenizers.load import load_tokenizer

    assert source.folder is not None  # a stand-in is not advised on
    shape = Shape.of(read_config(source.folder)).resized(source.tokens)
    size = sum(text.bytes for text in texts)
    tokenizer = load_tokenizer(source.folder)

    def sampled(text: Text, limit: int) -> Sample:
        return sample_text(str(text.path), text.documents_of(), text.language, limit)

    def cost_of(text: Text, sample: Sample) -> TextCost:
        """Return what a text costs: of the held-out documents first, as curves measure them."""
        documents = [*sample.heldout, *sample.training]
        ends = accumulate(len(document.encode()) for document in documents)
        counted = 1 + sum(end < COUNTED_BYTES for end in ends)
        return measure_text(tokenizer, documents[:counted], text.language)

    samples = {text: sampled(text, SAMPLE_BYTES * text.bytes // size) for text in texts}
    say("counting tokens of the texts")
    costs = [cost_of(text, sample) for text, sample in samples.items()]
    kept_costs = [cost_of(text, sampled(text, COUNTED_BYTES)) for text in keep]
    most = choices.vocabulary_size(None, source.tokens, size, options.budget) - source.tokens
    curves = curves_of(tokenizer, [*samples.values()], source.tokens, most, say, brief=brief)
    if options.measure:
        speed, bandwidth = measure_speed(source.config, source.row, say)
    else:
        speed, bandwidth = options.speed, options.number("bandwidth")
    new = [options.share[text.language] for text in texts if text.language in options.share]
    use = Use(
        shape, Service(speed, bandwidth, options.batch, options.context, source.row),
        per_character(costs), per_character(kept_costs) if keep else None,
        min(1.0, sum(new)) if new else 1.0 - sum(options.share.values()),
    )  # fmt: skip
    tokens = use.new * sum(
        text.bytes * cost.characters / cost.bytes for text, cost in zip(texts, costs, strict=True)
    )
    passes = choices.PASSES / (choices.NEW_SHARE if keep else 1.0)
    candidates = []
    for curve in curves:  # at the largest size up to the knee that the text can teach, or the least
        fitting = [point for point in curve.points if point.added <= min(curve.knee, most)]
        candidates.append(use.option(curve, [*curve.points[:1], *fitting][-1], options.budget))
    left = tokens * (1 - fastest(candidates, options.budget or passes * tokens).saved_tokens)
    planned = options.budget or passes * left
    counted = sum(cost.tokens for cost in costs)
    repaired = sum(cost.repaired_floor_tokens or cost.floor_tokens for cost in costs)
    facts = Facts(
        bytes=size,
        tokens=tokens,
        over_floor=counted / sum(cost.floor_tokens for cost in costs),
        over_repaired=counted / repaired,
        options=candidates,
        planned=planned,
        passes=planned / left * choices.PASSES / passes,
        served=options.served,
    )
    low, high, _ = interval(about(facts.best.construction))
    name = "as asked for" if options.budget else f"{choices.PASSES} passes over the text"
    trainings = ((name, planned), ("fewest published", low), ("most published", high))
    problem, exact = gguf(source)
    return Findings(
        source, options, use, costs, kept_costs, curves,
        [use.payback(*training, facts.best) for training in trainings],
        facts, bool(tokenizer.chat_template), problem, exact,
        # Without weights some is unreadable.
        [finding for finding in look_at(source.folder, [kinds()[side] for side in SIDES])
         if finding.code != "unreadable"],
    )  # fmt: skip


def gguf(source: Source) -> tuple[str | None, bool]:
    """Return why no GGUF can be expected of a model, and whether every token stays."""
    from revocab.product.export.cutters import cutters_for
    from revocab.product.export.vocabulary import Vocabulary

    assert source.folder is not None
    architecture = BY_MODEL_TYPE.get(source.config.model_type)
    if architecture is None:
        return f"model_type {source.config.model_type}", False
    try:
        problems = [*architecture.problems(source.config)]
        exact = not problems and cutters_for(Vocabulary.read(source.folder))[1]
    except RevocabError as error:
        return error.problems[0], False
    return next(iter(problems), None), exact


def per_character(costs: Sequence[TextCost]) -> float:
    return sum(cost.tokens for cost in costs) / sum(cost.characters for cost in costs)


def curves_of(
    tokenizer: Any, samples: Sequence[Sample], base: int, most: int, say: Say, *, brief: bool
) -> list[Curve]:
    """Return the curves that can be drawn, of vocabularies that are multiples of 64.

    What the text can teach is among their sizes. Raises :class:`RevocabError` where there is none.
    """
    training = [document for sample in samples for document in sample.training]
    heldout = [document for sample in samples for document in sample.heldout]

    def sizes(kept: int, *more: int) -> list[int]:
        rounded = {
            (kept + size) // choices.MULTIPLE * choices.MULTIPLE - kept
            for size in (choices.MULTIPLE, *SIZES, most, *more)
        }
        return sorted(size for size in rounded if size > 0)

    kept = round(KEEP * base)
    say("learning new tokens: extend, optimise")
    curves: list[Curve] = []
    problems: list[str] = []
    wanted: dict[Construction, list[int]]
    wanted = {"extend": sizes(base), "optimise": sizes(kept, base - kept)}
    for construction, every in wanted.items():
        added = [size for size in every if size <= most or not brief] or every[:1]
        try:
            curve = draw_curve(
                construction, tokenizer, training, heldout, added, say, half=not brief
            )
            curves.append(curve)
        except RevocabError as error:  # of a small vocabulary half is its bytes
            problems += error.problems
    if not curves:
        raise RevocabError(problems)
    return curves
