"""An adapted model and the one that it was adapted from, as rows beside a relative of theirs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from revocab.errors import RevocabError
from revocab.initialise.method import DonorRows
from revocab.initialise.reading.helper import Helper
from revocab.models.folder import ModelFolder
from revocab.models.load import check_model
from revocab.tokenizers.canonical import special_and_added

if TYPE_CHECKING:
    import torch

    from revocab.initialise.reading.vocabularies import Vocabularies


@dataclass(frozen=True)
class Donor:
    """Both models, each with the tokens that it has of the vocabulary it is read by."""

    #: By target id.
    adapted: Helper
    #: By source id.
    base: Helper
    #: Source ids of special and added tokens: what they are in the base tells nothing of the
    #: source, where they may play another role and are trained as no other token.
    apart: frozenset[int] = frozenset()

    @classmethod
    def open(
        cls, adapted: Path, base: Path, source: ModelFolder, vocabularies: Vocabularies
    ) -> Donor:
        """Return both, checked.

        Raises :class:`RevocabError` for broken folders, and where matrices of the three models
        differ in width or tying.
        """
        for folder in (adapted, base):
            check_model(folder)
        identity = vocabularies.identity
        donor = cls(
            Helper.open(adapted, vocabularies.target_tokenizer, identity=identity),
            Helper.open(base, vocabularies.source_tokenizer, identity=identity),
            frozenset(special_and_added(vocabularies.source_tokenizer)),
        )
        problems = []
        for name, model in (("adapted", donor.adapted.model), ("base", donor.base.model)):
            if _width(model) != _width(source):
                problems.append(
                    f"--{name} {model.path}: rows of {_width(model)} numbers, but the source's have"
                    f" {_width(source)}; take a relative of the source"
                )
            if model.tied != source.tied:
                tied = {True: "one matrix", False: "two matrices"}
                problems.append(
                    f"--{name} {model.path}: embedding and head are {tied[model.tied]}, the"
                    f" source's {tied[source.tied]}; take models that agree"
                )
        if problems:
            raise RevocabError(problems)
        return donor

    def rows(self, which: Literal["input", "output"]) -> DonorRows:
        """Return one matrix of both, as stored; the base's without special and added tokens."""
        import torch

        known_V = self.base.known_V
        known_V = torch.ones(self.base.target_tokens).bool() if known_V is None else known_V.clone()
        known_V[sorted(self.apart)] = False
        return DonorRows(
            self.adapted.matrix(which), self.adapted.known_V, self.base.matrix(which), known_V
        )


def _width(model: ModelFolder) -> int:
    return model.tensors[model.vocabulary_tensors["input"]][1][1]


def kept_tokens(vocabularies: Vocabularies) -> torch.Tensor:
    """Return the target ids of tokens that are special or added in both vocabularies, ascending."""
    import torch

    shared = vocabularies.intersection
    both = vocabularies.source_tokenizer, vocabularies.target_tokenizer
    source, target = map(special_and_added, both)
    pairs = zip(shared.source_ids.tolist(), shared.target_ids.tolist(), strict=True)
    return torch.tensor(sorted(t for s, t in pairs if s in source and t in target)).long()
