"""Other models' rows in the order of a vocabulary, whatever tokenizer these models have.

A helper's rows serve the target tokens that both vocabularies hold. Methods get them by target id,
with a mask of those that there are. A donor is an adapted model and the one that it was adapted
from. Suffixes: H helper tokens, V target tokens, N shared tokens, X helper width.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from revocab.errors import refuse
from revocab.heavy_types import PreTrainedTokenizerFast, Tensor
from revocab.initialise.method import DonorRows, Method
from revocab.initialise.reading.vocabularies import Vocabularies, shared_tokens
from revocab.initialise.rows.alignment import CHUNK_ROWS
from revocab.models.folder import ModelFolder, Which
from revocab.models.load import check_model
from revocab.vocabulary.intersection import Identity, Intersection
from revocab.vocabulary.tokenizers.canonical import special_and_added
from revocab.vocabulary.tokenizers.load import load_tokenizer


def in_target_order(helper_HX: Tensor, helper_N: Tensor, target_N: Tensor, rows: int) -> Tensor:
    """Return ``rows`` rows: row ``target_N[i]`` is helper row ``helper_N[i]``, the others zero."""
    placed_VX = helper_HX.new_zeros(rows, helper_HX.shape[1])
    for start in range(0, len(target_N), CHUNK_ROWS):
        part = slice(start, start + CHUNK_ROWS)
        placed_VX[target_N[part]] = helper_HX[helper_N[part]]
    return placed_VX


def segmentation_hash(tokenizer: PreTrainedTokenizerFast) -> str:
    """Return a SHA-256 of a tokenizer's ids and of how it cuts: its merges, or its scores."""
    model = json.loads(tokenizer.backend_tokenizer.to_str())["model"]
    text = json.dumps([tokenizer.get_vocab(), model], sort_keys=True)
    return sha256(text.encode()).hexdigest()


def check_rows_fit(
    folder: Path, target: PreTrainedTokenizerFast, source: ModelFolder, method: str
) -> None:
    """Raise :class:`RevocabError` unless a source can take a model's rows as they are.

    Its tokenizer must be the target's, and it must not have two matrices where the source has one.
    """
    theirs, ours = map(segmentation_hash, (load_tokenizer(folder), target))
    problems = []
    if theirs != ours:
        problems.append(
            f"its tokenizer (SHA-256 {theirs[:12]}…) is not the target's ({ours[:12]}…), and its"
            " rows are taken as they are; give the helper's own as the target's"
        )
    if source.tied and not ModelFolder(folder).tied:
        problems.append(
            "embedding and head are two matrices, the source's one; take a helper that was made"
            " from the source"
        )
    refuse(f"method {method!r}, helper {folder}: {problem}" for problem in problems)


@dataclass(frozen=True)
class Coverage:
    """What a helper of another tokenizer serves of source and target, in tokens."""

    #: Target tokens that the helper has.
    shared: int
    #: Tokens that source and target share, and those of them that the helper has.
    overlap: int
    anchors: int
    #: New tokens that the helper has, and those that it lacks.
    new: int
    new_without_row: int
    helper_tokens: int
    target_tokens: int
    #: Dimensions of its rows.
    width: int

    def counts(self, method: Method) -> dict[str, Any]:
        names = ("helper_tokens", "shared", "anchors", "new", "new_without_row")
        counts = {name: getattr(self, name) for name in names}
        return {**counts, "filled_with": method.without_helper_row}

    def check(self, method: Method, helper: Path) -> None:
        """Raise :class:`RevocabError` where it serves no anchor, or new tokens, but none of them.

        Rows would then be those of another method.
        """
        lacking = []
        if not self.anchors:
            lacking.append(
                f"{self.overlap} that source and target share; {method.name} needs at"
                f" least one, and {self.width + 1} (the helper's width plus one) to determine a"
                " map; take another helper, or check --identity"
            )
        if self.new_without_row and not self.new:
            lacking.append(
                f"{self.new_without_row} new ones, so {method.name} would fill no row; "
                "take another helper, or a method without one, such as fvt"
            )
        refuse(
            f"method {method.name!r}, helper {helper}: it has {self.shared} of the target's "
            f"{self.target_tokens} tokens, but none of the {problem}"
            for problem in lacking
        )

    def warnings(self, method: Method) -> Iterator[str]:
        if self.anchors <= self.width:
            yield (
                f"method {method.name!r}: source, target and helper share {self.anchors} tokens,"
                f" and the helper has {self.width} dimensions: fewer than {self.width + 1} anchors"
                " do not determine a map, and new rows may be poor"
            )


@dataclass(frozen=True)
class Helper:
    """A model whose rows say which tokens lie where, and the target tokens that it has."""

    model: ModelFolder
    tokens: int
    target_tokens: int
    #: What helper (as source) and target share; none: they have one vocabulary, with equal ids.
    pairs: Intersection | None = None

    @classmethod
    def open(
        cls,
        folder: Path,
        target: PreTrainedTokenizerFast,
        *,
        identity: Identity | None = None,
        pairs: Path | None = None,
    ) -> Helper:
        """Return the helper in a model folder; ``pairs``: what it shares with the target."""
        own = load_tokenizer(folder)
        shared = None
        if own.get_vocab() != target.get_vocab():
            shared = shared_tokens(own, target, identity=identity, pairs=pairs, side="helper")
        return cls(ModelFolder(folder), len(own), len(target), shared)

    @property
    def width(self) -> int:
        return self.model.tensors[self.model.vocabulary_tensors["input"]][1][1]

    @cached_property
    def known_V(self) -> Tensor | None:
        """Return which target tokens have a row (bool); None: all."""
        import torch

        if self.pairs is None:
            return None
        known_V = torch.zeros(self.target_tokens, dtype=torch.bool)
        known_V[torch.tensor(self.pairs.target_ids)] = True
        return known_V

    def matrix(self, which: Which) -> Tensor:
        """Return a matrix by target id, as stored: zeros where the helper lacks the token."""
        import torch

        helper_HX = self.model.matrix(which, self.tokens)
        if self.pairs is None:
            return helper_HX
        helper_N, target_N = map(torch.tensor, (self.pairs.source_ids, self.pairs.target_ids))
        return in_target_order(helper_HX, helper_N, target_N, self.target_tokens)

    def coverage(self, shared: Intersection) -> Coverage | None:
        """Return what it serves of source and target; None: it has the vocabulary of the target."""
        if self.known_V is None:
            return None
        known_V = self.known_V.numpy()
        anchors, new = (int(known_V[ids].sum()) for ids in (shared.target_ids, shared.missing))
        lacking = len(shared.missing) - new
        return Coverage(
            int(known_V.sum()), len(shared.target_ids), anchors, new, lacking,
            self.tokens, self.target_tokens, self.width,
        )  # fmt: skip


@dataclass(frozen=True)
class Donor:
    """Both models, each with the tokens that it has of the vocabulary it is read by."""

    #: By target id.
    adapted: Helper
    #: By source id.
    base: Helper
    #: Source ids of special and added tokens: what they are in the base says nothing of the
    #: source, where they may play another role and are trained as no other token.
    apart: frozenset[int]
    #: Target ids of those that are special or added in both vocabularies, ascending.
    special_in_both: list[int]

    @classmethod
    def open(
        cls, adapted: Path, base: Path, source: ModelFolder, vocabularies: Vocabularies
    ) -> Donor:
        """Return both; raise :class:`RevocabError` for broken folders, and where matrices of the
        three models differ in width or tying.
        """
        for folder in (adapted, base):
            check_model(folder)
        identity, shared = vocabularies.identity, vocabularies.intersection
        of_source = special_and_added(vocabularies.source_tokenizer)
        of_target = special_and_added(vocabularies.target_tokenizer)
        pairs = zip(shared.source_ids.tolist(), shared.target_ids.tolist(), strict=True)
        donor = cls(
            Helper.open(adapted, vocabularies.target_tokenizer, identity=identity),
            Helper.open(base, vocabularies.source_tokenizer, identity=identity),
            frozenset(of_source),
            sorted(ours for theirs, ours in pairs if theirs in of_source and ours in of_target),
        )
        problems = []
        width = source.tensors[source.vocabulary_tensors["input"]][1][1]
        for name, helper in (("adapted", donor.adapted), ("base", donor.base)):
            model = helper.model
            if helper.width != width:
                problems.append(
                    f"--{name} {model.path}: rows of {helper.width} numbers, but the source's have"
                    f" {width}; take a relative of the source"
                )
            if model.tied != source.tied:
                tied = {True: "one matrix", False: "two matrices"}
                problems.append(
                    f"--{name} {model.path}: embedding and head are {tied[model.tied]}, the"
                    f" source's {tied[source.tied]}; take models that agree"
                )
        refuse(problems)
        return donor

    def rows(self, which: Which) -> DonorRows:
        """Return one matrix of both, as stored; the base's without special and added tokens."""
        import torch

        known_V = self.base.known_V
        known_V = torch.ones(self.base.target_tokens).bool() if known_V is None else known_V.clone()
        known_V[sorted(self.apart)] = False
        return DonorRows(
            self.adapted.matrix(which), self.adapted.known_V, self.base.matrix(which), known_V
        )
