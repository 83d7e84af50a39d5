"""Expand a vocabulary by new tokens, learned from a corpus or taken from a donor."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from revocab.errors import RevocabError
from revocab.heavy_types import PreTrainedTokenizerFast
from revocab.vocabulary.building.construction import BuildInputs, Built, Parity
from revocab.vocabulary.building.editable import EditableVocabulary, Merge
from revocab.vocabulary.building.new_tokens import LearningText, donor_candidates, learn, take_bpe
from revocab.vocabulary.building.training_text import (
    TrainingText,
    character_class,
    count_pretokens,
    cut_pretokens,
    describe_training_text,
    is_word_part,
    training_budgets,
    training_texts,
)
from revocab.vocabulary.tokenizers.alphabets import (
    ALPHABET_SHARE,
    covering_characters,
    from_byte_level,
)

#: A new token must have been seen as often as this.
MINIMUM_COUNT = 2
#: How much better than the path through old pieces a new piece is scored, where its frequency alone
#: would not do: enough to survive rounding, small enough to change nothing else.
MARGIN = 1e-3


@dataclass(frozen=True)
class ExpansionCorpus:
    """A mixture's words as one vocabulary sees them, and what a manifest says of the text."""

    mixture: list[TrainingText]
    budgets: dict[str, int]
    words: Counter[str]
    #: Where corpora are to cost the same: the words of each, and what its tokens are divided by.
    parts: dict[str, tuple[Counter[str], int]] = field(default_factory=dict)

    @classmethod
    def read(
        cls,
        vocabulary: EditableVocabulary,
        mixture: list[TrainingText],
        limit_bytes: int | None,
        parity: Parity | None = None,
    ) -> ExpansionCorpus:
        budgets = training_budgets(mixture, limit_bytes)
        parts: dict[str, tuple[Counter[str], int]] = {}
        for part in mixture:
            numbers = itertools.count()
            numbered = zip(training_texts([part], budgets), numbers, strict=False)
            own = count_pretokens(vocabulary, (text for text, _ in numbered))
            size = next(numbers) if parity == "documents" else budgets[part.corpus]
            parts[part.corpus] = own, max(size, 1)  # a small share may be no byte
        words = sum((own for own, _ in parts.values()), Counter[str]())
        if not words:
            names = ", ".join(parts)
            raise RevocabError(f"corpora {names}: no words in the text; give more text")
        return cls(mixture, budgets, words, parts if parity else {})

    def learning_texts(self, vocabulary: EditableVocabulary) -> dict[str, LearningText]:
        """Return the words as a vocabulary cuts them: of each corpus apart, or of all."""
        return {
            name: LearningText(cut_pretokens(vocabulary.backend, words), size)
            for name, (words, size) in (self.parts or {"": (self.words, 1)}).items()
        }

    def manifest(self) -> dict[str, Any]:
        return describe_training_text(self.mixture, self.budgets)


@dataclass(frozen=True)
class Expansion:
    """A grown vocabulary and what was added, in the order of adding."""

    vocabulary: EditableVocabulary
    tokens: list[str]
    #: How often each new token is used in the corpus by the grown vocabulary.
    uses: Counter[str]
    characters: int
    #: Tokens that no donor has: steps on the way to one that a donor has.
    steps: list[str] = field(default_factory=list)


def new_characters(
    vocabulary: EditableVocabulary, corpus: ExpansionCorpus, limit: int
) -> list[str]:
    """Return frequent characters that the vocabulary spells in bytes or not at all, best first."""
    if vocabulary.style == "byte_level":
        return []
    counts: Counter[str] = Counter()
    for word, count in corpus.words.items():
        for character in word:
            counts[character] += count
    covering = [
        character
        for character in covering_characters(counts, len(counts))
        if character not in vocabulary.ids
        and character_class(character) != "other"
        and counts[character] > 1
    ]
    return covering[::-1][:limit]


def best_path(text: str, scores: Mapping[str, float], unknown: float) -> float:
    """Return the score of the best segmentation: Viterbi; what is no piece costs ``unknown``."""
    best = [0.0]
    for end in range(1, len(text) + 1):
        value = best[end - 1] + scores.get(text[end - 1], unknown)
        for start in range(end - 1):
            piece = scores.get(text[start:end])
            if piece is not None:
                value = max(value, best[start] + piece)
        best.append(value)
    return best[-1]


def new_scores(
    scores: Mapping[str, float], uses: Mapping[str, int], total: int, tokens: Iterable[str]
) -> dict[str, float]:
    """Return a score for each new piece: its log frequency, raised so far that it is used.

    The text of a new piece is encoded as that piece only where its score beats every path through
    others. Shorter ones first: longer ones do not occur in them, so what is settled stays so.
    """
    lowest = min(scores.values())
    known = dict(scores)
    settled: dict[str, float] = {}
    for token in sorted(tokens, key=lambda token: (len(token), token)):
        frequency = math.log(max(uses.get(token, 0), 1) / max(total, 1))
        path = best_path(token, known, lowest - 10.0)  # the library's cost of an unknown character
        # Never below the lowest score: the cost of an unknown character hangs on it.
        settled[token] = max(frequency, path + MARGIN, lowest)
        known[token] = settled[token]
    return settled


def _scores(
    vocabulary: EditableVocabulary, tokens: list[str], uses: Counter[str], total: int
) -> dict[str, float]:
    return (
        new_scores(vocabulary.scores, uses, total, tokens) if vocabulary.model == "Unigram" else {}
    )


def _allowed(vocabulary: EditableVocabulary, forbidden: frozenset[str]) -> Callable[[str], bool]:
    """Return whether a string may become a new token: none that is one or was one."""

    def allowed(token: str) -> bool:
        if token in vocabulary.ids or token in forbidden:
            return False
        if vocabulary.style == "byte_level" and from_byte_level(token) is None:
            return False
        return is_word_part(vocabulary.text(token))

    return allowed


def learn_tokens(
    vocabulary: EditableVocabulary, corpus: ExpansionCorpus, wanted: int, forbidden: frozenset[str]
) -> Expansion:
    """Return the vocabulary with up to ``wanted`` new tokens, characters first.

    With as many characters, fewer tokens are the first of more (under BPE, merges too).
    """
    letters = new_characters(vocabulary, corpus, int(wanted * ALPHABET_SHARE))
    letters = [character for character in letters if character not in forbidden]
    total = corpus.words.total()
    with_letters = vocabulary.plus(letters, scores=_scores(vocabulary, letters, Counter(), total))
    learned = learn(
        list(corpus.learning_texts(with_letters).values()),
        wanted - len(letters), _allowed(with_letters, forbidden), MINIMUM_COUNT,
    )  # fmt: skip
    grown = with_letters.plus(
        learned.tokens,
        learned.merges if vocabulary.model == "BPE" else (),
        _scores(with_letters, learned.tokens, learned.uses, total),
    )
    return Expansion(grown, [*letters, *learned.tokens], learned.uses, len(letters))


def _donated(
    vocabulary: EditableVocabulary,
    corpus: ExpansionCorpus,
    wanted: int | None,
    forbidden: frozenset[str],
    donor: PreTrainedTokenizerFast,
    top: int | None,
) -> Expansion:
    allowed = _allowed(vocabulary, forbidden)
    counts = donor_candidates(
        vocabulary, donor, training_texts(corpus.mixture, corpus.budgets), allowed, top
    )
    # Characters before what is made of them: a merge needs its characters in the vocabulary.
    limit = None if wanted is None else int(wanted * ALPHABET_SHARE)
    letters = [token for token in counts if len(token) == 1][:limit]
    spelt = vocabulary.ids.keys() | set(letters)
    longer = [token for token in counts if len(token) > 1 and set(token) <= spelt]
    room = None if wanted is None else wanted - len(letters)
    merges: list[Merge] = []
    steps: list[str] = []
    if vocabulary.model == "BPE":
        longer, merges, steps = take_bpe(vocabulary.plus(letters), longer, room, allowed)
    tokens = [*letters, *longer[:room]]
    total = corpus.words.total()
    grown = vocabulary.plus(tokens, merges, _scores(vocabulary, tokens, counts, total))
    return Expansion(grown, tokens, counts, len(letters), steps)


def check_reach(expansion: Expansion) -> None:
    """Raise :class:`RevocabError` where a new token is not what its own text is encoded as."""
    tokenize = expansion.vocabulary.backend.model.tokenize
    missed = [token for token in expansion.tokens if [p.value for p in tokenize(token)] != [token]]
    if missed:
        raise RevocabError(
            f"{len(missed)} new tokens are not the encoding of their own text, such as"
            f" {missed[:5]}; this base ({expansion.vocabulary.base.name_or_path}) cannot be grown"
            " here"
        )


@dataclass(frozen=True)
class Change:
    """The base of a construction, the text it is changed for, and the options."""

    base: EditableVocabulary
    corpus: ExpansionCorpus
    counted: ExpansionCorpus
    options: Any
    inputs: BuildInputs

    @classmethod
    def read(cls, inputs: BuildInputs, options: Any) -> Change:
        base = EditableVocabulary.read(inputs.tokenizers["base"])
        corpus = ExpansionCorpus([], {}, Counter())  # words of a list need none
        if mixture := inputs.mixtures.get("corpora"):
            corpus = ExpansionCorpus.read(base, mixture, options.limit_bytes, options.parity)
        counted = corpus
        if "count_corpora" in inputs.mixtures:
            counted = ExpansionCorpus.read(
                base, inputs.mixtures["count_corpora"], options.limit_bytes
            )
        return cls(base, corpus, counted, options, inputs)

    @cached_property
    def base_counts(self) -> Counter[str]:
        return cut_pretokens(self.base.base.backend_tokenizer, self.counted.words).token_counts()

    def expand(
        self,
        vocabulary: EditableVocabulary,
        wanted: int | None,
        forbidden: frozenset[str] = frozenset(),
    ) -> Expansion:
        """Return the vocabulary with ``wanted`` new tokens (None: all that the donor has).

        Without a donor new tokens are learned from the corpus (:func:`.learn`), after frequent
        characters that the vocabulary lacks; with one they are the donor's most frequent
        (:func:`.take_bpe`). None of them is ``forbidden``. Raises :class:`RevocabError` where there
        are too few, and where a new token cannot be reached.
        """
        if wanted == 0:
            return Expansion(vocabulary, [], Counter(), 0)
        donor = self.inputs.tokenizers.get("donor")
        if donor is None:
            assert wanted is not None  # all that a donor has
            expansion = learn_tokens(vocabulary, self.corpus, wanted, forbidden)
        else:
            top = self.options.donor_top
            expansion = _donated(vocabulary, self.corpus, wanted, forbidden, donor, top)
        if wanted is not None and len(expansion.tokens) < wanted:
            where = (
                f"the donor has {len(expansion.tokens)} that the base can take"
                if donor is not None
                else f"the corpora give {len(expansion.tokens)} (pairs of pieces seen at least"
                f" {MINIMUM_COUNT} times)"
            )
            raise RevocabError(
                f"{wanted} new tokens were requested, but {where}; request fewer or give more text"
            )
        check_reach(expansion)
        uses = cut_pretokens(expansion.vocabulary.backend, self.corpus.words).token_counts()
        used = Counter({token: uses[token] for token in expansion.tokens})
        return replace(expansion, uses=used)

    def built(self, expansion: Expansion, dropped: list[str]) -> Built:
        base, grown = self.base, expansion.vocabulary

        def listed(tokens: list[str], ids: dict[str, int], uses: Counter[str]) -> list[Any]:
            texts = [base.text(token).decode(errors="backslashreplace") for token in tokens]
            return [
                {"id": ids[token], "token": token, "text": text, "uses": uses[token]}
                for token, text in zip(tokens, texts, strict=True)
            ]

        facts = {
            "alphabet": base.style,
            "options": self.inputs.recorded(self.options),
            "base_size": len(base),
            "kept": len(base) - len(dropped),
            "dropped": len(dropped),
            "added": len(expansion.tokens),
            "added_characters": expansion.characters,
            "added_steps": len(expansion.steps),
            "added_unused": sum(expansion.uses[token] == 0 for token in expansion.tokens),
            "ids_kept": all(
                grown.ids.get(token, number) == number for token, number in base.ids.items()
            ),
            "corpora": self.corpus.manifest(),
        }
        if self.corpus.parts:
            before, after = map(self.corpus.learning_texts, (base, grown))
            facts["parity"] = {
                name: {
                    self.options.parity: text.size,
                    "tokens_before": before[name].tokens(),
                    "tokens": text.tokens(),
                }
                for name, text in after.items()
            }
        if self.counted is not self.corpus:
            facts["count_corpora"] = self.counted.manifest()
        added = listed(expansion.tokens, grown.ids, expansion.uses)
        gone = listed(dropped, base.ids, self.base_counts) if dropped else []
        return Built(grown.tokenizer(), facts, {"added": added, "dropped": gone})
