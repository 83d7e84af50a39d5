"""Fertility: how many tokens a tokenizer spends on a word (the paper's Table 2 and Figure 1).

``fertility`` is the mean over documents of tokens / words, as the released script defines it;
``fertility_corpus`` is all tokens / all words. No special token is counted. Documents without a
word are skipped and counted. Words are counted once per corpus, for all tokenizers.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revocab.corpora.read import corpus_manifest, texts
from revocab.corpora.words import available_splitter, count_words
from revocab.errors import RevocabError
from revocab.io import atomic, sha256, write_json, write_text
from revocab.vocabulary.load import load_tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

COLUMNS = (
    "tokenizer", "corpus", "language", "documents", "skipped_empty", "words", "tokens", "bytes",
    "characters", "fertility", "fertility_corpus", "characters_per_token", "bytes_per_token",
    "splitter",
)  # fmt: skip
#: Characters encoded at a time: encodings are some forty times larger than their text.
BATCH_CHARACTERS = 4_000_000


@dataclass(frozen=True)
class CountedText:
    """A corpus ready to measure: its non-empty documents and the words of each."""

    corpus: str
    language: str
    texts: list[str]
    words: list[int]
    skipped_empty: int
    splitter: str


def count_text(
    corpus: str, language: str, documents: list[str], splitter: str | None = None
) -> CountedText:
    """Count the words of every document once; set documents without words aside."""
    splitter = splitter or available_splitter(language)
    words = count_words(documents, language, splitter)
    kept = [(text, count) for text, count in zip(documents, words, strict=True) if count]
    if not kept:
        raise RevocabError(f"corpus {corpus}: no document with a word; give a corpus with text")
    return CountedText(
        corpus=corpus,
        language=language,
        texts=[text for text, _ in kept],
        words=[count for _, count in kept],
        skipped_empty=len(documents) - len(kept),
        splitter=splitter,
    )


def count_tokens(tokenizer: PreTrainedTokenizerFast, documents: list[str]) -> list[int]:
    """Return the number of tokens of each text, special tokens not added; uses every core."""
    backend = tokenizer.backend_tokenizer
    # The fast call skips offsets, which nobody reads here.
    encode = getattr(backend, "encode_batch_fast", backend.encode_batch)
    counts: list[int] = []
    batch: list[str] = []
    size = 0
    for text in documents:
        batch.append(text)
        size += len(text)
        if size >= BATCH_CHARACTERS:
            counts += map(len, encode(batch, add_special_tokens=False))
            batch, size = [], 0
    if batch:
        counts += map(len, encode(batch, add_special_tokens=False))
    return counts


def fertility_row(name: str, counted: CountedText, tokens: list[int]) -> dict[str, Any]:
    """Return the measures of one tokenizer on one corpus, given tokens per document."""
    ratios = [count / words for count, words in zip(tokens, counted.words, strict=True)]
    size = sum(len(text.encode()) for text in counted.texts)
    characters = sum(map(len, counted.texts))
    total = sum(tokens)
    return {
        "tokenizer": name,
        "corpus": counted.corpus,
        "language": counted.language,
        "documents": len(counted.texts),
        "skipped_empty": counted.skipped_empty,
        "words": sum(counted.words),
        "tokens": total,
        "bytes": size,
        "characters": characters,
        "fertility": math.fsum(ratios) / len(ratios),
        "fertility_corpus": total / sum(counted.words),
        "characters_per_token": characters / total,
        "bytes_per_token": size / total,
        "splitter": counted.splitter,
    }


def measure_fertility(
    tokenizers: Mapping[str, PreTrainedTokenizerFast], corpora: list[CountedText]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Measure every tokenizer on every corpus.

    Returns the table's rows (:data:`COLUMNS`) and the distributions: ``tokenizer``, ``corpus`` and
    ``fertility``, a list with one value per document.
    """
    rows, distributions = [], []
    for counted in corpora:
        for name, tokenizer in tokenizers.items():
            tokens = count_tokens(tokenizer, counted.texts)
            rows.append(fertility_row(name, counted, tokens))
            distributions.append(
                {
                    "tokenizer": name,
                    "corpus": counted.corpus,
                    "fertility": [
                        count / words for count, words in zip(tokens, counted.words, strict=True)
                    ],
                }
            )
    return rows, distributions


def write_fertility(
    rows: list[dict[str, Any]],
    distributions: list[dict[str, Any]],
    manifest: dict[str, Any],
    out: str | Path,
) -> None:
    """Write ``fertility.csv``, ``documents.parquet`` and, last, ``manifest.json``."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    (out / "manifest.json").unlink(missing_ok=True)
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(out / "fertility.csv", text.getvalue())
    columns: dict[str, list[Any]] = {"tokenizer": [], "corpus": [], "fertility": []}
    for entry in distributions:
        columns["tokenizer"] += [entry["tokenizer"]] * len(entry["fertility"])
        columns["corpus"] += [entry["corpus"]] * len(entry["fertility"])
        columns["fertility"] += entry["fertility"]
    with atomic(out / "documents.parquet") as temporary:
        pq.write_table(pa.table(columns), temporary)
    write_json(out / "manifest.json", manifest)


def fertility_of_folders(
    tokenizers: Mapping[str, Path],
    corpora: Mapping[str, Path],
    out: str | Path,
    limit_documents: int | None = None,
    limit_bytes: int | None = None,
) -> list[dict[str, Any]]:
    """Measure tokenizer folders on the first documents of corpora's train splits; write ``out``."""
    import nltk

    loaded = {name: load_tokenizer(folder) for name, folder in tokenizers.items()}
    counted = []
    for name, folder in corpora.items():
        documents = list(texts(folder, "train", limit_documents, limit_bytes))
        counted.append(count_text(name, corpus_manifest(folder)["language"], documents))
    rows, distributions = measure_fertility(loaded, counted)
    manifest = {
        "tokenizers": {name: sha256(path / "tokenizer.json") for name, path in tokenizers.items()},
        "corpora": {
            name: corpus_manifest(path)["sha256"]["train"] for name, path in corpora.items()
        },
        "limit_documents": limit_documents,
        "limit_bytes": limit_bytes,
        "splitters": {entry.corpus: entry.splitter for entry in counted},
        "versions": {"nltk": nltk.__version__},
    }
    write_fertility(rows, distributions, manifest, out)
    return rows
