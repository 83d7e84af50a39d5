"""Checks on tokenizers that are built from others: what they refer to, and that this ends."""

from __future__ import annotations

from collections.abc import Iterator

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
        path = _cycle(name, built_from)
        if path and not reported & set(path):
            reported |= set(path)
            yield (
                f"tokenizers.{name}: built from itself ({' from '.join(path)}); give one of them"
                " another base or donor"
            )


def _cycle(name: str, built_from: dict[str, list[str]]) -> list[str]:
    """Return the way from ``name`` back to itself, [] if there is none."""
    waiting = [[name]]
    seen: set[str] = set()
    while waiting:
        path = waiting.pop()
        for other in built_from.get(path[-1], ()):
            if other == name:
                return [*path, other]
            if other not in seen:
                seen.add(other)
                waiting.append([*path, other])
    return []
