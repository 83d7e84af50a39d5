"""Files of older tokenizer formats beside ``tokenizer.json`` that say something else.

transformers and vLLM read ``tokenizer.json``; llama.cpp's converter and slow tokenizers read these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from revocab.errors import RevocabError
from revocab.models.findings import Finding, some
from revocab.product.check.kind import TOKENIZER, TOKENIZER_CONFIG, Kind, Mended, Subject, fault
from revocab.vocabulary.tokenizers.piece_model import pieces_of

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
    shown = [f"{token!r} is {n} and {ours.get(token, 'absent')}" for token, n in other.items()]
    return f"of {len(theirs):,} tokens {len(other):,} differ ({some(shown, 3)})" if other else ""


def sentencepiece(subject: Subject) -> Iterator[Finding]:
    file = "tokenizer.model"
    if not subject.has(file) or not subject.has(TOKENIZER):
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
    if not subject.has(TOKENIZER):
        return
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
    if not subject.has(TOKENIZER) or not isinstance(decoder, dict):
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
        shown = [f"{key} is {first!r} and {second!r}" for key, (first, second) in other.items()]
        yield fault("special-tokens-map", file=file, listed=some(shown))


KIND = Kind(
    "stale_files", (sentencepiece, old_files, added_tokens_decoder, special_tokens_map), quick=True
)
