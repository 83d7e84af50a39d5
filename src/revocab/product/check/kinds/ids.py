"""Ids: each token has a row and each id a token; special ids agree, and name special tokens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from revocab.models.findings import Finding, Severity, some, some_tokens
from revocab.models.load import token_ids
from revocab.models.special_ids import STALE
from revocab.models.token_rows import TOKEN_ROWS
from revocab.product.check.kind import (
    GENERATION,
    TOKENIZER,
    TOKENIZER_CONFIG,
    Kind,
    Mended,
    Subject,
    fault,
)
from revocab.vocabulary.tokenizers.file_ids import OTHER_FORMATS, TokenizerFiles

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
            facts: dict[str, Any] = {"key": key, "file": file}
            facts["candidates"] = candidates(subject, key.removesuffix("_token_id"))
            wrong = [n for n in ids if not is_id(n) or not 0 <= n < rows]
            if wrong:
                listed = ", ".join(map(repr, wrong))
                yield fault("id-out-of-range", wrong=listed, last=rows - 1, **facts)
            unnamed = [n for n in ids if n not in wrong and (n >= len(tokens) or not tokens[n])]
            if unnamed and key != "suppress_tokens":
                yield fault("id-without-token", ids=some_tokens(unnamed, ()), **facts)


def ordinary(subject: Subject) -> Iterator[Finding]:
    """Yield ids of roles that are words: text would be taken for a signal."""
    tokens = subject.tokens
    for role in _ROLES:
        for file, ids in said_ids(subject)[f"{role}_token_id"].items():
            within = (n for n in ids if is_id(n) and 0 <= n < len(tokens))
            words = [n for n in within if tokens[n] and n not in subject.special]
            if words:
                facts: dict[str, Any] = {"role": role, "file": file, "ids": subject.listed(words)}
                facts["effect"] = _EFFECTS["end" if role == "eos" else role]
                facts["candidates"] = candidates(subject, role)
                severity: Severity = "error" if role == "eos" else "warning"
                yield fault("id-of-ordinary-token", severity=severity, **facts)


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


def without_row(subject: Subject) -> Iterator[Finding]:
    """Yield tokens beyond the rows: special ones that can be left out, or those of other files."""
    files, rows = token_ids(subject.path), subject.rows
    left_out, others = ({}, {}) if files is None else files.beyond
    beyond = [number for number in range(rows, len(subject.tokens)) if subject.tokens[number]]
    if beyond and not others:  # by the tokenizer's class, or without a tokenizer.json
        yield fault("token-without-row", listed=subject.listed(beyond), rows=rows)
    elif files is not None and left_out:

        def leave_out(mended: Mended) -> None:
            for name, content in files.without(left_out).files.items():
                if content != files.files[name]:
                    mended.edited[name] = content

        listed = some([f"{number} {token!r}" for token, number in left_out.items()])
        facts: dict[str, Any] = {"n": len(left_out), "rows": files.rows, "listed": listed}
        yield fault("token-without-row/special", leave_out, **facts)


def ids(subject: Subject) -> Iterator[Finding]:
    """Yield ids without a token, and added tokens that other programs number otherwise."""
    files = token_ids(subject.path)
    if files is not None:
        empty = files.free
    else:
        empty = [number for number, token in enumerate(subject.tokens) if not token]
    if empty:
        last = max(*empty, len(subject.tokens) - 1)
        yield fault("ids-without-token", last=last, n=len(empty), listed=some(empty))
    if files is not None and (moved := files.moved):
        listed = some([f"{token!r} {own} and {other}" for token, (own, other) in moved.items()])

        def write_ids(mended: Mended) -> None:
            edited = {name: mended.edited.get(name, own) for name, own in files.files.items()}
            left = TokenizerFiles(subject.path, edited, files.rows)
            mended.edited[TOKENIZER] = left.with_kept_ids()
            mended.remove(*OTHER_FORMATS)

        fix = None if [*files.kept_ids_problems()] else write_ids
        yield fault("ids-moved", fix, n=len(moved), listed=listed)


def spare(subject: Subject) -> Iterator[Finding]:
    spare_rows = subject.rows - len(subject.tokens)
    if spare_rows > 0 and subject.text_config.get(TOKEN_ROWS) is None:
        yield fault("spare-rows", spare_rows=spare_rows, tokens=len(subject.tokens))


KIND = (
    Kind("special_ids", (in_range, ordinary, agreement), quick=True),
    Kind("vocabulary", (without_row, ids, spare), quick=True),
)
