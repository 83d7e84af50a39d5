"""Words of a list as tokens: what text is cut into from then on wherever it has the word.

The list is a text file, a word a line; after a tab, where its row starts from (:class:`Word`). Each
word becomes two tokens, with the space before it and without, as far as the base's normaliser and
splitter leave it whole.

BPE: new merges come after all others and join what the base makes of the word. Where it makes more
than two pieces of it, steps lie between, and a step joins its pieces in other words as well: those
are chosen that are rarest elsewhere. A base that looks a whole word up before it merges
(``ignore_merges``: Llama 3) needs no steps. Unigram: the word scores a little more than the best
path through its pieces, so that it is taken, and text without it has the paths that it had.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from revocab.errors import RevocabError, refuse
from revocab.io import sha256
from revocab.links import check_file
from revocab.vocabulary.building.construction import ConstructionOptions
from revocab.vocabulary.building.editable import EditableVocabulary, Merge, merge_pieces
from revocab.vocabulary.building.expansion import new_scores
from revocab.vocabulary.building.new_tokens import cheapest_tree
from revocab.vocabulary.tokenizers.alphabets import MARKER

#: Longest word, in characters; the longest of dictionaries have some eighty.
MOST_CHARACTERS = 100
#: Pieces of a word that steps join: the best order is searched for in all of them.
MOST_PIECES = 40
#: What begins the second column where it names a source token and is no description.
LIKE = "="
#: Words of the text that Unigram's new scores are relative to where there is none: a word is then
#: scored no better than its pieces make necessary.
NO_TEXT = 10**15


class WordOptions(ConstructionOptions):
    """Words of a list as tokens."""

    lists: ClassVar[tuple[str, ...]] = ("words",)

    word_steps: bool = Field(
        default=False,
        exclude_if=lambda value: not value,
        description="also make tokens of words that BPE reaches only by steps, which may join the"
        " same pieces in other words; without, text that has none of the words keeps its tokens",
    )

    def conflict(self, inputs: Mapping[str, Any]) -> str | None:
        return "word_steps needs words" if self.word_steps and "words" not in inputs else None


@dataclass(frozen=True)
class Word:
    """A line of the list: ``word``, ``word<TAB>=token`` or ``word<TAB>description``."""

    text: str
    like: str | None = None
    description: str | None = None


def read_words(path: Path) -> list[Word]:
    """Return the words of a list in its order; blank lines and repeated ones are left out.

    Raises :class:`RevocabError` naming every line that is damaged.
    """
    check_file(path)
    if not path.is_file():
        raise RevocabError(f"{path}: not a file; give a text file with a word a line")
    words: dict[str, Word] = {}
    problems = []
    for number, data in enumerate(path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        where = f"{path}, line {number}"
        try:
            line = data.decode().removesuffix("\r")
        except UnicodeDecodeError:
            problems.append(f"{where}: {data[:40]!r} is not UTF-8; save the file as UTF-8")
            continue
        text, *starts = (column.strip() for column in line.split("\t"))
        start = starts[0] if starts else ""
        likes = start.startswith(LIKE)
        like = start.removeprefix(LIKE).strip() if likes else ""
        if not text and not any(starts):
            continue
        if not text:
            problems.append(f"{where}: no word before the tab; allowed is WORD<TAB>DESCRIPTION")
        elif len(starts) > 1:
            problems.append(f"{where}: {len(starts)} tabs; allowed is one, after the word {text!r}")
        elif any(unicodedata.category(letter) == "Cc" for letter in line.replace("\t", "")):
            problems.append(f"{where}: {line!r} has control characters; leave them out")
        elif len(text) > MOST_CHARACTERS:
            problems.append(
                f"{where}: {text[:20]!r}… has {len(text):,} characters; a word has at most"
                f" {MOST_CHARACTERS}"
            )
        elif likes and not like:
            problems.append(f"{where}: no source token after '{LIKE}'; name one, as in '={text}'")
        else:
            word = Word(text, like or None, None if likes else start or None)
            if words.setdefault(text, word) != word:
                problems.append(f"{where}: {text!r} starts otherwise in a line before; keep one")
    if not words and not problems:
        problems.append(f"{path}: no word in it; allowed is a word a line")
    refuse(problems)
    return list(words.values())


def spellings(base: EditableVocabulary, text: str) -> list[str]:
    """Return the tokens that a word would be, without and with the space before it.

    Raises :class:`ValueError` with the reason why it can be none.
    """
    backend = base.base.backend_tokenizer
    normalise = backend.normalizer.normalize_str if backend.normalizer else str
    split = backend.pre_tokenizer.pre_tokenize_str if backend.pre_tokenizer else None

    def cut(written: str) -> list[str]:
        normal = normalise(written)
        return [piece for piece, _ in split(normal)] if split else [normal]

    held = [token["content"] for token in base.state["added_tokens"] if token["content"] in text]
    if held and text not in held:
        raise ValueError(f"{held[0]!r} in it is cut out of every text")
    bare = [text] if held else cut(text)
    if base.style == "byte_level" and not held:
        tokens = [pieces[0] for pieces in (bare, cut(" " + text)) if len(pieces) == 1]
    else:
        whole = [piece.replace(" ", MARKER).removeprefix(MARKER) for piece in bare]
        tokens = [whole[0], MARKER + whole[0]] if len(whole) == 1 and whole[0] else []
    if not tokens and not "".join(bare).strip(f"{MARKER} "):
        raise ValueError("the normaliser leaves nothing of it")
    if not tokens:
        texts = [base.text(piece).decode(errors="replace").strip() for piece in bare]
        raise ValueError(f"the splitter cuts it: {' | '.join(texts)}")
    return tokens[: 1 if held else 2] if tokens[0] != tokens[-1] else tokens[:1]


def rarest_tree(pieces: list[str], ids: Mapping[str, int]) -> list[Merge]:
    """Return merges, inner before outer, that join ``pieces`` by the steps rarest elsewhere.

    A step is the rarer, the rarer its pieces are, and a piece is about as frequent as its id is
    low: vocabularies list frequent tokens first.
    """

    def frequency(tokens: list[str]) -> float:
        return math.prod(1 / (1 + ids.get(token, len(ids))) for token in tokens)

    return cheapest_tree(pieces, frequency) or []


@dataclass(frozen=True)
class AddedWords:
    """A vocabulary with words, and what became of each word of the list."""

    vocabulary: EditableVocabulary
    #: New tokens in the order of their ids, steps on the way to a word among them.
    tokens: list[str]
    steps: list[str]
    #: As ``words.json`` has them, but for ids.
    words: list[dict[str, Any]]

    def facts(self, path: Path) -> dict[str, Any]:
        """Return what a manifest says: counts, and every word that cannot be a token."""
        became = [word["became"] for word in self.words]
        reasons = [word for word in self.words if word["became"] == "impossible"]
        return {
            "file": path.name,
            "sha256": sha256(path),
            **{which: became.count(which) for which in ("added", "exists", "impossible")},
            "tokens": len(self.tokens),
            "steps": len(self.steps),
            "reasons": {word["word"]: word["reason"] for word in reasons},
        }

    def listed(self, ids: Mapping[str, int]) -> list[dict[str, Any]]:
        return [
            {**word, "tokens": [{"id": ids[token], "token": token} for token in word["tokens"]]}
            for word in self.words
        ]

    def check(self, vocabulary: EditableVocabulary) -> None:
        """Raise :class:`RevocabError` for a word that text is not cut into: as a whole, and at a
        text's start or after another word.
        """
        encode, tokenize = vocabulary.backend.encode, vocabulary.backend.model.tokenize
        new = set(self.tokens)
        wrong: dict[str, None] = {}
        for word in self.words:
            for token in new.intersection(word["tokens"]):
                before = "a " if vocabulary.text(token).startswith(b" ") else ""
                # SentencePiece has the word without the space only inside of others.
                text = before + word["word"] if before or vocabulary.style == "byte_level" else ""
                end = encode(text, add_special_tokens=False).tokens[-1:] if text else [token]
                if [piece.value for piece in tokenize(token)] != [token] or end != [token]:
                    wrong[word["word"]] = None
        if wrong:
            raise RevocabError(
                f"{vocabulary.base.name_or_path}: text is not cut into {len(wrong)} words of"
                f" the list, such as {[*wrong][:5]}; leave them out"
            )

    def texts_without(self, texts: Iterable[str]) -> Iterator[str]:
        """Yield the lines of texts that hold none of the words, in any case of their letters."""
        words = {word["word"].casefold() for word in self.words}
        lengths = sorted({*map(len, words)})

        def holds(line: str) -> bool:  # an expression of thousands of words takes minutes
            return any(
                line[begin : begin + length] in words
                for length in lengths
                for begin in range(len(line))
            )

        lines = (line for text in texts for line in text.splitlines() if line)
        return (line for line in lines if not holds(line.casefold()))


class _Making:
    """Tokens, merges and scores for words, one word's token after the other."""

    def __init__(self, base: EditableVocabulary, steps: bool):
        self.base, self.steps = base, steps
        self.whole_words = bool(base.state["model"].get("ignore_merges"))
        self.added = {token["content"] for token in base.state["added_tokens"]}
        self.ranks = dict(base.ranks)
        self.merges: list[Merge] = []
        #: New tokens, in the order of their ids, and which of them are only steps.
        self.tokens: dict[str, None] = {}
        self.between: set[str] = set()
        #: Unigram's pieces that need a score, or a better one.
        self.rescored: list[str] = []

    def token(self, token: str) -> bool:
        """Return whether a token is made here: not one of the base, or of a word before.

        Raises :class:`ValueError` with the reason why it cannot be.
        """
        base = self.base
        pieces = [piece.value for piece in base.base.backend_tokenizer.model.tokenize(token)]
        if token in self.added or (token in base.ids and pieces == [token]):
            return False
        if token in self.tokens and token not in self.between:
            return False
        if base.model == "BPE":
            self._merge(token)
        else:
            self.rescored.append(token)
        self.between.discard(token)
        if token not in base.ids:
            self.tokens[token] = None
        return True

    def _merge(self, token: str) -> None:
        if unspelt := sorted({letter for letter in token if letter not in self.base.ids}):
            raise ValueError(
                f"the base has no token for {' '.join(unspelt)}; learn tokens from text that has it"
            )
        pieces, _ = merge_pieces(token, self.ranks)
        pairs: list[Merge] = []
        if len(pieces) <= 2 or not self.whole_words:
            if len(pieces) > MOST_PIECES:
                raise ValueError(f"it has {len(pieces)} pieces; at most {MOST_PIECES} are joined")
            pairs = rarest_tree(pieces, self.base.ids)
        inner = ["".join(pair) for pair in pairs[:-1] if pair not in self.ranks]
        if inner and not self.steps:
            raise ValueError(f"it needs steps (word_steps: true): {' '.join(inner)}")
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self.ranks]
        self.ranks.update((pair, len(self.ranks) + place) for place, pair in enumerate(new))
        # Where pieces repeat, merges may join others of them than the tree says.
        if pairs and merge_pieces(token, self.ranks)[0] != [token]:
            for pair in new:
                del self.ranks[pair]
            raise ValueError(f"its pieces repeat: {' '.join(pieces)}")
        self.merges += new
        fresh = [step for step in inner if step not in self.base.ids and step not in self.tokens]
        self.between.update(fresh)
        self.tokens.update(dict.fromkeys(fresh))


def add_words(base: EditableVocabulary, words: Iterable[Word], *, steps: bool) -> AddedWords:
    """Return ``base`` with tokens for words; without ``steps`` only those that need none.

    Words that are tokens already get no second one; one that no text gives becomes reachable.
    """
    making = _Making(base, steps)
    listed = []
    for word in words:
        became, tokens, reasons = "exists", [], []
        try:
            spelt = spellings(base, word.text)
        except ValueError as error:
            spelt, reasons = [], [str(error)]
        for token in spelt:
            try:
                became = "added" if making.token(token) else became
                tokens.append(token)
            except ValueError as error:
                reasons.append(str(error))
        record: dict[str, Any] = {"word": word.text, "became": became, "tokens": tokens}
        if not tokens:
            record["became"] = "impossible"
        if reasons:
            record["reason"] = reasons[0]
        starts = {"like": word.like, "description": word.description}
        listed.append(record | {key: start for key, start in starts.items() if start})
    scores = (
        new_scores(base.scores, {}, NO_TEXT, making.rescored) if base.model == "Unigram" else {}
    )
    grown = base.plus(making.tokens, making.merges, scores)
    between = [token for token in making.tokens if token in making.between]
    added = AddedWords(grown, list(making.tokens), between, listed)
    added.check(grown)
    return added
