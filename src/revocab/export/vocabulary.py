"""A tokenizer as another program is to know it: tokens with their kinds, merges, special ids."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

from revocab.errors import RevocabError, refuse
from revocab.heavy_types import PreTrainedTokenizerFast
from revocab.io import read_json
from revocab.tokenizer_building.editable import EditableVocabulary
from revocab.tokenizers.alphabets import BYTE_TOKENS, GPT2_WORDS, MARKER
from revocab.tokenizers.canonical import strings_by_id
from revocab.tokenizers.load import load_tokenizer, some

Kind = Literal["normal", "unknown", "control", "user_defined", "byte"]


@dataclass(frozen=True)
class Vocabulary:
    """A BPE vocabulary in ``▁`` or byte-level form, read from a folder."""

    tokenizer: PreTrainedTokenizerFast
    plain: EditableVocabulary

    @classmethod
    def read(cls, folder: Path) -> Vocabulary:
        """Read a folder; raise :class:`RevocabError` for what llama.cpp has no form for."""
        tokenizer = load_tokenizer(folder)
        model = json.loads(tokenizer.backend_tokenizer.to_str())["model"]
        if model["type"] != "BPE":
            raise RevocabError(
                f"{folder}: a {model['type']} vocabulary, which llama.cpp cuts differently from the"
                " tokenizers library; only BPE is exported"
            )
        vocabulary = cls(tokenizer, EditableVocabulary.read(tokenizer, "model"))
        refuse(f"{folder}: {problem}" for problem in vocabulary._problems())
        return vocabulary

    def _problems(self) -> Iterator[str]:
        if not self.byte_level:
            missing = [token for token in BYTE_TOKENS if token not in self.plain.ids]
            if missing or not self.plain.state["model"].get("byte_fallback"):
                yield (
                    "characters that the vocabulary lacks are not spelt in bytes"
                    f" ({len(missing)} of 256 byte tokens are missing), as llama.cpp does"
                )
        spaced = [token for merge in self.plain.merges for token in merge if " " in token]
        if spaced:
            yield f"merges of tokens with a space in them: {some(map(repr, spaced))}"

    @property
    def byte_level(self) -> bool:
        return self.plain.style == "byte_level"

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
        if not self.byte_level:
            for token in BYTE_TOKENS:
                kinds[self.plain.ids[token]] = "byte"
        for number, kind in self.added.items():
            kinds[number] = kind
        unknown = self.plain.unknown or self.tokenizer.unk_token
        if unknown in self.plain.ids:
            kinds[self.plain.ids[unknown]] = "unknown"
        return kinds

    @cached_property
    def space_before(self) -> bool:
        """Whether the tokenizer puts a space before a text."""
        steps = (*self._steps("normalizer"), *self._steps("pre_tokenizer"))
        return any(
            step["type"] == "Prepend" or step.get("prepend_scheme", "never") != "never"
            for step in steps
        )

    def _steps(self, part: str) -> list[dict[str, Any]]:
        state = self.plain.state.get(part)
        if state is None:
            return []
        inner = state.get("normalizers") or state.get("pretokenizers")
        return list(inner) if inner is not None else [state]

    @cached_property
    def splitter(self) -> tuple[str, ...]:
        """Return the patterns that cut a text into words; other steps in angle brackets."""
        patterns = []
        for step in self._steps("pre_tokenizer"):
            kind, pattern = step["type"], step.get("pattern", {})
            if kind == "ByteLevel":
                patterns += ["<add_prefix_space>"] if step["add_prefix_space"] else []
                patterns += [GPT2_WORDS] if step["use_regex"] else []
            elif kind == "Digits" and step["individual_digits"]:
                patterns.append(r"\p{N}")
            elif kind == "Split" and "Regex" in pattern and step["behavior"] == "Isolated":
                patterns.append(pattern["Regex"])
            else:
                patterns.append(f"<{' '.join([kind, *map(repr, pattern.values())])}>")
        return tuple(patterns)

    def spacing_notes(self) -> Iterator[str]:
        """Yield before which texts llama.cpp puts a space and the tokenizer does not."""
        for step in self._steps("pre_tokenizer"):
            scheme = step.get("prepend_scheme", "never")
            if scheme != "never":
                yield "no space is added before a text that begins with one"
            if scheme == "first":
                yield "nor after a special token"

    @cached_property
    def normalised(self) -> dict[str, Callable[[str], object]]:
        """Return which texts the normaliser changes and llama.cpp leaves, in words and as a test.

        llama.cpp has the steps that put spaces and ``▁`` into a text; others have no test: lines
        will tell.
        """
        tests: dict[str, Callable[[str], object]] = {}
        for step in self._steps("normalizer"):
            kind = step["type"]
            old = step.get("pattern", {}).get("String")
            if kind == "Replace" and old is not None and (old, step["content"]) != (" ", MARKER):
                tests[f"with {old!r} in it"] = re.compile(re.escape(old)).search
            elif kind in ("NFC", "NFD", "NFKC", "NFKD"):
                tests[f"that is not in {kind}"] = partial(is_not_in, kind)
        return tests

    def frame(self) -> tuple[bool, bool]:
        """Return whether the tokenizer puts its first token before a text, and its last after.

        Raises :class:`RevocabError` where it adds others.
        """
        bare = self.tokenizer("a", add_special_tokens=False)["input_ids"]
        whole = self.tokenizer("a")["input_ids"]
        for first in (False, True):
            for last in (False, True):
                before = [self.tokenizer.bos_token_id] * first
                if whole == [*before, *bare, *[self.tokenizer.eos_token_id] * last]:
                    return first, last
        raise RevocabError(
            f"{self.tokenizer.name_or_path}: adds tokens other than bos and eos around a text,"
            " which llama.cpp cannot; change the post-processor"
        )

    def end_ids(self, folder: Path) -> list[int]:
        """Return the tokens that end an answer: the tokenizer's, then those of the model."""
        ends = [self.tokenizer.eos_token_id]
        for name in ("generation_config.json", "config.json"):
            path = folder / name
            named = read_json(path).get("eos_token_id") if path.is_file() else None
            ends += named if isinstance(named, list) else [named]
        return [end for end in dict.fromkeys(ends) if end is not None and end < len(self.tokens)]


def is_not_in(form: Any, text: str) -> bool:
    return not unicodedata.is_normalized(form, text)
