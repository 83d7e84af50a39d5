"""What a model or tokenizer folder says about its origin, name and licence, and what it is: hashes.

Nothing here is a path of one machine or a time: what is written with it may be published.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from revocab.errors import RevocabError
from revocab.io import read_json, sha256
from revocab.models.folder import ModelFolder
from revocab.models.weights import BLOCK_BYTES

HUB_ID = re.compile(r"[\w-][\w.-]*/[\w.-]+")
NAME = re.compile(r"[^/\\\n]+")
#: Folders of our own layout whose names say nothing about what they hold.
UNTELLING = re.compile(r"snapshot|untrained|init|checkpoints|(step|checkpoint)-\d+")
PROVENANCE = "provenance.json"
#: What a folder's manifest says where it was made here, and how its card calls that.
MADE = {"method": "New vocabulary", "change": "Changed model", "architecture": "Random weights"}
#: The key of a provenance under which the history of the source stands.
BEFORE = "before"
#: What a card may say of a licence; ``other`` has a name and an address of its own.
LICENCE = ("license", "license_name", "license_link")


def hub_id(folder: Path) -> str | None:
    folder = _absolute(folder)
    # A snapshot in the Hub's cache: models--OWNER--NAME/snapshots/COMMIT.
    *_, repository, snapshots, _commit = ("", "", *folder.parts)
    if snapshots == "snapshots" and repository.startswith("models--"):
        return repository.removeprefix("models--").replace("--", "/")
    if fetched := _fetched(folder, "hub"):
        return fetched
    # What the configuration of some models names; a path of some machine is no name.
    name = _object(folder / "config.json").get("_name_or_path")
    if isinstance(name, str) and HUB_ID.fullmatch(name) and not Path(name).exists():
        return name
    return None


def name_of(folder: Path) -> str:
    """Return a folder's Hub id or, where it has none, what it or its original is called."""
    folder = _absolute(folder)
    if known := hub_id(folder) or _fetched(folder, "path"):
        return known
    names = [part for part in folder.parts[1:] if not UNTELLING.fullmatch(part)]
    return names[-1] if names else "model"


def _absolute(folder: Path) -> Path:
    return Path(os.path.normpath(folder.absolute()))  # links stay: a cache may be one


def _fetched(folder: Path, key: Literal["hub", "path"]) -> str | None:
    beside = folder.parent if folder.name == "snapshot" else folder
    origin = _object(beside / "manifest.json").get(key)
    named = NAME if key == "path" else HUB_ID
    return origin if isinstance(origin, str) and named.fullmatch(origin) else None


def base_id(folder: Path) -> str | None:
    """Return the Hub id of a folder or, where it has none, of the model that it came from."""
    return hub_id(folder) or first_id(history_of(folder))


def first_id(history: list[dict[str, Any]]) -> str | None:
    name = first_name(history)
    return name if name and HUB_ID.fullmatch(name) else None


def first_name(history: list[dict[str, Any]]) -> str | None:
    first = history[0] if history else {}
    names = first.get("names")
    name = first.get("name") or (names.get("source") if isinstance(names, dict) else None)
    return name if isinstance(name, str) else None


def card_metadata(folder: Path) -> dict[str, Any]:
    """Return what stands at the head of a folder's card; nothing where it cannot be read."""
    import yaml
    from huggingface_hub import metadata_load

    with suppress(OSError, ValueError, yaml.YAMLError):
        metadata: Any = metadata_load(folder / "README.md")
        return metadata if isinstance(metadata, dict) else {}
    return {}


def licence_of(folder: Path) -> dict[str, str]:
    metadata = card_metadata(folder)
    if not isinstance(metadata.get("license"), str):
        return {}
    return {key: metadata[key] for key in LICENCE if isinstance(metadata.get(key), str)}


def front_matter(known: Mapping[str, Any]) -> list[str]:
    """Return the lines at the head of a card, which the Hub reads, of what is known."""
    import yaml

    head = {"library_name": "transformers", "pipeline_tag": "text-generation", **known}
    if not head.get("base_model"):
        head.pop("base_model_relation", None)
    known = {key: value for key, value in head.items() if value}
    return ["---", yaml.safe_dump(known, sort_keys=False, allow_unicode=True).rstrip(), "---", ""]


def card(
    kind: str, model: Path, facts: Mapping[str, Any], head: Mapping[str, Any] | None = None
) -> str:
    """Return the README of a model that was made of the folder ``model``: ``cards/KIND.md.j2``.

    ``head``: what its first lines say otherwise than usual (:func:`front_matter`).
    """
    from jinja2 import ChainableUndefined, Environment, FileSystemLoader

    licence = licence_of(model)
    known = {
        "base_model": base_id(model),
        "base_model_relation": "finetune",
        "language": card_metadata(model).get("language"),
        **licence,
        "tags": ["vocabulary-adaptation", "revocab"],
        **(head or {}),
    }
    jinja = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "cards"), undefined=ChainableUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    template = jinja.get_template(f"{kind}.md.j2")
    values = {"name": name_of(model), "licence": licence, "head": "\n".join(front_matter(known))}
    return template.render({**values, **facts}) + "\n"


def history_of(folder: Path) -> list[dict[str, Any]]:
    """Return how a model came about, as its folder says, the oldest entry first; else its name."""
    for name in (PROVENANCE, "manifest.json"):
        known = _object(folder / name)
        if isinstance(history := known.get("history"), list):
            return [entry for entry in history if isinstance(entry, dict)]
        if heading := next((heading for key, heading in MADE.items() if key in known), None):
            before = known.pop(BEFORE, None)
            entries = [entry for entry in before or () if isinstance(entry, dict)]
            return [*entries, {"what": heading, **known}]
    return [{"what": "Base model", "name": name_of(folder), "hub": hub_id(folder)}]


def _object(path: Path) -> dict[str, Any]:
    with suppress(OSError, RevocabError):
        content = read_json(path)
        return content if isinstance(content, dict) else {}
    return {}


def library_versions() -> dict[str, str]:
    return {name: version(name) for name in ("revocab", "safetensors", "torch", "transformers")}


def tokenizer_hash(folder: Path) -> str:
    return sha256(folder / "tokenizer.json")


def fingerprint(model: ModelFolder, tokenizer: Path) -> dict[str, Any]:
    """Return the hashes of configuration, matrices and tokenizer: of what initialisation reads."""
    matrices = {}
    for which, name in model.vocabulary_names.items():
        digest = hashlib.sha256()
        for block in model.parts[model.tensors[name][0]][name].blocks(BLOCK_BYTES):
            digest.update(block)
        matrices[which] = digest.hexdigest()
    return {
        "config.json": sha256(model.path / "config.json"),
        "matrices": matrices,
        "tokenizer.json": tokenizer_hash(tokenizer),
    }
