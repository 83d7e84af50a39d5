"""Whether two engines wrote the same text for the same prompts, and where they did not."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from revocab.errors import RevocabError
from revocab.io import read_jsonl

#: What must agree for two outputs to be the same.
COMPARED = ("output", "output_tokens", "finish_reason")


@dataclass(frozen=True)
class EngineAgreement:
    """How many outputs were compared, and those that differ."""

    rows: int
    differences: list[dict[str, Any]]

    @property
    def equal(self) -> int:
        """Return the number of equal outputs."""
        return self.rows - len(self.differences)

    @property
    def share(self) -> float:
        """Return the share of equal outputs."""
        return self.equal / self.rows


def compare_outputs(first: Path, second: Path) -> EngineAgreement:
    """Compare the ``step-*/<task>.jsonl`` of two folders of generate_text, row by row.

    Raises :class:`RevocabError` where they do not hold the same files, rows and prompts: then there
    is nothing to compare.
    """
    names = [
        {str(path.relative_to(folder)) for path in folder.glob("step-*/*.jsonl")}
        for folder in (first, second)
    ]
    if names[0] != names[1] or not names[0]:
        odd = ", ".join(sorted(names[0] ^ names[1])) or "no step-*/*.jsonl in either"
        raise RevocabError(f"{first} and {second}: not the same outputs ({odd})")
    rows, differences = 0, []
    for name in sorted(names[0]):
        ours, theirs = (list(read_jsonl(folder / name)) for folder in (first, second))
        if len(ours) != len(theirs):
            raise RevocabError(f"{name}: {len(ours)} rows and {len(theirs)}; generate again")
        for number, (one, other) in enumerate(zip(ours, theirs, strict=True), 1):
            if one["prompt"] != other["prompt"]:
                raise RevocabError(f"{name}, row {number}: the prompts differ; generate again")
            rows += 1
            if any(one[key] != other[key] for key in COMPARED):
                differences.append(difference(name, one, other))
    return EngineAgreement(rows, differences)


def difference(name: str, one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return what differs between two outputs, and from which character on."""
    pairs = zip(one["output"], other["output"], strict=False)
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return {
        "file": name,
        "id": one["id"],
        "from_character": common,
        "first": {key: one[key] for key in COMPARED},
        "second": {key: other[key] for key in COMPARED},
    }
