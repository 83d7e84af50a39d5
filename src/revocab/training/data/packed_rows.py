"""Packed token rows, read front to back from memory maps.

``tokens.npy`` has the rows; of conversations ``starts.npy`` and ``answers.npy`` beside it hold one
bit a token.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from revocab import io
from revocab.errors import RevocabError, refuse
from revocab.marker import PACKED_TOKENS, read_manifest
from revocab.models.token_rows import token_rows
from revocab.training.data.mixture import drawn_order
from revocab.training.recipe import ALL

if TYPE_CHECKING:
    import torch

    from revocab.training.run import Settings

#: What is marked of each token of a conversation: where one begins, and what is learned.
MARKS = ("starts", "answers")


@dataclass(frozen=True)
class PackedRows:
    """The first ``rows`` rows of a packed folder, by their places in the training; ``order`` says
    which row is read at each.
    """

    tokens: np.ndarray
    manifest: dict[str, Any]
    rows: int
    #: Of conversations ``starts`` and ``answers`` [rows, ceil(L / 8)], one bit a token: 1 where one
    #: begins, and where a token is learned.
    marks: Mapping[str, np.ndarray] = field(default_factory=dict)
    #: Rows of a step, over which a loss is a mean.
    batch_size: int = 1
    #: Row at each place [rows], int64; none: as they were packed.
    order: np.ndarray | None = None

    def batch(self, places: Sequence[int]) -> dict[str, torch.Tensor]:
        """Return the rows at some places: ``input_ids`` int64 [B, L].

        Of conversations also ``position_ids`` [B, L], which begin at 0 with each, ``learned``
        [B, L], the tokens that are predicted, and ``predicted`` [B], how many of them each row's
        whole step has.
        """
        import torch

        rows = self.rows_at(places)
        batch = {"input_ids": torch.from_numpy(self.tokens[rows].astype(np.int64))}
        if self.marks:
            firsts_BL = self._marked("starts", rows)
            firsts_BL[:, 0] = True
            batch["position_ids"] = torch.from_numpy(positions_of(firsts_BL))
            steps = [place // self.batch_size for place in places]
            predicted = {}
            for step in {*steps}:
                own = range(step * self.batch_size, (step + 1) * self.batch_size)
                predicted[step] = int(self._marked("answers", self.rows_at(own)).sum())
            batch["predicted"] = torch.tensor([predicted[step] for step in steps])
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
            return round(self.rows * self.sequence_length / self.manifest["tokens_per_byte"])
        total = sum(count["answer_bytes"] for count in self.manifest["corpora"].values())
        return round(total * self.rows / self.manifest["rows"])

    @property
    def sequence_length(self) -> int:
        return self.manifest["sequence_length"]


def positions_of(firsts_BL: np.ndarray) -> np.ndarray:
    """Return positions int64 [B, L] that begin anew wherever ``firsts_BL`` is true."""
    places_L = np.arange(firsts_BL.shape[1])
    return places_L - np.maximum.accumulate(np.where(firsts_BL, places_L, 0), axis=1)


def packed_manifest(folder: str | Path) -> dict[str, Any]:
    """Return the manifest of packed rows; raise :class:`RevocabError` for another folder."""
    return read_manifest(folder, PACKED_TOKENS, ("rows", "sha256"), "revocab pack")


def open_packed(
    folder: str | Path, rows: int, batch_size: int = 1, seed: int | None = None
) -> PackedRows:
    """Open a folder written by ``pack_tokens`` for ``rows`` rows of training.

    They come in an order drawn by ``seed``; without one, or with that of the packing, as they were
    packed. Raises :class:`RevocabError` naming every missing or damaged file, or if there are too
    few rows.
    """
    folder = Path(folder)
    manifest = packed_manifest(folder)
    if manifest["rows"] < rows:
        raise RevocabError(
            f"{folder}: {manifest['rows']} rows, {rows} needed (steps x batch size); "
            f"pack again with --rows {rows}"
        )
    keys = {"tokens": "sha256", **{stem: f"{stem}_sha256" for stem in MARKS}}
    files = {stem: folder / f"{stem}.npy" for stem, key in keys.items() if key in manifest}
    refuse(
        f"{file}: missing or damaged (its SHA-256 is not that of the manifest); put a good copy in"
        f" its place, or delete {folder} and pack again"
        for stem, file in files.items()
        if not file.is_file() or io.sha256(file) != manifest[keys[stem]]
    )
    arrays = {stem: np.load(file, mmap_mode="r") for stem, file in files.items()}
    order = None
    if seed is not None and seed != manifest["seed"]:
        order = drawn_order(manifest, rows, seed)
    return PackedRows(arrays.pop("tokens"), manifest, rows, arrays, batch_size, order)


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
    rows = {**packed.manifest, "vocabulary_size": packed.manifest["largest_id"] + 1}
    refuse(
        [
            *foreign,
            *misfits("packed rows", rows, config, model_folder),
            *misfits("held-out windows", heldout, config, model_folder),
        ]
    )


def misfits(
    what: str, manifest: Mapping[str, Any], config: Any, model_folder: Path
) -> Iterator[str]:
    """Yield how data of a number of ids and a length of rows does not fit a model."""
    ids, length = manifest["vocabulary_size"], manifest["sequence_length"]
    text = config.get_text_config()
    rows = token_rows(config) or text.vocab_size
    if ids > rows:
        yield (
            f"{model_folder}: {rows} vocabulary rows, but {what} have ids up to {ids - 1}; pack"
            " with the model's own tokenizer"
        )
    allowed = getattr(text, "max_position_embeddings", None)
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
    recipe = [(stage.name, stage.steps * settings.batch_size) for stage in settings.plan.stages]
    if packed and packed != recipe:
        rows, wanted = (
            ", ".join(f"{name} {count}" for name, count in stages) for stages in (packed, recipe)
        )
        raise RevocabError(
            f"packed rows are mixed for the stages {rows} (rows), but the recipe's are {wanted};"
            " pack again with --stages"
        )
