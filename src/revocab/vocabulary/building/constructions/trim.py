"""Trim: the base without tokens that some languages do not need; the others stay as they were.

Nothing is added and no merge is: what is kept is closed under derivation, so that text of kept
tokens alone is cut as before (:mod:`..editable` says why), and all other text into kept pieces.
Suffixes: L texts, V ids of the base, K tokens that go.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar

from pydantic import Field, field_validator, model_validator

from revocab.closed import Closed, Language, exactly_one
from revocab.corpora.scripts import outside
from revocab.errors import RevocabError
from revocab.heavy_types import PreTrainedTokenizerFast, ndarray
from revocab.languages import scripts_of
from revocab.limits import Bytes, Share, Size
from revocab.vocabulary.building.construction import (
    BuildInputs,
    Built,
    Construction,
    ConstructionOptions,
)
from revocab.vocabulary.building.editable import EditableVocabulary
from revocab.vocabulary.building.training_text import (
    batched,
    describe_training_text,
    training_budgets,
    training_texts,
)
from revocab.vocabulary.tokenizers.canonical import CHAT_ROLES
from revocab.vocabulary.tokenizers.encoding import PARSE, encode_batches, text_encoder
from revocab.vocabulary.tokenizers.identity import chat_texts
from revocab.vocabulary.tokenizers.load import some


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

    def conflict(self, inputs: Mapping[str, Any]) -> str | None:
        uncounted = self.languages is None and "corpora" not in inputs
        return "keep and coverage need corpora to count tokens in" if uncounted else None


def build(inputs: BuildInputs, options: Any) -> Built:
    """Return the base's kept tokens in its order, renumbered from 0."""
    import numpy as np

    base = EditableVocabulary.read(inputs.tokenizers["base"], trimming=True)
    characters = check_spelling(base, options.allow_unknown, "allow_unknown: true")
    check_known(base, options.tokens, "option tokens")
    mixture = inputs.mixtures.get("corpora", [])
    budgets = training_budgets(mixture, options.limit_bytes) if mixture else {}
    uses = [count_ids(base.base, training_texts([part], budgets)) for part in mixture]
    uses_LV = np.array(uses, np.int64).reshape(-1, len(base))
    stay = dict.fromkeys(characters, "character") | dict.fromkeys(options.tokens, "listed")
    trim = Trim.choose(base, uses_LV, options, stay)
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


#: Sizes that are not given are rounded up to a multiple of this: GPUs multiply such matrices
#: faster, and programs that compute in blocks compute every kept row as before.
MULTIPLE = 64


def count_ids(tokenizer: PreTrainedTokenizerFast, documents: Iterable[str]) -> ndarray:
    """Return how often each id occurs in texts, int64 [V]."""
    import numpy as np

    counts_V = np.zeros(len(tokenizer), np.int64)
    for batch in encode_batches(tokenizer.backend_tokenizer, documents):
        ids = np.fromiter(chain.from_iterable(encoding.ids for encoding in batch), np.int64)
        counts_V += np.bincount(ids, minlength=len(counts_V))
    return counts_V


def mean_shares(uses_LV: ndarray) -> ndarray:
    """Return each id's share of the tokens, float64 [V]; every text counts as much as others."""
    import numpy as np

    totals_L1 = np.maximum(uses_LV.sum(axis=1, keepdims=True), 1)
    return np.asarray((uses_LV / totals_L1).sum(axis=0) / max(len(uses_LV), 1))


def coverage_after(uses_LV: ndarray, order_K: ndarray) -> ndarray:
    """Return the share of each text's tokens that is kept, before and after each goes."""
    import numpy as np

    gone_LK = np.cumsum(uses_LV[:, order_K], axis=1)
    none_L1 = np.zeros((len(uses_LV), 1), np.int64)
    totals_L1 = np.maximum(uses_LV.sum(axis=1, keepdims=True), 1)
    return np.asarray(1 - np.concatenate([none_L1, gone_LK], axis=1) / totals_L1)


def most_that_may_go(coverage_LK: ndarray, least: float) -> int:
    return int((coverage_LK >= least).all(axis=0).sum()) - 1


def rounded_up(tokens: int, going: int) -> int:
    return max(0, tokens - -(-(tokens - going) // MULTIPLE) * MULTIPLE)


def check_spelling(vocabulary: EditableVocabulary, allowed: bool, flag: str) -> frozenset[str]:
    """Return what else must stay where not every byte has a token: all single characters.

    Raises :class:`RevocabError` unless that is ``allowed``: characters outside the vocabulary
    are unknown, and so they stay.
    """
    missing = vocabulary.missing_bytes
    characters = vocabulary.characters if missing else frozenset()
    if missing and not allowed:
        starts = [n for n in missing if n - 1 not in missing]
        ends = [n for n in missing if n + 1 not in missing]
        listed = [
            f"0x{a:02X}" + f" to 0x{b:02X}" * (a < b) for a, b in zip(starts, ends, strict=True)
        ]
        becomes = f"becomes {vocabulary.unknown}" if vocabulary.unknown else "is lost"
        raise RevocabError(
            f"{vocabulary.base.name_or_path}: no token for {len(missing)} of the 243 bytes that"
            f" text in UTF-8 is made of: {some(listed)}; a character of such bytes that is no token"
            f" itself {becomes}, before and after trimming: add {flag}, which keeps the"
            f" {len(characters):,} tokens of one character, so that no others do"
        )
    return characters


def check_known(vocabulary: EditableVocabulary, tokens: Iterable[str], place: str) -> None:
    if unknown := [token for token in tokens if token not in vocabulary.ids]:
        raise RevocabError(
            f"{place}: {len(unknown)} that {vocabulary.base.name_or_path} does not have:"
            f" {some(map(repr, unknown))}; write them as its tokenizer.json does, or leave them out"
        )


@dataclass(frozen=True)
class Trim:
    """A choice of tokens that go, and what each text loses by it."""

    vocabulary: EditableVocabulary
    uses_LV: ndarray
    #: Ids in the order in which they may go, those that do not go in the end among them.
    order_K: ndarray
    going: int
    #: Tokens that stay in any case, with the reason.
    fixed: Mapping[str, str] = field(default_factory=dict)
    #: Those in the scripts of the languages by which it was chosen, if it was.
    in_script: Collection[str] = ()

    @classmethod
    def choose(
        cls,
        vocabulary: EditableVocabulary,
        uses_LV: ndarray,
        measure: Measure,
        stay: Mapping[str, str] | None = None,
    ) -> Trim:
        """Raise :class:`RevocabError` where nothing may go, or less than is asked for.

        ``stay``: tokens that are kept beside those that always are, with the reason.
        """
        import numpy as np

        # Those of conversations as the chat template writes them, or of its own text; and those of
        # digits alone, so that numbers are cut as before.
        base = vocabulary.base
        backend = text_encoder(base.backend_tokenizer, PARSE)
        texts = [*chat_texts(base)] or [str(base.chat_template or "")]
        written = (backend.encode(text, add_special_tokens=False).tokens for text in texts)
        fixed = dict.fromkeys(chain(CHAT_ROLES, *written), "chat")
        texts_of = {token: vocabulary.text(token) for token in vocabulary.ids}
        for token, data in texts_of.items():
            if data.decode(errors="replace").strip().isdecimal():
                fixed.setdefault(token, "digits")
        last: set[str] = set()
        if measure.languages:  # without a letter of another script; parts of characters among them
            foreign = outside(tuple(scripts_of(measure.languages)), emoji=False)
            last = {
                token
                for token, data in texts_of.items()
                if not foreign.search(data.decode(errors="ignore"))
            }
        if vocabulary.model == "Unigram":  # the cost of an unknown character hangs on the lowest
            lowest = min(vocabulary.scores, key=lambda token: vocabulary.scores[token])
            fixed.setdefault(lowest, "lowest score")
        fixed = {**(stay or {}), **fixed}
        shares_V = mean_shares(uses_LV)
        order = vocabulary.dropping_order(
            {token: float(shares_V[number]) for token, number in vocabulary.ids.items()},
            stay=fixed.keys(),
            last=last,
            credit=True,
        )
        tokens = [*order]
        order_K = np.array([vocabulary.ids[token] for token in tokens], np.int64)
        size, fewest = len(vocabulary), len(vocabulary) - len(tokens)
        if measure.keep is not None:
            going = size - measure.keep
            if not 0 <= going <= len(tokens):
                raise RevocabError(
                    f"keep {measure.keep:,} tokens: {vocabulary.base.name_or_path} has {size:,}, of"
                    f" which {fewest:,} stay in any case (special, chat, byte and digit tokens, and"
                    " those asked for); give a number between"
                )
        elif last:
            going = next((n for n, token in enumerate(tokens) if token in last), len(tokens))
        else:
            assert measure.coverage is not None  # Measure
            going = most_that_may_go(coverage_after(uses_LV, order_K), measure.coverage)
        if measure.keep is None:
            going = rounded_up(size, going)
        if not going:
            raise RevocabError(
                f"{vocabulary.base.name_or_path}: all of its {size:,} tokens would stay, so there"
                " is nothing to trim; ask for less"
            )
        return cls(vocabulary, uses_LV, order_K, going, fixed, last)

    @cached_property
    def dropped(self) -> list[str]:
        tokens = {number: token for token, number in self.vocabulary.ids.items()}
        return [tokens[number] for number in self.order_K[: self.going].tolist()]

    @cached_property
    def kept_N(self) -> ndarray:
        """Return the ids that stay, ascending; the place of each is its new id."""
        import numpy as np

        return np.setdiff1d(np.arange(len(self.vocabulary)), self.order_K[: self.going])

    @cached_property
    def coverage_LK(self) -> ndarray:
        return coverage_after(self.uses_LV, self.order_K)

    def explain(self, languages: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Yield a row for each token: what becomes of it, and why (docs/tokenizers.md lists the
        reasons). ``languages`` name the texts.
        """
        vocabulary, gone = self.vocabulary, {*self.dropped}
        added = {token["content"] for token in vocabulary.state["added_tokens"]}
        wholes: dict[bool, dict[str, str]] = {False: {}, True: {}}  # of parts, by what stays
        for token in vocabulary.ids if vocabulary.model == "BPE" else ():
            for part in vocabulary.parents(token) or ():
                wholes[token not in gone].setdefault(part, token)
        new_id = iter(range(len(vocabulary)))
        for token, number in sorted(vocabulary.ids.items(), key=lambda pair: pair[1]):
            uses = dict(zip(languages, self.uses_LV[:, number].tolist(), strict=True))
            is_used, whole = any(uses.values()), None
            if token in gone:
                reason = "script" if self.in_script else "rare" if is_used else "unused"
            elif token in vocabulary.protected:
                special = token in added or number in vocabulary.base.all_special_ids
                reason = "special" if special else "byte"
            elif token in self.fixed:
                reason = self.fixed[token]
            elif token in self.in_script:
                reason = "script"
            elif is_used and not self.in_script:
                reason = "used"
            elif whole := wholes[True].get(token):
                reason = "part"
            elif whole := wholes[False].get(token):
                reason = "spells"
            else:
                reason = "size"
            yield {
                "id": number,
                "token": token,
                "text": vocabulary.text(token).decode(errors="replace"),
                "new_id": None if token in gone else next(new_id),
                "reason": reason,
                "of": whole,
                **{f"uses_{language}": count for language, count in uses.items()},
            }

    @cached_property
    def tokenizer(self) -> PreTrainedTokenizerFast:
        return self.vocabulary.without(self.dropped).renumbered().tokenizer()


@dataclass(frozen=True)
class Compared:
    """What a base and its trimmed tokenizer make of the same lines."""

    lines: int
    #: Lines of kept tokens alone.
    same: int
    tokens_before: int
    tokens_after: int


def compare_lines(trim: Trim, documents: Iterable[str]) -> Compared:
    """Return what becomes of the lines of texts.

    Raises :class:`RevocabError` for a line of kept tokens alone that has other ids now, and for one
    that decodes to another text than before: that would be a fault of ours.
    """
    import numpy as np

    new_V = np.full(len(trim.vocabulary), -1)
    new_V[trim.kept_N] = np.arange(len(trim.kept_N))
    base, trimmed = trim.vocabulary.base, trim.tokenizer
    numbers = np.zeros(4, np.int64)
    all_lines = (line for text in documents for line in text.splitlines(keepends=True))
    for lines in batched(all_lines, 10_000):
        befores, afters = (
            [encoding.ids for encoding in chain.from_iterable(batches)]
            for batches in (encode_batches(t.backend_tokenizer, lines) for t in (base, trimmed))
        )
        for line, before, after in zip(lines, befores, afters, strict=True):
            mapped = new_V[before].tolist()
            whole = -1 not in mapped
            numbers += (1, whole, len(before), len(after))
            texts = (
                tokenizer.backend_tokenizer.decode(ids, skip_special_tokens=False)
                for tokenizer, ids in ((base, before), (trimmed, after))
            )
            if mapped != after if whole else len({*texts}) > 1:
                what = "tokens that all stay" if whole else "other text afterwards"
                raise RevocabError(
                    f"{base.name_or_path}: cannot be trimmed here: {line[:80]!r} gives {what}, but"
                    " its encoding is another; please report it"
                )
    return Compared(*map(int, numbers))


def describe(trim: Trim, names: Iterable[str]) -> dict[str, Any]:
    size, rows_LK = len(trim.vocabulary), zip(names, trim.coverage_LK, strict=True)
    coverage = {name: float(row_K[trim.going]) for name, row_K in rows_LK}
    size_after = size - trim.going
    return {"base_size": size, "kept": size_after, "dropped": trim.going, "coverage": coverage}
