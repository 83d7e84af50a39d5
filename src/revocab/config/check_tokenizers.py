"""Checks on tokenizers that are built from others: what they refer to, and that this ends."""

from __future__ import annotations

from collections.abc import Iterator

from revocab.config.lineage import first_cycle
from revocab.config.schema import Experiment


def tokenizer_references(experiment: Experiment) -> list[tuple[str, str, str]]:
    """Return the (key, id, kind of thing) that the tokenizers refer to."""
    used = []
    for name, tokenizer in experiment.tokenizers.items():
        built, options = tokenizer.construction()
        key = f"tokenizers.{name}.{built}"
        for option, mixture in options.given_mixtures():
            used += [(f"{key}.{option}", corpus, "corpus") for corpus in mixture]
        used += [
            (f"{key}.{option}", other, "tokenizer") for option, other in options.given_tokenizers()
        ]
    return used


def check_tokenizers(experiment: Experiment) -> Iterator[str]:
    """Yield a problem for every tokenizer that is built, over others or not, from itself."""
    built_from = {
        name: [other for _, other in tokenizer.construction()[1].given_tokenizers()]
        for name, tokenizer in experiment.tokenizers.items()
    }
    reported: set[str] = set()
    for name in built_from:
        path = first_cycle(built_from, name)
        if path and not reported & set(path):
            reported |= set(path)
            yield (
                f"tokenizers.{name}: built from itself ({' from '.join(path)}); give one of them"
                " another base or donor"
            )
