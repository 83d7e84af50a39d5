"""SentencePiece's ``tokenizer.model``: a protocol buffer, whose schema comes with transformers
(sentencepiece_model.proto in https://github.com/google/sentencepiece).
"""

from __future__ import annotations

from typing import Any


def new_piece_model() -> Any:
    from transformers.utils import sentencepiece_model_pb2_new

    schema: Any = sentencepiece_model_pb2_new  # its names are there when it is imported
    return schema.ModelProto()


def pieces_of(data: bytes) -> list[str]:
    """Return a model's pieces by id; none of what is no such model."""
    from google.protobuf.message import DecodeError

    model = new_piece_model()
    try:
        model.ParseFromString(data)
    except DecodeError:
        return []
    return [entry.piece for entry in model.pieces]
