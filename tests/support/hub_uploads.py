"""The local Hub's other half: what its clients send, to make a repository and to commit to it.

A token may write to the owners that :data:`WRITERS` names. Large files go to the
content store first, as with Git LFS, and a commit names them by their hash.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re

import yaml
from hub_repositories import File, Repository

#: Tokens that may write, and to which owners; all others read.
WRITERS = {"hf_writer": {"writer", "team"}}
#: A token that is none any more.
EXPIRED = "hf_expired"
ATTRIBUTES = b"*.safetensors filter=lfs diff=lfs merge=lfs -text\n"
COMMIT = re.compile(
    r"/api/models/(?P<id>[^/]+/[^/]+)/(?P<what>preupload|commit)/(?P<revision>[^/]+)"
)
BATCH = re.compile(r"/(?P<id>[^/]+/[^/]+)\.git/info/lfs/objects/batch")


class Denied(Exception):
    """An upload that is answered with an error: status, code, message."""


def answer(server, method: str, path: str, token: str | None, body: bytes):
    """Return what an upload's request is answered with; None for what is no upload."""
    if token == EXPIRED:
        raise Denied(401, "", "Invalid credentials in Authorization header")
    said = None
    if method == "PUT" and path.startswith("/lfs/"):
        file = keep(server, "", body)
        if file.sha256 != path.removeprefix("/lfs/"):
            raise Denied(400, "BadDigest", "the content is not of this hash")
        server.store[file.sha256] = file
        said = {}
    elif method == "POST" and path == "/api/validate-yaml":
        said = validate(json.loads(body)["content"])
    elif method == "POST" and path == "/api/repos/create":
        said = create(server, token, json.loads(body))
    elif method == "POST" and (match := BATCH.fullmatch(path)):
        writable(server, token, match["id"])
        objects = [place(server, asked) for asked in json.loads(body)["objects"]]
        said = {"transfer": "basic", "objects": objects}
    elif method == "POST" and (match := COMMIT.fullmatch(path)):
        repository = writable(server, token, match["id"])
        if match["what"] == "preupload":
            said = {"files": [mode(repository, file) for file in json.loads(body)["files"]]}
        else:
            said = commit(server, repository, [json.loads(line) for line in body.splitlines()])
    return said


def keep(server, path: str, data: bytes) -> File:
    source = server.uploads / hashlib.sha256(data).hexdigest()
    source.write_bytes(data)
    return File(path, source)


def user_of(token: str | None) -> set[str]:
    """Return the owners that a token may write to."""
    return WRITERS.get(token, set())


def writable(server, token: str | None, name: str) -> Repository:
    owners = user_of(token)
    repository = server.repositories.get(("models", name))
    if repository is None:
        raise Denied(404, "RepoNotFound", "Repository not found")
    if name.partition("/")[0] not in owners:
        raise Denied(403, "", "You don't have write access to this repository")
    return repository


def create(server, token: str | None, asked: dict):
    name = f"{asked['organization']}/{asked['name']}"
    if asked["organization"] not in user_of(token):
        raise Denied(403, "", f"You don't have the rights to create a model under {name}")
    if ("models", name) in server.repositories:
        raise Denied(409, "", "You already created this model repo")
    repository = Repository("models", name, private=asked.get("visibility") == "private")
    server.repositories["models", name] = repository
    add(repository, {".gitattributes": keep(server, ".gitattributes", ATTRIBUTES)})
    return {"url": f"{server.endpoint}/{name}", "id": name}


def add(repository: Repository, files: dict[str, File]) -> str:
    listed = "\n".join(f"{file.blob} {path}" for path, file in sorted(files.items()))
    number = hashlib.sha1(
        f"{repository.id} {len(repository.commits)} {listed}".encode()
    ).hexdigest()
    repository.commits[number] = files
    repository.refs["main"] = number
    return number


def place(server, asked: dict) -> dict:
    """Return where a large file goes; nowhere if the store has it."""
    known = asked["oid"] in server.store
    upload = {"upload": {"href": f"{server.store_endpoint}/lfs/{asked['oid']}"}}
    return asked if known else {**asked, "actions": upload}


def mode(repository: Repository, asked: dict) -> dict:
    known = repository.commits[repository.refs["main"]].get(asked["path"])
    return {
        "path": asked["path"],
        "uploadMode": "lfs" if File(asked["path"], None).lfs else "regular",
        "shouldIgnore": False,
        "oid": known and known.etag,
    }


def commit(server, repository: Repository, lines: list[dict]):
    head = repository.refs["main"]
    files = dict(repository.commits[head])
    for line in lines:
        value = line["value"]
        if line["key"] == "header" and value.get("parentCommit", head) != head:
            raise Denied(412, "", "A commit has happened since. Please refresh and try again.")
        if line["key"] == "file":
            data = base64.b64decode(value["content"])
            files[value["path"]] = keep(server, value["path"], data)
        elif line["key"] == "lfsFile":
            files[value["path"]] = File(value["path"], server.store[value["oid"]].source)
        else:
            assert line["key"] == "header", f"no upload of ours sends {line['key']}"
    number = add(repository, files)
    url = f"{server.endpoint}/{repository.id}/commit/{number}"
    return {"commitUrl": url, "commitOid": number, "pullRequestUrl": None, "success": True}


def validate(content: str):
    """Check a card's head by those rules of the Hub's that cards here can break."""
    _, head, _ = content.split("---\n", 2) if content.startswith("---\n") else ("", "{}", "")
    data, errors = yaml.safe_load(head), []
    allowed = ("adapter", "finetune", "merge", "quantized", None)
    if data.get("base_model_relation") not in allowed:
        errors.append(f'"base_model_relation" must be one of {allowed[:4]}')
    languages = data.get("language") or []
    for language in [languages] if isinstance(languages, str) else languages:
        if not isinstance(language, str) or not re.fullmatch("[a-z]{2,3}(-[A-Za-z]+)?", language):
            errors.append(f'"language" must be ISO 639 codes, not {language!r}')
    if "license_name" in data and data.get("license") != "other":
        errors.append('"license_name" is for the license "other"')
    for model in data.get("model-index", []):
        for result in model["results"]:
            if not {"task", "dataset", "metrics"} <= result.keys():
                errors.append('"model-index" lacks task, dataset or metrics')
            if not {"name", "type"} <= result["dataset"].keys():
                errors.append('"model-index" has a dataset without name or type')
    if errors:
        raise Denied(400, "", "; ".join(errors))
    return {"errors": [], "warnings": []}
