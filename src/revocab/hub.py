"""What is taken from the Hugging Face Hub: at which commit, and which files of a data set."""

from __future__ import annotations

import functools
import re
import sys
from pathlib import Path
from typing import Any, Literal

from revocab.corpora.formats import content_of
from revocab.errors import RevocabError
from revocab.hub_errors import explain

Kind = Literal["model", "dataset"]
COMMIT = re.compile(r"[0-9a-f]{40}")
#: What `datasets` calls the contents of files.
BUILDERS = {"jsonl": "json", "text": "text", "parquet": "parquet"}


@functools.cache
def resolve(repository: str, revision: str | None, kind: Kind) -> dict[str, Any]:
    """Return a repository's id, the revision asked for, its commit, and whether that was pinned.

    A branch, a tag or nothing is allowed, with a note on stderr: it names another commit tomorrow.
    Raises :class:`RevocabError` where the repository or revision is missing, or may not be read.
    """
    from huggingface_hub import HfApi

    api = HfApi()
    commit = cached_commit(repository, revision, kind) if offline() else None
    try:
        if commit is None:
            info = api.repo_info(repository, revision=revision, repo_type=kind)
            commit = info.sha
            if info.gated:  # what a repository is may be seen without access; its files may not
                api.auth_check(repository, repo_type=kind)
    # The client raises many unrelated types: all mean that it cannot be had.
    except Exception as error:
        raise RevocabError(explain(error, repository, kind)) from error
    pinned = bool(revision and COMMIT.fullmatch(revision))
    if not pinned:
        asked = revision or "main"
        print(
            f"{kind} {repository!r}: using commit {commit}, which {asked!r} currently refers to; "
            f"pin it with 'revision: {commit}'",
            file=sys.stderr,
        )
    return {"hub": repository, "revision": revision, "commit": commit, "pinned": pinned}


def offline() -> bool:
    from huggingface_hub import constants

    return constants.HF_HUB_OFFLINE


def cached_commit(repository: str, revision: str | None, kind: Kind) -> str | None:
    """Return the commit that a revision named when it was last fetched, or None."""
    from huggingface_hub import constants

    if revision and COMMIT.fullmatch(revision):
        return revision
    folder = Path(constants.HF_HUB_CACHE) / f"{kind}s--{repository.replace('/', '--')}"
    path = folder / "refs" / (revision or "main")
    return path.read_text(encoding="utf-8").strip() if path.is_file() else None


def place_of(repository: str, commit: str) -> str:
    """Return where the files of a data set lie: on the Hub or, offline, in its cache.

    Raises huggingface_hub's ``LocalEntryNotFoundError`` where they lie in neither.
    """
    from huggingface_hub import snapshot_download

    if not offline():
        return f"hf://datasets/{repository}@{commit}"
    return snapshot_download(repository, revision=commit, repo_type="dataset")


def asked_of_datasets(origin: dict[str, Any], name: str | None, split: str) -> dict[str, Any]:
    """Return what `datasets` is asked for: a configuration by name, or files where it has no way.

    It has none on the branch to which the Hub converts loading scripts (``refs/convert/parquet``: a
    folder per configuration and split, and no card that names them), and where Parquet files lie
    beside a loading script, for whose sake it refuses the repository.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import LocalEntryNotFoundError

    repository, commit = origin["hub"], origin["commit"]
    by_name = {"path": repository, "name": name, "revision": commit}
    configuration = name or "default"
    folder, script = f"{configuration}/{split}", f"{repository.split('/')[-1]}.py"
    asked = ["README.md", script, configuration, folder]
    try:
        place = place_of(repository, commit)
    except LocalEntryNotFoundError:  # what `datasets` itself keeps may have it
        return by_name
    if offline():
        there = {path for path in asked if Path(place, path).exists()}
        if "README.md" in there:
            by_name = {"path": place, "name": name}
    else:
        listed = HfApi().get_paths_info(repository, asked, revision=commit, repo_type="dataset")
        there = {file.path for file in listed}
    if folder in there and "README.md" not in there:
        return {"path": "parquet", "data_files": {split: f"{place}/{folder}/*.parquet"}}
    if {configuration, script} <= there:
        return {"path": "parquet", "data_files": {split: f"{place}/{folder}-*.parquet"}}
    return by_name


def read_zstd() -> None:
    """Let fsspec, by which `datasets` streams, read ``.zst`` files with pyarrow's library.

    fsspec knows this compression only where a package is installed that nothing else here needs.
    """
    import pyarrow
    from fsspec.compression import compr, register_compression

    def opened(file: Any, **_: Any) -> Any:
        return pyarrow.CompressedInputStream(pyarrow.PythonFile(file), "zstd")

    if "zstd" not in compr:
        register_compression("zstd", opened, "zst")


def dataset_rows(
    origin: dict[str, Any],
    name: str | None,
    split: str,
    files: str | None = None,
    *,
    streaming: bool = False,
) -> Any:
    """Return one split of a data set that :func:`resolve` found; of ``files``, a pattern, if given.

    Raises :class:`RevocabError`, except for what goes wrong while a streamed data set is read.
    """
    from datasets import load_dataset

    try:
        if streaming:
            read_zstd()
        if files:  # whatever script lies beside them
            content, _ = content_of(Path(files)) or ("jsonl", None)
            place = f"{place_of(origin['hub'], origin['commit'])}/{files}"
            asked = {"path": BUILDERS[content], "data_files": {split: place}}
        else:
            asked = asked_of_datasets(origin, name, split)
        return load_dataset(**asked, split=split, streaming=streaming)
    except Exception as error:
        chosen = f" (files: {files!r})" if files else ""
        raise RevocabError(f"{explain(error, origin['hub'])}{chosen}") from error
