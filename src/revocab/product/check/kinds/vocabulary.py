"""Rows and tokens: each token has a row, and each id a token."""

from __future__ import annotations

from collections.abc import Iterator

from revocab.models.findings import Finding, some
from revocab.models.load import token_ids
from revocab.models.token_rows import TOKEN_ROWS
from revocab.product.check.kind import TOKENIZER, Kind, Mended, Subject, fault
from revocab.vocabulary.tokenizers.file_ids import OTHER_FORMATS, TokenizerFiles


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

        yield fault(
            "token-without-row/special",
            leave_out,
            n=len(left_out),
            rows=files.rows,
            listed=some([f"{number} {token!r}" for token, number in left_out.items()]),
        )


def ids(subject: Subject) -> Iterator[Finding]:
    """Yield ids without a token, and added tokens that other programs number otherwise."""
    files = token_ids(subject.path)
    empty = [number for number, token in enumerate(subject.tokens) if not token]
    if files is not None:
        empty = files.free
    if empty:
        yield fault(
            "ids-without-token",
            last=max(*empty, len(subject.tokens) - 1),
            n=len(empty),
            listed=some(empty),
        )
    if files is not None and (moved := files.moved):
        listed = some([f"{token!r} {own} and {other}" for token, (own, other) in moved.items()])

        def write_ids(mended: Mended) -> None:
            edited = {name: mended.edited.get(name, own) for name, own in files.files.items()}
            left = TokenizerFiles(subject.path, edited, files.rows)
            mended.edited[TOKENIZER] = left.with_kept_ids()
            mended.remove(*OTHER_FORMATS)

        yield fault(
            "ids-moved",
            None if [*files.kept_ids_problems()] else write_ids,
            n=len(moved),
            listed=listed,
        )


def spare(subject: Subject) -> Iterator[Finding]:
    spare_rows = subject.rows - len(subject.tokens)
    if spare_rows > 0 and subject.text_config.get(TOKEN_ROWS) is None:
        yield fault("spare-rows", spare_rows=spare_rows, tokens=len(subject.tokens))


KIND = Kind("vocabulary", (without_row, ids, spare), quick=True)
