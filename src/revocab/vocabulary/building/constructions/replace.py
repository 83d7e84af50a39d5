"""Replace: the least frequent tokens of the base give their ids to new ones."""

from __future__ import annotations

from itertools import islice
from typing import Any

from pydantic import Field

from revocab.errors import RevocabError
from revocab.vocabulary.building.construction import BuildInputs, Built, Construction, DropOptions
from revocab.vocabulary.building.expansion import Change


class ReplaceOptions(DropOptions):
    """How much is replaced."""

    share: float = Field(gt=0, lt=1, description="share of the base's tokens to replace")


def build(inputs: BuildInputs, options: Any) -> Built:
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


CONSTRUCTION = Construction(
    name="replace",
    summary="the least frequent tokens of the base give their ids to new ones; the size stays",
    citation="Gosal et al. 2024, Bilingual Adaptation of Monolingual Foundation Models, section 3.1"
    " (replacement of 5 % and 30 % of Llama-2's tokens)",
    options=ReplaceOptions,
    build=build,
)
