"""Extend: the base's vocabulary, every id as it was, and new tokens after it.

New BPE merges come after all of the base's and join what the base gives, so that no text has more
tokens than before. Two things break this, and are counted line by line: a splitter that is repaired
(:mod:`revocab.vocabulary.tokenizers.splitter`), and Unigram, whose best path may take a new piece
between the ends of two old ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field, model_validator

from revocab.closed import exactly_one
from revocab.errors import RevocabError
from revocab.heavy_types import PreTrainedTokenizerFast, Tokenizer
from revocab.limits import Positive, Size
from revocab.vocabulary.building.construction import BuildInputs, Built, ChangeOptions, Construction
from revocab.vocabulary.building.editable import EditableVocabulary
from revocab.vocabulary.building.expansion import Change
from revocab.vocabulary.building.training_text import training_texts
from revocab.vocabulary.tokenizers.encoding import encode_batches
from revocab.vocabulary.tokenizers.splitter import Repair, repair_splitter

#: So much of each corpus is compared.
COMPARED_BYTES = 4_000_000


def with_marks_joined(tokenizer: PreTrainedTokenizerFast) -> tuple[PreTrainedTokenizerFast, Repair]:
    """Return a tokenizer whose splitter keeps marks in words, and the repair.

    Raises :class:`RevocabError` where there is nothing to repair, and where no repair is exact.
    """
    vocabulary = EditableVocabulary.read(tokenizer)
    repair = repair_splitter(tokenizer.backend_tokenizer)
    where = f"construction 'extend', option join_marks = True: base {tokenizer.name_or_path}"
    if repair.problems:
        raise RevocabError(
            f"{where}: {problem}; leave join_marks out, or train a tokenizer"
            for problem in repair.problems
        )
    if not repair.expressions:
        raise RevocabError(
            f"{where}: its splitter cuts no word at a mark; allowed is a base whose splitter does;"
            " leave join_marks out"
        )
    state = {**vocabulary.state, "pre_tokenizer": repair.splitter}
    return replace(vocabulary, state=state).tokenizer(), repair


def compare_lines(
    before: Tokenizer, after: Mapping[str, Tokenizer], documents: Iterable[str]
) -> dict[str, Any]:
    """Return what tokenizers make of the lines of texts, in comparison with the one before.

    Of each its ``tokens``, the lines that are ``changed`` (other ids) and ``longer``, and ``most``,
    by how many tokens one line grows at most, with ``most_share``, by which share of its tokens.
    """
    numbers: dict[str, dict[str, Any]] = {
        name: {"tokens": 0, "changed": 0, "longer": 0, "most": 0, "most_share": 0.0}
        for name in after
    }
    lines, tokens = 0, 0
    texts = [line for document in documents for line in document.splitlines() if line]
    encoded = [encode_batches(tokenizer, texts) for tokenizer in (before, *after.values())]
    for first, *others in zip(*encoded, strict=True):
        lines += len(first)
        tokens += sum(map(len, first))
        for counts, batch in zip(numbers.values(), others, strict=True):
            for old, new in zip(first, batch, strict=True):
                more = len(new) - len(old)
                counts["tokens"] += len(new)
                counts["changed"] += new.ids != old.ids
                counts["longer"] += more > 0
                counts["most"] = max(counts["most"], more)
                counts["most_share"] = max(counts["most_share"], more / max(len(old), 1))
    return {"lines": lines, "tokens": tokens, **numbers}


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
        backends = {name: tokenizer.backend_tokenizer for name, tokenizer in compared.items()}
        facts["lines"] = {
            part.corpus: compare_lines(
                base.backend_tokenizer, backends,
                training_texts([part], {part.corpus: COMPARED_BYTES}),
            )
            for part in inputs.mixtures["corpora"]
        }  # fmt: skip
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
