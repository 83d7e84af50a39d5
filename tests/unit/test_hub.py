"""The loading code against a server that speaks the Hub's protocol: what arrives, what is said."""

from __future__ import annotations

import csv
from pathlib import Path

import hub_content
import hub_server
import pytest

from revocab.io import read_json, read_jsonl


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    """A Hub with one data set of each layout and two models, one gated."""
    root = tmp_path_factory.mktemp("hub")
    rows = [{"text": f"Il gatto numero {n} dorme sul tappeto."} for n in range(40)]
    culturax = root / "datasets/uonlp/CulturaX"
    hub_content.card(culturax / "main", {"it": {"train": "it/*.parquet"}})
    for number, part in enumerate((rows[:20], rows[20:])):
        hub_content.parquet(culturax / f"main/it/it_part_{number}.parquet", part)
    (culturax / ".gated").touch()
    pairs = [{"id": n, "sentence_eng_Latn": f"Cat {n}.", "sentence_ita_Latn": f"Gatto {n}."}
             for n in range(8)]  # fmt: skip
    splits = {"dev": pairs[:6], "devtest": pairs[6:]}
    flores = root / "datasets/facebook/flores"
    hub_content.converted(flores, "flores.py", {"eng_Latn-ita_Latn": splits})
    item = {
        "id": "1",
        "input_translation": "Dov'è il gatto?",
        "choices_translation": ["qui", "lì"],
        "label": 0,
        "metadata": {"subject": "x", "category": "question", "passage_translation": ""},
    }
    sciq = root / "datasets/sapienzanlp/sciq_italian/main"
    hub_content.data_set(sciq, {"default": {"test": [item] * 3}})
    texts = {"en": [f"The cat number {n} sleeps on the mat." for n in range(300)], "it": []}
    from revocab.models.parameters import Architecture, build_stand_in
    from revocab.tokenizer_building.trainers import train_tokenizer
    from revocab.tokenizer_building.training_text import batched
    from revocab.tokenizers.load import write_tokenizer

    tokenizer = train_tokenizer(batched(texts["en"]), "byte_level", 270)
    write_tokenizer(tokenizer, root / ".tokenizer")
    shape = {"hidden_size": 16, "intermediate_size": 32, "layers": 1, "heads": 2, "kv_heads": 1}
    for name in ("mistralai/Mistral-7B-v0.1", "meta-llama/Llama-3.1-8B"):
        out = root / "models" / name / "main"
        build_stand_in(root / ".tokenizer", Architecture(family="llama", **shape), 64, 1, out)
        (out / "pytorch_model.bin").write_bytes(b"a pickle that nothing reads")
    (root / "models/meta-llama/Llama-3.1-8B/.gated").touch()
    (root / "models/mistralai/Mistral-7B-v0.1/main/LICENSE").write_text("free")
    return root


@pytest.fixture
def call(hub, repository, tmp_path):
    """Run a command against the Hub; return what it printed and whether it succeeded."""

    def run(script: str, *arguments: str | Path, token: str | None = None):
        command = ["-m", "revocab", script, *arguments]
        return hub_server.run_against(hub, tmp_path / "cache", command, token=token)

    return run


def commit(hub, kind: str, name: str, ref: str = "main") -> str:
    return hub.repositories[kind, name].refs[ref]


CORPUS = (
    *("--corpus", "c", "--source.hub.id", "uonlp/CulturaX", "--source.hub.name", "it"),
    *("--language", "it"),
)


def test_a_gated_data_set_is_read_with_access_and_refused_in_words(call, hub, tmp_path):
    out = tmp_path / "corpus"
    done = call("prepare_corpus", *CORPUS, "--out", out)
    assert done.returncode == 1 and not out.exists()
    assert "'uonlp/CulturaX' is gated" in done.stderr and "set HF_TOKEN" in done.stderr
    done = call("prepare_corpus", *CORPUS, "--out", out, token="hf_other")
    assert done.returncode == 1 and "the token in use has no access" in done.stderr
    limits = ("--limit-documents", "30", "--heldout-bytes", "100")
    done = call("prepare_corpus", *CORPUS, *limits, "--out", out, token=hub_server.GRANTED)
    assert done.returncode == 0, done.stderr
    manifest = read_json(out / "manifest.json")
    assert manifest["train"]["documents"] + manifest["heldout"]["documents"] == 30
    source, taken = manifest["source"], commit(hub, "datasets", "uonlp/CulturaX")
    assert (source["commit"], source["pinned"]) == (taken, False)
    assert f"pin it with 'revision: {taken}'" in done.stderr
    done = call(
        *("prepare_corpus", *CORPUS, *limits, "--source.hub.revision", taken, "--out", out),
        token=hub_server.GRANTED,
    )
    assert "pin it with" not in done.stderr
    assert read_json(out / "manifest.json")["source"]["pinned"] is True


FLORES = {
    "id": "facebook/flores",
    "name": "eng_Latn-ita_Latn",
    "fields": ("en=sentence_eng_Latn", "it=sentence_ita_Latn"),
}
PROMPTS = ("--task", "f", "--kind", "translation", "--direction", "en", "it")


def flags(part: str, data: dict) -> list[str]:
    """Return the flags that name a data set for a part of a job."""
    found = []
    for key, value in data.items():
        found += [f"--{part}.hub.{key}", *([value] if isinstance(value, str) else value)]
    return found


def test_a_converted_branch_is_read_by_name_and_by_commit(call, hub, tmp_path):
    found = commit(hub, "datasets", "facebook/flores", "refs/convert/parquet")
    rows = {}
    for revision in ("refs/convert/parquet", found):
        out = tmp_path / f"{len(rows)}.jsonl"
        at = {**FLORES, "revision": revision}
        sources = [
            *flags("pool", {**at, "split": "dev"}),
            *flags("test", {**at, "split": "devtest"}),
        ]
        numbers = ("--shots", "2", "--seed", "1")
        done = call("build_prompts", *PROMPTS, *numbers, *sources, "--out", out)
        assert done.returncode == 0, done.stderr
        rows[revision] = list(read_jsonl(out))
        manifest = read_json(out.with_suffix(".manifest.json"))
        assert manifest["test"]["commit"] == manifest["pool"]["commit"] == found
        assert manifest["test"]["pinned"] is (revision == found)
    first, second = rows.values()
    assert first == second and [row["query"]["en"] for row in first] == ["Cat 6.", "Cat 7."]


def test_what_is_not_there_is_named(call, tmp_path):
    numbers = ("--shots", "2", "--seed", "1", "--out", tmp_path / "p.jsonl")
    for data, words in (
        ({"id": "facebook/floress"}, "'facebook/floress' does not exist on the Hub"),
        ({**FLORES, "revision": "v9"}, "'facebook/flores' has no such revision"),
        ({**FLORES, "split": "dev"}, "'facebook/flores' is a loading script"),
    ):
        sources = [*flags("pool", data), *flags("test", data)]
        done = call("build_prompts", *PROMPTS, *numbers, *sources)
        assert done.returncode == 1 and words in done.stderr, done.stderr
    assert not (tmp_path / "p.jsonl").exists()


def test_a_model_is_fetched_without_pickles_and_its_commit_is_kept(call, hub, tmp_path):
    out = tmp_path / "model/snapshot"
    name = "mistralai/Mistral-7B-v0.1"
    done = call("fetch_model", "--hub", name, "--out", out)
    assert done.returncode == 0, done.stderr
    assert not (out / "pytorch_model.bin").exists()
    taken = commit(hub, "models", name)
    manifest = read_json(out.parent / "manifest.json")
    assert (manifest["commit"], manifest["pinned"]) == (taken, False)
    source = hub.repositories["models", name].commits[taken]["model.safetensors"].data
    assert (out / "model.safetensors").read_bytes() == source
    tokenizer = tmp_path / "tokenizer"
    done = call(
        *("build_tokenizer", "--construction", "substitute", "--option", f"hub={name}"),
        *("--out", tokenizer),
    )
    assert done.returncode == 0, done.stderr
    assert read_json(tokenizer / "manifest.json")["commit"] == taken
    for arguments, words in {
        ("--hub", "meta-llama/Llama-3.1-8B"): "'meta-llama/Llama-3.1-8B' is gated",
        ("--hub", "mistralai/Mistral"): "'mistralai/Mistral' does not exist on the Hub",
        ("--hub", name, "--revision", "v3"): "has no such revision",
    }.items():
        done = call("fetch_model", *arguments, "--out", tmp_path / "other/snapshot")
        assert done.returncode == 1 and words in done.stderr, done.stderr


def test_a_fetch_that_is_lost_goes_on_and_a_finished_one_is_left_alone(call, hub, tmp_path):
    """What has arrived waits beside the snapshot, whose place it takes when it is whole."""
    out = tmp_path / "model/snapshot"
    name = "mistralai/Mistral-7B-v0.1"
    weights = hub.repositories["models", name].commits[commit(hub, "models", name)]
    lost = weights["model.safetensors"].sha256
    hub.breaks[lost] = 5000
    done = call("fetch_model", "--hub", name, "--out", out)
    assert done.returncode == 1 and "what was downloaded is kept" in done.stderr
    assert not out.exists() and not (out.parent / "manifest.json").exists()
    config = out.parent / ".snapshot.part/config.json"
    config_time = config.stat().st_mtime_ns
    hub.breaks.clear()
    done = call("fetch_model", "--hub", name, "--out", out)
    assert done.returncode == 0, done.stderr
    assert (out / "config.json").stat().st_mtime_ns == config_time
    assert (out / "model.safetensors").read_bytes() == weights["model.safetensors"].data
    assert {path.name for path in out.parent.iterdir()} == {"manifest.json", "snapshot"}
    assert not (out / ".cache").exists()
    (out.parent / "manifest.json").unlink()  # as Snakemake does
    asked = len(hub.requests)
    done = call("fetch_model", "--hub", name, "--out", out)
    assert done.returncode == 0, done.stderr
    assert not [path for _, path, _, _ in hub.requests[asked:] if "resolve" in path]
    (out / "config.json").unlink()
    done = call("fetch_model", "--hub", name, "--out", out)
    assert done.returncode == 0 and (out / "config.json").is_file()
    assert (out / "LICENSE").is_file()
    other = "meta-llama/Llama-3.1-8B"
    done = call("fetch_model", "--hub", other, "--out", out, token=hub_server.GRANTED)
    assert done.returncode == 0, done.stderr
    assert read_json(out.parent / "manifest.json")["hub"] == other
    assert not (out / "LICENSE").exists()
    (out / "notes.txt").write_text("mine")
    done = call("fetch_model", "--hub", name, "--out", out)
    assert done.returncode == 1 and "did not write: notes.txt" in done.stderr


def test_a_task_is_written_and_scored_at_the_commit_of_its_data(
    call, hub, root, repository, tmp_path
):
    template = ("--task", "t", "--template", "itabench_sciq")
    data = ("--hub.id", "sapienzanlp/sciq_italian", "--hub.split", "test")
    done = call("build_task", *template, *data, "--out", tmp_path / "t.yaml")
    assert done.returncode == 0, done.stderr
    taken = commit(hub, "datasets", "sapienzanlp/sciq_italian")
    assert f"revision: {taken}" in (tmp_path / "t.yaml").read_text()
    model = root / "models/mistralai/Mistral-7B-v0.1/main"
    scoring = ("--run", "r", "--models", f"0={model}", "--tasks", tmp_path / "t.yaml")
    out = tmp_path / "results/runs/r/multiple_choice.csv"
    done = call("score_multiple_choice", *scoring, "--out", out)
    assert done.returncode == 0, done.stderr
    with out.open(encoding="utf-8", newline="") as handle:
        scores = list(csv.DictReader(handle))
    assert {row["data_revision"] for row in scores} == {taken}
    # The template alone, by its name.
    named = (*scoring[:-1], "itabench_sciq")
    done = call("score_multiple_choice", *named, "--out", tmp_path / "named.csv")
    assert done.returncode == 0, done.stderr
    with (tmp_path / "named.csv").open(encoding="utf-8", newline="") as handle:
        again = list(csv.DictReader(handle))
    assert {row["task"] for row in again} == {"itabench_sciq"}
    for key in ("value", "items", "data_revision"):
        assert [row[key] for row in again] == [row[key] for row in scores]


def test_offline_the_cache_says_which_commit(tmp_path, monkeypatch):
    from huggingface_hub import constants

    from revocab.errors import RevocabError
    from revocab.hub import resolve

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    resolve.cache_clear()
    with pytest.raises(RevocabError, match="the Hub cannot be reached"):
        resolve("a/b", None, "dataset")
    refs = tmp_path / "datasets--a--b/refs"
    refs.mkdir(parents=True)
    (refs / "main").write_text("c" * 40)
    assert resolve("a/b", None, "dataset")["commit"] == "c" * 40
    pinned = resolve("x/y", "d" * 40, "model")
    assert (pinned["commit"], pinned["pinned"]) == ("d" * 40, True)
    resolve.cache_clear()
