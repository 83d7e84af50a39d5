"""``tokenizer.json`` by itself: its roles, its splitter, its decoder, and the ids beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from revocab.models.findings import Finding, Severity
from revocab.product.check.kind import TOKENIZER, TOKENIZER_CONFIG, Kind, Subject, fault
from revocab.product.check.kinds.stale_files import vocabulary_of
from revocab.vocabulary.tokenizers.alphabets import MARKER, from_byte_level
from revocab.vocabulary.tokenizers.golden_texts import fixed_texts
from revocab.vocabulary.tokenizers.splitter import pretokens_only, regex_problem

#: What byte-level BPE writes for a space.
_BYTE_SPACE = "Ġ"
#: So much text of the vocabulary is looked at for a splitter that matches nothing else.
_SAMPLE = 1_000_000
#: What texts hardly hold and expressions do.
_EXPRESSION = re.compile(r"\\[a-zA-Z]|\[.+\]|\(\?")


def roles(subject: Subject) -> Iterator[Finding]:
    """Yield tokens of a role that ``tokenizer.json`` lacks: programs that need them add them."""
    if not subject.has(TOKENIZER):
        return
    ours, _ = vocabulary_of(subject)
    for file in (TOKENIZER_CONFIG, "special_tokens_map.json"):
        for role, value in subject.settings(file).items():
            token = value.get("content") if isinstance(value, dict) else value
            if role.endswith("_token") and isinstance(token, str) and token not in ours:
                needed = role in ("bos_token", "eos_token")
                yield fault(
                    "role-not-in-file",
                    severity="error" if needed else "warning",
                    role=role,
                    file=file,
                    token=token,
                )


def splitter(subject: Subject) -> Iterator[Finding]:
    """Yield patterns of the splitter that match nothing of what the steps before leave."""
    if not subject.has(TOKENIZER):
        return
    from tokenizers import Regex
    from tokenizers.pre_tokenizers import Split

    state = subject.settings(TOKENIZER)
    whole = state.get("pre_tokenizer") or {}
    steps = whole.get("pretokenizers") or [whole]
    known = "\n".join(fixed_texts())
    for number, step in enumerate(steps):
        if step.get("type") != "Split":
            continue
        before = {"type": "Sequence", "pretokenizers": steps[:number]}
        ((kind, pattern),) = step["pattern"].items()

        def matches(text: str, before: Any = before, **pattern: str) -> bool:
            """Tell whether a pattern is in the pieces of a text that the step gets."""
            earlier = pretokens_only({**state, "pre_tokenizer": before, "decoder": None})
            normalizer, cut = earlier.normalizer, earlier.pre_tokenizer
            text = normalizer.normalize_str(text) if normalizer else text
            pieces = [piece for piece, _ in cut.pre_tokenize_str(text)] if cut else [text]
            split = Split(Regex(pattern["Regex"]) if "Regex" in pattern else pattern["String"],
                          "removed")  # fmt: skip
            left = (sum(len(part) for part, _ in split.pre_tokenize_str(one)) for one in pieces)
            return any(rest < len(one) for rest, one in zip(left, pieces, strict=True))

        if matches(known, **step["pattern"]):
            continue
        is_expression = kind == "Regex"
        if not is_expression and _EXPRESSION.search(pattern) and not regex_problem(pattern):
            is_expression = matches(known, Regex=pattern)
        elif matches(f"a {pattern} {text_of(subject)}", **step["pattern"]):
            continue
        severity: Severity = "warning" if is_expression else "note"
        reads = is_expression and kind == "String"
        yield fault(
            "split-without-match/as-text" if reads else "split-without-match",
            severity=severity,
            step=number + 1,
            pattern=pattern,
        )


def text_of(subject: Subject) -> str:
    """Return the tokens' texts, for what no other text has."""
    length, texts = 0, []
    for token in subject.tokens:
        data = from_byte_level(token)
        texts.append(token.replace(MARKER, " ") if data is None else data.decode(errors="ignore"))
        length += len(texts[-1])
        if length > _SAMPLE:
            break
    return " ".join(texts)


def spaces(subject: Subject) -> Iterator[Finding]:
    """Yield a decoder that leaves the marks of spaces in text."""
    if not subject.has(TOKENIZER):
        return
    backend = subject.tokenizer.backend_tokenizer
    wrong = []
    for text in fixed_texts():
        decoded = backend.decode(backend.encode(text, add_special_tokens=False).ids)
        wrong += [text] * any(decoded.count(m) > text.count(m) for m in (MARKER, _BYTE_SPACE))
    if wrong:
        text = wrong[0]
        decoded = backend.decode(backend.encode(text, add_special_tokens=False).ids)
        named = json.loads(backend.to_str())["decoder"] or {}
        yield fault(
            "spaces-not-decoded",
            decoder=named.get("type", "none"),
            text=text[:40],
            decoded=decoded[:40],
        )


KIND = Kind("tokenizer_file", (roles, splitter, spaces), quick=True)
