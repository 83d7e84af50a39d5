"""Train: a new BPE or Unigram tokenizer on a mixture of corpora."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from revocab.limits import VOCABULARY, Bytes
from revocab.vocabulary.building.construction import (
    BuildInputs,
    Built,
    Construction,
    ConstructionOptions,
)
from revocab.vocabulary.building.trainers import train_tokenizer
from revocab.vocabulary.building.training_text import (
    batched,
    describe_training_text,
    training_budgets,
    training_texts,
)
from revocab.vocabulary.tokenizers.alphabets import (
    ALPHABET_SHARE,
    COUNTED_CHARACTERS,
    USUAL_DIGITS,
    frequent_characters,
)


class TrainOptions(ConstructionOptions):
    """What is trained. Shares are shares of training bytes."""

    mixtures: ClassVar[tuple[str, ...]] = ("corpora",)
    needs: ClassVar[tuple[str, ...]] = ("corpora",)

    alphabet: Literal["byte_fallback", "byte_level"] = Field(
        description="how text outside the vocabulary is spelt: bytes as tokens of their own, or all"
        " text as bytes"
    )
    vocabulary_size: Annotated[int, Field(ge=300), VOCABULARY] = Field(
        description="tokens in all: reached exactly, or an error"
    )
    limit_bytes: Bytes | None = Field(
        default=None, description="read about so much of the corpora in all"
    )
    model: Literal["bpe", "unigram"] = Field(default="bpe", description="how it splits words")
    digits: Literal["individual", "groups_of_three", "none"] | None = Field(
        default=None,
        description="how numbers are split; default: into digits (byte_fallback), groups of three"
        " (byte_level)",
    )
    whitespace: Literal["grouped", "single"] = Field(
        default="grouped", description="whether spaces in a row may become one token"
    )


def build(inputs: BuildInputs, options: Any) -> Built:
    mixture = inputs.mixtures["corpora"]
    budgets = training_budgets(mixture, options.limit_bytes)
    characters = None
    if options.alphabet == "byte_fallback":
        limit = max(64, int(options.vocabulary_size * ALPHABET_SHARE))
        # About as many bytes as characters are counted, every corpus by its share.
        shrink = min(1.0, COUNTED_CHARACTERS / max(sum(budgets.values()), 1))
        counted = {name: int(size * shrink) for name, size in budgets.items()}
        characters = frequent_characters(training_texts(mixture, counted), limit)
    tokenizer = train_tokenizer(
        batched(training_texts(mixture, budgets)),
        options.alphabet,
        options.vocabulary_size,
        characters,
        model=options.model,
        digits=options.digits,
        whitespace=options.whitespace,
    )
    facts = {
        "alphabet": options.alphabet,
        "model": options.model,
        "digits": options.digits or USUAL_DIGITS[options.alphabet],
        "whitespace": options.whitespace,
        "train": describe_training_text(mixture, budgets),
        "limit_bytes": options.limit_bytes,
        "characters": None if characters is None else len(characters),
    }
    return Built(tokenizer, facts)


CONSTRUCTION = Construction(
    name="train",
    summary="a new tokenizer, trained on a mixture of corpora",
    citation="Sennrich et al. 2016 (BPE); Kudo 2018 (Unigram); Kudo & Richardson 2018 "
    "(SentencePiece: marker, byte fallback)",
    options=TrainOptions,
    build=build,
)
