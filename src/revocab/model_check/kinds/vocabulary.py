"""Rows and tokens: each token has a row, and each id a token."""

from __future__ import annotations

from collections.abc import Iterator

from revocab.model_check.kind import TOKENIZER_CONFIG, Kind, Subject
from revocab.models.finding import Finding, some, some_tokens
from revocab.models.load import largest_id
from revocab.models.vocabulary.padding import TOKEN_ROWS


def added_without_row(subject: Subject) -> Iterator[Finding]:
    """Yield tokens that other files than ``tokenizer.json`` add beyond the rows."""
    largest, rows = largest_id(subject.path), subject.rows
    beyond = [number for number in range(rows, len(subject.tokens)) if subject.tokens[number]]
    if beyond and (largest is None or largest < rows):
        yield Finding(
            "token-without-row", "error",
            f"{TOKENIZER_CONFIG} or added_tokens.json adds {some_tokens(beyond, subject.tokens)},"
            f" and the model has {rows:,} rows",
            "the first text or batch that holds one ends in an index error",
            "name tokens there that tokenizer.json has, or give the model rows for them",
        )  # fmt: skip


def holes(subject: Subject) -> Iterator[Finding]:
    empty = [number for number, token in enumerate(subject.tokens) if not token]
    if empty:
        yield Finding(
            "ids-without-token", "warning",
            f"ids up to {len(subject.tokens) - 1:,}, of which {len(empty):,} have no token:"
            f" {some(empty)}",
            "programs that take the number of tokens for the number of rows cut the last ones off",
            "add tokens for these ids",
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


KIND = Kind("vocabulary", (added_without_row, holes, spare), quick=True)
