"""The Hub's cache as a machine without network has it, filled from folders.

They are laid out as ``ROOT/{models,datasets}/ORG/NAME/REF/…``, REF quoted as in an address
(``main``, ``refs%2Fconvert%2Fparquet``). The commit of a REF is a hash of its contents, or the REF
itself where that is a commit.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote

import pytest

from revocab.io import sha256


def commit_of(ref: Path) -> str:
    """Return the commit that a folder of a repository's contents stands for."""
    if re.fullmatch(r"[0-9a-f]{40}", ref.name):
        return ref.name
    files = sorted(path for path in ref.rglob("*") if path.is_file())
    text = "\n".join(f"{sha256(path)} {path.relative_to(ref)}" for path in files)
    return hashlib.sha1(f"{ref.parent.name}\n{text}".encode()).hexdigest()


def fill_cache(root: Path, home: Path) -> None:
    """Write what lies below ``root`` as ``huggingface_hub`` and ``datasets`` keep it in HF_HOME."""
    for ref in sorted(path for path in root.glob("*/*/*/*") if path.is_dir()):
        kind, *name = ref.relative_to(root).parts[:-1]
        repository, commit = home / "hub" / "--".join([kind, *name]), commit_of(ref)
        snapshot = repository / "snapshots" / commit
        for path in filter(Path.is_file, ref.rglob("*")):
            blob, place = repository / "blobs" / sha256(path), snapshot / path.relative_to(ref)
            for folder in (blob.parent, place.parent):
                folder.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, blob)
            place.symlink_to(os.path.relpath(blob, place.parent))
        named = repository / "refs" / unquote(ref.name)
        named.parent.mkdir(parents=True, exist_ok=True)
        named.write_text(commit, encoding="utf-8")
        card = snapshot / "README.md"
        if ref.name == "main" and card.is_file() and "\nconfigs:" in card.read_text("utf-8"):
            prepare_rows(snapshot, "/".join(name), home / "datasets")


def prepare_rows(snapshot: Path, name: str, out: Path) -> None:
    """Write what ``datasets`` keeps of the configurations of a data set that it has loaded."""
    from datasets.load import dataset_module_factory, get_dataset_builder_class
    from datasets.naming import camelcase_to_snakecase

    module = dataset_module_factory(str(snapshot))
    owner, _, last = name.partition("/")
    folder = camelcase_to_snakecase(last)
    for configuration in module.builder_configs_parameters.builder_configs:
        builder = get_dataset_builder_class(module, dataset_name=last)(
            cache_dir=str(out), dataset_name=last, hash=snapshot.name,
            config_name=configuration.name, base_path=str(snapshot),
        )  # fmt: skip
        builder.download_and_prepare()
    (out / folder).rename(out / f"{owner}___{folder}")


@contextmanager
def offline(root: Path, home: Path) -> Iterator[Path]:
    """Have this process find the repositories below ``root`` in the cache ``home``, and no network.

    Yields the cache's folder of repositories.
    """
    import datasets.config
    from huggingface_hub import constants

    from revocab.hub import resolve

    fill_cache(root, home)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(constants, "HF_HUB_OFFLINE", True)
        patch.setattr(constants, "HF_HUB_CACHE", str(home / "hub"))
        patch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
        patch.setattr(datasets.config, "HF_DATASETS_CACHE", home / "datasets")
        resolve.cache_clear()
        yield home / "hub"
        resolve.cache_clear()
