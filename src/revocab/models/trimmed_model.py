"""A model of some of its tokens: their rows alone, of every tensor that has a row per token.

Rows are copied from file to file in blocks. Every id that a setting names keeps its row, so nothing
is looked for by its role, as for a new vocabulary (:mod:`revocab.models.special_ids`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any

from revocab.errors import refuse
from revocab.heavy_types import PreTrainedTokenizerFast, ndarray
from revocab.io import write_json, write_text
from revocab.links import copy_present
from revocab.models import origin
from revocab.models.folder import (
    ModelFolder,
    copy_documents,
    read_settings,
    tell_left_out,
    write_weights,
)
from revocab.models.load import STRUCTURE
from revocab.models.token_rows import TOKEN_ROWS, token_tables
from revocab.vocabulary.tokenizers.load import write_tokenizer

#: Of each kept token, in the order of the new ids, the id that it had.
KEPT_IDS = "kept_ids.json"
#: Files of the modules, such as 1_Pooling, with which sentence-transformers goes on.
ENDINGS = (".json", ".safetensors")
_ROLE = re.compile(r"_token_ids?$|_token_index$")
_LISTS = ("bad_words_ids", "begin_suppress_tokens", "suppress_tokens")
#: Settings that have ids among other numbers; they are dropped, and that is told.
_MIXED = ("constraints", "force_words_ids", "forced_decoder_ids", "sequence_bias")


@dataclass(frozen=True)
class TrimmableModel:
    """A model folder, and what of it has a row per token."""

    folder: ModelFolder
    tokens: int
    #: Of the head alone: the rest stays, a tied matrix as embedding.
    head_only: bool = False

    @cached_property
    def tables(self) -> dict[str, int]:
        if self.head_only:
            names = self.folder.vocabulary_tensors
            name = names.get("output", names["input"])
            return {name: self.folder.tensors[name][1][0]}
        return token_tables(self.folder, self.tokens)

    @cached_property
    def generation(self) -> dict[str, Any] | None:
        path = self.folder.path / "generation_config.json"
        return read_settings(path) if path.is_file() else None

    def named_ids(self, lists: bool = True) -> set[int]:
        """Return the ids that settings name; without ``lists``, those alone that have a role."""
        settings = (self.folder.config, self.folder.text_config, self.generation or {})
        return set().union(*(named_ids(part, lists) for part in settings))

    @property
    def named_tokens(self) -> list[int]:
        return sorted(number for number in self.named_ids() if number < self.tokens)

    def rows(self, kept_N: ndarray) -> ndarray:
        """Return kept ids, and after them those rows without a token that the settings name."""
        import numpy as np

        most = max(self.tables.values())
        beyond = sorted(n for n in self.named_ids(lists=False) if self.tokens <= n < most)
        return np.array([*kept_N, *beyond], np.int64)

    def sizes(self, kept: int | None = None) -> tuple[int, int]:
        """Return the bytes of the tables, and of all tensors, with so many kept tokens."""
        sizes = {n: part.size for parts in self.folder.parts.values() for n, part in parts.items()}
        stays = self.head_only and self.folder.tied and kept is not None
        before = 0 if stays else sum(sizes[name] for name in self.tables)
        after = sum(
            sizes[name] // rows * (rows if kept is None else min(kept, rows))
            for name, rows in self.tables.items()
        )
        return after, sum(sizes.values()) - before + after

    def check_stored(self) -> None:
        """Raise :class:`RevocabError` for tables that are packed, so that no row is told apart."""
        refuse(
            f"{self.folder.path}: {name} is stored as {part.dtype} {list(part.shape)}, whose rows"
            " are not whole bytes; use the unquantised model"
            for parts in self.folder.parts.values()
            for name, part in parts.items()
            if name in self.tables and (part.size % prod(part.shape) or part.dtype[0] in "IU")
        )


def write_trimmed(
    model: TrimmableModel,
    kept_N: ndarray,
    tokenizer: PreTrainedTokenizerFast,
    facts: Mapping[str, Any],
    folder: Path,
) -> list[str]:
    """Write the rows of ``kept_N`` (ascending) and all else of a model into an empty folder.

    Returns the settings that were dropped. Raises :class:`RevocabError` where the result would not
    be what its architecture asks for.
    """
    source = model.folder
    rows_N = model.rows(kept_N)
    changed = {
        file: [
            part.gathered(rows_N[rows_N < model.tables[name]]) if name in model.tables else part
            for name, part in parts.items()
        ]
        for file, parts in source.parts.items()
        if parts.keys() & model.tables.keys()
    }
    copy_documents(source, folder, ("README.md",), ("tokenizer", "written", "stale"))
    modules = sorted(p for ending in ENDINGS for p in source.path.glob(f"[0-9]_*/*{ending}"))
    copy_present(source.path, [str(p.relative_to(source.path)) for p in modules], folder)
    write_tokenizer(tokenizer, folder)
    tell_left_out(source.path, folder)
    config, dropped = renumbered(source.config, rows_N)
    write_json(folder / "config.json", config)
    if model.generation is not None:
        generation, more = renumbered(model.generation, rows_N)
        write_json(folder / "generation_config.json", generation)
        dropped = sorted({*dropped, *more})
    write_weights(source, changed, folder, progress=True)
    trimmed = ModelFolder(folder)
    refuse(finding.line(folder) for check in STRUCTURE for finding in check(trimmed))
    manifest = {
        "change": "trim",
        **facts,
        "tensors": {name: trimmed.tensors[name][1] for name in model.tables},
        "dropped_settings": dropped,
        "body": {"name": origin.name_of(source.path), **origin.fingerprint(source, source.path)},
        origin.BEFORE: origin.history_of(source.path),
        "libraries": origin.library_versions(),
    }
    write_text(folder / KEPT_IDS, f"{kept_N.tolist()}\n")
    card = origin.card("trimmed", source.path, {**manifest, "kept_ids": KEPT_IDS})
    write_text(folder / "README.md", card)
    write_json(folder / "manifest.json", manifest)
    return dropped


def _ids_in(value: Any) -> Iterator[int]:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        yield value
    elif isinstance(value, list):
        for inner in value:
            yield from _ids_in(inner)


def named_ids(settings: dict[str, Any], lists: bool = True) -> set[int]:
    """Return the ids that settings name; without ``lists``, those alone that have a role."""
    named = [value for key, value in settings.items() if _ROLE.search(key)]
    named += [settings.get(key) for key in _LISTS] if lists else []
    return {*_ids_in(named)}


def _with_new_ids(value: Any, new_id: Callable[[int], int | None]) -> Any:
    if isinstance(value, list):
        inner = [_with_new_ids(entry, new_id) for entry in value]
        return [entry for entry in inner if entry is not None] or None
    return new_id(value) if [*_ids_in(value)] else value


def renumbered(settings: dict[str, Any], kept_N: ndarray) -> tuple[dict[str, Any], list[str]]:
    """Return settings for the rows ``kept_N`` alone (ascending), and the keys that were dropped.

    Every ``vocab_size`` becomes the number of kept rows below it, and no row is padding.
    """
    new_ids = {old: new for new, old in enumerate(kept_N.tolist())}
    changed: dict[str, Any] = {}
    for key, value in settings.items():
        if key in (*_MIXED, TOKEN_ROWS):
            continue
        if key == "text_config" and isinstance(value, dict):
            changed[key] = renumbered(value, kept_N)[0]
        elif "vocab_size" in key and isinstance(value, int):
            changed[key] = int((kept_N < value).sum())
        else:
            names = key in _LISTS or _ROLE.search(key)
            changed[key] = _with_new_ids(value, new_ids.get) if names else value
    return changed, [key for key in _MIXED if settings.get(key) is not None]
