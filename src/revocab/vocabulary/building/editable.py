"""A tokenizer's vocabulary as plain data: drop tokens, add tokens, give back a tokenizer.

What a BPE vocabulary must keep. Encoding a token's own text performs the merges of that token's
derivation, a binary tree over characters. As long as every token of the tree and its merges stay,
the same merges are performed: taking other merges away never puts one before them, and new merges
come after all old ones. So a set of tokens that is closed under derivation stays reachable, and
text whose tokens are all kept is encoded as before. Unigram has no such trees: a token's best path
only gains when others go. Nor has WordPiece, which takes the longest token that fits, again and
again: of kept tokens alone, each still is the longest. It can only be trimmed.
"""

from __future__ import annotations

import heapq
import json
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from revocab.errors import RevocabError
from revocab.heavy_types import PreTrainedTokenizerFast, Tokenizer
from revocab.io import read_json, write_json, write_text
from revocab.vocabulary.tokenizers.alphabets import BYTE_TOKENS, MARKER, from_byte_level
from revocab.vocabulary.tokenizers.canonical import strings_by_id
from revocab.vocabulary.tokenizers.encoding import NEVER
from revocab.vocabulary.tokenizers.file_ids import OTHER_FORMATS, renumber
from revocab.vocabulary.tokenizers.load import Style, load_tokenizer, tokenizer_style

Merge = tuple[str, str]
ALLOWED = (
    "allowed are BPE (byte-level, or SentencePiece's with byte fallback) and Unigram; substitute"
    " or train a tokenizer instead"
)


def merge_pieces(text: str, ranks: Mapping[Merge, int]) -> tuple[list[str], list[Merge]]:
    """Return what BPE makes of ``text`` (one word), and the merges performed, in order."""
    pieces, done = list(text), []
    while ranked := [
        (ranks[pair], place) for place, pair in enumerate(pairwise(pieces)) if pair in ranks
    ]:
        place = min(ranked)[1]
        done.append((pieces[place], pieces[place + 1]))
        pieces[place : place + 2] = [pieces[place] + pieces[place + 1]]
    return pieces, done


@dataclass(frozen=True)
class EditableVocabulary:
    """The vocabulary of one fast tokenizer. Edits return a new one; ``base`` stays as it is."""

    base: PreTrainedTokenizerFast
    style: Style
    model: Literal["BPE", "Unigram", "WordPiece"]
    #: ``tokenizer.json`` without tokens and merges.
    state: dict[str, Any]
    #: Every token, added tokens included.
    ids: dict[str, int]
    #: BPE only: merges by rank.
    merges: tuple[Merge, ...] = ()
    #: Unigram only: log probabilities.
    scores: dict[str, float] = field(default_factory=dict)
    #: The token for what cannot be spelt, if there is one.
    unknown: str | None = None

    @classmethod
    def read(
        cls, tokenizer: PreTrainedTokenizerFast, role: str = "base", *, trimming: bool = False
    ) -> EditableVocabulary:
        """Read a tokenizer; raise :class:`RevocabError` for one that cannot be edited.

        ``trimming``: tokens are only taken away, as can be done with WordPiece, too.
        """
        name = f"{role} {tokenizer.name_or_path or 'tokenizer'}"
        state = json.loads(tokenizer.backend_tokenizer.to_str())
        model = state["model"]["type"]
        if model not in ("BPE", "Unigram", *(["WordPiece"] if trimming else [])):
            raise RevocabError(f"{name}: a {model} vocabulary cannot be changed; {ALLOWED}")
        marks = ("continuing_subword_prefix", "end_of_word_suffix")
        marked = [mark for mark in marks if model == "BPE" and state["model"].get(mark)]
        if marked:
            raise RevocabError(
                f"{name}: a BPE vocabulary with {' and '.join(marked)} cannot be changed; {ALLOWED}"
            )
        style = tokenizer_style(tokenizer)
        ids = {string: number for number, string in enumerate(strings_by_id(tokenizer))}
        pieces = state["model"].pop("vocab")
        if model == "Unigram":
            number = state["model"].get("unk_id")
            unknown = None if number is None else pieces[number][0]
            scores = {piece: score for piece, score in pieces}
            lowest = min(scores.values())
            # Added tokens are cut out of the text before; as pieces they only hold their ids.
            scores = {string: scores.get(string, lowest) for string in ids}
            return cls(tokenizer, style, model, state, ids, scores=scores, unknown=unknown)
        unknown = state["model"].get("unk_token")
        merges = tuple(
            tuple(merge if isinstance(merge, list) else merge.split(" ", 1))
            for merge in state["model"].pop("merges", ())
        )
        return cls(tokenizer, style, model, state, ids, merges=merges, unknown=unknown)

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def ranks(self) -> dict[Merge, int]:
        return {merge: rank for rank, merge in enumerate(self.merges)}

    @cached_property
    def protected(self) -> frozenset[str]:
        """Return the tokens that are never dropped: special and added ones, and bytes.

        The marker alone too (spelt in bytes it would come back as itself, not as a space), and
        single characters where there are no bytes to spell them in.
        """
        from tokenizers import pre_tokenizers

        fixed = {token["content"] for token in self.state["added_tokens"]}
        fixed |= {self.base.convert_ids_to_tokens(number) for number in self.base.all_special_ids}
        if self.style == "byte_level":
            fixed |= set(pre_tokenizers.ByteLevel.alphabet())
        else:
            fixed |= {MARKER, *BYTE_TOKENS, *(lower.lower() for lower in BYTE_TOKENS)}
            if not self.state["model"].get("byte_fallback"):
                fixed |= self.characters
        return frozenset(self.ids.keys() & {*fixed, self.unknown})

    @property
    def continues(self) -> str:
        """Return what WordPiece puts before a token that does not begin a word."""
        return self.state["model"].get("continuing_subword_prefix") or ""

    @cached_property
    def characters(self) -> frozenset[str]:
        """Return the tokens of one character, at the beginning of a word or within."""
        return frozenset(t for t in self.ids if len(t.removeprefix(self.continues)) == 1)

    @cached_property
    def missing_bytes(self) -> list[int]:
        """Return the bytes of UTF-8 that no token spells: text that has one is lost, or unknown."""
        if self.style == "byte_level":
            spelt = {from_byte_level(token) for token in self.ids if len(token) == 1}
        else:
            fallback = self.state["model"].get("byte_fallback")
            spelt = {
                bytes([n]) for n, token in enumerate(BYTE_TOKENS) if fallback and token in self.ids
            }
        return [n for n in range(256) if bytes([n]) not in spelt and n not in NEVER]

    def text(self, token: str) -> bytes:
        """Return the bytes that a plain token stands for, its word-start space included."""
        if self.style == "byte_level":
            data = from_byte_level(token)
            return token.encode() if data is None else data
        return token.removeprefix(self.continues).replace(MARKER, " ").encode()

    def parents(self, token: str) -> Merge | None:
        """Return the two tokens whose merge gives ``token`` when its own text is encoded (BPE).

        None of characters, added tokens, and tokens that their own text never gives.
        """
        if len(token) < 2:
            return None
        pieces, done = merge_pieces(token, self.ranks)
        return done[-1] if pieces == [token] else None

    def dropping_order(
        self,
        counts: Mapping[str, float],
        *,
        stay: Collection[str] = frozenset(),
        last: Collection[str] = frozenset(),
        credit: bool = False,
    ) -> Iterator[str]:
        """Yield tokens from the least worth keeping on, never one that a kept token is made of.

        Least used first; of equally often used ones the higher id. A token that others are made of
        waits until all of them are gone. Those that ``stay`` never go, beside the
        :attr:`protected`; those of ``last`` go after the others. With ``credit`` the uses of a
        token that goes count for the two that it is made of, which spell it from then on.
        """
        worth = dict(counts)
        made_of = {} if self.model != "BPE" else {token: self.parents(token) for token in self.ids}
        needed = dict.fromkeys(self.ids, 0)
        for parents in made_of.values():
            for part in set(parents or ()):
                needed[part] += 1
        waiting: list[tuple[bool, float, int, str]] = []

        def offer(token: str) -> None:
            if not needed[token] and token not in self.protected and token not in stay:
                rank = token in last, worth.get(token, 0), -self.ids[token], token
                heapq.heappush(waiting, rank)

        for token in self.ids:
            offer(token)
        while waiting:
            token = heapq.heappop(waiting)[-1]
            yield token
            parts: tuple[str, ...] = made_of.get(token) or ()
            for part in parts if credit else ():
                worth[part] = worth.get(part, 0) + worth.get(token, 0)
            for part in set(parts):
                needed[part] -= 1
                offer(part)

    def without(self, dropped: Iterable[str]) -> EditableVocabulary:
        """Return it without tokens and every merge that names one; ids stay, so there are holes."""
        gone = set(dropped)
        return replace(
            self,
            ids={token: number for token, number in self.ids.items() if token not in gone},
            merges=tuple(
                (left, right)
                for left, right in self.merges
                if not {left, right, left + right} & gone
            ),
            scores={token: score for token, score in self.scores.items() if token not in gone},
        )

    def renumbered(self) -> EditableVocabulary:
        ordered = sorted(self.ids, key=self.ids.__getitem__)
        return replace(self, ids={token: number for number, token in enumerate(ordered)})

    def plus(
        self,
        tokens: Iterable[str],
        merges: Iterable[Merge] = (),
        scores: Mapping[str, float] | None = None,
    ) -> EditableVocabulary:
        """Return it with more tokens, on free ids first, ascending; new merges come last."""
        ids = dict(self.ids)
        taken, number = set(ids.values()), 0
        for token in tokens:
            while number in taken:
                number += 1
            ids[token] = number
            number += 1
        return replace(
            self, ids=ids, merges=(*self.merges, *merges), scores={**self.scores, **(scores or {})}
        )

    def _state(self) -> dict[str, Any]:
        state = json.loads(json.dumps(self.state))
        ordered = sorted(self.ids, key=self.ids.__getitem__)
        model = state["model"]
        if self.model == "Unigram":
            model["unk_id"] = None if self.unknown is None else ordered.index(self.unknown)
            model["vocab"] = [[token, self.scores[token]] for token in ordered]
        else:
            # Added tokens stand in the model too: a loader numbers those that do not from its end.
            model["vocab"] = {token: self.ids[token] for token in ordered}
        if self.model == "BPE":
            model["merges"] = [list(merge) for merge in self.merges]
        for token in state["added_tokens"]:
            token["id"] = self.ids[token["content"]]
        state["added_tokens"].sort(key=lambda token: token["id"])
        renumber(state.get("post_processor"), self.ids)
        if state.get("padding"):
            state["padding"]["pad_id"] = self.ids[state["padding"]["pad_token"]]
        return state

    @cached_property
    def backend(self) -> Tokenizer:
        """Return the vocabulary as it is now as a bare tokenizer (holes in the ids are allowed)."""
        from tokenizers import Tokenizer

        return Tokenizer.from_str(json.dumps(self._state()))

    def tokenizer(self) -> PreTrainedTokenizerFast:
        """Return a tokenizer with this vocabulary; all else as in the base.

        Raises :class:`RevocabError` where ids have holes.
        """
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            self.base.save_pretrained(temporary)
            for name in OTHER_FORMATS:
                (folder / name).unlink(missing_ok=True)
            write_text(folder / "tokenizer.json", json.dumps(self._state(), ensure_ascii=False))
            config = read_json(folder / "tokenizer_config.json")
            # Classes of one model family may build their own pipeline; this one reads the file.
            config["tokenizer_class"] = "PreTrainedTokenizerFast"
            config["model_input_names"] = list(self.base.model_input_names)
            config.pop("added_tokens_decoder", None)
            write_json(folder / "tokenizer_config.json", config)
            changed = load_tokenizer(folder)
        changed.name_or_path = self.base.name_or_path
        if changed.get_vocab() != self.ids:
            wrong = sorted(set(changed.get_vocab().items()) ^ set(self.ids.items()))[:5]
            raise RevocabError(
                f"{self.base.name_or_path}: the changed vocabulary loads differently ({wrong});"
                " this base cannot be changed here"
            )
        strings_by_id(changed)
        return changed
