"""Corpus folders and a tokenizer in, a folder of packed rows with its manifest out."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from revocab import io
from revocab.corpora.read import check_content, corpus_manifest
from revocab.errors import refuse
from revocab.marker import PACKED_TOKENS
from revocab.output import OutputFolder
from revocab.training.chat.template import find_template
from revocab.training.data.conversations import (
    ChatTokenizer,
    load_chat_tokenizer,
    pack_conversations,
)
from revocab.training.data.document_tokens import TextTokenizer, load_tokenizer
from revocab.training.data.mixture import layout, shares_by_size
from revocab.training.data.packing import CorpusCount, Packed, PackingJob, Share, pack
from revocab.training.data.shards import SHARD_BYTES, new_shards
from revocab.training.recipe import ANSWERS, ANYWHERE
from revocab.vocabulary.tokenizers.encoding import TEXT, special_sentence
from revocab.vocabulary.tokenizers.identity import ids_hash
from revocab.vocabulary.tokenizers.load import tokenizer_file

#: What is summed over the corpora of a language.
SUMMED = ("rows", "tokens", "bytes", "words", "documents")


def pack_folder(
    tokenizer_folder: str | Path,
    corpora: Mapping[str, Path],
    options: PackingJob,
    out: str | Path,
    heldout: Iterable[Path] = (),
    shard_bytes: int | None = None,
    chat_template: str | Path | None = None,
) -> dict[str, Any]:
    """Write shards of rows and a manifest to ``out`` from corpus folders; return the manifest.

    ``corpora`` maps ids to folders with ``train.jsonl.gz``. Tokens are uint16 for up to 65,536
    tokens of vocabulary, else uint32. With ``loss: answers`` corpora hold conversations, which
    ``chat_template`` makes text of (a file, a name of the package's, or None: the tokenizer's own);
    ``starts-*.npy`` mark the first token of each, and ``answers-*.npy`` the tokens that are
    learned. Documents that a folder of ``heldout`` holds
    out are left out of every corpus. A shard has at most ``shard_bytes`` of tokens (None:
    :data:`~revocab.training.data.shards.SHARD_BYTES`). Raises :class:`RevocabError` as its parts
    do, and ``OSError`` for a disk without room; both leave nothing.
    """
    heldout = list(heldout)
    templates = [] if chat_template is None else [find_template(chat_template)]
    output = OutputFolder(
        Path(out),
        PACKED_TOKENS,
        [Path(tokenizer_folder), *corpora.values(), *heldout, *templates],
    )
    check_content(corpora, conversations=options.loss == ANSWERS)
    described = {name: corpus_manifest(folder) for name, folder in corpora.items()}
    shares, sizes = resolved_shares(described, options)
    layout(shares, options.parts, options.seed)  # its errors come before slow or lossy work
    tokenizer = (
        load_chat_tokenizer(tokenizer_folder, chat_template)
        if options.loss == ANSWERS
        else load_tokenizer(tokenizer_folder, options.special_tokens)
    )
    dtype = np.uint16 if tokenizer.vocabulary_size <= 65536 else np.uint32
    files = {name: folder / "train.jsonl.gz" for name, folder in corpora.items()}
    held = [row["text"] for folder in heldout for row in io.read_jsonl(folder / "heldout.jsonl.gz")]
    words, hashes = set(map(first_word, held)), set(map(text_key, held))
    skipped = dict.fromkeys(files, 0)

    def reader(name: str) -> Callable[[], Iterable[dict[str, Any]]]:
        def rows() -> Iterator[dict[str, Any]]:
            for row in io.read_jsonl(files[name]):
                text = row["text"]
                if isinstance(text, str) and first_word(text) in words and text_key(text) in hashes:
                    skipped[name] += 1
                else:
                    yield row

        return rows

    length, chat = options.sequence_length, isinstance(tokenizer, ChatTokenizer)
    with output.replaced() as folder:
        size = shard_bytes or SHARD_BYTES
        with new_shards(
            folder, options.rows, length, dtype, conversations=chat, shard_bytes=size
        ) as shards:
            readers = {name: (shares[name], reader(name)) for name in corpora}
            if isinstance(tokenizer, ChatTokenizer):
                packed = pack_conversations(shards.arrays, readers, tokenizer, options)
            else:
                packed = pack(shards.arrays["tokens"], readers, tokenizer, options)
        for name, count in packed.corpora.items():
            count.skipped_heldout = skipped[name]
            for caution in cautions(name, count, options):
                print(caution, file=sys.stderr)
        if shares_end(tokenizer, options):
            print(
                f"{tokenizer_folder}: bos and eos are the same token, so that it stands once"
                " between documents, not twice",
                file=sys.stderr,
            )
        manifest = described_rows(packed, options, tokenizer, dtype, sizes) | {
            "languages": by_language(
                packed, {name: manifest["language"] for name, manifest in described.items()}
            ),
            **({"stages": described_stages(packed)} if options.stages else {}),
            **shards.described(),
            "tokenizer": ids_hash(tokenizer.backend, tokenizer.start_id, tokenizer.end_id),
            "inputs": {
                "tokenizer.json": io.sha256(tokenizer_file(tokenizer_folder)),
                "corpora": {name: io.sha256(path) for name, path in files.items()},
            },
        }
        io.write_json(folder / "manifest.json", manifest)
    return manifest


def shares_end(tokenizer: TextTokenizer, options: PackingJob) -> bool:
    """Return whether one token is to stand before and behind each document."""
    both = options.loss != ANSWERS and options.document_start and options.document_end
    return both and tokenizer.start_id == tokenizer.end_id


def cautions(corpus: str, count: CorpusCount, options: PackingJob) -> Iterator[str]:
    """Yield in words what of a corpus is other than one may think."""
    described = count.described()
    if caution := repetition(corpus, described):
        yield caution
    what = f"corpus {corpus}"
    if count.special_texts:
        yield special_sentence(what, count.special_texts, options.special_tokens)
    if count.unseen.size:
        yield count.unseen.sentence(what, count.bytes)


def repetition(corpus: str, packed: Mapping[str, Any]) -> str:
    """Return in words that a corpus, by its manifest, ran out before its rows were full."""
    if packed["passes"] < 2:
        return ""
    return (
        f"corpus {corpus} ran out: its share of {packed['share']:.3g} is filled by reading it"
        f" {packed['passes']} times (the last time perhaps in part)"
    )


def described_rows(
    packed: Packed,
    options: PackingJob,
    tokenizer: TextTokenizer,
    dtype: type,
    sizes: Mapping[str, int],
) -> dict[str, Any]:
    """Return the manifest's part on all rows: how many, and how they were made.

    ``tokens_per_byte`` is of what is learned: all tokens, or those of answers.
    """
    if isinstance(tokenizer, ChatTokenizer):
        text: dict[str, Any] = {
            "loss": options.loss,
            "chat_template": tokenizer.template.text,
            "one_per_row": options.one_per_row,
            "drop_too_long": options.drop_too_long,
        }
        if options.cut_too_long:
            text["cut_too_long"] = True
    else:
        text = {"document_start": options.document_start, "document_end": options.document_end}
        if shares_end(tokenizer, options):
            text["bos_is_eos"] = True
        if options.special_tokens != TEXT:
            text["special_tokens"] = options.special_tokens
        if options.rows_begin_at != ANYWHERE:
            text["rows_begin_at"] = options.rows_begin_at
    learned = [count.learned for count in packed.corpora.values()]
    return {
        "rows": options.rows,
        "sequence_length": options.sequence_length,
        "tokens": options.rows * options.sequence_length,
        "tokens_per_byte": sum(tokens for tokens, _ in learned)
        / max(1, sum(size for _, size in learned)),
        "seed": options.seed,
        **text,
        "repeat_corpora": options.repeat_corpora,
        **({"shuffle_rows": True} if options.shuffle_rows else {}),
        **({"sizes": sizes} if sizes else {}),
        "dtype": np.dtype(dtype).name,
        "vocabulary_size": tokenizer.vocabulary_size,
        "largest_id": packed.largest_id,
        "words": "whitespace-separated",
        "corpora": {name: count.described() for name, count in packed.corpora.items()},
    }


def resolved_shares(
    described: Mapping[str, Mapping[str, Any]], options: PackingJob
) -> tuple[dict[str, list[float]], dict[str, int]]:
    """Return each corpus' share of every stage, and the bytes of those drawn by size.

    ``described`` are the corpora's manifests. Raises :class:`RevocabError` where a corpus has not
    one share per stage.
    """
    stages = len(options.parts)
    alone: list[Share] = [1.0] * stages if len(described) == 1 else []
    asked = {name: options.shares.get(name, alone) for name in described}
    strange = [name for name in options.shares if name not in described]
    problems = [f"shares.{name}: no corpus folder of this id is given" for name in strange]
    problems += [
        f"shares.{name}: {len(shares)} shares for {stages} stages; give one each"
        if shares
        else f"--shares: none for {name!r}; for two corpora: --shares sw=0.5 el=0.5"
        for name, shares in asked.items()
        if len(shares) != stages
    ]
    refuse(problems)
    sizes = {
        name: described[name]["train"]["bytes"]
        for name, shares in options.shares.items()
        if "size" in shares
    }
    resolved: dict[str, list[float]] = {name: [] for name in described}
    for number in range(stages):
        here = {name: shares[number] for name, shares in asked.items()}
        fixed = {name: None if share == "size" else share for name, share in here.items()}
        for name, share in shares_by_size(fixed, sizes).items():
            resolved[name].append(share)
    return resolved, sizes


def described_stages(packed: Packed) -> list[dict[str, Any]]:
    """Return the stages as plain data, with tokens per byte by the ratios of their corpora."""
    learned = {name: (*count.learned, count.rows) for name, count in packed.corpora.items()}
    tokens_per_row = {name: tokens / rows for name, (tokens, _, rows) in learned.items()}
    bytes_per_row = {name: size / rows for name, (_, size, rows) in learned.items()}
    stages = []
    for stage in packed.stages:
        size, tokens = (
            sum(entry["rows"] * per_row[name] for name, entry in stage["corpora"].items())
            for per_row in (bytes_per_row, tokens_per_row)
        )
        stages.append({**stage, "tokens_per_byte": tokens / max(1, size)})
    return stages


def by_language(packed: Packed, languages: Mapping[str, str]) -> dict[str, dict[str, int]]:
    counts = {language: dict.fromkeys(SUMMED, 0) for language in languages.values()}
    for name, count in packed.corpora.items():
        for key in SUMMED:
            counts[languages[name]][key] += getattr(count, key)
    return counts


def first_word(text: str) -> str:
    """Return the first word: cheap, and nearly always enough to see that a text is another."""
    return next(iter(text.split(None, 1)), "")


def text_key(text: str) -> bytes:
    """Return a hash that copies share which differ in runs of whitespace alone."""
    return hashlib.blake2b(" ".join(text.split()).encode(errors="replace"), digest_size=16).digest()
