"""What `advise` finds: costs of the texts, curves, times, payback, and the facts for its rules."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

from revocab.adapting.choices import MULTIPLE, NEW_SHARE, PASSES, learning_rate, vocabulary_size
from revocab.adapting.source import Source
from revocab.adapting.texts import Text
from revocab.advice.curve import KEEP, SIZES, Construction, Curve, CurvePoint, draw_curve
from revocab.advice.losses import losses
from revocab.advice.measured import measure_speed
from revocab.advice.published import about, interval
from revocab.advice.recommendation import Advice, Facts, Option, fastest, recommend
from revocab.advice.sample import SAMPLE_BYTES, Sample, sample_text
from revocab.advice.text_cost import TextCost, measure_text
from revocab.costs.devices import (
    Service,
    Shape,
    break_even,
    memory,
    reading,
    training,
    training_hours,
    writing,
)
from revocab.costs.sizes import read_config
from revocab.errors import RevocabError
from revocab.progress import Say

#: So much of each text is counted; of one to keep nothing else is read.
COUNTED_BYTES = 1_000_000
#: What is computed of every vocabulary.
KINDS = {"training": training, "reading": reading, "writing": writing, "memory": memory}


@dataclass(frozen=True)
class Use:
    """A model on its device, and the text that it writes: tokens per character, new and old."""

    shape: Shape
    service: Service
    new: float
    old: float | None
    share: float

    def mixed(self, saved: float) -> float:
        """Return the tokens per character of all that is written; old text is as it was."""
        new = self.new * (1 - saved)
        return new if self.old is None else self.share * new + (1 - self.share) * self.old

    def amounts(self, kind: str, option: Option | None) -> dict[str, float]:
        if option is None:
            return KINDS[kind](self.shape, self.mixed(0.0), self.service)
        sized = self.shape.resized(option.vocabulary)
        return KINDS[kind](sized, self.mixed(option.saved_tokens), self.service)

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
        writes = (self.amounts("writing", made) for made in (None, option))
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
    """Everything that the page shows."""

    name: str
    options: Any
    use: Use
    costs: Sequence[TextCost]
    kept_costs: Sequence[TextCost]
    curves: Sequence[Curve]
    #: Times and sizes by kind, as they are and as the recommended option would have them.
    before: dict[str, dict[str, float]]
    after: dict[str, dict[str, float]]
    paybacks: Sequence[Payback]
    losses: Sequence[tuple[str, str]]
    facts: Facts
    advice: Advice

    @property
    def planned(self) -> Payback:
        return self.paybacks[0]


def look(
    folder: Path,
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
    from transformers import AutoConfig

    from revocab.tokenizers.load import load_tokenizer

    shape = Shape.of(read_config(folder)).resized(source.tokens)
    size = sum(text.bytes for text in texts)
    tokenizer = load_tokenizer(folder)
    samples = {text: sampled(text, SAMPLE_BYTES * text.bytes // size) for text in texts}
    kept = {text: sampled(text, COUNTED_BYTES) for text in keep}
    say("counting tokens of the texts")
    costs, kept_costs = (
        [cost_of(tokenizer, text, sample) for text, sample in looked_at.items()]
        for looked_at in (samples, kept)
    )
    most = vocabulary_size(None, source.tokens, size, options.budget) - source.tokens
    curves = curves_of(tokenizer, [*samples.values()], source.tokens, most, say, brief=brief)
    config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    service = service_of(options, config.get_text_config(), source.row, say)
    use = Use(
        shape, service, per_character(costs), per_character(kept_costs) if keep else None,
        share_of_new(options.share, [text.language for text in texts]),
    )  # fmt: skip
    tokens = use.new * sum(
        text_characters(text, cost) for text, cost in zip(texts, costs, strict=True)
    )
    passes = PASSES / (NEW_SHARE if keep else 1.0)
    made = [use.option(curve, point_of(curve, most), options.budget) for curve in curves]
    best = fastest(made, options.budget or passes * tokens)
    planned = options.budget or passes * tokens * (1 - best.saved_tokens)
    counted = sum(cost.tokens for cost in costs)
    facts = Facts(
        bytes=size,
        tokens=tokens,
        over_floor=counted / sum(cost.floor_tokens for cost in costs),
        over_repaired=counted
        / sum(cost.repaired_floor_tokens or cost.floor_tokens for cost in costs),
        keeps=bool(keep),
        options=made,
        planned=planned,
        passes=planned / (tokens * (1 - best.saved_tokens)) * PASSES / passes,
        served=options.served,
        chat=bool(tokenizer.chat_template),
        embedding_rate=learning_rate(source.width),
    )
    best = facts.best
    low, high, _ = interval(about(best.construction))
    asked = "as asked for" if options.budget else f"{PASSES} passes over the text"
    return Findings(
        source.name, options, use, costs, kept_costs, curves,
        before={kind: use.amounts(kind, None) for kind in KINDS},
        after={kind: use.amounts(kind, best) for kind in KINDS},
        paybacks=[
            use.payback(name, number, best)
            for name, number in (
                (asked, planned), ("fewest published", low), ("most published", high)
            )
        ],
        losses=[*losses(folder, tokenizer, config.get_text_config(), shape, best)],
        facts=facts, advice=recommend(facts),
    )  # fmt: skip


def sampled(text: Text, limit: int) -> Sample:
    return sample_text(str(text.path), text.documents_of(), text.language, limit)


def cost_of(tokenizer: Any, text: Text, sample: Sample) -> TextCost:
    """Return what a text costs today: of the held-out documents first, as curves measure them."""
    documents = [*sample.heldout, *sample.training]
    ends = accumulate(len(document.encode()) for document in documents)
    counted = 1 + sum(end < COUNTED_BYTES for end in ends)
    return measure_text(tokenizer, documents[:counted], text.language)


def text_characters(text: Text, cost: TextCost) -> float:
    return text.bytes * cost.characters / cost.bytes


def per_character(costs: Sequence[TextCost]) -> float:
    return sum(cost.tokens for cost in costs) / sum(cost.characters for cost in costs)


def share_of_new(shares: Mapping[str, float], languages: Sequence[str]) -> float:
    """Return the share of what is written that is in the new languages."""
    named = [share for language, share in shares.items() if language in languages]
    others = sum(shares.values()) - sum(named)
    return min(1.0, sum(named)) if named else 1.0 - others


def curves_of(
    tokenizer: Any,
    samples: Sequence[Sample],
    base: int,
    most: int,
    say: Say,
    *,
    brief: bool = False,
) -> list[Curve]:
    """Return the curves that can be drawn, of vocabularies that are multiples of 64.

    What the text can teach is among their sizes. Raises :class:`RevocabError` where there is none.
    """
    training = [document for sample in samples for document in sample.training]
    heldout = [document for sample in samples for document in sample.heldout]

    def sizes(kept: int, *more: int) -> list[int]:
        rounded = {
            (kept + size) // MULTIPLE * MULTIPLE - kept for size in (MULTIPLE, *SIZES, most, *more)
        }
        return sorted(size for size in rounded if size > 0)

    kept = round(KEEP * base)
    say("learning new tokens: extend, optimise")
    curves: list[Curve] = []
    problems: list[str] = []
    wanted: dict[Construction, list[int]]
    wanted = {"extend": sizes(base), "optimise": sizes(kept, base - kept)}
    if brief:
        wanted = {
            construction: [size for size in added if size <= most] or added[:1]
            for construction, added in wanted.items()
        }
    for construction, added in wanted.items():
        try:
            curves.append(
                draw_curve(construction, tokenizer, training, heldout, added, say, half=not brief)
            )
        except RevocabError as error:  # of a small vocabulary half is its bytes
            problems += error.problems
    if not curves:
        raise RevocabError(problems)
    return curves


def point_of(curve: Curve, most: int) -> CurvePoint:
    """Return the largest size up to the knee that the text can teach; the least if none is."""
    fitting = [point for point in curve.points if point.added <= min(curve.knee, most)]
    return fitting[-1] if fitting else curve.points[0]


def service_of(options: Any, config: Any, row: int, say: Say) -> Service:
    """Return the device that is stated or, where that is asked for, this machine as it is timed."""
    if options.measure:
        speed, bandwidth = measure_speed(config, row, say)
    else:
        speed, bandwidth = options.speed, options.number("bandwidth")
    return Service(speed, bandwidth, options.batch, options.context, row)
