"""Packed token rows as a dataset that is read front to back from memory maps."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from revocab.errors import RevocabError, refuse
from revocab.marker import PACKED_TOKENS, read_manifest
from revocab.models.token_rows import token_rows
from revocab.training.data.mixture import interleave
from revocab.training.data.shards import ShardedRows, open_shards
from revocab.training.recipe import ALL

if TYPE_CHECKING:
    from revocab.training.run import Settings


@dataclass(frozen=True)
class PackedRows:
    """The first ``rows`` rows of a packed folder, as a torch dataset fetched by whole batches.

    Indices are places in the training; ``order`` says which row is read there.
    """

    tokens: np.ndarray | ShardedRows
    manifest: dict[str, Any]
    rows: int
    #: Of conversations ``starts`` and ``answers`` [rows, ceil(L / 8)], one bit a token: 1 where one
    #: begins, and where a token is learned.
    marks: Mapping[str, np.ndarray | ShardedRows] = field(default_factory=dict)
    #: Rows of a step, over which a loss is a mean.
    batch_size: int = 1
    #: Row at each place [rows], int64; none: as they were packed.
    order: np.ndarray | None = None

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, index: int) -> np.ndarray:
        return self.tokens[self.rows_at([index])[0]]

    def __getitems__(self, indices: list[int]) -> dict[str, torch.Tensor]:
        """Return one batch, ``input_ids`` int64 [B, L]; torch's fetcher calls this first.

        Of conversations also ``position_ids`` [B, L], which begin at 0 with each, ``learned``
        [B, L], the tokens that are predicted, and ``predicted`` [B], how many of them each row's
        whole step has.
        """
        rows = self.rows_at(indices)
        batch = {"input_ids": torch.from_numpy(self.tokens[rows].astype(np.int64))}
        if self.marks:
            firsts_BL = self._marked("starts", rows)
            firsts_BL[:, 0] = True
            batch["position_ids"] = torch.from_numpy(positions_of(firsts_BL))
            begins = [index // self.batch_size * self.batch_size for index in indices]
            steps = [self.rows_at(range(begin, begin + self.batch_size)) for begin in begins]
            predicted = [int(self._marked("answers", step).sum()) for step in steps]
            batch["predicted"] = torch.tensor(predicted)
            batch["learned"] = torch.from_numpy(self._marked("answers", rows))
        return batch

    def rows_at(self, places: Sequence[int]) -> Sequence[int]:
        """Return the packed rows that are read at some places of the training."""
        return places if self.order is None else self.order[np.asarray(places)].tolist()

    def _marked(self, stem: str, rows: Sequence[int]) -> np.ndarray:
        """Return booleans [B, L] of bits that ``numpy.packbits`` put into bytes."""
        bits = np.unpackbits(self.marks[stem][rows], axis=1, count=self.sequence_length)
        return bits.astype(bool)

    def bits_per_byte(self, stage: int, loss: float) -> float:
        """Return a loss in nats per token of a stage's text in bits per byte.

        The ratio is the whole's, unless stages are mixed apart.
        """
        stages = self.manifest.get("stages")
        per_byte = (stages[stage] if stages else self.manifest)["tokens_per_byte"] / math.log(2)
        return float(loss * per_byte)

    @property
    def bytes(self) -> int:
        if not self.marks:
            tokens = self.rows * self.sequence_length
            return round(tokens / self.manifest["tokens_per_byte"])
        total = sum(count["answer_bytes"] for count in self.manifest["corpora"].values())
        return round(total * self.rows / self.manifest["rows"])

    @property
    def sequence_length(self) -> int:
        return self.manifest["sequence_length"]


def positions_of(firsts_BL: np.ndarray) -> np.ndarray:
    """Return positions int64 [B, L] that begin anew wherever ``firsts_BL`` is true."""
    places_L = np.arange(firsts_BL.shape[1])
    return places_L - np.maximum.accumulate(np.where(firsts_BL, places_L, 0), axis=1)


def as_collated(batch: Any) -> dict[str, torch.Tensor]:
    """Collate function for :class:`PackedRows`, which makes whole batches itself."""
    return batch


def packed_manifest(folder: str | Path) -> dict[str, Any]:
    """Return the manifest of packed rows; raise :class:`RevocabError` for another folder."""
    return read_manifest(folder, PACKED_TOKENS, ("rows", "sha256"), "revocab pack")


def open_packed(
    folder: str | Path, rows: int, batch_size: int = 1, seed: int | None = None
) -> PackedRows:
    """Open a folder written by ``pack_tokens`` for ``rows`` rows of training.

    They come in an order drawn by ``seed``; without one, or with that of the packing, as they were
    packed. Only the shards that hold those rows are read. Raises :class:`RevocabError` naming every
    damaged one, or if there are too few rows.
    """
    folder = Path(folder)
    manifest = packed_manifest(folder)
    if manifest["rows"] < rows:
        raise RevocabError(
            f"{folder}: {manifest['rows']} rows, {rows} needed (steps x batch size); "
            f"pack again with --rows {rows}"
        )
    opened = open_shards(folder, manifest, rows)
    order = None
    if seed is not None and seed != manifest["seed"]:
        order = drawn_order(manifest, rows, seed)
    return PackedRows(opened.pop("tokens"), manifest, rows, opened, batch_size, order)


def check_fit(
    packed: PackedRows,
    config: Any,
    model_folder: Path,
    heldout: dict[str, Any],
    foreign: Iterable[str] = (),
) -> None:
    """Raise :class:`RevocabError` unless ids and lengths of the data suit the model.

    ``foreign``: what :func:`revocab.vocabulary.tokenizers.identity.foreign_ids` says of the data.
    """
    problems = [*foreign]
    largest, rows = packed.manifest["largest_id"], token_rows(config) or config.vocab_size
    if largest >= rows:
        problems.append(
            f"{model_folder}: {rows} vocabulary rows, but packed tokens contain id"
            f" {largest}; pack with the model's own tokenizer"
        )
    problems += too_long("packed rows", packed.sequence_length, config, model_folder)
    problems += heldout_problems(config, model_folder, heldout)
    refuse(problems)


def heldout_problems(config: Any, model_folder: Path, heldout: dict[str, Any]) -> Iterator[str]:
    vocabulary, rows = heldout["vocabulary_size"], token_rows(config) or config.vocab_size
    if vocabulary > rows:
        yield (
            f"{model_folder}: {rows} vocabulary rows, but held-out text was tokenised "
            f"with {vocabulary} tokens; use the model's own tokenizer"
        )
    yield from too_long("held-out windows", heldout["sequence_length"], config, model_folder)


def too_long(what: str, length: int, config: Any, model_folder: Path) -> Iterator[str]:
    allowed = getattr(config, "max_position_embeddings", None)
    if allowed is not None and length > allowed:
        yield (
            f"{what}: sequence length {length}, but {model_folder} allows at most {allowed} "
            "(max_position_embeddings); pack shorter rows"
        )


def check_recipe(manifest: Mapping[str, Any], settings: Settings) -> None:
    """Raise :class:`RevocabError` if rows were packed for another loss than ``settings`` take, or
    mixed for other stages than they train. Rows with one mixture throughout suit any stages.
    """
    loss = manifest.get("loss", ALL)
    if loss != settings.loss:
        raise RevocabError(
            f"packed rows are for loss {loss!r}, but the recipe says {settings.loss!r}; pack "
            f"again with --loss {settings.loss}"
        )
    packed = [(stage["name"], stage["rows"]) for stage in manifest.get("stages", ())]
    asked = [(stage.name, stage.steps * settings.batch_size) for stage in settings.plan.stages]
    if packed and packed != asked:
        rows, wanted = (
            ", ".join(f"{name} {count}" for name, count in stages) for stages in (packed, asked)
        )
        raise RevocabError(
            f"packed rows are mixed for the stages {rows} (rows), but the recipe's are {wanted};"
            " pack again with --stages"
        )


def drawn_order(manifest: Mapping[str, Any], rows: int, seed: int) -> np.ndarray:
    """Return the packed row (int64) that is read at each place of a training on the first ``rows``.

    Rows were packed once, by the seed in ``manifest``. A run with another ``seed`` reads the same
    ones in another order: corpora take turns as packing with that seed would have them, each in its
    share at every point (:func:`interleave`), and the rows of each corpus come in an order of their
    own. Rows of a stage with a mixture of its own stay in that stage.
    """
    order, begin = np.empty(rows, dtype=np.int64), 0
    for stage, part in enumerate(manifest.get("stages", [manifest])):
        counts = {corpus: entry["rows"] for corpus, entry in part["corpora"].items()}
        packed = interleave(counts, manifest["seed"], stage)
        used = {name: places[places < rows - begin] for name, places in packed.items()}
        places = interleave({name: len(own) for name, own in used.items()}, seed, stage)
        for number, name in enumerate(used):
            own = np.random.default_rng([seed, number, stage, 2]).permutation(used[name])
            order[begin + places[name]] = begin + own
        begin += sum(counts.values())
    return order
