"""Bring a model here: a snapshot of a Hub repository, or a copy of a local folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from revocab.errors import RevocabError
from revocab.hub import resolve
from revocab.hub_errors import explain
from revocab.io import atomic_folder, sha256, write_json
from revocab.models.folder import TOKENIZER_FILES, ModelFolder, copy_documents
from revocab.models.links import link_or_copy
from revocab.models.shard_index import INDEX

#: No pickles, no code. Some repositories hold a second copy of the weights in another layout.
_ALLOW = ["*.safetensors", "*.json", "*.jinja", "*.txt", "*.model", "README.md", "LICENSE*"]
_IGNORE = ["consolidated*", "original/*", "*/*"]


def _from_hub(hub: str, revision: str | None, out: Path) -> dict[str, Any]:
    """Download a snapshot (partial downloads continue); return what was taken."""
    from huggingface_hub import snapshot_download

    origin = resolve(hub, revision, "model")
    try:
        snapshot_download(
            hub,
            revision=origin["commit"],
            local_dir=out,
            allow_patterns=_ALLOW,
            ignore_patterns=_IGNORE,
        )
    # The client raises many unrelated types: all mean that the files did not all arrive.
    except Exception as error:
        reason = explain(error, hub, "model")
        raise RevocabError(f"{reason}; run again: what has arrived is kept") from error
    return origin


def _from_folder(path: Path, out: Path) -> None:
    """Copy a local model folder: small files copied, weights hard-linked where possible."""
    source = ModelFolder(path)
    _ = source.tensors  # raises where shards are missing, damaged, or not those of the index
    with atomic_folder(out) as folder:
        copy_documents(source, folder)
        for name in (*source.files, *([INDEX] if source.index is not None else [])):
            link_or_copy(path / name, folder / name)


def fetch_model(
    snapshot: Path, *, hub: str | None, revision: str | None, path: Path | None
) -> None:
    """Fill ``snapshot``, then write ``manifest.json`` beside it; refuse what is not safetensors.

    Raises :class:`RevocabError` for all that :class:`ModelFolder` refuses, for weights that are
    damaged or did not all arrive, and for a model without a tokenizer.
    """
    origin: dict[str, Any]
    if path is not None:
        _from_folder(path, snapshot)
        origin = {"path": path.name}
    else:
        origin = _from_hub(hub, revision, snapshot)
    model = ModelFolder(snapshot)
    missing = sorted(name for name in model.files if not (snapshot / name).is_file())
    if missing:
        raise RevocabError(f"{snapshot}: {', '.join(missing)} did not arrive; run again")
    _ = model.tensors  # raises where shards are damaged, or not those of the index
    if not any((snapshot / name).is_file() for name in TOKENIZER_FILES):
        raise RevocabError(f"{snapshot}: the model comes without a tokenizer; choose another one")
    write_json(
        snapshot.parent / "manifest.json",
        {
            **origin,
            "config": sha256(snapshot / "config.json"),
            "files": {name: (snapshot / name).stat().st_size for name in model.files},
        },
    )
