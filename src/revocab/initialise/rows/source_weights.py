"""Rows that are weighted sums of source rows, and what an adapted model's folder records of them.

``E_new = A E_source``, with A sparse, is what a method says of its rows beside the rows themselves,
and what vocabulary adapters start from. A word of a list (``words.json`` of the target tokenizer,
:mod:`revocab.vocabulary.building.words`) starts from a source token, or the mean of a description.
Suffixes: N rows, K entries of all rows, V rows of the source, M missing tokens, W those of them
that are such words, D the width of a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import Field

from revocab.closed import Closed, checked
from revocab.errors import RevocabError, refuse
from revocab.heavy_types import PreTrainedTokenizerFast, Tensor
from revocab.initialise.method import MethodInputs
from revocab.initialise.rows.alignment import map_rows
from revocab.initialise.rows.means import note_pieces
from revocab.io import read_json
from revocab.models.folder import Which
from revocab.vocabulary.building.construction import WORDS
from revocab.vocabulary.tokenizers.canonical import canonical_vocabulary

#: The file in an adapted model's folder: no safetensors, which engines would take for weights.
FILE = "source_weights.npz"
TENSORS = ("starts_N", "source_K", "weight_K", "shared_S")
#: Ids of tokens whose rows are no copies of source rows, ascending; the same for both matrices.
NEW_ROWS = "new_rows.npy"
#: What a token's pieces count, in their order and relative to each other.
Weigh = Callable[[Sequence[int]], Sequence[float]]


@dataclass(frozen=True)
class SourceWeights:
    """A sparse matrix [N, V]: row ``n`` has the entries from ``starts_N[n]`` to the next start."""

    #: Where each row's entries begin, and the number of all entries (int64, N + 1).
    starts_N: Tensor
    #: Ids of source rows, each at most once in a row (int32), and their weights (float32).
    source_K: Tensor
    weight_K: Tensor
    #: Rows that are copies of a source row, since both vocabularies have the token (int64).
    shared_S: Tensor
    #: Rows of the source, padding after its last token left out.
    source_rows: int

    def __len__(self) -> int:
        return len(self.starts_N) - 1

    def check(self) -> None:
        """Raise :class:`ValueError` where arrays do not fit together, or hold what they cannot."""
        starts_N, ids, weights = self.starts_N, len(self.source_K), len(self.weight_K)
        if not len(starts_N) or starts_N[0] != 0 or (starts_N.diff() < 0).any():
            raise ValueError("rows do not begin one after another")
        if not (end := int(starts_N[-1])) == ids == weights:
            raise ValueError(f"{end} entries, but {ids} ids and {weights} weights")
        for name, ids_N, rows in (
            ("source", self.source_K, self.source_rows), ("shared", self.shared_S, len(self))
        ):  # fmt: skip
            if ((ids_N < 0) | (ids_N >= rows)).any():
                raise ValueError(f"{name} rows beyond the {rows}")
        if not self.weight_K.isfinite().all():
            raise ValueError("weights that are not finite")

    @classmethod
    def of(cls, rows: Iterable[Mapping[int, float] | Tensor], source_rows: int) -> SourceWeights:
        """Return rows given as weights by source id, or as one weight per source row."""
        import torch

        ids, weights = [torch.empty(0, dtype=torch.int32)], [torch.empty(0)]
        for row in rows:
            if isinstance(row, torch.Tensor):
                ids.append(torch.arange(len(row), dtype=torch.int32))
                weights.append(row.float().cpu())
            else:
                ids.append(torch.tensor([*row], dtype=torch.int32))
                weights.append(torch.tensor([*row.values()], dtype=torch.float32))
        starts_N = torch.tensor([len(row_K) for row_K in ids]).cumsum(0)
        shared_S = torch.empty(0, dtype=torch.int64)
        return cls(starts_N, torch.cat(ids), torch.cat(weights), shared_S, source_rows)

    def by_source_id(self) -> Iterator[dict[int, float]]:
        """Yield the rows as :meth:`of` takes them."""
        lengths = self.starts_N.diff().tolist()
        for ids_K, weights_K in zip(
            self.source_K.split(lengths), self.weight_K.split(lengths), strict=True
        ):
            yield dict(zip(ids_K.tolist(), weights_K.tolist(), strict=True))

    def padded(self, rows: int) -> SourceWeights:
        import torch

        more = self.starts_N[-1:].expand(rows - len(self))
        return replace(self, starts_N=torch.cat([self.starts_N, more]))

    def dense(self, rows: slice, device: Any = "cpu") -> Tensor:
        """Return some of the rows in full, float32 [rows, V]."""
        import torch

        starts_N = self.starts_N[rows.start : rows.stop + 1]
        first, last = int(starts_N[0]), int(starts_N[-1])
        lengths_N = starts_N.diff()
        row_K = torch.arange(len(lengths_N)).repeat_interleave(lengths_N)
        dense_NV = torch.zeros(len(lengths_N), self.source_rows, device=device)
        places = row_K.to(device), self.source_K[first:last].long().to(device)
        dense_NV[places] = self.weight_K[first:last].to(device)
        return dense_NV

    def combine(self, source_VD: Tensor, rows: slice | None = None) -> Tensor:
        """Return the weighted sums of source rows that some of the rows are, float32 [rows, D]."""
        import torch

        rows = slice(0, len(self)) if rows is None else rows
        starts_N = self.starts_N[rows.start : rows.stop + 1]
        own = slice(int(starts_N[0]), int(starts_N[-1]))
        return torch.nn.functional.embedding_bag(
            self.source_K[own].long().to(source_VD.device),
            source_VD,
            (starts_N[:-1] - own.start).to(source_VD.device),
            mode="sum",
            per_sample_weights=self.weight_K[own].to(source_VD.device),
        )

    def source_of_shared(self) -> Tensor:
        """Return the source id of each shared row, in the order of ``shared_S`` (int64)."""
        return self.source_K[self.starts_N[self.shared_S]].long()


def mean_weights(pieces: Iterable[int], weigh: Weigh | None = None) -> dict[int, float]:
    """Return the weights of a mean over source rows, in which repeated pieces add up."""
    listed = [*pieces]
    counts = [1.0] * len(listed) if weigh is None else weigh(listed)
    total, weights = sum(counts), dict.fromkeys(listed, 0.0)
    for piece, count in zip(listed, counts, strict=True):
        weights[piece] += count
    return {piece: weight / total for piece, weight in weights.items()}


def piece_weights(
    inputs: MethodInputs, pieces: Callable[[int], list[int]], weigh: Weigh | None = None
) -> SourceWeights:
    """Return the weights of each missing token's pieces; without ``weigh``, of their mean."""
    import torch

    source_rows = len(inputs.source_VD)
    even_V = torch.full((source_rows,), 1 / source_rows)
    lists = [pieces(token) for token in inputs.missing_N.tolist()]
    note_pieces(inputs, lists)
    weights = (mean_weights(ids, weigh) if ids else even_V for ids in lists)
    return SourceWeights.of(weights, source_rows)


def without_zeros(new: SourceWeights, source_VD: Tensor) -> SourceWeights:
    """Return weights in which rows of zeros (never trained) are the mean of all source rows."""
    import torch

    zero_V = torch.empty(len(source_VD), dtype=torch.bool)
    zero_V = map_rows(source_VD, lambda part_ND: (part_ND == 0).all(dim=1), zero_V)
    if not zero_V.any():
        return new
    even_V = torch.full((new.source_rows,), 1 / new.source_rows)
    rows = (even_V if zero_V[[*row]].all() else row for row in new.by_source_id())
    return SourceWeights.of(rows, new.source_rows)


def with_shared(new: SourceWeights, inputs: MethodInputs) -> SourceWeights:
    """Return all target rows' weights: one-hot where a row is copied, else those of ``new``."""
    import torch

    new = without_zeros(new, inputs.source_VD)
    shared_S, missing_N = inputs.overlap_target_N.cpu(), inputs.missing_N.cpu()
    lengths_T = torch.ones(inputs.target_rows, dtype=torch.int64)
    lengths_T[missing_N] = new.starts_N.diff()
    starts_T = torch.cat([torch.zeros(1, dtype=torch.int64), lengths_T.cumsum(0)])
    is_new_T = torch.zeros(inputs.target_rows, dtype=torch.bool)
    is_new_T[missing_N] = True
    copied_K = ~is_new_T.repeat_interleave(lengths_T)
    source_K = torch.empty(len(copied_K), dtype=torch.int32)
    weight_K = torch.ones(len(copied_K))
    source_K[copied_K] = inputs.overlap_source_N.cpu().int()
    source_K[~copied_K], weight_K[~copied_K] = new.source_K, new.weight_K
    return SourceWeights(starts_T, source_K, weight_K, shared_S, new.source_rows)


def write_source_weights(folder: Path, weights: Mapping[Which, SourceWeights]) -> None:
    import numpy as np

    arrays: dict[str, Any] = {
        f"{which}.{name}": np.asarray(getattr(sparse, name))
        for which, sparse in weights.items()
        for name in (*TENSORS, "source_rows")
    }
    np.savez(folder / FILE, **arrays)


def read_source_weights(folder: Path) -> dict[Which, SourceWeights]:
    """Return the weights of a model's matrices.

    Raises :class:`RevocabError` where the folder has none, since another method made it, and for a
    damaged file.
    """
    from zipfile import BadZipFile

    import numpy as np
    import torch

    path = folder / FILE
    if not path.is_file():
        raise RevocabError(
            f"{folder}: no {FILE}, from which vocabulary adapters start; make the model with"
            " 'revocab init' and a method that combines source rows, such as vocadt or fvt"
        )
    try:
        with np.load(path, allow_pickle=False) as arrays:
            weights = {
                which: SourceWeights(
                    source_rows=int(arrays[f"{which}.source_rows"]),
                    **{name: torch.from_numpy(arrays[f"{which}.{name}"]) for name in TENSORS},
                )
                for which in get_args(Which)
                if f"{which}.source_rows" in arrays.files
            }
            for sparse in weights.values():
                sparse.check()
            return weights
    except (BadZipFile, EOFError, KeyError, ValueError) as error:
        raise RevocabError(
            f"{path}: damaged ({error}); make the model again with 'revocab init'"
        ) from error


def write_new_rows(folder: Path, new_N: Any) -> None:
    import numpy as np

    np.save(folder / NEW_ROWS, np.asarray(new_N, np.int32))


def new_rows_file(folder: Path) -> Path:
    """Return the record's path; raise :class:`RevocabError` where the folder has none."""
    if not (folder / NEW_ROWS).is_file():
        raise RevocabError(
            f"{folder}: no {NEW_ROWS}, which says what rows are new; 'revocab init' writes it"
            " beside a model with a new vocabulary, and checkpoints do not have it: train new_rows"
            " in a stage of the recipe that starts from there"
        )
    return folder / NEW_ROWS


def read_new_rows(folder: Path, rows: int) -> Tensor:
    """Return which of a matrix' rows are new, bool [rows].

    Raises :class:`RevocabError` where the folder does not say, where no row is new, and for a
    damaged file.
    """
    import numpy as np
    import torch

    path = new_rows_file(folder)
    try:
        ids_N = np.load(path, allow_pickle=False)
        if ids_N.dtype != np.int32 or ids_N.ndim != 1 or (np.diff(ids_N) <= 0).any():
            raise ValueError("not ascending ids")
        if len(ids_N) and not 0 <= ids_N[0] <= ids_N[-1] < rows:
            raise ValueError(f"ids beyond the {rows} rows of the model")
    except (EOFError, ValueError) as error:
        raise RevocabError(
            f"{path}: damaged ({error}); make the model again with 'revocab init'"
        ) from error
    if not len(ids_N):
        raise RevocabError(f"{path}: no row is new; leave out stages that train new_rows")
    new_V = torch.zeros(rows, dtype=torch.bool)
    new_V[torch.from_numpy(ids_N).long()] = True
    return new_V


class ListedToken(Closed):
    """A token of a word."""

    id: int = Field(ge=0)
    token: str


class ListedWord(Closed):
    """What became of a word of a list, and where its row starts from."""

    word: str
    became: Literal["added", "exists", "impossible"]
    tokens: list[ListedToken]
    reason: str | None = None
    like: str | None = None
    description: str | None = None


class WordList(Closed):
    """``words.json``, which may come with a tokenizer that somebody else made."""

    words: list[ListedWord]


def source_rows_of(
    source: PreTrainedTokenizerFast, by_data: Mapping[bytes, int], word: ListedWord, token: bytes
) -> list[int]:
    """Return the ids that a word's token starts from; none where the source has no such token.

    What ``like`` names has a space before it if the word's token has one, as far as the source has
    both; or it is as the vocabulary spells it. ``by_data``: the source's tokens by their bytes.
    """
    if word.like is None:
        return list(source(word.description, add_special_tokens=False)["input_ids"])
    forms = [b" " + word.like.encode(), word.like.encode()]
    rows = [by_data[form] for form in forms if form in by_data]
    if rows:
        return [rows[0] if token.startswith(b" ") else rows[-1]]
    number = source.get_vocab().get(word.like)
    return [] if number is None else [number]


def read_word_starts(
    folder: Path, source: PreTrainedTokenizerFast, target: PreTrainedTokenizerFast
) -> dict[int, list[int]]:
    """Return the source rows that words' tokens start from, by target id.

    ``folder`` is the target tokenizer's. Raises :class:`RevocabError` naming every word whose start
    the source lacks, and every token that is another one in the target.
    """
    file = folder / WORDS
    if not file.is_file():
        return {}
    by_data: dict[bytes, int] = {}
    for number, known in enumerate(canonical_vocabulary(source)):
        if known.kind not in ("special", "byte"):
            by_data.setdefault(known.data, number)
    canonical, ids = canonical_vocabulary(target), target.get_vocab()
    starts: dict[int, list[int]] = {}
    problems = []
    for word in checked(WordList, read_json(file), str(file)).words:
        for token in word.tokens:
            if ids.get(token.token) != token.id:
                problems.append(
                    f"{file}: {word.word!r} has id {token.id} as {token.token!r}, but its"
                    " tokenizer.json has not; give the words.json of this tokenizer, or none"
                )
            elif word.like or word.description:
                data = canonical[token.id].data
                if rows := source_rows_of(source, by_data, word, data):
                    starts[token.id] = rows
                    continue
                problems.append(
                    f"{file}: {word.word!r} starts from {word.like or word.description!r}, which"
                    " the source does not have as one token; allowed is a token of the source or a"
                    " description"
                )
    refuse(dict.fromkeys(problems))
    return starts


def rows_with_words(
    inputs: MethodInputs, noise: float, rows_of: Callable[[MethodInputs], Tensor]
) -> Tensor:
    """Return a row per missing token: of words by their starts, of all others by ``rows_of``."""
    import torch

    missing = inputs.missing_N.tolist()
    named_M = torch.tensor([token in inputs.word_starts for token in missing], dtype=torch.bool)
    named_M = named_M.to(inputs.missing_N.device)
    starts = (mean_weights(inputs.word_starts[t]) for t in missing if t in inputs.word_starts)
    weights = SourceWeights.of(starts, len(inputs.source_VD))
    rest = replace(inputs, missing_N=inputs.missing_N[~named_M], word_starts={})
    rows_MD = inputs.source_VD.new_empty(len(named_M), inputs.source_VD.shape[1])
    if len(rest.missing_N):
        rows_MD[~named_M] = rows_of(rest)
    rows_WD = weights.combine(inputs.source_VD)
    if noise:
        drawn_WD = torch.randn(rows_WD.shape, generator=inputs.generator()).to(rows_WD.device)
        rows_WD = rows_WD + noise * inputs.source_VD.std(dim=0) * drawn_WD
    rows_MD[named_M] = rows_WD
    inputs.notes["words_with_a_start"] = len(rows_WD)
    return rows_MD


def weights_with_words(inputs: MethodInputs, weights: SourceWeights) -> SourceWeights:
    """Return a method's weights of the missing tokens with those of words in their place."""
    if not inputs.word_starts:
        return weights
    starts = {token: mean_weights(ids) for token, ids in inputs.word_starts.items()}
    rows = zip(inputs.missing_N.tolist(), weights.by_source_id(), strict=True)
    return SourceWeights.of((starts.get(token, row) for token, row in rows), weights.source_rows)
