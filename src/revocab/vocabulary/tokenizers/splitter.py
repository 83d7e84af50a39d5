"""A tokenizer's splitter, and its repair where it cuts words at their marks.

A splitter cuts text into pre-tokens before the vocabulary is looked at, and no token reaches over
a cut. A word class ``\\p{L}+`` cuts before every vowel sign (``\\p{M}``) of Devanagari, Thai and
many other scripts. The repair puts marks among the letters, as the splitters of Qwen3.5 and
DeepSeek-V3 have them: ``\\p{L}+`` becomes ``[\\p{L}\\p{M}]+``. Only text with marks changes.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from revocab.heavy_types import Tokenizer
from revocab.vocabulary.tokenizers.alphabets import GPT2_WORDS, LLAMA3_WORDS, byte_level_words

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
