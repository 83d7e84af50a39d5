"""A repository on the Hub: what it holds, one commit to it, and its refusals in a line each."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from revocab.errors import RevocabError
from revocab.hub_errors import LOST, chain, has_token
from revocab.io import sha256

#: Where the Hub stopped, by the status of its answer, and what to do.
REFUSALS = {
    401: "the Hub does not accept the token; log in again (hf auth login) or set another HF_TOKEN",
    403: "the token may not write there; give one with write access of an account that may write"
    " to {owner!r}",
    404: "not there, or the token may not see it; check the name, and that {owner!r} exists",
    409: "somebody else created or changed it in the meantime; run again",
    412: "somebody else created or changed it in the meantime; run again",
}


@dataclass(frozen=True)
class Remote:
    """What lies at a name on the Hub; no commit: nothing."""

    commit: str | None = None
    private: bool = True
    files: dict[str, Any] = field(default_factory=dict)

    def same(self, name: str, file: Path | bytes) -> bool:
        known = self.files.get(name)
        if known is None or known.size != size_of(file):
            return False
        if known.lfs is not None and isinstance(file, Path):
            return bool(known.lfs.sha256 == sha256(file))
        data = file.read_bytes() if isinstance(file, Path) else file
        return bool(known.blob_id == hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest())


def size_of(file: Path | bytes) -> int:
    return file.stat().st_size if isinstance(file, Path) else len(file)


def check_name(name: str) -> None:
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils._validators import validate_repo_id

    try:
        validate_repo_id(name)
    except HFValidationError as error:
        raise RevocabError(f"{name!r}: not a name on the Hub ({error})") from None
    if "/" not in name:
        raise RevocabError(f"{name!r}: names no owner; give OWNER/NAME")


def check_token() -> None:
    if not has_token():
        raise RevocabError(
            "no token for the Hub; set HF_TOKEN to one with write access, or run 'hf auth login'"
        )


@contextmanager
def told(name: str) -> Iterator[None]:
    """Turn what the Hub's client raises into one line, without the token."""
    try:
        yield
    except RevocabError:
        raise
    # The client raises many unrelated types: all mean that nothing was published.
    except Exception as error:
        raise RevocabError(f"model {name!r}: {explain(error, name.partition('/')[0])}") from None


def explain(error: BaseException, owner: str) -> str:
    from huggingface_hub import get_token

    errors = list(chain(error))
    for cause in errors:
        status = getattr(getattr(cause, "response", None), "status_code", None)
        if status in REFUSALS:
            return f"{REFUSALS[status].format(owner=owner)} (HTTP {status})"
    names = {base.__name__ for cause in errors for base in type(cause).__mro__}
    if "OfflineModeIsEnabled" in names:
        return "HF_HUB_OFFLINE is set; unset it to publish"
    text, token = " ".join(str(error).split()), get_token()
    for secret in (token, repr(token)[1:-1]) if token else ():
        text = text.replace(secret, "(token)")
    if "Illegal header" not in text and names & LOST:
        return "the Hub cannot be reached; run again with a network (what was uploaded is kept)"
    return f"could not be published ({type(error).__name__}: {text[:300]})"


def look_at(name: str) -> Remote:
    from huggingface_hub import HfApi
    from huggingface_hub.errors import RepositoryNotFoundError
    from huggingface_hub.hf_api import RepoFile

    api = HfApi()
    with told(name):
        try:
            info = api.repo_info(name)
        except RepositoryNotFoundError as error:
            if error.response.status_code == 404:
                return Remote()
            raise
        tree = api.list_repo_tree(name, recursive=True, revision=info.sha)
        files = {entry.path: entry for entry in tree if isinstance(entry, RepoFile)}
        return Remote(info.sha, bool(info.private), files)


def check_card(name: str, card: Any) -> None:
    """Let the Hub say whether it can read a card, before there is a repository for it."""
    with told(name):
        try:
            card.validate()
        except ValueError as error:
            reason = " ".join(str(error).split())[:300]
            raise RevocabError(f"README.md: the Hub cannot read its head ({reason})") from None


def upload(name: str, remote: Remote, files: Mapping[str, Path | bytes], *, private: bool) -> str:
    """Make one commit of ``files``, creating the repository if there is none; return its id.

    Nothing is deleted. The commit follows the one that was looked at, so that what somebody else
    uploads meanwhile stays. Afterwards the Hub's hashes are compared with ours.
    """
    from huggingface_hub import CommitOperationAdd, HfApi

    api = HfApi()
    with told(name):
        if remote.commit is None:
            api.create_repo(name, private=private, repo_type="model")
            remote = look_at(name)
        operations = [
            CommitOperationAdd(place, file if isinstance(file, bytes) else str(file))
            for place, file in files.items()
        ]
        commit = api.create_commit(
            name, operations, commit_message="Upload with Revocab", parent_commit=remote.commit
        )
    arrived = look_at(name)
    if wrong := [place for place, file in files.items() if not arrived.same(place, file)]:
        raise RevocabError(f"model {name!r}: {', '.join(wrong)} arrived damaged; run again")
    return commit.oid
