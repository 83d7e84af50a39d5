"""Bring a model here: a snapshot of a Hub repository, or a copy of a local folder."""

from __future__ import annotations

from pathlib import Path

from revocab.errors import RevocabError
from revocab.io import atomic_folder, sha256, write_json
from revocab.models.folder import (
    INDEX,
    TOKENIZER_FILES,
    ModelFolder,
    copy_documents,
    link_or_copy,
)

#: No pickles, no code. Some repositories hold a second copy of the weights in another layout.
_ALLOW = ["*.safetensors", "*.json", "*.jinja", "*.txt", "*.model", "README.md", "LICENSE*"]
_IGNORE = ["consolidated*", "original/*", "*/*"]


def _from_hub(hub: str, revision: str | None, out: Path) -> str:
    """Download a snapshot (partial downloads continue); return the commit that was taken."""
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import (
        HfHubHTTPError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
    )

    try:
        commit = HfApi().model_info(hub, revision=revision).sha
        snapshot_download(
            hub, revision=commit, local_dir=out, allow_patterns=_ALLOW, ignore_patterns=_IGNORE
        )
    except RepositoryNotFoundError:
        raise RevocabError(
            f"model {hub!r}: not on the Hub, or private; check the id, accept its terms on the "
            "site if it is gated, and log in with 'hf auth login'"
        ) from None
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        reason = str(error).strip().split("\n")[0]
        raise RevocabError(
            f"model {hub!r}, revision {revision or 'main'}: cannot be fetched ({reason}); check "
            "the network, the revision and your access, then run again: it continues"
        ) from None
    return commit


def _from_folder(path: Path, out: Path) -> None:
    """Copy a local model folder: small files copied, weights hard-linked where possible."""
    source = ModelFolder(path)
    with atomic_folder(out) as folder:
        copy_documents(source, folder)
        for name in (*source.files, INDEX):
            if (path / name).is_file():
                link_or_copy(path / name, folder / name)


def fetch_model(
    snapshot: Path, *, hub: str | None, revision: str | None, path: Path | None
) -> None:
    """Fill ``snapshot``, then write ``manifest.json`` beside it; refuse what is not safetensors."""
    origin: dict[str, str | None]
    if path is not None:
        _from_folder(path, snapshot)
        origin = {"path": path.name}
    else:
        origin = {"hub": hub, "commit": _from_hub(hub, revision, snapshot)}
    model = ModelFolder(snapshot)
    missing = sorted(name for name in model.files if not (snapshot / name).is_file())
    if missing:
        raise RevocabError(f"{snapshot}: {', '.join(missing)} did not arrive; run again")
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
