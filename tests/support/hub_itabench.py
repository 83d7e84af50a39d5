"""ITA-Bench's data sets for the Hub's cache, laid out as the real ones.

The layout is that of their cards and file listings on https://huggingface.co/sapienzanlp: a JSON
Lines file per split in the repository's root, named by configurations in the card; both languages
in every row, under the names that https://github.com/SapienzaNLP/ita-bench reads
(``tasks/translations/*/utils.py``). The numbers of items are real, too: ``config/sava.yaml`` has
them checked. The contents are made by the demo's generator: the two sides of a row have one label,
but do not say the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import hub_content

from revocab.demoworld.items import family_items
from revocab.io import write_jsonl

Row = dict[str, Any]
LANGUAGES = {"it": "_translation", "en": ""}
#: Items made of each family; longer splits repeat them.
MADE = 40
#: Items of PIQA since the translations of 1 October 2024.
PIQA_OF_TODAY = 1713


@dataclass(frozen=True)
class DataSet:
    """A family's repository: configuration, beginning of the file's name, the split scored."""

    repository: str
    configuration: str
    file: str
    split: str
    items: int | None = None


DATA_SETS = {
    "hellaswag": DataSet("hellaswag_italian", "all", "hellaswag", "validation"),
    "mmlu": DataSet("mmlu_italian", "default", "mmlu", "test"),
    "arc_easy": DataSet("arc_italian", "arc_easy", "arc_easy", "test", 2322),
    "piqa": DataSet("piqa_italian", "default", "piqa", "validation", 1615),
    "sciq": DataSet("sciq_italian", "default", "sciq", "test", 958),
    "boolq": DataSet("boolq_italian", "default", "boolq", "validation", 3270),
}


def side(row: Row, ending: str) -> Row:
    """Return what a row says in one language, under the names of that side."""
    return {
        f"input{ending}": row.get("question") or row["context"],
        f"choices{ending}": row["choices"],
    }


def metadata(rows: dict[str, Row]) -> Row:
    found: Row = {"category": "question"}
    for language, ending in LANGUAGES.items():
        found[f"passage{ending}"] = rows[language].get("context", "")
        found[f"activity_label{ending}"] = {"it": "Lavorare", "en": "Working"}[language]
    return found


def bilingual(world: Any, family: str, seed: int) -> Iterator[Row]:
    """Yield rows of a family without end, each of an Italian and an English item of one label."""
    italian, english = (
        family_items(world, family, one, MADE, seed, test=True) for one in LANGUAGES
    )
    by_label = defaultdict(list)
    for row in english:
        by_label[row["answer"]].append(row)
    of_label = {label: cycle(rows) for label, rows in by_label.items()}
    usable = [row for row in italian if row["answer"] in of_label]
    for number, row in enumerate(cycle(usable)):
        rows = {"it": row, "en": next(of_label[row["answer"]])}
        label = bool(row["answer"]) if family == "boolq" else row["answer"]
        made = {"id": f"{family}_{number}", "label": label, "metadata": metadata(rows)}
        for language, ending in LANGUAGES.items():
            made |= side(rows[language], ending)
        yield made


def mmlu_subjects() -> list[str]:
    from importlib.util import find_spec

    package = Path(next(iter(find_spec("lm_eval").submodule_search_locations)))
    folder = package / "tasks/mmlu/default"
    return sorted(path.stem.removeprefix("mmlu_") for path in folder.glob("mmlu_*.yaml"))


def data_set(
    folder: Path, of: DataSet, rows: Iterator[Row], items: int, subjects: list[str] | None = None
) -> None:
    file = f"{of.file}.{of.split}.json"
    hub_content.card(folder, {of.configuration: {of.split: file}})
    made = list(islice(rows, items * len(subjects or "1")))
    for number, row in enumerate(made if subjects else ()):
        row["metadata"] = {**row["metadata"], "subject": subjects[number % len(subjects)]}
    write_jsonl(folder / file, made)


def itabench(root: Path, world: Any, items: int, seed: int) -> None:
    """Write the six data sets of the paper; ``items`` where their number is not known."""
    for family, of in DATA_SETS.items():
        folder = root / "datasets/sapienzanlp" / of.repository / "main"
        subjects = mmlu_subjects() if family == "mmlu" else None
        data_set(folder, of, bilingual(world, family, seed), of.items or items, subjects)
