"""What the local Hub serves: folders as repositories with commits, as the Hub describes them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote

LFS_ENDINGS = (".safetensors", ".parquet", ".model", ".gz", ".zst", ".bin", ".ckpt")
KINDS = ("models", "datasets")


@dataclass(frozen=True)
class File:
    """One file of a commit."""

    path: str
    source: Path

    @cached_property
    def data(self) -> bytes:
        return self.source.read_bytes()

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    @cached_property
    def blob(self) -> str:
        """The id that Git gives the contents."""
        return hashlib.sha1(b"blob %d\0" % len(self.data) + self.data).hexdigest()

    @property
    def lfs(self) -> bool:
        return self.path.endswith(LFS_ENDINGS)

    @property
    def etag(self) -> str:
        return self.sha256 if self.lfs else self.blob

    def entry(self) -> dict:
        """Return the file as a tree listing shows it."""
        found = {"type": "file", "oid": self.blob, "size": len(self.data), "path": self.path}
        if self.lfs:
            found["lfs"] = {"oid": self.sha256, "size": len(self.data), "pointerSize": 130}
        return found


@dataclass
class Repository:
    """One model or data set: commits by id, and names of commits."""

    kind: str
    id: str
    gated: bool = False
    refs: dict[str, str] = field(default_factory=dict)
    commits: dict[str, dict[str, File]] = field(default_factory=dict)

    def commit(self, revision: str) -> str | None:
        """Return the commit that a branch, tag or (abbreviated) commit names."""
        if revision in self.refs:
            return self.refs[revision]
        found = [one for one in self.commits if len(revision) >= 7 and one.startswith(revision)]
        return found[0] if len(found) == 1 else None

    def info(self, commit: str) -> dict:
        """Return what the API says about a repository."""
        return {
            "_id": hashlib.sha1(self.id.encode()).hexdigest()[:24],
            "id": self.id,
            "author": self.id.split("/")[0],
            "sha": commit,
            "private": False,
            "disabled": False,
            "gated": "manual" if self.gated else False,
            "lastModified": "2024-01-01T00:00:00.000Z",
            "createdAt": "2024-01-01T00:00:00.000Z",
            "downloads": 0,
            "likes": 0,
            "tags": [],
            "siblings": [{"rfilename": path} for path in sorted(self.commits[commit])],
        }


def read_repositories(root: Path) -> dict[tuple[str, str], Repository]:
    """Return the repositories below a folder by kind and id."""
    found = {}
    for folder in sorted(one for kind in KINDS for one in root.glob(f"{kind}/*/*")):
        kind, *parts = folder.relative_to(root).parts
        repository = Repository(kind, "/".join(parts), gated=(folder / ".gated").exists())
        for ref in sorted(one for one in folder.iterdir() if one.is_dir()):
            files = {
                str(path.relative_to(ref)): File(str(path.relative_to(ref)), path)
                for path in sorted(ref.rglob("*"))
                if path.is_file()
            }
            text = "\n".join(f"{one.blob} {path}" for path, one in files.items())
            commit = hashlib.sha1(f"{repository.id} {text}".encode()).hexdigest()
            repository.refs[unquote(ref.name)] = commit
            repository.commits[commit] = files
        found[kind, repository.id] = repository
    return found
