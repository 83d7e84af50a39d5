"""What is taken from the Hugging Face Hub: at which commit, and which files of a data set.

What goes wrong there is told with what to do: absent, gated, offline, a script.
"""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from revocab.corpora.formats import content_of
from revocab.errors import RevocabError

Kind = Literal["model", "dataset"]
COMMIT = re.compile(r"[0-9a-f]{40}")
#: What `datasets` calls the contents of files.
BUILDERS = {"jsonl": "json", "text": "text", "parquet": "parquet"}
#: Errors of a Hub that cannot be reached.
UNREACHABLE = frozenset(
    {"OfflineModeIsEnabled", "LocalEntryNotFoundError", "ConnectionError", "ConnectError"}
)
#: Errors of the layers below: `datasets`, the Hub's client, httpx and aiohttp under it.
LOST = frozenset(
    {"ConnectionError", "TransportError", "TimeoutError", "ClientError", "FSTimeoutError"}
)


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
            content = content_of(Path(files)) or "jsonl"
            place = f"{place_of(origin['hub'], origin['commit'])}/{files}"
            asked = {"path": BUILDERS[content], "data_files": {split: place}}
        else:
            asked = asked_of_datasets(origin, name, split)
        return load_dataset(**asked, split=split, streaming=streaming)
    except Exception as error:
        chosen = f" (files: {files!r})" if files else ""
        raise RevocabError(f"{explain(error, origin['hub'])}{chosen}") from error


# What went wrong -------------------------------------------------------------------------------


def chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def has_token() -> bool:
    from huggingface_hub import get_token

    return get_token() is not None


def explain(
    error: BaseException,
    repository: str,
    kind: Kind = "dataset",
    configuration: str | None = None,
    rows: int = 0,
) -> str:
    """Return one line on why ``repository`` could not be loaded, and the next step.

    ``kind`` is dataset or model, ``configuration`` that of a data set where one was asked for;
    ``rows`` have been streamed.
    """
    named = f"{kind} {repository!r}"
    if configuration is not None:
        named += f" (configuration {configuration!r})"
    errors = list(chain(error))
    names = {base.__name__ for cause in errors for base in type(cause).__mro__}
    text = " ".join(" ".join(str(cause).split()) for cause in errors)
    page = f"https://huggingface.co/{'datasets/' if kind == 'dataset' else ''}{repository}"
    if rows and names & LOST:
        why = (
            f": the connection to the Hub was lost after {rows} rows and could not be restored;"
            " nothing was written: run the same command again"
        )
    elif "GatedRepoError" in names or "is a gated dataset" in text:
        step = (
            "the token in use has no access: accept the terms there with its account"
            if has_token()
            else "accept its terms there and set HF_TOKEN (or run 'hf auth login')"
        )
        why = f" is gated: {page}; {step}"
    elif "script" in text.lower() and "no longer supported" in text.lower():
        why = (
            " is a loading script, which datasets >= 4 does not run; use 'revision:"
            " refs/convert/parquet' or a file"
        )
    elif names & UNREACHABLE or os.environ.get("HF_HUB_OFFLINE") == "1":
        why = (
            " is not in the cache and the Hub cannot be reached; load it once on a machine with"
            " network (HF_HOME names the cache), or unset HF_HUB_OFFLINE"
        )
    elif "RevisionNotFoundError" in names:
        why = f" has no such revision; see {page}/tree/main"
    elif names & {"DatasetNotFoundError", "RepositoryNotFoundError"}:
        hint = "" if has_token() else "; if it is private, set HF_TOKEN"
        why = f" does not exist on the Hub (renamed or removed?): {page}{hint}"
    else:
        reason = " ".join(str(error).split())[:300]
        why = (
            f" could not be loaded ({type(error).__name__}: {reason}); check name, configuration,"
            f" split and revision at {page}"
        )
    return f"{named}{why}"
