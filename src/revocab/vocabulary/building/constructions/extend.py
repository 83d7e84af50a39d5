"""Extend: the base's vocabulary, every id as it was, and new tokens after it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field, model_validator

from revocab.closed import exactly_one
from revocab.errors import RevocabError
from revocab.limits import Positive, Size
from revocab.vocabulary.building.base_text import compare_corpora, with_marks_joined
from revocab.vocabulary.building.construction import BuildInputs, Built, ChangeOptions, Construction
from revocab.vocabulary.building.expansion import Change


class ExtendOptions(ChangeOptions):
    """How many new tokens: exactly one of ``add``, ``add_share``, ``size``."""

    add: Size | Literal["all"] | None = Field(
        default=None,
        description="number of new tokens; all: everything that the donor has and the base has not",
    )
    add_share: Positive | None = Field(
        default=None, description="new tokens as a share of the base's size: 1.0 doubles it"
    )
    size: Size | None = Field(default=None, description="size of the result")
    join_marks: bool = Field(
        default=False,
        exclude_if=lambda value: not value,
        description="repair the base's splitter where it cuts words at their marks (vowel signs of"
        " Hindi, Thai and others), so that new tokens can be whole words; text with marks has other"
        " tokens then",
    )

    @model_validator(mode="after")
    def _one_number(self) -> ExtendOptions:
        return exactly_one(self, ("add", "add_share", "size"))

    def conflict(self, inputs: Collection[str]) -> str | None:
        if self.add == "all" and "donor" not in inputs:
            return "add: all needs a donor; without one give a number"
        return super().conflict(inputs)


def wanted(options: Any, base_size: int) -> int | None:
    if options.add == "all":
        return None
    if options.size is not None:
        number = options.size - base_size
        if number < 1:
            raise RevocabError(
                f"construction 'extend', option size = {options.size}: the base has {base_size}"
                " tokens already; give more, or use replace or optimise"
            )
        return number
    return options.add if options.add is not None else max(1, round(options.add_share * base_size))


def build(inputs: BuildInputs, options: Any) -> Built:
    base = inputs.tokenizers["base"]
    facts: dict[str, Any] = {}
    compared = {}
    if options.join_marks:
        joined, repair = with_marks_joined(base)
        inputs = replace(inputs, tokenizers={**inputs.tokenizers, "base": joined})
        facts["expressions"] = [
            {"before": before, "after": after} for before, after in repair.expressions
        ]
        compared["marks_joined"] = joined
    change = Change.read(inputs, options)
    built = change.built(change.expand(change.base, wanted(options, len(change.base))), [])
    if options.join_marks or change.base.model == "Unigram":
        compared["extended"] = built.tokenizer
        facts["lines"] = compare_corpora(base, compared, inputs.mixtures["corpora"])
    return replace(built, facts=built.facts | facts)


CONSTRUCTION = Construction(
    name="extend",
    summary="the base and new tokens after it; no id changes",
    citation="Cui et al. 2023, Efficient and Effective Text Encoding for Chinese LLaMA and Alpaca; "
    "Gosal et al. 2024, Bilingual Adaptation of Monolingual Foundation Models (extend); "
    "Tikhomirov & Chernyshev 2024, Facilitating Large Language Model Russian Adaptation with "
    "Learned Embedding Propagation (Extended)",
    options=ExtendOptions,
    build=build,
)
