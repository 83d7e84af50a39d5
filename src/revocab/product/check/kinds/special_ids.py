"""Special ids of tokenizer, configuration and generation: they agree, and name special tokens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from revocab.models.findings import Finding, some_tokens
from revocab.models.special_ids import STALE
from revocab.product.check.kind import GENERATION, TOKENIZER_CONFIG, Kind, Subject, fault

_ROLES = ("bos", "eos", "pad")
#: What goes wrong where an id of a role is another token's.
_EFFECTS = {
    "end": "generation stops in the middle of a text",
    "bos": "texts do not begin as in training",
    "eos": "programs that read one file stop where those that read the other go on",
    "pad": "padding of one program counts as text in the other",
}


def ids_of(value: Any) -> list[Any]:
    """Return all that is listed where an id, ids or lists of ids may stand."""
    if isinstance(value, list):
        return [number for inner in value for number in ids_of(inner)]
    return [] if value is None else [value]


def is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def said_ids(subject: Subject) -> dict[str, dict[str, list[Any]]]:
    """Return what each file says, by key and file; ``None`` and what is absent left out."""
    files = {"config.json": subject.text_config, GENERATION: subject.settings(GENERATION)}
    keys = [*(f"{role}_token_id" for role in _ROLES), *(k for k in STALE if k != "sequence_bias")]
    return {
        key: {name: ids for name, settings in files.items() if (ids := ids_of(settings.get(key)))}
        for key in keys
    }


def candidates(subject: Subject, role: str) -> str:
    """Return which token to give for a role: the tokenizer's own, else its special tokens."""
    own = getattr(subject.tokenizer, f"{role}_token_id", None)
    special = [n for n in sorted(subject.special) if n < subject.rows]
    if isinstance(own, int) and own in special:
        return f"that of the tokenizer, {subject.listed([own])}"
    if special:
        return f"a special token, such as {subject.listed(special)}"
    return "null: the tokenizer has no special token"


def in_range(subject: Subject) -> Iterator[Finding]:
    tokens, rows = subject.tokens, subject.rows
    for key, by_file in said_ids(subject).items():
        for file, ids in by_file.items():
            wrong = [n for n in ids if not is_id(n) or not 0 <= n < rows]
            if wrong:
                yield fault(
                    "id-out-of-range",
                    key=key,
                    file=file,
                    wrong=", ".join(map(repr, wrong)),
                    last=rows - 1,
                    candidates=candidates(subject, key.removesuffix("_token_id")),
                )
            unnamed = [n for n in ids if n not in wrong and (n >= len(tokens) or not tokens[n])]
            if unnamed and key != "suppress_tokens":
                yield fault(
                    "id-without-token",
                    key=key,
                    file=file,
                    ids=some_tokens(unnamed, ()),
                    candidates=candidates(subject, key.removesuffix("_token_id")),
                )


def ordinary(subject: Subject) -> Iterator[Finding]:
    """Yield ids of roles that are words: text would be taken for a signal."""
    tokens = subject.tokens
    for role in _ROLES:
        for file, ids in said_ids(subject)[f"{role}_token_id"].items():
            words = [
                n for n in ids if is_id(n) and 0 <= n < len(tokens) and tokens[n]
                and n not in subject.special
            ]  # fmt: skip
            if words:
                yield fault(
                    "id-of-ordinary-token",
                    severity="error" if role == "eos" else "warning",
                    role=role,
                    file=file,
                    ids=subject.listed(words),
                    effect=_EFFECTS["end" if role == "eos" else role],
                    candidates=candidates(subject, role),
                )


def agreement(subject: Subject) -> Iterator[Finding]:
    for role in _ROLES:
        by_file = {
            file: [n for n in ids if is_id(n) and n in subject.special]
            for file, ids in said_ids(subject)[f"{role}_token_id"].items()
        }
        own = getattr(subject.tokenizer, f"{role}_token_id")
        if own is not None:
            by_file[TOKENIZER_CONFIG] = [own]
        by_file = {file: ids for file, ids in by_file.items() if ids}
        # Generation's own list counts for the other two: it adds ends to that of the model.
        first = by_file.get(GENERATION) or next(iter(by_file.values()), [])
        others = {file: ids for file, ids in by_file.items() if not {*ids} & {*first}}
        if others:
            listed = ", ".join(f"{file} {subject.listed(ids)}" for file, ids in by_file.items())
            yield fault("ids-disagree", role=role, listed=listed, effect=_EFFECTS[role])


KIND = Kind("special_ids", (in_range, ordinary, agreement), quick=True)
