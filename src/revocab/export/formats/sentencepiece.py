"""SentencePiece's ``tokenizer.model``, which other programs' converters ask for.

The file is a protocol buffer (sentencepiece_model.proto in https://github.com/google/sentencepiece):
a message is its fields, one after the other, each a number with the kind of its value, and a value.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from revocab.errors import RevocabError
from revocab.export.fidelity import choose, told
from revocab.export.format import ExportOptions, Format
from revocab.export.vocabulary import Kind, Vocabulary
from revocab.models.folder import ModelFolder
from revocab.progress import Say

FILE = "tokenizer.model"
KINDS: dict[Kind, int] = {"normal": 1, "unknown": 2, "control": 3, "user_defined": 4, "byte": 6}
BPE = 2
#: Fields of a piece, of the trainer's settings and of the normaliser's.
PIECE, SCORE, KIND = 1, 2, 3
MODEL_TYPE, VOCABULARY_SIZE, BYTE_FALLBACK = 3, 4, 35
IDS = {"unk": 40, "bos": 41, "eos": 42, "pad": 43}
SPELLINGS = {"unk": 45, "bos": 46, "eos": 47, "pad": 48}
NAME, DUMMY_PREFIX, NO_EXTRA_SPACES, ESCAPED_SPACES = 1, 3, 4, 5


def write(model: ModelFolder, options: ExportOptions, out: Path, say: Say) -> list[str]:
    """Write ``tokenizer.model``; return what to tell of it.

    Raises :class:`RevocabError` where scores cannot say how the tokenizer cuts.
    """
    vocabulary = Vocabulary.read(model.path)
    unknown = vocabulary.kinds.count("unknown")
    if vocabulary.byte_level or unknown != 1:
        what = "a byte-level vocabulary" if vocabulary.byte_level else f"{unknown} unknown tokens"
        raise RevocabError(
            f"{model.path}: {what}; a tokenizer.model holds ▁ tokens, one of them unknown; export"
            " --to gguf"
        )
    say(f"comparing tokens of {len(vocabulary.tokens):,}")
    measured = choose(vocabulary, model.path, options.lines, options.approximate)
    if measured.cutter.scores is None:
        raise RevocabError(
            f"{model.path}: no scores cut as its merges do; export --to gguf, which has merges"
        )
    (out / FILE).write_bytes(packed(vocabulary, measured.cutter.scores))
    return [*told(measured), "use   copy it beside the model's tokenizer.json"]


def packed(vocabulary: Vocabulary, scores: list[float]) -> bytes:
    pieces = [
        message({PIECE: token, SCORE: score, KIND: KINDS[kind]})
        for token, score, kind in zip(vocabulary.tokens, scores, vocabulary.kinds, strict=True)
    ]
    trainer: dict[int, Any] = {MODEL_TYPE: BPE, VOCABULARY_SIZE: len(pieces), BYTE_FALLBACK: True}
    ids = {role: getattr(vocabulary.tokenizer, f"{role}_token_id") for role in IDS}
    ids["unk"] = vocabulary.kinds.index("unknown")
    if ids["pad"] == ids["unk"]:
        ids["pad"] = None
    for role, number in ids.items():
        trainer[IDS[role]] = -1 if number is None else number
        if number is not None:
            trainer[SPELLINGS[role]] = vocabulary.tokens[number]
    normaliser = {
        NAME: "identity",
        DUMMY_PREFIX: vocabulary.space_before,
        NO_EXTRA_SPACES: False,
        ESCAPED_SPACES: True,
    }
    return b"".join(field(1, piece) for piece in pieces) + message(
        {2: message(trainer), 3: message(normaliser)}
    )


def message(fields: Mapping[int, Any]) -> bytes:
    return b"".join(field(number, value) for number, value in sorted(fields.items()))


def field(number: int, value: Any) -> bytes:
    """Return one field: an integer as a varint, a float in 4 bytes, all else with its length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value & (1 << 64) - 1)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def varint(value: int) -> bytes:
    """Return seven bits a byte, the lowest first; all but the last byte have their highest bit."""
    data = bytearray()
    while value > 0x7F:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*data, value])


FORMAT = Format("sentencepiece", "tokenizer.model, which other programs' converters read", write)
