"""A tokenizer as another program is to know it: tokens with their kinds, merges, special ids."""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from pathlib import Path
from typing import Any, Literal

from revocab.errors import RevocabError, refuse
from revocab.heavy_types import PreTrainedTokenizerFast
from revocab.vocabulary.building.editable import EditableVocabulary
from revocab.vocabulary.tokenizers.alphabets import BYTE_TOKENS, GPT2_WORDS, MARKER
from revocab.vocabulary.tokenizers.canonical import strings_by_id
from revocab.vocabulary.tokenizers.load import load_tokenizer, some

Kind = Literal["normal", "unknown", "control", "user_defined", "byte"]


@dataclass(frozen=True)
class Vocabulary:
    """A BPE or Unigram vocabulary in ``▁`` or byte-level form, read from a folder."""

    tokenizer: PreTrainedTokenizerFast
    plain: EditableVocabulary

    @classmethod
    def read(cls, folder: Path, models: Collection[str] = ("BPE",)) -> Vocabulary:
        """Read a folder; raise :class:`RevocabError` for what a format cannot hold."""
        tokenizer = load_tokenizer(folder)
        model = json.loads(tokenizer.backend_tokenizer.to_str())["model"]
        if model["type"] not in models:
            raise RevocabError(
                f"{folder}: a {model['type']} vocabulary; this format is written of"
                f" {' or '.join(models)}"
                + "; export --to sentencepiece"
                * (model["type"] == "Unigram")
            )
        vocabulary = cls(tokenizer, EditableVocabulary.read(tokenizer, "model"))
        plain, problems = vocabulary.plain, []
        if not vocabulary.byte_level and plain.model == "BPE" and not vocabulary.spells_bytes:
            missing = sum(token not in plain.ids for token in BYTE_TOKENS)
            problems.append(
                "characters that the vocabulary lacks are not spelt in bytes"
                f" ({missing} of 256 byte tokens are missing), as the scores of BPE need"
            )
        if spaced := [token for merge in plain.merges for token in merge if " " in token]:
            problems.append(f"merges of tokens with a space in them: {some(map(repr, spaced))}")
        refuse(f"{folder}: {problem}" for problem in problems)
        return vocabulary

    @property
    def byte_level(self) -> bool:
        return self.plain.style == "byte_level"

    @property
    def spells_bytes(self) -> bool:
        """Whether ``<0xNN>`` tokens spell the characters that the vocabulary lacks."""
        fallback = self.plain.state["model"].get("byte_fallback")
        return bool(fallback) and self.plain.ids.keys() >= {*BYTE_TOKENS}

    @cached_property
    def tokens(self) -> list[str]:
        return strings_by_id(self.tokenizer)

    @cached_property
    def added(self) -> dict[int, Kind]:
        special = {*self.tokenizer.all_special_ids}
        kinds: dict[int, Kind] = {}
        for number, token in self.tokenizer.added_tokens_decoder.items():
            if token.special or number in special:
                kinds[number] = "control"
            elif MARKER not in token.content:  # it would be shown as it is, and not as a space
                kinds[number] = "user_defined"
        return kinds

    @cached_property
    def kinds(self) -> list[Kind]:
        kinds: list[Kind] = ["normal"] * len(self.tokens)
        if self.spells_bytes:
            for token in BYTE_TOKENS:
                kinds[self.plain.ids[token]] = "byte"
        kinds = [self.added.get(number, kind) for number, kind in enumerate(kinds)]
        unknown = self.plain.unknown or self.tokenizer.unk_token
        if unknown in self.plain.ids:
            kinds[self.plain.ids[unknown]] = "unknown"
        return kinds

    @cached_property
    def space_before(self) -> bool:
        """Whether the tokenizer puts a space before a text."""
        return any(
            step["type"] == "Prepend" or step.get("prepend_scheme", "never") != "never"
            for step in (*self.steps("normalizer"), *self.steps("pre_tokenizer"))
        )

    def steps(self, part: str) -> list[dict[str, Any]]:
        """Return the steps of the normalizer or pre_tokenizer, one after the other."""
        steps = [self.plain.state.get(part)]
        while nested := next((step for step in steps if step and step["type"] == "Sequence"), None):
            at = steps.index(nested)
            steps[at : at + 1] = nested.get("normalizers") or nested.get("pretokenizers") or []
        return [step for step in steps if step]

    @cached_property
    def splitter(self) -> tuple[str, ...]:
        """Return the patterns that cut a text into words; other steps in angle brackets."""
        patterns = []
        for step in self.steps("pre_tokenizer"):
            kind, pattern = step["type"], step.get("pattern", {})
            if kind == "ByteLevel":
                patterns += ["<add_prefix_space>"] if step["add_prefix_space"] else []
                patterns += [GPT2_WORDS] if step["use_regex"] else []
            elif kind == "Digits" and step["individual_digits"]:
                patterns.append(r"\p{N}")
            elif kind == "Split" and "Regex" in pattern and isolates(step):
                patterns.append(pattern["Regex"])
            else:
                patterns.append(f"<{' '.join([kind, *map(repr, pattern.values())])}>")
        return tuple(patterns)

    @cached_property
    def rewritten(self) -> dict[str, Callable[[str], object]]:
        """Return which text the normaliser changes that hardly anybody writes, in words and as a
        test: a literal ``▁``, control characters, letters apart from their accents.
        """
        tests: dict[str, Callable[[str], object]] = {}
        for step in self.steps("normalizer"):
            old = step.get("pattern", {}).get("String")
            if step["type"] == "NFC":
                tests["that is not in NFC"] = lambda text: (
                    not unicodedata.is_normalized("NFC", text)
                )
            elif step["type"] == "Replace" and old and is_internal(old):
                tests[f"with {old!r} in it"] = re.compile(re.escape(old)).search
        return tests

    @cached_property
    def other_steps(self) -> list[dict[str, Any]]:
        """Return the steps of the normaliser that change what people write, but for spaces."""
        others = []
        for step in self.steps("normalizer"):
            old = step.get("pattern", {}).get("String")
            is_known = (
                step["type"] == "NFC"
                or (step["type"] == "Prepend" and step["prepend"] in (" ", MARKER))
                or (old == " " and step["content"] == MARKER)
                or (old and is_internal(old))
            )
            others += [] if is_known else [step]
        return others

    def frame(self) -> tuple[bool, bool]:
        """Return whether the tokenizer puts its first token before a text, and its last after.

        Raises :class:`RevocabError` where it adds others.
        """
        bare = self.tokenizer("a", add_special_tokens=False)["input_ids"]
        whole = self.tokenizer("a")["input_ids"]
        bos, eos = [self.tokenizer.bos_token_id], [self.tokenizer.eos_token_id]
        for first, last in product((False, True), repeat=2):
            if whole == [*bos * first, *bare, *eos * last]:
                return first, last
        raise RevocabError(
            f"{self.tokenizer.name_or_path}: adds tokens other than bos and eos around a text,"
            " which llama.cpp cannot; change the post-processor"
        )


def is_internal(text: str) -> bool:
    """Return whether a text is of ``▁`` and control characters alone, which tokenizers escape."""
    return all(letter == MARKER or unicodedata.category(letter) == "Cc" for letter in text)


def isolates(step: dict[str, Any]) -> bool:
    """Return whether a split by a pattern keeps each match as a word, and all of the text.

    ``Removed`` with ``invert`` drops what lies between matches: nothing, if each character matches.
    """
    if step["behavior"] == "Isolated":
        return True
    return step["behavior"] == "Removed" and step["invert"] and covers(step["pattern"]["Regex"])


@cache
def covers(pattern: str) -> bool:
    """Return whether a pattern matches every character; of the rarer ones some are tried."""
    from tokenizers import Regex, pre_tokenizers

    codes = [*range(0x3000), *range(0x3000, sys.maxunicode, 61)]
    letters = [chr(code) for code in codes if not 0xD800 <= code < 0xE000]
    split = pre_tokenizers.Split(Regex(pattern), "removed", invert=True)
    words = split.pre_tokenize_str("".join(letters))
    return sum(len(word) for word, _ in words) == len(letters)
