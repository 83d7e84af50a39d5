"""Vectors of tokens from a file, found by the tokens' text: any embedding that someone computed.

Two formats, both data only. Text, as word2vec writes it: a token and its numbers on each line,
separated by spaces, after an optional line with the number of vectors and their width (``.gz``: the
same, compressed). Safetensors: one matrix in ``NAME.safetensors``, and the texts of its rows as a
JSON list in ``NAME.json``.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import IO, Any

from revocab.errors import RevocabError, refuse
from revocab.heavy_types import ndarray
from revocab.initialise.method import Auxiliary
from revocab.initialise.reading.fasttext import VECTORS, word
from revocab.io import read_json, sha256
from revocab.links import check_file
from revocab.vocabulary.tokenizers.canonical import CanonicalToken, canonical_vocabulary

SAFETENSORS = ".safetensors"
#: Problems of a file that a message names one by one.
_FIRST = 10


def vector_files(path: Path) -> tuple[Path, ...]:
    """Return the files that hold the vectors given as ``path``: it, and its texts if apart."""
    return (path, path.with_suffix(".json")) if path.suffix == SAFETENSORS else (path,)


def vectors_hash(path: Path) -> str:
    """Return the SHA-256 of a file of vectors, or of a folder of :mod:`.fasttext`."""
    return " ".join(map(sha256, [path / VECTORS] if path.is_dir() else vector_files(path)))


def texts_of(token: CanonicalToken) -> list[str]:
    """Return the texts under which a token's vector is looked for, in this order.

    A space is ``▁``, as in SentencePiece. A token that begins with a space and is not found as such
    has the vector of its text without it, since most embeddings of words know no spaces. Special
    tokens have none.
    """
    whole = word(token)
    if whole is None:
        return []
    bare = whole.removeprefix("▁")
    return [whole, bare] if bare not in ("", whole) else [whole]


def load_token_vectors(path: Path, source: Any, target: Any, device: str = "cpu") -> Auxiliary:
    """Return the vectors of two tokenizers' tokens, float32, zeros where a file has none.

    Raises :class:`RevocabError` for a file that is not there or not in one of the formats, if the
    file has none of the target's tokens, and, all at once, for lines of another width, numbers that
    are not finite, a token with two different vectors, and fewer vectors than announced.
    """
    import torch

    texts = [
        [texts_of(token) for token in canonical_vocabulary(tokenizer)]
        for tokenizer in (target, source)
    ]
    vectors = _read(path, {text for tokens in texts for own in tokens for text in own})
    if not any(text in vectors for own in texts[0] for text in own):
        raise RevocabError(
            f"{path}: has a vector for none of the {len(target)} tokens of the target tokenizer; a "
            "vector's text must be a token's, with ▁ for a space"
        )
    width = len(next(iter(vectors.values())))
    rows = [torch.zeros(len(tokens), width) for tokens in texts]
    for matrix_VA, tokens in zip(rows, texts, strict=True):
        for number, own in enumerate(tokens):
            if (known := next((text for text in own if text in vectors), None)) is not None:
                matrix_VA[number] = torch.from_numpy(vectors[known])
    return Auxiliary(*(matrix_VA.to(device) for matrix_VA in rows))


def _read(path: Path, wanted: set[str]) -> dict[str, ndarray]:
    import numpy as np

    missing = [file for file in vector_files(path) if not file.is_file()]
    if missing:
        raise RevocabError(f"{file}: no such file; give vectors by token text" for file in missing)
    for file in vector_files(path):
        check_file(file)
    read = _stored_vectors if path.suffix == SAFETENSORS else _text_vectors
    #: What is wrong, by place in the file.
    faults: list[str] = []
    vectors: dict[str, ndarray] = {}
    places: dict[str, str] = {}
    for place, text, vector_A in read(path, wanted, faults):
        if np.array_equal(vectors.setdefault(text, vector_A), vector_A):
            places.setdefault(text, place)
        else:
            faults.append(f"{place}: another vector for {text!r} than in {places[text]}; keep one")
    problems = [f"{path}, {fault}" for fault in faults[:_FIRST]]
    if len(faults) > _FIRST:
        problems.append(f"{path}: {len(faults) - _FIRST:,} more; write the vectors again")
    refuse(problems)
    return vectors


def _stored_vectors(
    path: Path, wanted: set[str], faults: list[str]
) -> Iterator[tuple[str, str, ndarray]]:
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    texts = read_json(vector_files(path)[1])
    try:
        matrices = list(load_file(path).values())
    except SafetensorError as error:
        raise RevocabError(f"{path}: not a safetensors file ({error}); write it again") from error
    shapes = [tuple(matrix.shape) for matrix in matrices]
    if len(shapes) != 1 or len(shapes[0]) != 2 or not matrices[0].is_floating_point():
        raise RevocabError(f"{path}: has tensors of shapes {shapes}; expected one matrix of floats")
    if not isinstance(texts, list) or len(texts) != shapes[0][0]:
        raise RevocabError(
            f"{vector_files(path)[1]}: expected a list of {shapes[0][0]} texts, one for each row "
            f"of {path.name}"
        )
    matrix_NA = matrices[0].float()
    broken = {*(~torch.isfinite(matrix_NA)).any(dim=1).nonzero()[:, 0].tolist()}
    for number, text in enumerate(texts):
        spelled = str(text).replace(" ", "▁")
        if number in broken:
            faults.append(
                f"row {number}: {text!r} has a number that is not finite; compute it again"
            )
        elif spelled in wanted:
            yield f"row {number}", spelled, matrix_NA[number].numpy()


def _text_vectors(
    path: Path, wanted: set[str], faults: list[str]
) -> Iterator[tuple[str, str, ndarray]]:
    with _opened(path) as handle:
        lines = enumerate(handle, start=1)
        number, first = next(lines, (0, ""))
        fields = first.split()
        announced = int(fields[0]) if len(fields) == 2 and all(map(str.isdigit, fields)) else None
        width = int(fields[1]) if announced is not None else len(fields) - 1
        if width < 1:
            raise RevocabError(f"{path}, line 1: expected a token and its numbers, or two counts")
        numbered = lines if announced is not None else chain([(1, first)], lines)
        for number, line in numbered:
            try:
                text, vector_A = _vector(line, width, wanted)
                if vector_A is not None:
                    yield f"line {number}", text, vector_A
            except ValueError as error:
                faults.append(f"line {number}: {error}; write the vectors again")
    if announced is not None and number - 1 < announced:
        faults.append(
            f"line 1: announces {announced:,} vectors, has {number - 1:,}; fetch it again"
        )


@contextmanager
def _opened(path: Path) -> Iterator[IO[str]]:
    """Open a text file, compressed or not; its faults become :class:`RevocabError`."""
    opener: Any = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8", newline="\n") as handle:
            yield handle
    except UnicodeDecodeError as error:
        raise RevocabError(
            f"{path}: not UTF-8 text ({error}); allowed are vectors as text, or {SAFETENSORS} with "
            "a JSON list of texts"
        ) from error
    except (EOFError, gzip.BadGzipFile) as error:
        raise RevocabError(f"{path}: broken gzip file ({error}); fetch it again") from error


def _vector(line: str, width: int, wanted: set[str]) -> tuple[str, ndarray | None]:
    """Return the text of a line and, if it is wanted, its vector.

    Raises :class:`ValueError` for another width and for what is no finite number. A text may hold
    spaces, so that too many numbers show only behind the text of a token.
    """
    import numpy as np

    text, *values = line.rstrip().rsplit(" ", width)
    bare, *more = text.split(" ")
    extra = bare in wanted and more and all(map(_is_number, more))
    if len(values) != width or extra:
        columns = len(values) + len(more)
        raise ValueError(f"expected a token and {width} numbers, found {columns}")
    if text not in wanted:
        return text, None
    with np.errstate(over="ignore"):
        vector_A = np.array(values, dtype=np.float32)
    if not np.isfinite(vector_A).all():
        raise ValueError(f"{text!r} has a number that is not finite")
    return text, vector_A


def _is_number(text: str) -> bool:
    with suppress(ValueError):
        float(text)
        return True
    return False
