"""Trim: the base without tokens that some languages do not need; the others stay as they were."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, ClassVar

from pydantic import Field, field_validator, model_validator

from revocab.closed import Closed, Language, exactly_one
from revocab.limits import Bytes, Share, Size
from revocab.vocabulary.building.construction import (
    BuildInputs,
    Built,
    Construction,
    ConstructionOptions,
)
from revocab.vocabulary.building.editable import EditableVocabulary
from revocab.vocabulary.building.training_text import (
    describe_training_text,
    training_budgets,
    training_texts,
)
from revocab.vocabulary.building.trimming import (
    Trim,
    check_known,
    check_spelling,
    compare_lines,
    count_ids,
    describe,
)


class Measure(Closed):
    """How much is kept: exactly one of ``keep``, ``coverage``, ``languages``."""

    keep: Size | None = Field(default=None, description="so many tokens in all")
    coverage: Share | None = Field(
        default=None,
        description="as few tokens as make up such a share of the tokens of each text: 0.9999",
    )
    languages: list[Language] | None = Field(
        default=None,
        description="all tokens in the scripts of these languages, and those without letters",
    )
    allow_unknown: bool = Field(
        default=False, description="trim also a vocabulary in which some bytes have no token"
    )

    @field_validator("languages", mode="before")
    @classmethod
    def _in_one_word(cls, value: Any) -> Any:
        words = isinstance(value, list) and all(isinstance(word, str) for word in value)
        return [name for word in value for name in word.split(",")] if words else value

    @model_validator(mode="after")
    def _one_measure(self) -> Measure:
        return exactly_one(self, ("keep", "coverage", "languages"))


class TrimOptions(Measure, ConstructionOptions):
    """What is trimmed, and the text in which its tokens are counted."""

    mixtures: ClassVar[tuple[str, ...]] = ("corpora",)
    tokenizers: ClassVar[tuple[str, ...]] = ("base",)
    needs: ClassVar[tuple[str, ...]] = ("base",)

    limit_bytes: Bytes | None = Field(default=None, description="use at most this much text")
    tokens: list[str] = Field(
        default_factory=list,
        description="tokens that are kept in any case, as the base spells them",
    )

    def conflict(self, inputs: Collection[str]) -> str | None:
        uncounted = self.languages is None and "corpora" not in inputs
        return "keep and coverage need corpora to count tokens in" if uncounted else None


def build(inputs: BuildInputs, options: Any) -> Built:
    """Return the base's kept tokens in its order, renumbered from 0."""
    import numpy as np

    base = EditableVocabulary.read(inputs.tokenizers["base"])
    stay = check_spelling(base, options.allow_unknown, "allow_unknown: true")
    check_known(base, options.tokens, "option tokens")
    mixture = inputs.mixtures.get("corpora", [])
    budgets = training_budgets(mixture, options.limit_bytes) if mixture else {}
    uses = [count_ids(base.base, training_texts([part], budgets)) for part in mixture]
    uses_LV = np.array(uses, np.int64).reshape(-1, len(base))
    trim = Trim.choose(base, uses_LV, options, stay.union(options.tokens))
    compare_lines(trim, training_texts(mixture, budgets))
    facts = {
        "alphabet": base.style,
        "options": inputs.recorded(options, nulls=False),
        **describe(trim, [part.corpus for part in mixture]),
        "corpora": describe_training_text(mixture, budgets),
    }
    used_V = uses_LV.sum(axis=0)
    gone = [
        {"id": base.ids[token], "token": token, "uses": int(used_V[base.ids[token]])}
        for token in trim.dropped
    ]
    return Built(trim.tokenizer, facts, {"added": [], "dropped": gone})


CONSTRUCTION = Construction(
    name="trim",
    summary="the base without tokens that its texts or languages do not need; nothing else changes",
    citation="Purason et al. 2025, Teaching Old Tokenizers New Words (leaf-based pruning)",
    options=TrimOptions,
    build=build,
)
