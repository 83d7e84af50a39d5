"""Tokens for text that says the same in several languages: what a language costs (parity).

Petrov et al., "Language Model Tokenizers Introduce Unfairness Between Languages" (2023), call the
ratio of a language's tokens to the reference language's the tokenisation premium.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from revocab.errors import RevocabError
from revocab.fertility.token_counts import count_token_classes

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

PARALLEL_COLUMNS = (
    "tokenizer", "language", "reference", "sentences", "tokens", "bytes", "characters",
    "tokens_per_sentence", "characters_per_token", "unknown_rate", "byte_rate", "parity",
)  # fmt: skip


def parallel_lines(
    rows: list[dict[str, Any]], languages: list[str], where: str
) -> dict[str, list[str]]:
    """Return the sentences of each language, from rows with one text field per language.

    Raises :class:`RevocabError` for a language that a row does not have, and for no text at all.
    """
    for number, row in enumerate(rows, 1):
        missing = [language for language in languages if not isinstance(row.get(language), str)]
        if missing:
            fields = ", ".join(sorted(map(str, row)))
            raise RevocabError(
                f"{where}, row {number}: no text in {', '.join(missing)} (fields: {fields}); name"
                " languages that every row has"
            )
    lines = {language: [row[language] for row in rows] for language in languages}
    empty = [language for language, texts in lines.items() if not any(map(str.strip, texts))]
    if empty:
        raise RevocabError(f"{where}: no text in {', '.join(empty)}; give parallel text")
    return lines


def measure_parallel(
    tokenizers: Mapping[str, PreTrainedTokenizerFast], lines: Mapping[str, list[str]]
) -> list[dict[str, Any]]:
    """Return the rows of :data:`PARALLEL_COLUMNS`; the first language is the reference.

    ``parity`` is the tokens of a language divided by those of the reference, same tokenizer.
    """
    reference = next(iter(lines))
    rows = []
    for name, tokenizer in tokenizers.items():
        totals: dict[str, int] = {}
        for language, texts in lines.items():
            counted = count_token_classes(tokenizer, texts)
            total = totals[language] = int(counted.tokens.sum())
            if not total:
                raise RevocabError(f"tokenizer {name}: no token for the {language} parallel text")
            characters = sum(map(len, texts))
            rows.append(
                {
                    "tokenizer": name,
                    "language": language,
                    "reference": reference,
                    "sentences": len(texts),
                    "tokens": total,
                    "bytes": sum(len(text.encode()) for text in texts),
                    "characters": characters,
                    "tokens_per_sentence": total / len(texts),
                    "characters_per_token": characters / total,
                    "unknown_rate": int(counted.unknown.sum()) / total,
                    "byte_rate": int(counted.bytes_.sum()) / total,
                    "parity": total / totals[reference],
                }
            )
    return rows
