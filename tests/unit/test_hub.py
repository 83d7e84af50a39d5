"""Models and tasks from the Hub: what is taken from the cache, and what is refused."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import hub_content
import huggingface_hub
import pytest
from huggingface_hub.errors import (
    GatedRepoError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from training_pico import table

from revocab.errors import RevocabError
from revocab.hub import explain, resolve
from revocab.io import read_json

NAME = "mistralai/Mistral-7B-v0.1"
SCIQ = "sapienzanlp/sciq_italian"


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    """A model, with a pickle beside its weights, and a data set of a task."""
    from revocab.models.parameters import Architecture, build_stand_in
    from revocab.vocabulary.building.constructions.train import train_tokenizer
    from revocab.vocabulary.building.training_text import batched
    from revocab.vocabulary.tokenizers.load import write_tokenizer

    root = tmp_path_factory.mktemp("hub")
    item = {
        "id": "1",
        "input_translation": "Dov'è il gatto?",
        "choices_translation": ["qui", "lì"],
        "label": 0,
        "metadata": {"subject": "x", "category": "question", "passage_translation": ""},
    }
    hub_content.data_set(root / "datasets" / SCIQ / "main", {"default": {"test": [item] * 3}})
    texts = [f"The cat number {n} sleeps on the mat." for n in range(300)]
    write_tokenizer(train_tokenizer(batched(texts), "byte_level", 270), root / ".tokenizer")
    shape = {"hidden_size": 16, "intermediate_size": 32, "layers": 1, "heads": 2, "kv_heads": 1}
    out = root / "models" / NAME / "main"
    build_stand_in(root / ".tokenizer", Architecture(family="llama", **shape), 64, 1, out)
    (out / "pytorch_model.bin").write_bytes(b"a pickle that nothing reads")
    (out / "LICENSE").write_text("free")
    return root


def commit(hub: Path, repository: str, kind: str = "models") -> str:
    return (hub / f"{kind}--{repository.replace('/', '--')}/refs/main").read_text()


def test_a_model_is_fetched_without_pickles_and_its_commit_is_kept(job, hub, root, tmp_path):
    out, taken = tmp_path / "model/snapshot", commit(hub, NAME)
    job("fetch_model", "--hub", NAME, "--out", out)
    assert not (out / "pytorch_model.bin").exists() and (out / "LICENSE").is_file()
    manifest = read_json(out.parent / "manifest.json")
    assert (manifest["commit"], manifest["pinned"]) == (taken, False)
    source = root / "models" / NAME / "main/model.safetensors"
    assert (out / "model.safetensors").read_bytes() == source.read_bytes()
    (out / "config.json").unlink()
    job("fetch_model", "--hub", NAME, "--revision", taken, "--out", out)
    assert (out / "config.json").is_file()
    assert read_json(out.parent / "manifest.json")["pinned"] is True
    (out / "notes.txt").write_text("mine")
    with pytest.raises(RevocabError, match=r"notes\.txt"):
        job("fetch_model", "--hub", NAME, "--out", out)


def test_a_fetch_that_is_lost_goes_on(job, hub, root, tmp_path, monkeypatch):
    """What has arrived waits beside the snapshot, whose place it takes when it is whole."""
    out = tmp_path / "model/snapshot"
    download = huggingface_hub.snapshot_download

    def lost(name: str, *, local_dir: Path | None = None, **options):
        cached = Path(download(name, **options))
        (out.parent / ".snapshot.part/config.json").write_bytes(
            (cached / "config.json").read_bytes()
        )
        raise ConnectionError("lost")

    with monkeypatch.context() as patch:
        patch.setattr(huggingface_hub, "snapshot_download", lost)
        with pytest.raises(RevocabError, match=NAME):
            job("fetch_model", "--hub", NAME, "--out", out)
    assert not out.exists() and not (out.parent / "manifest.json").exists()
    assert (out.parent / ".snapshot.part/config.json").is_file()
    job("fetch_model", "--hub", NAME, "--out", out)
    assert {path.name for path in out.parent.iterdir()} == {"manifest.json", "snapshot"}
    weights = root / "models" / NAME / "main/model.safetensors"
    assert (out / "model.safetensors").read_bytes() == weights.read_bytes()


def test_damaged_weights_are_not_taken(job, hub, tmp_path):
    weights = next(hub.glob("models--*/snapshots/*/model.safetensors"))
    blob = weights.resolve()
    blob.write_bytes(blob.read_bytes()[:-5])
    with pytest.raises(RevocabError, match=r"model\.safetensors"):
        job("fetch_model", "--hub", NAME, "--out", tmp_path / "model/snapshot")
    assert not (tmp_path / "model/snapshot").exists()


@pytest.mark.parametrize("task", ["built", "named"])
def test_a_task_is_scored_at_the_commit_of_its_data(job, hub, root, tmp_path, task):
    taken, named = commit(hub, SCIQ, "datasets"), "itabench_sciq"
    if task == "built":
        named = tmp_path / "t.yaml"
        data = ("--hub.id", SCIQ, "--hub.split", "test")
        job("build_task", "--task", "t", "--template", "itabench_sciq", *data, "--out", named)
        assert f"revision: {taken}" in named.read_text()
    out = tmp_path / "scores.csv"
    model = root / "models" / NAME / "main"
    words = ("--run", "r", "--models", f"0={model}", "--tasks", named, "--out", out)
    job("score_multiple_choice", *words)
    assert {(row["data_revision"], row["items"]) for row in table(out)} == {(taken, "3")}


def test_offline_the_cache_says_which_commit(hub):
    with pytest.raises(RevocabError, match="'a/b'"):
        resolve("a/b", None, "dataset")
    found = resolve(NAME, None, "model")
    assert (found["commit"], found["pinned"]) == (commit(hub, NAME), False)
    pinned = resolve("x/y", "d" * 40, "model")
    assert (pinned["commit"], pinned["pinned"]) == ("d" * 40, True)


RESPONSE = SimpleNamespace(headers={}, request=None)


@pytest.mark.parametrize(
    ("error", "token", "said"),
    [
        (GatedRepoError("no", response=RESPONSE), None, "set HF_TOKEN"),
        (GatedRepoError("no", response=RESPONSE), "hf_x", "has no access"),
        (RuntimeError("o/d is a gated dataset on the Hub."), "hf_x", "has no access"),
        (RepositoryNotFoundError("no", response=RESPONSE), None, "does not exist"),
        (RevisionNotFoundError("no", response=RESPONSE), None, "no such revision"),
        (LocalEntryNotFoundError("no"), None, "not in the cache"),
        (RuntimeError("Dataset scripts are no longer supported, but found x"), None, "script"),
        (ValueError("odd"), None, "ValueError: odd"),
    ],
)
def test_what_cannot_be_had_is_told_apart(monkeypatch, error, token, said):
    monkeypatch.setattr("huggingface_hub.get_token", lambda: token)
    raised = RuntimeError("loading failed")
    raised.__cause__ = error
    assert "'o/d'" in explain(error, "o/d") and said in explain(error, "o/d")
    if not isinstance(error, ValueError):
        assert said in explain(raised, "o/d")


def test_a_gated_model_whose_files_may_not_be_read_is_refused(monkeypatch):
    """What a repository is may be seen without access."""
    info = SimpleNamespace(sha="c" * 40, gated="manual")
    monkeypatch.setattr(huggingface_hub.HfApi, "repo_info", lambda *_, **__: info)

    def refused(*_, **__):
        raise GatedRepoError("no", response=RESPONSE)

    monkeypatch.setattr(huggingface_hub.HfApi, "auth_check", refused)
    with pytest.raises(RevocabError, match="'o/gated' is gated"):
        resolve("o/gated", None, "model")
