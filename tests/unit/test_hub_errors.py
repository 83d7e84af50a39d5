"""What the Hub's refusals turn into: a server that refuses in the Hub's own words."""

from __future__ import annotations

import http.server
import os
import subprocess
import sys
import threading

import pytest
from evaluation_toys import write_model

from revocab.hub_errors import explain


class Refusing(http.server.BaseHTTPRequestHandler):
    """gated/… asks for a login, everything else does not exist."""

    def do_GET(self):
        gated = "/gated/" in self.path
        self.send_response(401 if gated else 404)
        self.send_header("X-Error-Code", "GatedRepo" if gated else "RepoNotFound")
        self.send_header("X-Error-Message", "Access is restricted." if gated else "Not found")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_HEAD = do_POST = do_GET

    def log_message(self, *_):
        pass


@pytest.fixture
def hub():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


TEMPLATE = """task: {name}
dataset_path: {repository}
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{question}}}}"
doc_to_choice: choices
doc_to_target: answer
metric_list: [{{metric: acc, aggregation: mean, higher_is_better: true}}]
metadata: {{version: 1.0}}
"""


def test_all_that_cannot_be_had_is_said_at_once(hub, repository, tmp_path):
    """A gated data set, one that is gone, a task that the harness dropped, a group's data."""
    model = write_model(tmp_path / "model")
    for name, data in (("closed", "gated/data"), ("gone", "nobody/data")):
        (tmp_path / f"{name}.yaml").write_text(TEMPLATE.format(name=name, repository=data))
    (tmp_path / "dropped.yaml").write_text("harness: arc_esay\n")
    (tmp_path / "group.yaml").write_text("harness: kormedmcqa\n")
    environment = {name: one for name, one in os.environ.items() if name != "HF_TOKEN"}
    environment |= {"HF_ENDPOINT": hub, "HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "0"}
    arguments = ["--run", "r", "--models", f"0={model}", "--out", tmp_path / "s.csv"]
    names = ("closed", "gone", "dropped", "group")
    arguments += ["--tasks", *(tmp_path / f"{name}.yaml" for name in names)]
    done = subprocess.run(
        [sys.executable, repository / "scripts/run_job.py", "score_multiple_choice", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 1
    shown = done.stderr[done.stderr.index("error: 4 problems") :]
    first, second, third, fourth = shown.splitlines()[1:5]
    assert "closed.yaml: dataset 'gated/data' is gated" in first and "set HF_TOKEN" in first
    assert "gone.yaml: dataset 'nobody/data' does not exist on the Hub" in second
    assert "has no task 'arc_esay'; did you mean" in third and "'arc_easy'" in third
    data = "dataset 'sean0042/KorMedMCQA' (configuration 'doctor') does not exist on the Hub"
    assert f"group.yaml: {data}" in fourth and "datasets/sean0042/KorMedMCQA" in fourth
    assert not (tmp_path / "s.csv").exists()


def test_offline_and_scripts_are_told_apart(monkeypatch):
    assert "loading script" in explain(
        RuntimeError("Dataset scripts are no longer supported, but found x.py"), "a/b"
    )
    assert "could not be loaded (ValueError: odd)" in explain(ValueError("odd"), "a/b")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert "not in the cache" in explain(FileNotFoundError("no file"), "a/b")


def test_a_token_without_access_is_another_matter(monkeypatch):
    error = RuntimeError("a/b is a gated dataset on the Hub.")
    monkeypatch.setenv("HF_TOKEN", "hf_x")
    assert "the token in use has no access" in explain(error, "a/b")
