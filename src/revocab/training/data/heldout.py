"""Held-out text as padded windows in which each text token is predicted exactly once.

Conversations are a window each, in which the tokens of their answers are.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from revocab import io
from revocab.closed import Job
from revocab.corpora.read import corpus_manifest, holds_conversations
from revocab.errors import RevocabError
from revocab.limits import POSITIONS
from revocab.marker import HELDOUT_TOKENS
from revocab.output import OutputFolder
from revocab.training.chat.template import find_template
from revocab.training.data.conversations import (
    ChatTokenizer,
    ConversationCount,
    fitting,
    load_chat_tokenizer,
)
from revocab.training.data.document_tokens import Document, count_bytes, load_tokenizer, tokenise
from revocab.training.recipe import ConversationOptions
from revocab.vocabulary.tokenizers.encoding import (
    SPECIAL_TOKENS,
    TEXT,
    SpecialTokens,
    special_sentence,
)
from revocab.vocabulary.tokenizers.identity import ids_hash
from revocab.vocabulary.tokenizers.load import tokenizer_file
from revocab.vocabulary.tokenizers.unseen import Unseen, size_of

if TYPE_CHECKING:
    import numpy as np


class HeldoutJob(ConversationOptions, Job):
    """What decides the windows beside their text."""

    sequence_length: Annotated[int, Field(ge=2), POSITIONS] = Field(description="tokens per window")
    special_tokens: SpecialTokens = Field(
        default=TEXT, exclude_if=lambda value: value == TEXT, description=SPECIAL_TOKENS
    )


@dataclass
class Windows:
    """Windows of one corpus: ``input_ids`` int32 [windows, L] (padded with 0), ``lengths`` int32.

    Each window is bos plus up to L-1 text tokens of one document; ``tokens`` counts text tokens,
    which are the predicted ones, and ``bytes`` their text in UTF-8: what no token stands for is in
    ``unseen`` and not in ``bytes``, so that bits per byte are of what was predicted. A window of
    conversations is one as its template writes it; predicted are the tokens at which ``answers``
    [windows, L], booleans, is true.
    """

    input_ids: np.ndarray
    lengths: np.ndarray
    documents: int
    bytes: int
    tokens: int
    answers: np.ndarray | None = None
    #: Conversations left out: longer than a window, or with the text of a special token.
    skipped_too_long: int = 0
    skipped_special: int = 0
    #: Texts of special tokens in documents.
    special_texts: int = 0
    unseen: Unseen = field(default_factory=Unseen)

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        arrays = {"input_ids": self.input_ids, "lengths": self.lengths}
        return arrays if self.answers is None else {**arrays, "answers": self.answers}

    def described(self) -> dict[str, Any]:
        if_any = ("skipped_too_long", "skipped_special", "special_texts")
        counted = {key: getattr(self, key) for key in if_any if getattr(self, key)}
        described = {key: getattr(self, key) for key in ("documents", "bytes", "tokens")}
        described["windows"] = len(self.lengths)
        return described | counted | self.unseen.described()


def windows_of(documents: Iterable[Document], start_id: int, length: int) -> Windows:
    """Cut documents into :class:`Windows`; a long one continues in the next, after a new bos."""
    rows: list[list[int]] = []
    total_documents = total_bytes = special_texts = 0
    unseen = Unseen()
    for document in documents:
        unseen.add(document.unseen, document.place)
        special_texts += document.special_texts
        if not document.ids:
            continue
        total_documents += 1
        total_bytes += count_bytes(document.text) - size_of(document.unseen)
        rows += [
            [start_id, *document.ids[begin : begin + length - 1]]
            for begin in range(0, len(document.ids), length - 1)
        ]
    input_ids, lengths = padded(rows, length)
    tokens = int(lengths.sum()) - len(rows)
    windows = Windows(input_ids, lengths, total_documents, total_bytes, tokens)
    return replace(windows, special_texts=special_texts, unseen=unseen)


def padded(rows: Sequence[Sequence[int]], length: int) -> tuple[np.ndarray, np.ndarray]:
    """Return ids int32 [rows, length], padded with 0, and lengths int32 [rows]."""
    import numpy as np

    lengths = np.array([len(row) for row in rows], dtype=np.int32)
    input_ids = np.zeros((len(rows), length), dtype=np.int32)
    for index, row in enumerate(rows):
        input_ids[index, : len(row)] = row
    return input_ids, lengths


def conversation_windows(
    corpus: str,
    rows: Iterable[dict[str, Any]],
    tokenizer: ChatTokenizer,
    length: int,
    *,
    drop_too_long: bool = False,
) -> Windows:
    """Return conversations as :class:`Windows`, one each.

    Raises :class:`RevocabError` for one that is longer than a window and may not be left out.
    """
    import numpy as np

    count = ConversationCount(share=1.0, rows=0)
    kept = list(fitting(corpus, rows, tokenizer, length, drop_too_long, count))
    input_ids, lengths = padded([conversation.ids for conversation in kept], length)
    answers = np.zeros((len(kept), length), dtype=bool)
    for index, conversation in enumerate(kept):
        answers[index, : len(conversation.ids)] = conversation.learned
    size = sum(conversation.answer_bytes for conversation in kept)
    unseen = Unseen()
    for conversation in kept:
        unseen.add(conversation.unseen, conversation.place)
    counted = (len(kept), size, int(answers.sum()), answers)
    skipped = (count.skipped_too_long, count.skipped_special)
    return Windows(input_ids, lengths, *counted, *skipped, unseen=unseen)


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

    named = [] if chat_template is None else [find_template(chat_template)]
    inputs = [Path(tokenizer_folder), *corpora.values(), *named]
    output = OutputFolder(Path(out), HELDOUT_TOKENS, inputs)
    tokenizer = load_tokenizer(tokenizer_folder, job.special_tokens)
    length = job.sequence_length
    chat = (
        load_chat_tokenizer(tokenizer_folder, chat_template)
        if any(map(holds_conversations, corpora.values()))
        else None
    )
    with output.replaced() as packed:
        described: dict[str, Any] = {}
        for name, folder in corpora.items():
            file = folder / "heldout.jsonl.gz"
            rows = io.read_jsonl(file)
            if chat is not None and holds_conversations(folder):
                windows = conversation_windows(
                    name, rows, chat, length, drop_too_long=job.drop_too_long
                )
            else:
                start = tokenizer.start_id if tokenizer.start_id is not None else tokenizer.end_id
                start = tokenizer.require(
                    start, "bos or eos", "held-out windows need one to begin with"
                )
                windows = windows_of(tokenise(tokenizer, rows), start, length)
            if not windows.documents:
                raise RevocabError(f"{file}: no held-out text; set heldout_bytes of corpus {name}")
            what = f"corpus {name}, held out"
            if windows.special_texts:
                said = special_sentence(what, windows.special_texts, job.special_tokens)
                print(said, file=sys.stderr)
            if windows.unseen.size:
                size = windows.bytes + windows.unseen.size
                print(windows.unseen.sentence(what, size), file=sys.stderr)
            if not windows.bytes:
                raise RevocabError(
                    f"{file}: {tokenizer_folder} has no token for any of its text, so that a loss"
                    " would say nothing; give text that its vocabulary has"
                )
            save_file(windows.arrays, packed / f"{name}.safetensors")
            described[name] = {
                "language": corpus_manifest(folder)["language"],
                **windows.described(),
                "sha256": io.sha256(packed / f"{name}.safetensors"),
                "source_sha256": io.sha256(file),
            }
        manifest = {
            "corpora": described,
            "sequence_length": length,
            "vocabulary_size": tokenizer.vocabulary_size,
            "tokenizer": ids_hash(tokenizer.backend, tokenizer.start_id, tokenizer.end_id),
            "tokenizer.json": io.sha256(tokenizer_file(tokenizer_folder)),
            **({"special_tokens": job.special_tokens} if job.special_tokens != TEXT else {}),
            **({"chat_template": chat.template.text} if chat else {}),
        }
        io.write_json(packed / "manifest.json", manifest)
    return manifest
