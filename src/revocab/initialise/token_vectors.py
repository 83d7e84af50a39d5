"""Vectors of tokens from a file, found by the tokens' text: any embedding that someone computed.

Two formats, both data only. Text, as word2vec writes it: a token and its numbers on each line,
separated by spaces, after an optional line with the number of vectors and their width (``.gz``: the
same, compressed). Safetensors: one matrix in ``NAME.safetensors``, and the texts of its rows as a
JSON list in ``NAME.json``.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from revocab.errors import RevocabError
from revocab.initialise.fasttext import word
from revocab.initialise.method import Auxiliary
from revocab.io import read_json, sha256

if TYPE_CHECKING:
    import numpy as np

    from revocab.tokenizers.canonical import CanonicalToken

SAFETENSORS = ".safetensors"


def vector_files(path: Path) -> tuple[Path, ...]:
    """Return the files that hold the vectors given as ``path``: it, and its texts if apart."""
    return (path, path.with_suffix(".json")) if path.suffix == SAFETENSORS else (path,)


def vectors_hash(path: Path) -> str:
    """Return the SHA-256 of the vectors' files, separated by spaces."""
    return " ".join(sha256(one) for one in vector_files(path))


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

    Of texts that a file has twice, the first counts. Raises :class:`RevocabError` for a file that
    is not there, not whole, or not in one of the formats, for numbers that are not finite, and if
    the file has none of the target's tokens.
    """
    import torch

    from revocab.tokenizers.canonical import canonical_vocabulary

    looked_for = [
        [texts_of(token) for token in canonical_vocabulary(one)] for one in (target, source)
    ]
    wanted = {text for tokens in looked_for for texts in tokens for text in texts}
    found = _read(path, wanted)
    if not any(text in found for texts in looked_for[0] for text in texts):
        raise RevocabError(
            f"{path}: has a vector for none of the {len(target)} tokens of the target tokenizer; a "
            "vector's text must be a token's, with ▁ for a space"
        )
    target_VA, source_VA = (
        torch.from_numpy(_rows(tokens, found)).to(device) for tokens in looked_for
    )
    return Auxiliary(target_VA, source_VA)


def _rows(tokens: Sequence[Sequence[str]], found: dict[str, np.ndarray]) -> np.ndarray:
    """Return a row for each token: the vector of the first of its texts that has one, or zeros."""
    import numpy as np

    width = len(next(iter(found.values())))
    rows_VA = np.zeros((len(tokens), width), dtype=np.float32)
    for number, texts in enumerate(tokens):
        text = next((one for one in texts if one in found), None)
        if text is not None:
            rows_VA[number] = found[text]
    return rows_VA


def _read(path: Path, wanted: set[str]) -> dict[str, np.ndarray]:
    """Return the vectors of ``wanted`` texts, by text."""
    missing = [one for one in vector_files(path) if not one.is_file()]
    if missing:
        raise RevocabError(f"{one}: no such file; give vectors by token text" for one in missing)
    pairs = _stored_pairs(path) if path.suffix == SAFETENSORS else _text_pairs(path, wanted)
    found: dict[str, np.ndarray] = {}
    for text, vector_A in pairs:
        if text in wanted:
            found.setdefault(text, vector_A)
    return found


def _stored_pairs(path: Path) -> Iterator[tuple[str, np.ndarray]]:
    """Yield texts and vectors of a safetensors file."""
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    texts = read_json(vector_files(path)[1])
    try:
        matrices = list(load_file(path).values())
    except SafetensorError as error:
        raise RevocabError(f"{path}: not a safetensors file ({error}); write it again") from error
    shapes = [tuple(one.shape) for one in matrices]
    if len(shapes) != 1 or len(shapes[0]) != 2 or not matrices[0].is_floating_point():
        raise RevocabError(f"{path}: has tensors of shapes {shapes}; expected one matrix of floats")
    if not isinstance(texts, list) or len(texts) != shapes[0][0]:
        raise RevocabError(
            f"{vector_files(path)[1]}: expected a list of {shapes[0][0]} texts, one for each row "
            f"of {path.name}"
        )
    matrix_NA = matrices[0].float()
    broken = (~torch.isfinite(matrix_NA)).any(dim=1).nonzero()[:, 0].tolist()
    if broken:
        raise RevocabError(
            f"{path}: {len(broken)} vectors are not finite, the first of {texts[broken[0]]!r}; "
            "compute them again"
        )
    spelled = (str(text).replace(" ", "▁") for text in texts)
    yield from zip(spelled, matrix_NA.numpy(), strict=True)


def _text_pairs(path: Path, wanted: set[str]) -> Iterator[tuple[str, np.ndarray]]:
    """Yield texts and vectors of a text file; only those of ``wanted`` texts are parsed."""
    with _opened(path) as handle:
        lines = enumerate(handle, start=1)
        number, first = next(lines, (0, ""))
        fields = first.split()
        announced = int(fields[0]) if len(fields) == 2 and all(map(str.isdigit, fields)) else None
        width = int(fields[1]) if announced is not None else len(fields) - 1
        if width < 1:
            raise RevocabError(f"{path}, line 1: expected a token and its numbers, or two counts")
        if announced is None:
            yield from _parsed(path, 1, first, width, wanted)
        for number, line in lines:
            yield from _parsed(path, number, line, width, wanted)
    if announced is not None and number - 1 < announced:
        raise RevocabError(
            f"{path}: announces {announced:,} vectors and has {number - 1:,}; fetch it again"
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


def _parsed(
    path: Path, number: int, line: str, width: int, wanted: Iterable[str]
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield text and vector of one line if its text is wanted."""
    import numpy as np

    text, *values = line.rstrip().rsplit(" ", width)
    if len(values) != width:
        raise RevocabError(
            f"{path}, line {number}: expected a token and {width} numbers, found {len(values)}"
        )
    if text not in wanted:
        return
    try:
        vector_A = np.array(values, dtype=np.float32)
    except ValueError as error:
        raise RevocabError(f"{path}, line {number}: {error}; write the vectors again") from error
    if not np.isfinite(vector_A).all():
        raise RevocabError(f"{path}, line {number}: {text!r} has a number that is not finite")
    yield text, vector_A
