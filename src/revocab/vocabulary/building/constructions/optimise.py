"""Optimise and replace: the base without the tokens that cover the corpus worst, and new ones."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any, Literal

from pydantic import Field, field_validator

from revocab.errors import RevocabError
from revocab.limits import Positive, Size
from revocab.vocabulary.building.construction import BuildInputs, Built, Construction, DropOptions
from revocab.vocabulary.building.editable import EditableVocabulary
from revocab.vocabulary.building.expansion import Change


class OptimiseOptions(DropOptions):
    """How much of the base is kept, and the size of the result."""

    keep: Positive = Field(
        default=0.5,
        description="how much of the base is kept, special and byte tokens included: a share of its"
        " tokens (below 1), or their number",
    )
    size: Size | Literal["all", "kept"] | None = Field(
        default=None,
        description="size of the result; default: the base's; all: everything that the donor has;"
        " kept: nothing is added, the base is only shrunk",
    )
    keep_by: Literal["use", "id"] = Field(
        default="use",
        exclude_if=lambda value: value == "use",
        description="which of the base's tokens are kept: those that count_corpora use most, or the"
        " lowest ids, in BPE the first merges of the base's own training (as LEP's release cuts"
        " Llama-3's)",
    )

    @field_validator("keep")
    @classmethod
    def _share_or_number(cls, keep: float) -> float:
        if keep >= 1 and keep != int(keep):
            raise ValueError("keep is a share below 1 or a whole number")
        return keep

    def conflict(self, inputs: Mapping[str, Any]) -> str | None:
        if self.size == "all" and "donor" not in inputs:
            return "size: all needs a donor; without one give a number"
        return super().conflict(inputs)


def number_kept(keep: float, base_size: int) -> int:
    return int(keep) if keep >= 1 else round(keep * base_size)


def tokens_dropped(base: EditableVocabulary, keep: int, counts: Mapping[str, int]) -> list[str]:
    return list(islice(base.dropping_order(counts), max(0, len(base) - keep)))


def build_optimised(inputs: BuildInputs, options: Any) -> Built:
    """Return a tokenizer whose ids are the kept tokens in the base's order, then the new ones."""
    change = Change.read(inputs, options)
    base = change.base
    keep = number_kept(options.keep, len(base))
    size = {None: len(base), "kept": keep}.get(options.size, options.size)
    problems = []
    if keep > len(base):
        problems.append(f"option keep = {keep}: the base has {len(base)} tokens; keep fewer")
    if size != "all" and size < keep:
        problems.append(f"option size = {size}: {keep} tokens are kept; raise size or lower keep")
    counts = change.base_counts if options.keep_by == "use" else {}
    dropped = tokens_dropped(base, keep, counts)
    if len(dropped) < len(base) - keep:
        problems.append(
            f"option keep = {options.keep:g}: {keep} tokens, but at least"
            f" {len(base) - len(dropped)} must stay (special and byte tokens); keep more"
        )
    if problems:
        raise RevocabError(f"construction 'optimise', {problem}" for problem in problems)
    rest = base.without(dropped).renumbered()
    wanted = None if size == "all" else size - keep
    return change.built(change.expand(rest, wanted, frozenset(dropped)), dropped)


class ReplaceOptions(DropOptions):
    """How much is replaced."""

    share: float = Field(gt=0, lt=1, description="share of the base's tokens to replace")


def build_replaced(inputs: BuildInputs, options: Any) -> Built:
    """Return a tokenizer of the base's size; kept tokens keep their ids, new ones take the rest."""
    change = Change.read(inputs, options)
    base = change.base
    number = max(1, round(options.share * len(base)))
    dropped = list(islice(base.dropping_order(change.base_counts), number))
    if len(dropped) < number:
        raise RevocabError(
            f"construction 'replace', option share = {options.share}: {number} of {len(base)}"
            f" tokens, but only {len(dropped)} may go (special and byte tokens stay); lower it"
        )
    growth = change.expand(base.without(dropped), number, frozenset(dropped))
    return change.built(growth, dropped)


CONSTRUCTION = (
    Construction(
        name="optimise",
        summary="the base's tokens that cover the corpus best, renumbered in order, then new ones",
        citation="Tikhomirov & Chernyshev 2024, Facilitating Large Language Model Russian"
        " Adaptation with Learned Embedding Propagation (Optimized: the 50 % most common tokens,"
        " then extension)",
        options=OptimiseOptions,
        build=build_optimised,
    ),
    Construction(
        name="replace",
        summary="the least frequent tokens of the base give their ids to new ones; the size stays",
        citation="Gosal et al. 2024, Bilingual Adaptation of Monolingual Foundation Models, section"
        " 3.1 (replacement of 5 % and 30 % of Llama-2's tokens)",
        options=ReplaceOptions,
        build=build_replaced,
    ),
)
