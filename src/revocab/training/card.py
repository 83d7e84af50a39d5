"""What an exported checkpoint says of itself: ``provenance.json`` and the card made of it.

Its history begins with the base model and has an entry for every vocabulary and every training
since. Nothing in it is a time, a machine or a path: equal trainings have equal bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from revocab.languages import language_label
from revocab.models import origin
from revocab.training.records import COLUMNS, HELDOUT

CARD = "README.md"
TRAINING = "Training"
#: What a card says of the rows of a corpus.
COUNTED = ("rows", "tokens", "bytes", "documents", "passes")
#: What it says of an entry that is no training, where the entry has it.
DESCRIBED = ("name", "method", "change", "options", "architecture", "seed")
TEMPLATE = Path(__file__).with_name("card.md.j2")


def documents(
    model: Path,
    settings: Mapping[str, Any],
    packed: Mapping[str, Any],
    checksums: Mapping[str, Any],
    step: int,
    heldout: Iterable[tuple[Any, ...]],
) -> dict[str, str]:
    """Return the texts of a checkpoint's provenance and card, by the names of their files.

    ``model`` is what was trained, ``settings`` and ``packed`` are what the recipe and the manifest
    of the rows say, ``heldout`` rows of ``heldout.csv`` of this ``step``.
    """
    training = {
        "what": TRAINING,
        "model": origin.name_of(model),
        "step": step,
        "tokens": step * settings["batch_size"] * packed["sequence_length"],
        "sequence_length": packed["sequence_length"],
        "recipe": settings,
        "text": {"corpora": packed["corpora"], "languages": sorted(packed.get("languages", {}))},
        "heldout": [dict(zip(COLUMNS[HELDOUT], row, strict=True)) for row in heldout],
        "inputs": checksums,
        "libraries": origin.library_versions(),
    }
    history = [*origin.history_of(model), training]
    return {
        origin.PROVENANCE: json.dumps({"history": history}, indent=2, ensure_ascii=False) + "\n",
        CARD: card(history, origin.licence_of(model)),
    }


def without_steps(recipe: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in recipe.items() if key != "steps"}


def card(history: list[dict[str, Any]], licence: Mapping[str, str]) -> str:
    from jinja2 import Environment

    training = history[-1]
    base = origin.first_name(history) or training["model"]
    head = {
        "base_model": origin.first_id(history),
        "base_model_relation": "finetune",
        "language": training["text"]["languages"],
        **licence,
        "tags": ["vocabulary-adaptation", "revocab"],
        "model-index": _model_index(base, training["heldout"]),
    }
    environment = Environment(trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    environment.filters |= {
        "number": "{:,}".format,
        "language": language_label,
        "plain": _plain,
        "without_steps": without_steps,
    }
    return environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        head="\n".join(origin.front_matter(head)),
        base=base,
        training=training,
        history=history,
        counted=COUNTED,
        described=DESCRIBED,
        provenance=origin.PROVENANCE,
    )


def _model_index(name: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    from huggingface_hub import EvalResult
    from huggingface_hub.repocard_data import eval_results_to_model_index

    results = [
        EvalResult(
            task_type="text-generation",
            dataset_type=row["corpus"],
            dataset_name=f"{row['corpus']} (held out)",
            metric_type="bits_per_byte",
            metric_value=row["bits_per_byte"],
        )
        for row in rows
    ]
    return eval_results_to_model_index(name, results) if results else []


def _plain(value: Any) -> str:
    """Return a value as one line of Markdown code, or as it is if it is a word or number."""
    if isinstance(value, dict | list):
        return f"`{json.dumps(value, ensure_ascii=False)}`"
    return str(value)
