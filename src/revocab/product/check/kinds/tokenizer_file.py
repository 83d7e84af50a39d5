"""``tokenizer.json``: by itself, beside files of older formats, and what text loses by it.

transformers and vLLM read ``tokenizer.json``; llama.cpp's converter and slow tokenizers read the
older files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from revocab.errors import RevocabError
from revocab.models.findings import Finding, Severity, some
from revocab.models.load import loading, quiet
from revocab.product.check.kind import TOKENIZER, TOKENIZER_CONFIG, Kind, Mended, Subject, fault
from revocab.vocabulary.tokenizers.alphabets import (
    MARKER,
    from_byte_level,
    pretokens_only,
    regex_problem,
)
from revocab.vocabulary.tokenizers.encoding import Coverage, appended_tokens, text_encoder
from revocab.vocabulary.tokenizers.file_ids import pieces_of
from revocab.vocabulary.tokenizers.identity import fixed_texts
from revocab.vocabulary.tokenizers.load import other_class

#: What byte-level BPE writes for a space.
_BYTE_SPACE = "Ġ"
#: So much text of the vocabulary is looked at for a splitter that matches nothing else.
_SAMPLE = 1_000_000
#: What texts hardly hold and expressions do.
_EXPRESSION = re.compile(r"\\[a-zA-Z]|\[.+\]|\(\?")


def roles(subject: Subject) -> Iterator[Finding]:
    """Yield tokens of a role that ``tokenizer.json`` lacks: programs that need them add them."""
    ours, _ = vocabulary_of(subject)
    for file in (TOKENIZER_CONFIG, "special_tokens_map.json"):
        for role, value in subject.settings(file).items():
            token = value.get("content") if isinstance(value, dict) else value
            if role.endswith("_token") and isinstance(token, str) and token not in ours:
                severity: Severity = "error" if role in ("bos_token", "eos_token") else "warning"
                facts = {"role": role, "file": file, "token": token}
                yield fault("role-not-in-file", severity=severity, **facts)


def splitter(subject: Subject) -> Iterator[Finding]:
    """Yield patterns of the splitter that match nothing of what the steps before leave."""
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
            left = (sum(len(part) for part, _ in split.pre_tokenize_str(piece)) for piece in pieces)
            return any(rest < len(piece) for rest, piece in zip(left, pieces, strict=True))

        if matches(known, **step["pattern"]):
            continue
        is_expression = kind == "Regex"
        if not is_expression and _EXPRESSION.search(pattern) and not regex_problem(pattern):
            is_expression = matches(known, Regex=pattern)
        elif matches(f"a {pattern} {text_of(subject)}", **step["pattern"]):
            continue
        severity: Severity = "warning" if is_expression else "note"
        as_text = "/as-text" if is_expression and kind == "String" else ""
        facts = {"step": number + 1, "pattern": pattern}
        yield fault(f"split-without-match{as_text}", severity=severity, **facts)


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
    backend = subject.tokenizer.backend_tokenizer
    for text in fixed_texts():
        decoded = backend.decode(backend.encode(text, add_special_tokens=False).ids)
        if any(decoded.count(mark) > text.count(mark) for mark in (MARKER, _BYTE_SPACE)):
            named = (json.loads(backend.to_str())["decoder"] or {}).get("type", "none")
            yield fault("spaces-not-decoded", decoder=named, text=text[:40], decoded=decoded[:40])
            return


#: Keys of a token in ``added_tokens_decoder``.
_FLAGS = ("content", "lstrip", "normalized", "rstrip", "single_word", "special")


def differs(file: str, what: str) -> Finding:
    return fault("stale-file", lambda mended: mended.remove(file), file=file, what=what)


def vocabulary_of(subject: Subject) -> tuple[dict[str, int], dict[str, Any]]:
    """Return what ``tokenizer.json`` has: all tokens with their ids, and its model.

    Raises :class:`RevocabError` for what is no such file.
    """
    content = subject.settings(TOKENIZER)
    try:
        model, added = content["model"], content.get("added_tokens") or ()
        vocabulary = model["vocab"]
        if isinstance(vocabulary, list):  # Unigram
            vocabulary = {piece: number for number, (piece, _) in enumerate(vocabulary)}
        ours = {**vocabulary, **{token["content"]: token["id"] for token in added}}
        merges = [" ".join(m) if isinstance(m, list) else m for m in model.get("merges") or ()]
        if not all(isinstance(number, int) for number in ours.values()):
            raise ValueError("an id is not a number")
        return ours, {"vocab": vocabulary, "merges": merges}
    except (AttributeError, KeyError, TypeError, ValueError):
        raise RevocabError(
            f"{subject.path}/{TOKENIZER}: not a file of the tokenizers library; fetch it again"
        ) from None


def difference(theirs: Mapping[str, int], ours: Mapping[str, int]) -> str:
    """Return in words which tokens have another id or none in ``tokenizer.json``; else nothing."""
    other = {token: number for token, number in theirs.items() if ours.get(token) != number}
    listed = [f"{token!r} is {n} and {ours.get(token, 'absent')}" for token, n in other.items()]
    return f"of {len(theirs):,} tokens {len(other):,} differ ({some(listed, 3)})" if other else ""


def sentencepiece(subject: Subject) -> Iterator[Finding]:
    file = "tokenizer.model"
    if not subject.has(file):
        return
    pieces = pieces_of((subject.path / file).read_bytes())
    if not pieces:  # of tiktoken, say
        return
    ours, model = vocabulary_of(subject)
    left = sorted(ours[token] for token in model["vocab"] if ours[token] >= len(pieces))
    if what := difference({piece: n for n, piece in enumerate(pieces)}, ours):
        yield differs(file, what)
    elif left:
        yield differs(file, f"it lacks {len(left):,} tokens (from {left[0]:,})")


def old_files(subject: Subject) -> Iterator[Finding]:
    ours, model = vocabulary_of(subject)
    theirs = {file: subject.settings(file) for file in ("vocab.json", "added_tokens.json")}
    both = {*theirs["vocab.json"], *theirs["added_tokens.json"]}
    for file, settings in theirs.items():
        left = model["vocab"].keys() - both if settings and file == "vocab.json" else set()
        if what := difference(settings, ours):
            yield differs(file, what)
        elif left:
            yield differs(file, f"it lacks {len(left):,} tokens ({some(sorted(left), 3)})")
    if subject.has("merges.txt") and (ours_merges := model["merges"]):
        text = (subject.path / "merges.txt").read_text(encoding="utf-8", errors="replace")
        theirs_merges = [line for line in text.split("\n") if line]
        if theirs_merges and theirs_merges[0].startswith("#version"):
            theirs_merges = theirs_merges[1:]
        if theirs_merges != ours_merges:
            pairs = zip(theirs_merges, ours_merges, strict=False)
            other = next((n for n, (a, b) in enumerate(pairs) if a != b), None)
            place = "" if other is None else f", the first difference is number {other + 1:,}"
            counts = f"{len(theirs_merges):,} merges and {len(ours_merges):,}"
            yield differs("merges.txt", counts + place)


def added_tokens_decoder(subject: Subject) -> Iterator[Finding]:
    """Yield where ``tokenizer_config.json`` numbers the added tokens otherwise."""
    decoder = subject.settings(TOKENIZER_CONFIG).get("added_tokens_decoder")
    if not isinstance(decoder, dict):
        return
    ours, _ = vocabulary_of(subject)
    theirs = {
        token["content"]: int(number)
        for number, token in decoder.items()
        if isinstance(token, dict) and "content" in token and str(number).isdigit()
    }
    added = subject.settings(TOKENIZER).get("added_tokens") or []

    def write_again(mended: Mended) -> None:
        mended.edit(TOKENIZER_CONFIG)["added_tokens_decoder"] = {
            str(token["id"]): {flag: token[flag] for flag in _FLAGS if flag in token}
            for token in added
        }

    if what := difference(theirs, ours):
        yield fault("added-tokens", write_again, what=what)


def special_tokens_map(subject: Subject) -> Iterator[Finding]:
    file = "special_tokens_map.json"
    settings = subject.settings(file) if subject.has(file) else {}
    config = subject.settings(TOKENIZER_CONFIG)

    def spelling(value: Any) -> Any:
        return value.get("content") if isinstance(value, dict) else value

    other = {
        key: (spelling(value), spelling(config[key]))
        for key, value in settings.items()
        if key.endswith("_token") and config.get(key) is not None
        if spelling(value) != spelling(config[key])
    }
    if other:
        listed = [f"{key} is {first!r} and {second!r}" for key, (first, second) in other.items()]
        yield fault("special-tokens-map", file=file, listed=some(listed))


def appended(subject: Subject) -> Iterator[Finding]:
    if ids := appended_tokens(subject.tokenizer):
        yield fault("appends-tokens", listed=subject.listed(ids))


def without_token(subject: Subject) -> Iterator[Finding]:
    coverage = Coverage(text_encoder(subject.tokenizer.backend_tokenizer))
    missing, lost = coverage.missing_bytes, coverage.lacking
    vanish = coverage.loses_characters or coverage.unknown_id is None
    effect = "text with them loses them without a trace" if vanish else "they become unknown tokens"
    if lost:
        listed = some([f"0x{byte:02X}" for byte in lost], 24)
        facts: dict[str, Any] = {"missing": len(missing), "n": len(lost), "listed": listed}
        yield fault("bytes-without-token", **facts, effect=effect)
    elif coverage.loses_characters:
        yield fault("characters-without-token")


def same_ids(subject: Subject) -> Iterator[Finding]:
    """Yield what AutoTokenizer cuts otherwise: transformers 5 builds the pipeline of some classes
    anew, and of some model types whatever the tokenizer's class
    (``MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS``).
    """
    with quiet(), loading(subject.path, Exception):
        other = other_class(subject.path, subject.tokenizer)
    if other:
        yield fault("auto-class", what=other)


KIND = (
    Kind("tokenizer_file", (roles, splitter, spaces), quick=True, file=TOKENIZER),
    Kind(
        "stale_files", (sentencepiece, old_files, added_tokens_decoder), quick=True, file=TOKENIZER
    ),
    Kind("special_tokens_map", (special_tokens_map,), quick=True),
    Kind("text", (appended, without_token), file=TOKENIZER),
    Kind("auto_class", (same_ids,), quick=True, file=TOKENIZER),
)
