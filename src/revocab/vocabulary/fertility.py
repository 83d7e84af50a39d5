"""Report on tokenizers: tokens per word and per character, words split, unknown tokens, parity.

``fertility`` (the paper's Table 2 and Figure 1) is the mean over documents of tokens / words, as
the released script defines it; ``fertility_corpus`` is all tokens / all words. No special token is
counted. Documents without a word are skipped and counted. Words are counted once per corpus, for
all tokenizers, in processes of their own while threads encode.

Text that says the same in several languages shows what a language costs: Petrov et al., "Language
Model Tokenizers Introduce Unfairness Between Languages" (2023), call the ratio of a language's
tokens to the reference language's (``parity``) the tokenisation premium.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from revocab.closed import Closed, Job, Language
from revocab.corpora import word_splitters
from revocab.corpora.read import Split, corpus_manifests, texts
from revocab.corpora.source import Form, place, read_numbered
from revocab.corpora.word_splitters import Choice, Words, start_splitting
from revocab.errors import RevocabError, all_of
from revocab.heavy_types import PreTrainedTokenizerFast
from revocab.io import sha256, write_csv, write_json
from revocab.limits import Bytes, Count
from revocab.output import OutputFolder
from revocab.vocabulary.token_counts import (
    FLOOR_COLUMNS,
    TokenCounts,
    count_token_classes,
    measure_floors,
    share_split,
)
from revocab.vocabulary.tokenizers.encoding import TEXT, special_sentence
from revocab.vocabulary.tokenizers.load import load_tokenizers, tokenizer_file

COLUMNS = (
    "tokenizer", "corpus", "language", "documents", "skipped_empty", "words", "tokens", "bytes",
    "characters", "fertility", "fertility_corpus", "characters_per_token", "bytes_per_token",
    "words_split", "unknown_rate", "byte_rate", "splitter",
)  # fmt: skip
PARALLEL_COLUMNS = (
    "tokenizer", "language", "reference", "sentences", "tokens", "bytes", "characters",
    "tokens_per_sentence", "characters_per_token", "unknown_rate", "byte_rate", "parity",
)  # fmt: skip


class FertilityOptions(Closed):
    """How tokenizers are measured."""

    splitter: Choice = Field(
        default="nltk",
        description="how words are counted; nltk falls back to its word rules without its "
        "sentence data",
    )
    split: Split = Field(
        default="train",
        description="which text of each corpus: heldout is what nothing was trained on",
        exclude_if=lambda split: split == "train",
    )
    limit_documents: Count | None = Field(
        default=None, description="use only the first N documents of each corpus"
    )
    limit_bytes: Bytes | None = Field(
        default=None, description="use only the first N bytes of each corpus"
    )


class FertilityJob(FertilityOptions, Job):
    """One report on tokenizers."""

    parallel: Form | None = Field(
        default=None, description="form of the parallel files, or a Hub data set"
    )
    languages: list[Language] = Field(
        default_factory=list,
        description="fields of the parallel rows, the reference language first",
    )

    @model_validator(mode="after")
    def _together(self) -> FertilityJob:
        if (self.parallel is None) != (not self.languages):
            raise ValueError("parallel and languages must be given together; give both or neither")
        return self


@dataclass(frozen=True)
class Text:
    """A corpus to measure: its documents, and the splitter that counts their words."""

    corpus: str
    language: str
    documents: list[str]
    splitter: str


def fertility_row(
    name: str, text: Text, words: Words, counted: TokenCounts, split: float | None
) -> tuple[dict[str, Any], list[float]]:
    with_words = [number for number, count in enumerate(words.counts) if count]
    ratios = [int(counted.tokens[number]) / words.counts[number] for number in with_words]
    tokens = int(counted.tokens[with_words].sum())
    size = sum(len(text.documents[number].encode()) for number in with_words)
    characters = sum(len(text.documents[number]) for number in with_words)
    total = sum(words.counts)
    row = {
        "tokenizer": name,
        "corpus": text.corpus,
        "language": text.language,
        "documents": len(with_words),
        "skipped_empty": len(words.counts) - len(with_words),
        "words": total,
        "tokens": tokens,
        "bytes": size,
        "characters": characters,
        "fertility": math.fsum(ratios) / len(ratios),
        "fertility_corpus": tokens / total,
        "characters_per_token": characters / tokens,
        "bytes_per_token": size / tokens,
        "words_split": split,
        "unknown_rate": counted.unknown_rate(with_words),
        "byte_rate": int(counted.bytes_[with_words].sum()) / tokens,
        "splitter": text.splitter,
    }
    return row, ratios


def measure_fertility(
    tokenizers: Mapping[str, PreTrainedTokenizerFast], corpora: list[Text]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Measure every tokenizer on every corpus.

    Returns the table's rows (:data:`COLUMNS`) and the distributions: ``tokenizer``, ``corpus``, and
    ``fertility`` and ``words``, lists with one value per document. Raises :class:`RevocabError` for
    a corpus without a word.
    """
    rows, distributions = [], []
    for text in corpora:
        wait = start_splitting(text.documents, text.language, text.splitter)
        counted = {
            name: count_token_classes(tokenizer, text.documents)
            for name, tokenizer in tokenizers.items()
        }
        words = wait()
        if not any(words.counts):
            raise RevocabError(
                f"corpus {text.corpus}: no document with a word; give a corpus with text"
            )
        for name, tokenizer in tokenizers.items():
            split = share_split(tokenizer, words.frequencies)
            row, ratios = fertility_row(name, text, words, counted[name], split)
            rows.append(row)
            tell_unusual(f"tokenizer {name}, corpus {text.corpus}", counted[name], row["bytes"])
            distributions.append({
                "tokenizer": name, "corpus": text.corpus,
                "fertility": ratios, "words": words.counts,
            })  # fmt: skip
    return rows, distributions


def tell_unusual(what: str, counted: TokenCounts, size: int) -> None:
    if counted.special_texts:
        print(special_sentence(what, counted.special_texts, TEXT), file=sys.stderr)
    if counted.unseen.size:
        print(counted.unseen.sentence(what, size), file=sys.stderr)


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
    empty = [
        language for language, sentences in lines.items() if not any(map(str.strip, sentences))
    ]
    if empty:
        raise RevocabError(f"{where}: no text in {', '.join(empty)}; give parallel text")
    return lines


def measure_parallel(
    tokenizers: Mapping[str, PreTrainedTokenizerFast], lines: Mapping[str, list[str]]
) -> list[dict[str, Any]]:
    reference = next(iter(lines))
    rows = []
    for name, tokenizer in tokenizers.items():
        totals: dict[str, int] = {}
        for language, sentences in lines.items():
            counted = count_token_classes(tokenizer, sentences)
            total = totals[language] = int(counted.tokens.sum())
            if not total:
                raise RevocabError(f"tokenizer {name}: no token for the {language} parallel text")
            characters = sum(map(len, sentences))
            size = sum(len(text.encode()) for text in sentences)
            tell_unusual(f"tokenizer {name}, {language} parallel text", counted, size)
            rows.append(
                {
                    "tokenizer": name,
                    "language": language,
                    "reference": reference,
                    "sentences": len(sentences),
                    "tokens": total,
                    "bytes": size,
                    "characters": characters,
                    "tokens_per_sentence": total / len(sentences),
                    "characters_per_token": characters / total,
                    "unknown_rate": counted.unknown_rate(),
                    "byte_rate": int(counted.bytes_.sum()) / total,
                    "parity": total / totals[reference],
                }
            )
    return rows


def fertility_of_folders(
    tokenizers: Mapping[str, Path],
    corpora: Mapping[str, Path],
    out: str | Path,
    job: FertilityJob | None = None,
    parallel: Sequence[Path] = (),
) -> list[dict[str, Any]]:
    """Measure tokenizer folders on the first documents of corpora; return the table's rows."""
    import nltk
    import pyarrow as pa
    import pyarrow.parquet as pq

    read = [*tokenizers.values(), *corpora.values(), *parallel]
    output = OutputFolder(Path(out), "fertility measurement", read)
    job = job or FertilityJob()
    manifests, loaded = all_of(
        [partial(corpus_manifests, corpora), partial(load_tokenizers, tokenizers)]
    )
    measured = []
    for name, folder in corpora.items():
        language = manifests[name]["language"]
        documents = list(texts(folder, job.split, job.limit_documents, job.limit_bytes))
        if job.split == "heldout" and not documents:
            raise RevocabError(f"{folder}: no held-out text; set heldout_bytes of corpus {name}")
        by_choice = {"nltk_rules": word_splitters.RULES, "unicode": word_splitters.UNICODE}
        splitter = by_choice.get(job.splitter) or word_splitters.available_splitter(language)
        fallen_back = job.splitter == "nltk" and splitter == word_splitters.RULES
        if fallen_back and language in word_splitters.PUNKT_LANGUAGES:
            print(
                f"corpus {name}: NLTK's sentence data is not installed, so words are split by"
                f" its rules alone, which counts fewer words; to install it:"
                f" {word_splitters.GET_SENTENCES}",
                file=sys.stderr,
            )
        measured.append(Text(name, language, documents, splitter))
    rows, distributions = measure_fertility(loaded, measured)
    words = {entry["corpus"]: entry["words"] for entry in distributions}
    floors = measure_floors(loaded, measured, words)
    side_by_side: list[dict[str, Any]] = []
    if job.parallel is not None:
        rows_of_both = read_numbered(job.parallel, parallel)
        lines = parallel_lines(rows_of_both, job.languages, place(job.parallel, parallel))
        side_by_side = measure_parallel(loaded, lines)
    manifest = {
        "tokenizers": {name: sha256(tokenizer_file(path)) for name, path in tokenizers.items()},
        "corpora": {name: each["sha256"][job.split] for name, each in manifests.items()},
        "limit_documents": job.limit_documents,
        "limit_bytes": job.limit_bytes,
        "splitters": {text.corpus: text.splitter for text in measured},
        "languages": job.languages or None,
        "versions": {"nltk": nltk.__version__},
    }
    columns: dict[str, list[Any]] = {"tokenizer": [], "corpus": [], "fertility": []}
    for entry in distributions:
        columns["tokenizer"] += [entry["tokenizer"]] * len(entry["fertility"])
        columns["corpus"] += [entry["corpus"]] * len(entry["fertility"])
        columns["fertility"] += entry["fertility"]
    with output.replaced() as written:
        write_csv(written / "fertility.csv", COLUMNS, rows)
        write_csv(written / "floors.csv", FLOOR_COLUMNS, floors)
        write_csv(written / "parallel.csv", PARALLEL_COLUMNS, side_by_side)
        pq.write_table(pa.table(columns), written / "documents.parquet")
        write_json(written / "manifest.json", manifest)
    return rows
