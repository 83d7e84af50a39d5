"""What the Hub's refusals turn into."""

from __future__ import annotations

from pathlib import Path

import hub_content
import hub_server
import pytest
from evaluation_toys import write_model

from revocab.hub_errors import explain


@pytest.fixture
def root(tmp_path) -> Path:
    """A Hub with one data set, which is gated."""
    hub_content.data_set(tmp_path / "hub/datasets/gated/data/main", {})
    hub_content.gate(tmp_path / "hub", ["datasets/gated/data"])
    return tmp_path / "hub"


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
    arguments = ["--run", "r", "--models", f"0={model}", "--out", tmp_path / "s.csv"]
    names = ("closed", "gone", "dropped", "group")
    arguments += ["--tasks", *(tmp_path / f"{name}.yaml" for name in names)]
    command = [repository / "scripts/run_job.py", "score_multiple_choice", *arguments]
    done = hub_server.run_against(hub, tmp_path / "hf", command)
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
