"""What an exported checkpoint says of itself: ``provenance.json`` and the card made of it.

Its history begins with the base model and has an entry for every vocabulary and every training
since. Nothing in it is a time, a machine or a path: equal trainings have equal bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from revocab.languages import language_label
from revocab.models import origin
from revocab.training.records import COLUMNS, HELDOUT

CARD = "README.md"
TRAINING = "Training"
#: What a card says of the rows of a corpus.
COUNTED = ("rows", "tokens", "bytes", "documents", "passes")


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


def card(history: list[dict[str, Any]], licence: Mapping[str, str]) -> str:
    training = history[-1]
    base = origin.first_name(history) or training["model"]
    languages = training["text"]["languages"]
    head = {
        "base_model": origin.first_id(history),
        "base_model_relation": "finetune",
        "language": languages,
        **licence,
        "tags": ["vocabulary-adaptation", "revocab"],
        "model-index": _model_index(base, training["heldout"]),
    }
    lines = [
        *origin.front_matter(head),
        f"# {base}, trained with Revocab: step {training['step']:,}",
        "",
        "## Held-out loss",
        "",
        *_losses(training["heldout"]),
        "",
        "## How it was made",
        "",
    ]
    for number, entry in enumerate(history, 1):
        lines.append(f"{number}. **{entry.get('what', 'Model')}**")
        lines += [f"   - {key}: {value}" for key, value in _summary(entry)]
    lines += [
        "",
        f"`{origin.PROVENANCE}` has all of it as data, with the SHA-256 of every input.",
    ]
    return "\n".join(lines) + "\n"


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


def _losses(rows: list[dict[str, Any]]) -> list[str]:
    if not rows:
        return ["None was measured."]
    return [
        "| text | language | bits per byte | bytes |",
        "| --- | --- | ---: | ---: |",
        *(
            f"| {row['corpus']} | {language_label(row['language'])} | {row['bits_per_byte']:.4f} |"
            f" {row['bytes']:,} |"
            for row in rows
        ),
    ]


def _summary(entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what a card says of an entry; hashes inside others are left to the data."""
    if entry.get("what") == TRAINING:
        yield from _of_training(entry)
        return
    names = entry.get("names")
    for key, value in (names if isinstance(names, dict) else {}).items():
        yield key.replace("_", " "), str(value)
    for key in ("name", "method", "change", "options", "architecture", "seed"):
        if entry.get(key) not in (None, {}):
            yield key, _plain(entry[key])
    counts = entry.get("counts")
    if isinstance(counts, dict) and "overlap" in counts:
        yield (
            "tokens",
            f"{counts['target_tokens']:,}, of which {counts['overlap']:,} are shared with the"
            f" {counts['source_tokens']:,} of the source (anchors) and {counts['missing']:,} new",
        )
    for key in ("source", "body"):
        made_of = entry.get(key)
        if isinstance(made_of, dict) and "config.json" in made_of:
            yield f"SHA-256 of the {key}'s config.json", str(made_of["config.json"])
    if "target_tokenizer" in entry:
        yield "SHA-256 of tokenizer.json", str(entry["target_tokenizer"])
    yield from _versions(entry)


def _of_training(entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "trained", entry["model"]
    yield "steps", f"{entry['step']:,} of {entry['recipe']['steps']:,}"
    yield "tokens", f"{entry['tokens']:,} in rows of {entry['sequence_length']:,}"
    for corpus, counts in entry["text"]["corpora"].items():
        sizes = (f"{counts[key]:,} {key}" for key in COUNTED if key in counts)
        yield f"text `{corpus}`", f"{', '.join(sizes)} over the whole recipe"
    recipe = {key: value for key, value in entry["recipe"].items() if key != "steps"}
    yield "recipe", _plain(recipe)
    for file, digest in entry["inputs"]["model"].items():
        yield f"SHA-256 of the trained model's {file}", digest
    yield "SHA-256 of the packed rows", entry["inputs"]["packed"]
    yield from _versions(entry)


def _versions(entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    libraries = entry.get("libraries")
    if isinstance(libraries, dict):
        yield "versions", ", ".join(f"{name} {number}" for name, number in libraries.items())


def _plain(value: Any) -> str:
    """Return a value as one line of Markdown code, or as it is if it is a word or number."""
    if isinstance(value, dict | list):
        return f"`{json.dumps(value, ensure_ascii=False)}`"
    return str(value)
