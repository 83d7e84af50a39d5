"""Lines of six languages and four scripts from the shared data folder, for proofs on real text."""

from __future__ import annotations

from itertools import chain, islice
from pathlib import Path

LANGUAGES = ("arb", "ell", "eng", "ita", "rus", "swa")


def lines_of_six_languages(shared_folder: Path, count: int = 10_000) -> list[str]:
    """Return lines of news (NTREX-128), a line of each language in turn."""
    folder = shared_folder / "data/mt/ntrex128"
    texts = [(folder / f"{name}.txt").read_text(encoding="utf-8").split("\n") for name in LANGUAGES]
    lines = [line for line in islice(chain.from_iterable(zip(*texts, strict=False)), count)]
    assert len(lines) == count, len(lines)
    return lines
