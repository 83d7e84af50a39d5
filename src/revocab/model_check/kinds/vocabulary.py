"""Rows and tokens: each token has a row, and each id a token."""

from __future__ import annotations

from collections.abc import Iterator

from revocab.model_check.kind import TOKENIZER, Kind, Mended, Subject
from revocab.models.finding import Finding, some, some_tokens
from revocab.models.load import token_ids
from revocab.models.vocabulary.padding import TOKEN_ROWS
from revocab.tokenizers.file_ids import OTHER_FORMATS, TokenizerFiles


def without_row(subject: Subject) -> Iterator[Finding]:
    """Yield tokens beyond the rows: special ones that can be left out, or those of other files."""
    files, rows = token_ids(subject.path), subject.rows
    left_out, others = ({}, {}) if files is None else files.beyond
    beyond = [number for number in range(rows, len(subject.tokens)) if subject.tokens[number]]
    if beyond and not others:  # by the tokenizer's class, or without a tokenizer.json
        yield Finding(
            "token-without-row", "error",
            f"{some_tokens(beyond, subject.tokens)} without a row, of {rows:,}",
            "the first text or batch that holds one ends in an index error",
            "take them out of the tokenizer's files, or give the model rows for them",
        )  # fmt: skip
    elif files is not None and left_out:

        def leave_out(mended: Mended) -> None:
            for name, content in files.without(left_out).files.items():
                if content != files.files[name]:
                    mended.edited[name] = content

        yield Finding(
            "token-without-row", "note",
            f"{len(left_out)} special tokens without a row, of {files.rows:,}:"
            f" {some([f'{number} {token!r}' for token, number in left_out.items()])}",
            "Revocab leaves them out; elsewhere text that spells one ends in an index error",
            "take them out of the tokenizer's files", leave_out,
        )  # fmt: skip


def ids(subject: Subject) -> Iterator[Finding]:
    """Yield ids without a token, and added tokens that other programs number otherwise."""
    files = token_ids(subject.path)
    empty = [number for number, token in enumerate(subject.tokens) if not token]
    if files is not None:
        empty = files.free
    if empty:
        yield Finding(
            "ids-without-token", "warning",
            f"ids up to {max(*empty, len(subject.tokens) - 1):,}, of which {len(empty):,} have no"
            f" token: {some(empty)}",
            "programs that take the number of tokens for the number of rows cut the last ones off",
            "add tokens for these ids, as 'revocab tokenizer' does",
        )  # fmt: skip
    if files is not None and (moved := files.moved):
        listed = some([f"{token!r} {own} and {other}" for token, (own, other) in moved.items()])

        def write_ids(mended: Mended) -> None:
            edited = {name: mended.edited.get(name, own) for name, own in files.files.items()}
            left = TokenizerFiles(subject.path, edited, files.rows)
            mended.edited[TOKENIZER] = left.with_kept_ids()
            mended.remove(*OTHER_FORMATS)

        yield Finding(
            "ids-moved", "error",
            f"{len(moved)} added tokens have other ids in {TOKENIZER} than in programs that read"
            f" it: {listed}",
            "these look up the rows of other tokens", f"write ids without gaps into {TOKENIZER}",
            None if [*files.kept_ids_problems()] else write_ids,
        )  # fmt: skip


def spare(subject: Subject) -> Iterator[Finding]:
    spare_rows = subject.rows - len(subject.tokens)
    if spare_rows > 0 and subject.text_config.get(TOKEN_ROWS) is None:
        yield Finding(
            "spare-rows", "note",
            f"{spare_rows:,} rows have no token (from {len(subject.tokens):,})",
            "a program that samples one of them has nothing to write",
            "usual where rows are padded to a multiple; nothing to do",
        )  # fmt: skip


KIND = Kind("vocabulary", (without_row, ids, spare), quick=True)
