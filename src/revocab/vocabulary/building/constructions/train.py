"""Train: a new BPE or Unigram tokenizer on a mixture of corpora, with one of two alphabets.

BPE: Sennrich et al. 2016, "Neural Machine Translation of Rare Words with Subword Units". Unigram:
Kudo 2018, "Subword Regularization". Both trained by the ``tokenizers`` library.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import islice
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from revocab.errors import RevocabError
from revocab.heavy_types import PreTrainedTokenizerFast, Tokenizer
from revocab.limits import VOCABULARY, Bytes
from revocab.vocabulary.building.construction import BuildInputs, Built, Construction
from revocab.vocabulary.building.editable import EditableVocabulary
from revocab.vocabulary.building.training_text import (
    batched,
    describe_training_text,
    training_budgets,
    training_texts,
)
from revocab.vocabulary.building.words import WordOptions, add_words, read_words
from revocab.vocabulary.tokenizers import alphabets
from revocab.vocabulary.tokenizers.alphabets import (
    ALPHABET_SHARE,
    COUNTED_CHARACTERS,
    USUAL_DIGITS,
    frequent_characters,
)

ModelType = Literal["bpe", "unigram"]

#: No limit of the tokenizer itself: a model's context length lies in the model's configuration.
MODEL_MAX_LENGTH = 131_072
#: Decimals kept of Unigram scores: the trainer's sums differ in the last digits of a double.
SCORE_DECIMALS = 6
#: Step by which the library's Unigram trainer tells apart characters that it never chose itself.
FORCED_CHARACTER_STEP = 1e-4

SPECIALS: dict[str, dict[str, str]] = {
    # Byte fallback leaves no unknown token in text, so <unk> is free to pad with (as in Llama-2).
    "byte_fallback": {
        "unk_token": "<unk>",
        "bos_token": "<s>",
        "eos_token": "</s>",
        "pad_token": "<unk>",
    },
    "byte_level": {
        "bos_token": "<|begin_of_text|>",
        "eos_token": "<|end_of_text|>",
        "pad_token": "<|end_of_text|>",
    },
}
#: The first ids of a trained vocabulary.
FIRST = {alphabet: [*dict.fromkeys(names.values())] for alphabet, names in SPECIALS.items()}
FIRST["byte_fallback"] += alphabets.BYTE_TOKENS


def _bpe(
    trained: Tokenizer, batches: Iterable[list[str]], size: int, letters: list[str], alphabet: str
) -> Tokenizer:
    from tokenizers import Tokenizer, models, trainers

    first = FIRST[alphabet]
    trainer = trainers.BpeTrainer(
        vocab_size=size - len(first),
        show_progress=False,
        initial_alphabet=letters,
        limit_alphabet=len(letters),
        special_tokens=[],
    )
    trained.train_from_iterator(batches, trainer)
    model = json.loads(trained.to_str())["model"]
    ordered = first + sorted(model["vocab"], key=model["vocab"].__getitem__)
    vocabulary = {token: number for number, token in enumerate(ordered)}
    merges = [tuple(merge) for merge in model["merges"]]
    if alphabet == "byte_level":
        return Tokenizer(models.BPE(vocabulary, merges))
    return Tokenizer(
        models.BPE(vocabulary, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    )


def steady_scores(pieces: list[tuple[str, float]]) -> list[tuple[str, float]]:
    """Return pieces and scores that are the same in every process, best first.

    The trainer adds in the order of a seeded hash: sums differ in their last digits, and characters
    that it keeps only because it must are numbered in that order.
    """
    scores = {piece: round(score, SCORE_DECIMALS) for piece, score in pieces}
    lowest = min(scores.values())
    forced = sorted(piece for piece in scores if len(piece) == 1)
    reach = lowest + FORCED_CHARACTER_STEP * (len(forced) + 1)
    forced = [piece for piece in forced if scores[piece] <= reach]
    values = sorted((scores[piece] for piece in forced), reverse=True)
    scores.update(zip(forced, values, strict=True))
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))


def _unigram(
    trained: Tokenizer, batches: Iterable[list[str]], size: int, letters: list[str], alphabet: str
) -> Tokenizer:
    from tokenizers import Tokenizer, models, trainers

    first = FIRST[alphabet]
    trainer = trainers.UnigramTrainer(
        vocab_size=size - len(first) + 1,
        show_progress=False,
        initial_alphabet=letters,
        special_tokens=["<unk>"],
        unk_token="<unk>",
    )
    try:
        trained.train_from_iterator(batches, trainer)
    # The library raises a bare exception when the text gives it nothing to choose from.
    except Exception as error:
        raise RevocabError(
            f"vocabulary_size {size}: Unigram could not be trained on this text"
            f" ({str(error).strip()}); give more text or another vocabulary_size"
        ) from error
    pieces = json.loads(trained.to_str())["model"]["vocab"]
    ordered = steady_scores([(piece, score) for piece, score in pieces if piece != "<unk>"])
    # No word holds the spelling of a special or byte token, so their scores are never used; the
    # lowest one leaves the cost of an unknown character, which depends on it, as it is.
    lowest = ordered[-1][1]
    vocabulary = [(token, lowest) for token in first] + ordered
    fallback = alphabet == "byte_fallback"
    return Tokenizer(
        models.Unigram(vocabulary, unk_id=0 if fallback else None, byte_fallback=fallback)
    )


def train_tokenizer(
    batches: Iterable[list[str]],
    alphabet: alphabets.Alphabet,
    vocabulary_size: int,
    characters: list[str] | None = None,
    *,
    model: ModelType = "bpe",
    digits: alphabets.Digits | None = None,
    whitespace: alphabets.Whitespace = "grouped",
) -> PreTrainedTokenizerFast:
    """Train a tokenizer of exactly ``vocabulary_size`` tokens on ``batches`` of texts.

    ``characters`` (``byte_fallback`` only) get a token each; see
    :func:`revocab.vocabulary.tokenizers.alphabets.frequent_characters`. ``digits`` None is what is
    published with the alphabet. Every text gets bos in front. Raises :class:`RevocabError` when
    the size cannot be met exactly.
    """
    from tokenizers import AddedToken, Regex, Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    letters = (
        sorted(pre_tokenizers.ByteLevel.alphabet())
        if alphabet == "byte_level"
        else characters or [alphabets.MARKER]
    )
    smallest = len(FIRST[alphabet]) + len(letters)
    if vocabulary_size < smallest:
        raise RevocabError(
            f"vocabulary_size {vocabulary_size}: {alphabet} needs at least {smallest}"
            " (special tokens, bytes and single characters)"
        )
    digits = digits or alphabets.USUAL_DIGITS[alphabet]
    trained = Tokenizer(models.BPE() if model == "bpe" else models.Unigram())
    alphabets.set_pipeline(trained, alphabet, digits, whitespace)
    if alphabet == "byte_fallback":
        # Line ends and tabs are left out of training, so that they stay byte tokens, as in Mistral.
        dropped = r"\s"
        if model == "unigram":  # BPE limits its alphabet itself; Unigram keeps all that it sees.
            dropped = "[^" + "".join(rf"\x{{{ord(character):x}}}" for character in letters) + "]"
        trained.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Split(Regex(dropped), "removed"), trained.pre_tokenizer]
        )
    train = _bpe if model == "bpe" else _unigram
    tokenizer = train(trained, batches, vocabulary_size, letters, alphabet)
    alphabets.set_pipeline(tokenizer, alphabet, digits, whitespace)
    reached = tokenizer.get_vocab_size()
    if reached != vocabulary_size:
        raise RevocabError(
            f"vocabulary_size {vocabulary_size}: the training text yields only {reached} tokens"
            " (no further piece qualifies); lower it or give more text"
        )
    # The special tokens are in the vocabulary already; bos stands before every text.
    names = SPECIALS[alphabet]
    unique = sorted(set(names.values()), key=tokenizer.get_vocab().__getitem__)
    tokenizer.add_special_tokens(
        [AddedToken(token, special=True, normalized=False) for token in unique]
    )
    start = names["bos_token"]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{start} $A",
        pair=f"{start} $A {start}:1 $B:1",
        special_tokens=[(start, tokenizer.token_to_id(start))],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=MODEL_MAX_LENGTH,
        clean_up_tokenization_spaces=False,
        **names,
    )


class TrainOptions(WordOptions):
    """What is trained. Shares are shares of training bytes."""

    mixtures: ClassVar[tuple[str, ...]] = ("corpora",)
    needs: ClassVar[tuple[str, ...]] = ("corpora",)

    alphabet: alphabets.Alphabet = Field(
        description="how text outside the vocabulary is spelt: bytes as tokens of their own, or all"
        " text as bytes"
    )
    vocabulary_size: Annotated[int, Field(ge=300), VOCABULARY] = Field(
        description="tokens in all: reached exactly, or an error"
    )
    limit_bytes: Bytes | None = Field(
        default=None, description="read about so much of the corpora in all"
    )
    model: ModelType = Field(default="bpe", description="how it splits words")
    digits: alphabets.Digits | None = Field(
        default=None,
        description="how numbers are split; default: into digits (byte_fallback), groups of three"
        " (byte_level)",
    )
    whitespace: alphabets.Whitespace = Field(
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
    path, listed = inputs.places.get("words"), None
    if path:
        base = EditableVocabulary.read(tokenizer)
        words = add_words(base, read_words(path), steps=options.word_steps)
        grown = _cut_to(words.vocabulary, len(base), words.tokens)
        words.check(grown)
        tokenizer, listed = grown.tokenizer(), words.listed(grown.ids)
        facts["words"] = words.facts(path)
    return Built(tokenizer, facts, words=listed)


def _cut_to(vocabulary: EditableVocabulary, size: int, words: list[str]) -> EditableVocabulary:
    """Return a vocabulary without the tokens learned last that no word is made of."""
    last = vocabulary.dropping_order({}, stay=set(words))
    dropped = [*islice(last, len(vocabulary) - size)]
    if len(vocabulary) - len(dropped) > size:
        raise RevocabError(
            f"vocabulary_size {size}: bytes, characters and the words of the list need"
            f" {len(vocabulary) - len(dropped)} tokens; give at least as many"
        )
    return vocabulary.without(dropped).renumbered()


CONSTRUCTION = Construction(
    name="train",
    summary="a new tokenizer, trained on a mixture of corpora",
    citation="Sennrich et al. 2016 (BPE); Kudo 2018 (Unigram); Kudo & Richardson 2018 "
    "(SentencePiece: marker, byte fallback)",
    options=TrainOptions,
    build=build,
)
