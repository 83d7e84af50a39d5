"""Extend: the base's vocabulary, every id as it was, and new tokens after it. Optimise and replace:
the base without the tokens that cover the corpus worst, and new ones.

New BPE merges come after all of the base's and join what the base gives, so that no text has more
tokens than before. Two things break this, and are counted line by line: a splitter that is repaired
(``tokenizers/alphabets.py``), and Unigram, whose best path may take a new piece
between the ends of two old ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from revocab.closed import exactly_one
from revocab.errors import RevocabError
from revocab.heavy_types import PreTrainedTokenizerFast, Tokenizer
from revocab.limits import Positive, Size
from revocab.vocabulary.building.construction import (
    BuildInputs,
    Built,
    ChangeOptions,
    Construction,
    DropOptions,
)
from revocab.vocabulary.building.editable import EditableVocabulary
from revocab.vocabulary.building.expansion import Change, Expansion, new_scores
from revocab.vocabulary.building.training_text import cut_pretokens, training_texts
from revocab.vocabulary.building.words import AddedWords, WordOptions, add_words, read_words
from revocab.vocabulary.tokenizers.alphabets import Repair, repair_splitter
from revocab.vocabulary.tokenizers.encoding import encode_batches

SIZES = ("add", "add_share", "size")
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


class ExtendOptions(ChangeOptions, WordOptions):
    """Which new tokens: words of a list, and so many that are learned or a donor's; of these
    exactly one of ``add``, ``add_share``, ``size``.
    """

    needs: ClassVar[tuple[str, ...]] = ("base",)

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
        return exactly_one(self, SIZES) if any(map(self._states, SIZES)) else self

    def _states(self, key: str) -> bool:
        return getattr(self, key) is not None

    def conflict(self, inputs: Mapping[str, Any]) -> str | None:
        sized = any(map(self._states, SIZES))
        if "words" in inputs and not sized:
            alone = [key for key in ("corpora", "donor") if key in inputs]
            alone += [key for key in ("limit_bytes", "parity") if self._states(key)]
            return f"{alone[0]} needs one of {', '.join(SIZES)}" if alone else None
        if not sized:
            return f"exactly one of {', '.join(SIZES)} must be given, received none"
        if "corpora" not in inputs:
            return "needs corpora, from which tokens are learned, or words alone"
        if self.add == "all" and "donor" not in inputs:
            return "add: all needs a donor; without one give a number"
        return super().conflict(inputs) or WordOptions.conflict(self, inputs)


def wanted(options: Any, base_size: int, words: int = 0) -> int | None:
    """Return how many tokens are learned or a donor's, beside those for words; None: all."""
    if options.add == "all":
        return None
    if options.size is not None:
        number: int = options.size - base_size - words
        if number < (0 if words else 1):
            with_words = f", {base_size + words} with the words" if words else ""
            raise RevocabError(
                f"construction 'extend', option size = {options.size}: the base has {base_size}"
                f" tokens already{with_words}; give more, or use replace or optimise"
            )
        return number
    if options.add is None and options.add_share is None:
        return 0
    return options.add if options.add is not None else max(1, round(options.add_share * base_size))


def build_extended(inputs: BuildInputs, options: Any) -> Built:
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
    words, listed = None, None
    if path := inputs.places.get("words"):
        words = add_words(change.base, read_words(path), steps=options.word_steps)
        facts["words"] = words.facts(path)
        if change.corpus.words:
            # What the words' tokens change in lines that hold none of the words.
            facts["words"]["lines"] = {
                part.corpus: compare_lines(
                    change.base.base.backend_tokenizer, {"words": words.vocabulary.backend},
                    words.texts_without(training_texts([part], {part.corpus: COMPARED_BYTES // 4})),
                )
                for part in change.corpus.mixture
            }  # fmt: skip
    grown = words.vocabulary if words else change.base
    expansion = change.expand(
        grown, wanted(options, len(change.base), len(grown) - len(change.base))
    )
    if words:
        expansion = _with_words(change, words, expansion)
        listed = words.listed(expansion.vocabulary.ids)
    built = change.built(expansion, [])
    if options.join_marks or change.base.model == "Unigram":
        compared["extended"] = built.tokenizer
        backends = {name: tokenizer.backend_tokenizer for name, tokenizer in compared.items()}
        facts["lines"] = {
            part.corpus: compare_lines(
                base.backend_tokenizer, backends,
                training_texts([part], {part.corpus: COMPARED_BYTES}),
            )
            for part in inputs.mixtures.get("corpora", [])
        }  # fmt: skip
    return replace(built, facts=built.facts | facts, words=listed)


def _with_words(change: Change, words: AddedWords, expansion: Expansion) -> Expansion:
    """Return what was learned after the words, and the words, as one expansion."""
    tokens = [*words.tokens, *expansion.tokens]
    grown = expansion.vocabulary
    if grown.model == "Unigram" and expansion.tokens:
        # A learned piece may be the better path through a word: the shortest are scored first.
        total = change.corpus.words.total()
        scores = new_scores(change.base.scores, expansion.uses, total, tokens)
        grown = change.base.plus(tokens, scores={**grown.scores, **scores})
    words.check(grown)
    uses = cut_pretokens(grown.backend, change.corpus.words).token_counts()
    used = Counter({token: uses[token] for token in tokens})
    return replace(
        expansion,
        vocabulary=grown, tokens=tokens, uses=used, steps=[*words.steps, *expansion.steps],
    )  # fmt: skip


class OptimiseOptions(DropOptions):
    """How much of the base is kept, and the size of the result."""

    keep: Positive = Field(
        default=0.5,
        description="how much of the base is kept, special and byte tokens included: a share of its"
        " tokens (below 1), or their number",
    )
    size: Size | Literal["all", "kept"] | None = Field(
        default=None,
        description="size of the result; default: the base's; all: everything that the donor has;"
        " kept: nothing is added, the base is only shrunk",
    )
    keep_by: Literal["use", "id"] = Field(
        default="use",
        exclude_if=lambda value: value == "use",
        description="which of the base's tokens are kept: those that count_corpora use most, or the"
        " lowest ids, in BPE the first merges of the base's own training (as LEP's release cuts"
        " Llama-3's)",
    )

    @field_validator("keep")
    @classmethod
    def _share_or_number(cls, keep: float) -> float:
        if keep >= 1 and keep != int(keep):
            raise ValueError("keep is a share below 1 or a whole number")
        return keep

    def conflict(self, inputs: Mapping[str, Any]) -> str | None:
        if self.size == "all" and "donor" not in inputs:
            return "size: all needs a donor; without one give a number"
        return super().conflict(inputs)


def number_kept(keep: float, base_size: int) -> int:
    return int(keep) if keep >= 1 else round(keep * base_size)


def tokens_dropped(base: EditableVocabulary, keep: int, counts: Mapping[str, int]) -> list[str]:
    return list(islice(base.dropping_order(counts), max(0, len(base) - keep)))


def build_optimised(inputs: BuildInputs, options: Any) -> Built:
    """Return a tokenizer whose ids are the kept tokens in the base's order, then the new ones."""
    change = Change.read(inputs, options)
    base = change.base
    keep = number_kept(options.keep, len(base))
    size = {None: len(base), "kept": keep}.get(options.size, options.size)
    problems = []
    if keep > len(base):
        problems.append(f"option keep = {keep}: the base has {len(base)} tokens; keep fewer")
    if size != "all" and size < keep:
        problems.append(f"option size = {size}: {keep} tokens are kept; raise size or lower keep")
    counts = change.base_counts if options.keep_by == "use" else {}
    dropped = tokens_dropped(base, keep, counts)
    if len(dropped) < len(base) - keep:
        problems.append(
            f"option keep = {options.keep:g}: {keep} tokens, but at least"
            f" {len(base) - len(dropped)} must stay (special and byte tokens); keep more"
        )
    if problems:
        raise RevocabError(f"construction 'optimise', {problem}" for problem in problems)
    rest = base.without(dropped).renumbered()
    wanted = None if size == "all" else size - keep
    return change.built(change.expand(rest, wanted, frozenset(dropped)), dropped)


class ReplaceOptions(DropOptions):
    """How much is replaced."""

    share: float = Field(gt=0, lt=1, description="share of the base's tokens to replace")


def build_replaced(inputs: BuildInputs, options: Any) -> Built:
    """Return a tokenizer of the base's size; kept tokens keep their ids, new ones take the rest."""
    change = Change.read(inputs, options)
    base = change.base
    number = max(1, round(options.share * len(base)))
    dropped = list(islice(base.dropping_order(change.base_counts), number))
    if len(dropped) < number:
        raise RevocabError(
            f"construction 'replace', option share = {options.share}: {number} of {len(base)}"
            f" tokens, but only {len(dropped)} may go (special and byte tokens stay); lower it"
        )
    growth = change.expand(base.without(dropped), number, frozenset(dropped))
    return change.built(growth, dropped)


CONSTRUCTION = (
    Construction(
        name="extend",
        summary="the base and new tokens after it, words of a list or learned; no id changes",
        citation="Cui et al. 2023, Efficient and Effective Text Encoding for Chinese LLaMA and"
        " Alpaca; Gosal et al. 2024, Bilingual Adaptation of Monolingual Foundation Models"
        " (extend); Tikhomirov & Chernyshev 2024, Facilitating Large Language Model Russian"
        " Adaptation with Learned Embedding Propagation (Extended)",
        options=ExtendOptions,
        build=build_extended,
    ),
    Construction(
        name="optimise",
        summary="the base's tokens that cover the corpus best, renumbered in order, then new ones",
        citation="Tikhomirov & Chernyshev 2024, Facilitating Large Language Model Russian"
        " Adaptation with Learned Embedding Propagation (Optimized: the 50 % most common tokens,"
        " then extension)",
        options=OptimiseOptions,
        build=build_optimised,
    ),
    Construction(
        name="replace",
        summary="the least frequent tokens of the base give their ids to new ones; the size stays",
        citation="Gosal et al. 2024, Bilingual Adaptation of Monolingual Foundation Models, section"
        " 3.1 (replacement of 5 % and 30 % of Llama-2's tokens)",
        options=ReplaceOptions,
        build=build_replaced,
    ),
)
