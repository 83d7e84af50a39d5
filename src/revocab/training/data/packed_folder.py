"""Corpus folders and a tokenizer in, a folder of packed rows with its manifest out.

Corpora are mixed by tokens. Rows and their order are decided here, once, so that training reads
them front to back with any number of processes.
"""

from __future__ import annotations

import errno
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from revocab import io
from revocab.corpora.read import check_content, corpus_manifests
from revocab.errors import RevocabError, refuse
from revocab.marker import PACKED_TOKENS
from revocab.output import OutputFolder
from revocab.training.chat.template import find_template
from revocab.training.data.conversations import (
    ChatTokenizer,
    ConversationCount,
    conversation_blocks,
    load_chat_tokenizer,
)
from revocab.training.data.mixture import layout, resolved_shares
from revocab.training.data.packed_rows import MARKS
from revocab.training.data.packing import (
    CorpusCount,
    PackingJob,
    Reader,
    TextTokenizer,
    document_blocks,
    load_tokenizer,
)
from revocab.training.recipe import ANSWERS
from revocab.vocabulary.tokenizers.identity import ids_hash
from revocab.vocabulary.tokenizers.load import tokenizer_file

#: What is summed over the corpora of a language.
SUMMED = ("rows", "tokens", "bytes", "words", "documents")
#: A file system that cannot take room ahead: writing finds out instead.
UNSUPPORTED = frozenset({errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS})


@dataclass
class Packed:
    """Result of :func:`pack`: counts by stage and by corpus, and the largest id written."""

    #: Name and rows of each stage, of each corpus in it ``{id: {"share": ..., "rows": ...}}``, and
    #: tokens per byte by the ratios of its corpora.
    stages: list[dict[str, Any]] = field(default_factory=list)
    corpora: dict[str, CorpusCount] = field(default_factory=dict)
    largest_id: int = 0


def pack(
    target: Mapping[str, np.ndarray],
    corpora: Mapping[str, tuple[Sequence[float], Reader]],
    tokenizer: TextTokenizer,
    options: PackingJob,
) -> Packed:
    """Fill the arrays of ``target``: ``tokens`` [rows, sequence_length] and, of conversations, the
    bits of :func:`~revocab.training.data.conversations.conversation_blocks`.

    ``corpora`` are ``{id: (share by stage, read)}``. Rows of one corpus stay in document order,
    also from one stage to the next; with ``shuffle_rows`` those of a stage are shuffled. Memory
    stays at one block whatever the size of the arrays, which may lie in memory maps. Errors are
    those of :func:`~revocab.training.data.mixture.layout`, and of the blocks of all corpora at
    once.
    """
    shares = {name: share for name, (share, _) in corpora.items()}
    positions = layout(shares, options.parts, options.seed)
    packed = Packed()
    problems: dict[str, None] = {}
    blocks_of: Any = document_blocks
    count_of = CorpusCount
    if isinstance(tokenizer, ChatTokenizer):
        blocks_of, count_of = conversation_blocks, ConversationCount
    for number, (name, (share, read)) in enumerate(corpora.items()):
        stages = positions[name]
        if options.shuffle_rows:
            stages = [
                np.random.default_rng([options.seed, number, stage, 1]).permutation(own)
                for stage, own in enumerate(stages)
            ]
        places = np.concatenate(stages)
        overall = share[0] if len(options.parts) == 1 else len(places) / options.rows
        count = packed.corpora[name] = count_of(name, overall, len(places))
        done = 0
        try:
            for block in blocks_of(read, tokenizer, options, count):
                rows = len(block["tokens"])
                for stem, values in block.items():
                    target[stem][places[done : done + rows]] = values
                done += rows
                packed.largest_id = max(packed.largest_id, int(block["tokens"].max()))
        except RevocabError as error:
            problems.update(dict.fromkeys(error.problems))
    refuse(problems)
    for number, (stage, rows) in enumerate(options.parts):
        parts = {
            name: {"share": shares[name][number], "rows": len(places[number])}
            for name, places in positions.items()
            if len(places[number])
        }
        tokens = size = 0.0
        for name, part in parts.items():
            count = packed.corpora[name]
            corpus_tokens, corpus_bytes = count.learned
            tokens += part["rows"] * (corpus_tokens / count.rows)
            size += part["rows"] * (corpus_bytes / count.rows)
        described = {"name": stage, "rows": rows, "corpora": parts}
        packed.stages.append({**described, "tokens_per_byte": tokens / max(1, size)})
    return packed


def new_array(path: Path, dtype: Any, shape: tuple[int, int]) -> np.memmap:
    """Return a new array file as a map, with its room on disk already taken.

    Raises ``OSError`` where the disk is too small: a write to a map of a file with holes would end
    the process instead.
    """
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    try:
        array = np.lib.format.open_memmap(path, "w+", dtype, shape)
        if hasattr(os, "posix_fallocate"):
            with path.open("r+b") as handle:
                os.posix_fallocate(handle.fileno(), 0, os.fstat(handle.fileno()).st_size)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            text = f"no room for {size} bytes ({error.strerror})"
            raise OSError(error.errno, text, str(path)) from None
    return array


def pack_folder(
    tokenizer_folder: str | Path,
    corpora: Mapping[str, Path],
    options: PackingJob,
    out: str | Path,
    heldout: Iterable[Path] = (),
    chat_template: str | Path | None = None,
) -> dict[str, Any]:
    """Write rows and a manifest to ``out`` from corpus folders; return the manifest.

    ``corpora`` maps ids to folders with ``train.jsonl.gz``. ``tokens.npy`` is uint16 for up to
    65,536 tokens of vocabulary, else uint32. With ``loss: answers`` corpora hold conversations,
    which ``chat_template`` makes text of (a file, a name of the package's, or None: the tokenizer's
    own); ``starts.npy`` marks the first token of each, and ``answers.npy`` the tokens that are
    learned. Documents that a folder of ``heldout`` holds out are left out of every corpus. Raises
    :class:`RevocabError` as its parts do, and ``OSError`` for a disk without room; both leave
    nothing.
    """
    heldout = list(heldout)
    templates = [] if chat_template is None else [find_template(chat_template)]
    inputs = [Path(tokenizer_folder), *corpora.values(), *heldout, *templates]
    output = OutputFolder(Path(out), PACKED_TOKENS, inputs)
    learns_answers = options.loss == ANSWERS
    manifests = corpus_manifests(corpora)
    check_content(corpora, conversations=learns_answers)
    shares, sizes = resolved_shares(manifests, options)
    layout(shares, options.parts, options.seed)  # its errors come before slow or lossy work
    tokenizer = (
        load_chat_tokenizer(tokenizer_folder, chat_template)
        if learns_answers
        else load_tokenizer(tokenizer_folder, options.special_tokens)
    )
    files = {name: folder / "train.jsonl.gz" for name, folder in corpora.items()}
    # A copy may differ in runs of whitespace.
    held_out = {
        " ".join(row["text"].split())
        for folder in heldout
        for row in io.read_jsonl(folder / "heldout.jsonl.gz")
    }
    skipped = dict.fromkeys(files, 0)

    def rows_of(name: str) -> Iterator[dict[str, Any]]:
        for row in io.read_jsonl(files[name]):
            if held_out and " ".join(row["text"].split()) in held_out:
                skipped[name] += 1
            else:
                yield row

    rows, length = options.rows, options.sequence_length
    dtype = np.uint16 if tokenizer.vocabulary_size <= 65536 else np.uint32
    with output.replaced() as folder:
        arrays = {"tokens": new_array(folder / "tokens.npy", dtype, (rows, length))}
        for stem in MARKS if learns_answers else ():
            shape = rows, -(-length // 8)
            arrays[stem] = new_array(folder / f"{stem}.npy", np.uint8, shape)
        readers = {name: (shares[name], partial(rows_of, name)) for name in corpora}
        packed = pack(arrays, readers, tokenizer, options)
        for array in arrays.values():
            array.flush()  # so that an error of the disk is met here
        languages: dict[str, Counter[str]] = defaultdict(Counter)
        for name, count in packed.corpora.items():
            count.skipped_heldout = skipped[name]
            languages[manifests[name]["language"]].update(
                {key: getattr(count, key) for key in SUMMED}
            )
        for caution in cautions(packed, options, tokenizer):
            print(caution, file=sys.stderr)
        digests = {stem: io.sha256(folder / f"{stem}.npy") for stem in arrays}
        if isinstance(tokenizer, ChatTokenizer):
            keys = {"loss", "one_per_row", "drop_too_long", "cut_too_long"}
            text: dict[str, Any] = {"chat_template": tokenizer.template.text}
        else:
            keys = {"document_start", "document_end", "special_tokens", "rows_begin_at"}
            text = {"bos_is_eos": True} if bos_is_eos(tokenizer, options) else {}
        keys |= {"repeat_corpora", *(["shuffle_rows"] if options.shuffle_rows else [])}
        learned = [count.learned for count in packed.corpora.values()]
        learned_bytes = sum(size for _, size in learned)
        manifest = {
            "rows": rows,
            "sequence_length": length,
            "tokens": rows * length,
            # Of what is learned: all tokens, or those of answers.
            "tokens_per_byte": sum(tokens for tokens, _ in learned) / max(1, learned_bytes),
            "seed": options.seed,
            **options.model_dump(include=keys),
            **text,
            **({"sizes": sizes} if sizes else {}),
            "dtype": np.dtype(dtype).name,
            "vocabulary_size": tokenizer.vocabulary_size,
            "largest_id": packed.largest_id,
            "words": "whitespace-separated",
            "corpora": {name: count.described() for name, count in packed.corpora.items()},
            "languages": languages,
            **({"stages": packed.stages} if options.stages else {}),
            "sha256": digests.pop("tokens"),
            **{f"{stem}_sha256": digest for stem, digest in digests.items()},
            "tokenizer": ids_hash(tokenizer.backend, tokenizer.start_id, tokenizer.end_id),
            "inputs": {
                "tokenizer.json": io.sha256(tokenizer_file(tokenizer_folder)),
                "corpora": {name: io.sha256(path) for name, path in files.items()},
            },
        }
        io.write_json(folder / "manifest.json", manifest)
    return manifest


def cautions(packed: Packed, options: PackingJob, tokenizer: TextTokenizer) -> Iterator[str]:
    """Yield in words what of the rows is other than one may think."""
    for name, count in packed.corpora.items():
        if caution := repetition(name, count.described()):
            yield caution
        yield from count.cautions(f"corpus {name}", options.special_tokens)
    if bos_is_eos(tokenizer, options):
        yield (
            f"{tokenizer.folder}: bos and eos are the same token, so that it stands once between"
            " documents, not twice"
        )


def bos_is_eos(tokenizer: TextTokenizer, options: PackingJob) -> bool:
    both = options.loss != ANSWERS and options.document_start and options.document_end
    return both and tokenizer.start_id == tokenizer.end_id


def repetition(corpus: str, packed: Mapping[str, Any]) -> str:
    """Return in words that a corpus, by its manifest, ran out before its rows were full."""
    if packed["passes"] < 2:
        return ""
    return (
        f"corpus {corpus} ran out: its share of {packed['share']:.3g} is filled by reading it"
        f" {packed['passes']} times (the last time perhaps in part)"
    )
