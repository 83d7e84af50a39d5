"""How text becomes the symbols of a vocabulary: the two alphabets, and what counts as a word.

``byte_fallback`` is the style of Llama-2, Mistral and Minerva: a word start is ``▁``, a rare
character is spelt in ``<0xNN>`` bytes. ``byte_level`` is the style of GPT-2 and Llama-3: text is
bytes, a word start is ``Ġ``. Both give back any UTF-8 text exactly.

A splitter cuts text into pre-tokens before the vocabulary is looked at, and no token reaches over
a cut. A word class ``\\p{L}+`` cuts before every vowel sign (``\\p{M}``) of Devanagari, Thai and
many other scripts. The repair puts marks among the letters, as the splitters of Qwen3.5 and
DeepSeek-V3 have them: ``\\p{L}+`` becomes ``[\\p{L}\\p{M}]+``. Only text with marks changes.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from revocab.heavy_types import Tokenizer

Alphabet = Literal["byte_fallback", "byte_level"]
Digits = Literal["individual", "groups_of_three", "none"]
Whitespace = Literal["grouped", "single"]

MARKER = "▁"
#: Escapes a literal ``▁``, which SentencePiece itself gives back as a space: data link escape.
ESCAPE = "\x10"
BYTE_TOKENS = [f"<0x{byte:02X}>" for byte in range(256)]
#: Share of all characters that get their own token (Llama trained so); the rest is spelt in bytes.
CHARACTER_COVERAGE = 0.99995
#: Characters counted to choose the alphabet: enough to see one in a million.
COUNTED_CHARACTERS = 8_000_000
#: At most this share of the vocabulary is single characters.
ALPHABET_SHARE = 1 / 8

#: What is published: Llama-2 and Mistral split numbers into digits, Llama-3 into groups of three.
USUAL_DIGITS: dict[str, Digits] = {"byte_fallback": "individual", "byte_level": "groups_of_three"}
NUMBERS: dict[Digits, str] = {
    "individual": r"\p{N}",
    "groups_of_three": r"\p{N}{1,3}",
    "none": r"\p{N}+",
}
#: The pattern of word pieces of GPT-2, which a ByteLevel step has inside.
GPT2_WORDS = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def marked_words(digits: Digits = "individual", whitespace: Whitespace = "grouped") -> str:
    """Return the pattern of word pieces in marker form: letters, numbers, punctuation, spaces.

    ``grouped``: spaces before a word stay together and may become one token; ``single``: each space
    is a piece of its own.
    """
    spaces = r"|▁+(?=▁[^▁\s\p{N}])|▁+" if whitespace == "grouped" else r"|▁"
    return rf"▁?[\p{{L}}\p{{M}}]+|{NUMBERS[digits]}|▁?[^▁\s\p{{L}}\p{{M}}\p{{N}}]+{spaces}|\s"


def byte_level_words(digits: Digits = "groups_of_three", whitespace: Whitespace = "grouped") -> str:
    """Return the pattern of word pieces of raw text: Llama-3's published one by default."""
    spaces = r"|\s*[\r\n]+|\s+(?!\S)|\s+" if whitespace == "grouped" else r"|\s"
    lines = r"[\r\n]*" if whitespace == "grouped" else ""
    return (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+"
        rf"|{NUMBERS[digits]}| ?[^\s\p{{L}}\p{{N}}]+{lines}{spaces}"
    )


LLAMA3_WORDS = byte_level_words()


def covering_characters(counts: Counter[str], limit: int) -> list[str]:
    """Return the characters that cover nearly all of ``counts``, at most ``limit``, unsorted.

    Whitespace and the characters the marker form uses itself are left to their bytes. Ties are
    broken by code point, so that the result does not depend on the machine.
    """
    counts = Counter(
        {
            character: count
            for character, count in counts.items()
            if not character.isspace() and character not in (MARKER, ESCAPE)
        }
    )
    uncovered = counts.total() * (1 - CHARACTER_COVERAGE)
    ordered = sorted(counts, key=lambda character: (counts[character], -ord(character)))
    while ordered and counts[ordered[0]] <= uncovered:
        uncovered -= counts[ordered.pop(0)]
    return ordered[-limit:] if limit > 0 else []


def frequent_characters(samples: Iterable[str], limit: int) -> list[str]:
    """Return the marker and the at most ``limit`` - 1 :func:`covering_characters`, sorted."""
    counts: Counter[str] = Counter()
    for text in samples:
        counts.update(text)
        if counts.total() >= COUNTED_CHARACTERS:
            break
    return sorted([MARKER, *covering_characters(counts, limit - 1)])


def set_pipeline(
    tokenizer: Tokenizer, alphabet: Alphabet, digits: Digits, whitespace: Whitespace
) -> None:
    from tokenizers import Regex, decoders, normalizers, pre_tokenizers

    if alphabet == "byte_fallback":
        pattern = marked_words(digits, whitespace)
        tokenizer.normalizer = normalizers.Sequence(
            [
                normalizers.Replace(ESCAPE, ESCAPE + "0"),
                normalizers.Replace(MARKER, ESCAPE + "1"),
                normalizers.Prepend(MARKER),
                normalizers.Replace(" ", MARKER),
            ]
        )
        tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(pattern), "isolated")
        # The inverse of the normaliser, over pieces and byte tokens.
        tokenizer.decoder = decoders.Sequence(
            [
                decoders.Replace(MARKER, " "),
                decoders.ByteFallback(),
                decoders.Fuse(),
                decoders.Strip(" ", 1, 0),
                decoders.Replace(ESCAPE + "1", MARKER),
                decoders.Replace(ESCAPE + "0", ESCAPE),
            ]
        )
        return
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(byte_level_words(digits, whitespace)), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()


#: GPT-2's alphabet: printable Latin-1 stands for itself, the rest from U+0100 on. Tables for
#: ``str.translate``, from Latin-1 to its characters and back.
_PRINTABLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_OTHERS = [byte for byte in range(256) if byte not in _PRINTABLE]
FROM_LATIN = {byte: chr(byte) for byte in _PRINTABLE}
FROM_LATIN |= {byte: chr(0x100 + number) for number, byte in enumerate(_OTHERS)}
TO_LATIN = {ord(character): chr(byte) for byte, character in FROM_LATIN.items()}


def from_byte_level(string: str) -> bytes | None:
    """Return the bytes a byte-level token stands for; None if it is not in that alphabet."""
    try:
        return string.translate(TO_LATIN).encode("latin-1")
    except UnicodeEncodeError:
        return None


def to_byte_level(data: bytes) -> str:
    return data.decode("latin-1").translate(FROM_LATIN)


# Splitters, and their repair ------------------------------------------------------------------

#: A class of characters, or letters outside of one, and whether it may be left out.
CLASS_OR_LETTERS = re.compile(r"(\[(?:\\.|[^\]\\])*\]|\\p\{L\})(\?(?!\+))?")
#: Everything but letters: a mark is in it, and would have to be taken out.
NEGATED = re.compile(r"\\P\{L\}|\\p\{\^L\}")
#: A letter with a vowel sign.
MARKED = "की"


def repair_expression(expression: str) -> str | None:
    """Return a splitter's expression with marks among letters; None where words have them.

    A negated class that may be left out (``[^\\r\\n\\p{L}\\p{N}]?`` before a word) stays: a mark
    that it takes is in the same pre-token either way. So Qwen2's expression becomes that of
    Qwen3.5, which llama.cpp knows.
    """
    letters = [part for part, _ in CLASS_OR_LETTERS.findall(expression) if r"\p{L}" in part]
    if all(part.startswith("[^") or r"\p{M}" in part for part in letters):
        return None

    def with_marks(match: re.Match[str]) -> str:
        part, optional = match[1], match[2] or ""
        if part == r"\p{L}":
            return r"[\p{L}\p{M}]" + optional
        if r"\p{M}" in part or (optional and part.startswith("[^")):
            return match[0]
        return part.replace(r"\p{L}", r"\p{L}\p{M}") + optional

    return CLASS_OR_LETTERS.sub(with_marks, expression)


@dataclass
class Repair:
    """A splitter (the state of a pre-tokenizer) with marks joined to words.

    ``expressions`` has each one that changes, before and after: none where no word is cut at a
    mark. ``problems`` says what cannot be repaired exactly.
    """

    splitter: Any
    expressions: list[tuple[str, str]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def works(self) -> bool:
        return bool(self.expressions) and not self.problems

    def join_in(self, expression: str) -> str:
        """Return an expression with marks joined to words, and note what speaks against it."""
        repaired = repair_expression(expression)
        if negated := NEGATED.search(expression):
            self.problems.append(
                f"expression {expression!r} has {negated[0]}, which marks belong to; allowed are"
                r" \p{L} and classes with it"
            )
        if repaired is None:
            return expression
        self.expressions.append((expression, repaired))
        if problem := regex_problem(repaired):
            self.problems.append(
                f"expression {expression!r} becomes {repaired!r}, which the tokenizers library does"
                f" not take ({problem})"
            )
        return repaired

    def replace_step(self, step: dict[str, Any]) -> list[dict[str, Any]]:
        """Return what stands in a step's place."""
        if step["type"] == "Sequence":
            return [new for inner in step["pretokenizers"] for new in self.replace_step(inner)]
        if step["type"] == "ByteLevel" and step["use_regex"]:
            if step["add_prefix_space"]:
                self.problems.append(
                    "ByteLevel with use_regex: true has add_prefix_space: true, a space that no"
                    " other step puts before a text; allowed is add_prefix_space: false"
                )
            pattern = {"Regex": self.join_in(GPT2_WORDS)}
            split = {"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": False}
            return [split, {**step, "use_regex": False}]
        if step["type"] != "Split" or "Regex" not in step["pattern"]:
            return [step]
        before = step["pattern"]["Regex"]
        after = self.join_in(before)
        if after != before and step["behavior"] == "Removed" and not step["invert"]:
            self.problems.append(
                f"expression {before!r} has behavior: Removed, so the text itself would change;"
                " allowed is Isolated"
            )
        return [{**step, "pattern": {"Regex": after}}]


def repair_splitter(backend: Tokenizer) -> Repair:
    if joins_marks(backend):
        return Repair(None)
    splitter = json.loads(backend.pre_tokenizer.__getstate__())
    repair = Repair(splitter)
    steps = repair.replace_step(splitter)
    repair.splitter = {"type": "Sequence", "pretokenizers": steps} if len(steps) > 1 else steps[0]
    if not repair.problems:
        changed = pretokens_only({"pre_tokenizer": repair.splitter, "added_tokens": []})
        if not joins_marks(changed):
            repair.problems.append(
                f"its steps still cut {MARKED!r} between the letter and its mark; allowed are"
                r" expressions with \p{L} that see the text before it becomes bytes"
            )
    return repair


def joins_marks(backend: Tokenizer) -> bool:
    splitter = backend.pre_tokenizer
    if splitter is None:
        return True
    return [span for _, span in splitter.pre_tokenize_str(MARKED)] == [(0, len(MARKED))]


def pretokens_only(state: dict[str, Any]) -> Tokenizer:
    """Return a tokenizer's pipeline with a model that makes one token of whatever reaches it."""
    from tokenizers import Tokenizer

    added = [{**token, "id": number} for number, token in enumerate(state["added_tokens"], 1)]
    model = {"type": "WordLevel", "vocab": {"": 0}, "unk_token": ""}
    changed = {"version": "1.0", "model": model, "added_tokens": added, "post_processor": None}
    return Tokenizer.from_str(json.dumps({**state, **changed}))


def regex_problem(expression: str) -> str | None:
    from tokenizers import Regex

    try:
        Regex(expression)
    except Exception as error:  # the library raises a bare one
        return str(error).strip()
    return None


# llama.cpp's ------------------------------------------------------------------------------------


def cased_words(end: str, numbers: str) -> str:
    """Return llama.cpp's pattern for words that begin with capitals.

    In place of cased letters it has all letters that are not of ASCII's other case, and no marks.
    """
    start, upper = r"[^\r\n\p{L}\p{N}]?", r"((?=[\p{L}])([^a-z]))"
    lower = r"((?=[\p{L}])([^A-Z]))"
    words = f"{start}{upper}*{lower}+{end}|{start}{upper}+{lower}*{end}|{numbers}"
    return words + r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"


QWEN2_WORDS = byte_level_words("individual")
CONTRACTIONS = "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?"


@dataclass(frozen=True)
class LlamaSplitter:
    """How llama.cpp splits bytes into words for a name that a GGUF has as its ``pre``."""

    name: str
    #: One after the other.
    patterns: tuple[str, ...]
    #: Whether a word that is a token is taken whole.
    takes_words: bool = False
    #: Whether detokenised text has no space before ``.``, ``,``, ``!``, ``?`` and contractions.
    cleans_spaces: bool = False

    def pre_tokenizer(self) -> Any:
        from tokenizers import Regex, pre_tokenizers

        splits = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in self.patterns]
        encode = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        return pre_tokenizers.Sequence([*splits, encode])


#: Of equal ones the more widely known comes first.
LLAMA_CPP_SPLITTERS = (
    LlamaSplitter("llama-bpe", (LLAMA3_WORDS,), takes_words=True, cleans_spaces=True),
    LlamaSplitter("minimax-m2", (LLAMA3_WORDS,)),
    LlamaSplitter("dbrx", (LLAMA3_WORDS,), cleans_spaces=True),
    LlamaSplitter("qwen2", (QWEN2_WORDS,)),
    LlamaSplitter("gpt-2", (GPT2_WORDS,), cleans_spaces=True),
    LlamaSplitter("trillion", (GPT2_WORDS,)),
    LlamaSplitter("smollm", (r"\p{N}", GPT2_WORDS)),
    LlamaSplitter("qwen35", (repair_expression(QWEN2_WORDS) or "",)),
    LlamaSplitter(
        "deepseek-v3",
        (
            r"\p{N}{1,3}",
            "[一-龥぀-ゟ゠-ヿ]+",
            r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
            r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ),
    ),
    LlamaSplitter("tekken", (cased_words("", r"\p{N}"),), takes_words=True),
    LlamaSplitter("gpt-4o", (cased_words(CONTRACTIONS, r"\p{N}{1,3}"),)),
)
