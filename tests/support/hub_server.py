"""A small Hub: the part of the Hugging Face Hub's protocol that its client libraries use.

Serves folders laid out as ``ROOT/{models,datasets}/ORG/NAME/REF/…``, REF quoted as in an address
(``main``, ``refs%2Fconvert%2Fparquet``). Commits are hashes of the contents. A file ``.gated``
beside the refs gates a repository: without a token it answers 401, with a token that has not been
granted access 403. Files that Git LFS would hold are redirected to a content store on another host
name, as is done there.

    python tests/support/hub_server.py ROOT --port 8123
    HF_ENDPOINT=http://127.0.0.1:8123 HF_TOKEN=hf_granted python …
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, quote, unquote, urlsplit

import loaded_process
from hub_repositories import File, Repository, read_repositories

JOB = Path(__file__).parents[2] / "scripts/run_job.py"
#: A token whose user has accepted the terms of gated repositories; any other has not.
GRANTED = "hf_granted"
#: Names from before models had owners; the Hub redirects them.
MOVED = {"xlm-roberta-large": "FacebookAI/xlm-roberta-large"}


class HubServer(ThreadingHTTPServer):
    """The server and what it has been asked: (method, path, status, range) in ``requests``.

    ``breaks`` maps SHA-256 of large files to the byte from which on the connection is lost.
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, root: Path, port: int = 0):
        super().__init__(("127.0.0.1", port), Handler)
        self.repositories = read_repositories(Path(root))
        self.store = {
            one.sha256: one
            for repository in self.repositories.values()
            for files in repository.commits.values()
            for one in files.values()
            if one.lfs
        }
        self.breaks: dict[str, int] = {}
        self.requests: list[tuple[str, str, int, str | None]] = []
        self._uploads = tempfile.TemporaryDirectory()
        self.uploads = Path(self._uploads.name)

    def server_close(self) -> None:
        super().server_close()
        self._uploads.cleanup()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def store_endpoint(self) -> str:
        """Return where large files lie: another host, to which clients send no token."""
        return f"http://localhost:{self.server_port}"


@contextmanager
def serve(root: Path):
    """Run a server over ``root`` in a thread for the length of a block."""
    server = HubServer(root)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def run_against(server: HubServer, home: Path, command: list, *, token: str | None = None):
    """Run a command with the server as its Hub and ``home`` as its cache; return the process."""
    environment = {name: value for name, value in os.environ.items() if name != "HF_TOKEN"}
    environment |= {"HF_ENDPOINT": server.endpoint, "HF_HOME": str(home), "OMP_NUM_THREADS": "1"}
    environment["HF_HUB_DISABLE_XET"] = "1"  # what this Hub speaks is HTTP
    environment |= {"HF_TOKEN": token} if token else {}
    words = list(map(str, command))
    if words[:2] == ["-m", "revocab"]:
        words[:2] = [str(JOB)]
    if words[0] == str(JOB):
        environment |= loaded_process.variables()
    done = subprocess.run(
        [sys.executable, *words], env=environment, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


class Refused(Exception):
    """A request that is answered with an error, as the Hub words it."""

    def __init__(self, status: int, code: str, message: str):
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


OLD_NAME = re.compile(rf"(/api/models/|/)({'|'.join(map(re.escape, MOVED))})(?=/|$)")
API = re.compile(
    r"/api/(?P<kind>models|datasets)/(?P<id>[^/]+/[^/]+)"
    r"(/(?P<what>revision|tree|paths-info|auth-check)(/(?P<revision>[^/]+)(/(?P<path>.+))?)?)?"
)
RESOLVE = re.compile(
    r"/(?P<kind>datasets/)?(?P<id>[^/]+/[^/]+)/resolve/(?P<revision>[^/]+)/(?P<path>.+)"
)
#: Where small files are served from, after a redirect with a relative address.
CACHE = re.compile(
    r"/api/resolve-cache/(?P<kind>models|datasets)/(?P<id>[^/]+/[^/]+)/(?P<revision>[^/]+)/(?P<path>.+)"
)


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: HubServer

    def log_message(self, *_):
        pass

    def do_GET(self) -> None:
        """Route a request; turn a refusal into the status and headers that clients read."""
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        address = urlsplit(self.path)
        try:
            if found := OLD_NAME.match(address.path):
                place = f"{found[1]}{MOVED[found[2]]}{self.path[found.end() :]}"
                self.send_json({}, 307, {"Location": place})
            elif match := CACHE.fullmatch(address.path):
                self.contents(match, redirect=False)
            elif match := API.fullmatch(address.path):
                self.api(match)
            elif match := RESOLVE.fullmatch(address.path):
                self.contents(match, redirect=True)
            elif large := self.server.store.get(address.path.removeprefix("/lfs/")):
                headers = {"ETag": f'"{large.sha256}"', "Accept-Ranges": "bytes"}
                self.send_range(large.data, headers, self.server.breaks.get(large.sha256))
            else:
                raise Refused(404, "RepoNotFound", "Sorry, we can't find the page.")
        except Refused as refused:
            headers = {"X-Error-Code": refused.code, "X-Error-Message": refused.message}
            self.send_json({"error": refused.message}, refused.status, headers)

    do_HEAD = do_POST = do_GET

    @property
    def token(self) -> str | None:
        words = (self.headers.get("Authorization") or "").split()
        return words[1] if len(words) == 2 and words[0] == "Bearer" else None

    def find(self, match: re.Match, *, open_gate: bool) -> tuple[Repository, str]:
        """Return the repository and commit that an address names, if they may be seen."""
        kind = (match["kind"] or "models").strip("/")
        repository = self.server.repositories.get((kind, unquote(match["id"])))
        if repository is None:
            # Without a token the Hub does not say whether a repository is missing or private.
            raise Refused(404 if self.token else 401, "RepoNotFound", "Repository not found")
        revision = unquote(match["revision"] or "main")
        commit = repository.commit(revision)
        if commit is None:
            raise Refused(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        if repository.gated and not open_gate and self.token != GRANTED:
            where = f"Access to {kind.removesuffix('s')} {repository.id} is restricted"
            if self.token is None:
                raise Refused(401, "GatedRepo", f"{where}. You must be authenticated to access it.")
            raise Refused(403, "GatedRepo", f"{where} and you are not in the authorized list.")
        return repository, commit

    def api(self, match: re.Match) -> None:
        """Answer a question about a repository; what it is and holds may be seen when gated."""
        repository, commit = self.find(match, open_gate=match["what"] != "auth-check")
        known, path = entries(repository.commits[commit]), unquote(match["path"] or "")
        if match["what"] in (None, "revision"):
            self.send_json(repository.info(commit))
        elif match["what"] == "auth-check":
            self.send(b"", 200, {})
        elif match["what"] == "tree":
            if path and known.get(path, {}).get("type") != "directory":
                raise Refused(404, "EntryNotFound", f"{path} does not exist")
            query = parse_qs(urlsplit(self.path).query)
            deep = query.get("recursive", ["false"])[0].lower() in ("true", "1")
            start = f"{path}/" if path else ""
            inside = {
                name[len(start) :]: one for name, one in known.items() if name.startswith(start)
            }
            self.send_json([one for name, one in inside.items() if deep or "/" not in name])
        else:  # the paths of a form, or of JSON
            json_given = "json" in (self.headers.get("Content-Type") or "")
            asked = json.loads(self.body) if json_given else parse_qs(self.body.decode())
            self.send_json([known[one] for one in asked["paths"] if one in known])

    def contents(self, match: re.Match, *, redirect: bool) -> None:
        """Send a file, or the address where its contents lie."""
        repository, commit = self.find(match, open_gate=False)
        found = repository.commits[commit].get(unquote(match["path"]))
        if found is None:
            raise Refused(404, "EntryNotFound", "Entry not found")
        headers = {"X-Repo-Commit": commit, "ETag": f'"{found.etag}"', "Accept-Ranges": "bytes"}
        if found.lfs:
            headers |= {
                "X-Linked-Etag": f'"{found.sha256}"',
                "X-Linked-Size": str(len(found.data)),
                "Location": f"{self.server.store_endpoint}/lfs/{found.sha256}",
            }
            self.send(b"", 302, headers)
        elif redirect:
            place = f"/api/resolve-cache/{repository.kind}/{repository.id}/{commit}"
            headers["Location"] = f"{place}/{quote(found.path)}"
            self.send(b"", 307, headers)
        else:
            self.send_range(found.data, headers)

    def send_range(self, data: bytes, headers: dict[str, str], end_at: int | None = None) -> None:
        """Send data, or the part of it that a Range header asks for.

        What lies from ``end_at`` on is announced and never comes.
        """
        match = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range") or "")
        if not match or not any(match.groups()):
            self.send(data, 200, headers, end_at)
            return
        first, last = match.groups()
        start = int(first) if first else max(0, len(data) - int(last))
        end = min(int(last), len(data) - 1) if first and last else len(data) - 1
        if start > end:
            self.send(b"", 416, {**headers, "Content-Range": f"bytes */{len(data)}"})
            return
        place = {"Content-Range": f"bytes {start}-{end}/{len(data)}"}
        left = None if end_at is None else max(0, end_at - start)
        self.send(data[start : end + 1], 206, headers | place, left)

    def send_json(self, value, status: int = 200, headers: dict[str, str] | None = None) -> None:
        kind = {"Content-Type": "application/json; charset=utf-8"}
        self.send(json.dumps(value).encode(), status, kind | (headers or {}))

    def send(
        self, data: bytes, status: int, headers: dict[str, str], left: int | None = None
    ) -> None:
        """Answer; the connection is lost after ``left`` bytes of ``data``, if given."""
        address, span = urlsplit(self.path).path, self.headers.get("Range")
        self.server.requests.append((self.command, address, status, span))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data[:left])
            if left is not None and left < len(data):
                self.close_connection = True


def entries(files: dict[str, File]) -> dict[str, dict]:
    """Return the folders and files of a commit by path, as a tree listing shows them."""
    parents = {str(parent) for path in files for parent in Path(path).parents} - {"."}
    folders = {
        path: {
            "type": "directory",
            "oid": hashlib.sha1(path.encode()).hexdigest(),
            "size": 0,
            "path": path,
        }
        for path in sorted(parents)
    }
    return folders | {path: file.entry() for path, file in files.items()}


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("root", type=Path)
    parser.add_argument("--port", type=int, default=8123)
    options = parser.parse_args()
    server = HubServer(options.root, options.port)
    print(f"HF_ENDPOINT={server.endpoint}  ({len(server.repositories)} repositories)", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
