"""Extend: the base's vocabulary, every id as it was, and new tokens after it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import model_validator

from revocab.limits import Positive, Size
from revocab.tokenizer_building.construction import BuildInputs, Built, ChangeOptions, Construction


class ExtendOptions(ChangeOptions):
    """How many new tokens: exactly one of ``add``, ``add_share``, ``size``."""

    #: Number of new tokens; all: everything that the donor has and the base has not.
    add: Size | Literal["all"] | None = None
    #: New tokens as a share of the base's size: 1.0 doubles it.
    add_share: Positive | None = None
    #: Size of the result.
    size: Size | None = None

    @model_validator(mode="after")
    def _one_number(self) -> ExtendOptions:
        stated = [name for name in ("add", "add_share", "size") if getattr(self, name) is not None]
        if len(stated) != 1:
            received = ", ".join(stated) or "none"
            raise ValueError(
                f"exactly one of add, add_share, size must be given, received {received}"
            )
        if self.donor is None and self.add == "all":
            raise ValueError("add: all needs a donor; without one give a number")
        return self


def wanted(options: Any, base_size: int) -> int | None:
    from revocab.errors import RevocabError

    if options.add == "all":
        return None
    if options.size is not None:
        number = options.size - base_size
        if number < 1:
            raise RevocabError(
                f"construction 'extend', option size = {options.size}: the base has {base_size}"
                " tokens already; give more, or use replace or optimise"
            )
        return number
    return options.add if options.add is not None else max(1, round(options.add_share * base_size))


def build(inputs: BuildInputs, options: Any) -> Built:
    from revocab.tokenizer_building.expansion import Change

    change = Change.read(inputs, options)
    growth = change.expand(change.base, wanted(options, len(change.base)))
    return change.built(growth, [])


CONSTRUCTION = Construction(
    name="extend",
    summary="the base and new tokens after it; no id changes",
    citation="Cui et al. 2023, Efficient and Effective Text Encoding for Chinese LLaMA and Alpaca; "
    "Gosal et al. 2024, Bilingual Adaptation of Monolingual Foundation Models (extend); "
    "Tikhomirov & Chernyshev 2024, Facilitating Large Language Model Russian Adaptation with "
    "Learned Embedding Propagation (Extended)",
    options=ExtendOptions,
    build=build,
)
