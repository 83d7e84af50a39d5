"""Held-out text as padded windows in which each text token is predicted exactly once.

Conversations are a window each, in which the tokens of their answers are.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from revocab import io
from revocab.corpora.read import corpus_manifest, holds_conversations
from revocab.errors import RevocabError
from revocab.marker import HELDOUT_TOKENS
from revocab.output import OutputFolder
from revocab.training.chat.template import find_template
from revocab.training.data.conversations import (
    ChatTokenizer,
    ConversationCount,
    fitting,
    load_chat_tokenizer,
)
from revocab.training.data.packing import (
    CorpusCount,
    Document,
    HeldoutJob,
    load_tokenizer,
    tokenise,
)
from revocab.vocabulary.tokenizers.encoding import TEXT, size_of
from revocab.vocabulary.tokenizers.identity import ids_hash
from revocab.vocabulary.tokenizers.load import tokenizer_file

#: Counts that a manifest has only where there is something to count.
COUNTED_IF_ANY = ("skipped_too_long", "skipped_special", "special_texts")


@dataclass
class Windows:
    """Windows of one corpus: ``input_ids`` int32 [windows, L] (padded with 0), ``lengths`` int32.

    Each window is bos plus up to L-1 text tokens of one document; ``tokens`` counts text tokens,
    which are the predicted ones, and ``bytes`` their text in UTF-8 without what no token stands
    for, so that bits per byte are of what was predicted. A window of conversations is one as its
    template writes it; predicted are the tokens at which ``answers`` [windows, L], booleans, is
    true.
    """

    input_ids: np.ndarray
    lengths: np.ndarray
    count: CorpusCount
    answers: np.ndarray | None = None

    @property
    def tokens(self) -> int:
        return self.count.learned[0]

    @property
    def bytes(self) -> int:
        return self.count.learned[1]

    def described(self) -> dict[str, Any]:
        counts = {"documents": self.count.documents, "bytes": self.bytes, "tokens": self.tokens}
        some = {key: n for key in COUNTED_IF_ANY if (n := getattr(self.count, key, 0))}
        return {**counts, "windows": len(self.lengths), **some, **self.count.unseen.described()}


def windows_of(documents: Iterable[Document], start_id: int, length: int) -> Windows:
    """Cut documents into :class:`Windows`; a long one continues in the next, after a new bos."""
    rows: list[list[int]] = []
    count = CorpusCount("documents", share=1.0, rows=0)
    for document in documents:
        count.unseen.add(document.unseen, document.place)
        count.special_texts += document.special_texts
        if not document.ids:
            count.bytes += size_of(document.unseen)  # all of it
            continue
        count.add(document.text)
        count.tokens += len(document.ids)
        rows += [
            [start_id, *document.ids[begin : begin + length - 1]]
            for begin in range(0, len(document.ids), length - 1)
        ]
    return Windows(*padded(rows, length), count)


def padded(rows: Sequence[Sequence[int]], length: int) -> tuple[np.ndarray, np.ndarray]:
    """Return ids int32 [rows, length], padded with 0, and lengths int32 [rows]."""
    lengths = np.array([len(row) for row in rows], dtype=np.int32)
    input_ids = np.zeros((len(rows), length), dtype=np.int32)
    for index, row in enumerate(rows):
        input_ids[index, : len(row)] = row
    return input_ids, lengths


def conversation_windows(
    corpus: str, rows: Iterable[dict[str, Any]], tokenizer: ChatTokenizer, job: HeldoutJob
) -> Windows:
    """Return conversations as :class:`Windows`, one each.

    Raises :class:`RevocabError` for one that is longer than a window and may not be left out.
    """
    count, length = ConversationCount(corpus, share=1.0, rows=0), job.sequence_length
    conversations = list(fitting(rows, tokenizer, job, count))
    for conversation in conversations:
        count.add_row([conversation], length)
    input_ids, lengths = padded([conversation.ids for conversation in conversations], length)
    answers = np.zeros(input_ids.shape, dtype=bool)
    for row, conversation in zip(answers, conversations, strict=True):
        row[: len(conversation.ids)] = conversation.learned
    return Windows(input_ids, lengths, count, answers)


def pack_heldout_folder(
    tokenizer_folder: str | Path,
    corpora: Mapping[str, Path],
    job: HeldoutJob,
    out: str | Path,
    chat_template: str | Path | None = None,
) -> dict[str, Any]:
    """Write ``out/<corpus>.safetensors`` from each ``heldout.jsonl.gz``; return the manifest.

    A corpus of conversations is made text of by ``chat_template``: a file, a name of the package's,
    or None, the tokenizer's own. Raises :class:`RevocabError` for a corpus without held-out text,
    and as :func:`conversation_windows` and
    :func:`~revocab.training.data.conversations.load_chat_tokenizer` do.
    """
    from safetensors.numpy import save_file

    templates = [] if chat_template is None else [find_template(chat_template)]
    inputs = [Path(tokenizer_folder), *corpora.values(), *templates]
    output = OutputFolder(Path(out), HELDOUT_TOKENS, inputs)
    tokenizer = load_tokenizer(tokenizer_folder, job.special_tokens)
    chat = None
    if any(map(holds_conversations, corpora.values())):
        chat = load_chat_tokenizer(tokenizer_folder, chat_template)
    with output.replaced() as folder:
        described: dict[str, Any] = {}
        for name, corpus in corpora.items():
            file = corpus / "heldout.jsonl.gz"
            rows = io.read_jsonl(file)
            if chat is not None and holds_conversations(corpus):
                windows = conversation_windows(name, rows, chat, job)
            else:
                start = tokenizer.end_id if tokenizer.start_id is None else tokenizer.start_id
                advice = "held-out windows need one to begin with"
                start = tokenizer.require(start, "bos or eos", advice)
                windows = windows_of(tokenise(tokenizer, rows), start, job.sequence_length)
            if not windows.count.documents:
                raise RevocabError(f"{file}: no held-out text; set heldout_bytes of corpus {name}")
            what = f"corpus {name}, held out"
            for caution in windows.count.cautions(what, job.special_tokens):
                print(caution, file=sys.stderr)
            if not windows.bytes:
                raise RevocabError(
                    f"{file}: {tokenizer_folder} has no token for any of its text, so that a loss"
                    " would say nothing; give text that its vocabulary has"
                )
            arrays = {"input_ids": windows.input_ids, "lengths": windows.lengths}
            if windows.answers is not None:
                arrays["answers"] = windows.answers
            save_file(arrays, folder / f"{name}.safetensors")
            described[name] = {
                "language": corpus_manifest(corpus)["language"],
                **windows.described(),
                "sha256": io.sha256(folder / f"{name}.safetensors"),
                "source_sha256": io.sha256(file),
            }
        manifest = {
            "corpora": described,
            "sequence_length": job.sequence_length,
            "vocabulary_size": tokenizer.vocabulary_size,
            "tokenizer": ids_hash(tokenizer.backend, tokenizer.start_id, tokenizer.end_id),
            "tokenizer.json": io.sha256(tokenizer_file(tokenizer_folder)),
            **({"special_tokens": job.special_tokens} if job.special_tokens != TEXT else {}),
            **({"chat_template": chat.template.text} if chat else {}),
        }
        io.write_json(folder / "manifest.json", manifest)
    return manifest
