"""The corpora of config/lep.yaml and what is copied of them, from repositories laid out as theirs.

Layouts as on stored pages of the Hub: Wikipedia in 21 shards, darulm as compressed JSONL beside a
loading script, Saiga's conversations at the commit of its set d7. The text is the demo's.
"""

from __future__ import annotations

import json
from pathlib import Path

import hub_lep
import pytest

from revocab.experiment import options, read
from revocab.experiment.layout import Layout
from revocab.io import read_json, read_jsonl, write_text

#: Of which files each corpus is.
DARULM = {
    "habr": "rulm_habr", "pikabu": "rulm_pikabu",
    "news": ("rulm_buriy", "rulm_gazeta", "rulm_lenta", "rulm_ods", "rulm_taiga"),
    "fiction": ("libru_prose", "libru_fantasy"),
    "education": ("libru_history", "libru_science", "libru_textbook"),
}  # fmt: skip


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    return hub_lep.write_texts(tmp_path_factory.mktemp("hub"))


def texts_of(root: Path, begins: str | tuple[str, ...]) -> set[str]:
    """Return the texts of darulm's files whose names begin so; each file has its own."""
    import pyarrow

    files = [
        path
        for path in (root / "datasets/dichspace/darulm/main").glob("*.jsonl.zst")
        if path.name.startswith(begins)
    ]
    lines = [line for path in files for line in pyarrow.input_stream(path).read().splitlines()]
    return {json.loads(line)["text"] for line in lines}


@pytest.mark.hub
def test_every_corpus_is_prepared_and_copied_from_what_none_trains_on(
    repository, root, job, hub, tmp_path, monkeypatch
):
    monkeypatch.chdir(repository)
    small = {
        "wikipedia-ru": {"heldout_bytes": 4000},
        **{name: {"heldout_bytes": 1000} for name in ("wikipedia-en", "news", "saiga")},
    }
    write_text(tmp_path / "small.yaml", json.dumps({"corpora": small}))
    layout = Layout(experiment := read("config/lep.yaml", tmp_path / "small.yaml"))
    monkeypatch.chdir(tmp_path)

    def run(command, out, chosen, *words):
        job(command, "--out", out, "--options", chosen.canonical(), "--job", command, *words)

    corpora = [name for name, one in experiment.corpora.items() if one.answers is None]
    for corpus in corpora:
        run("prepare_corpus", layout.paths.corpus(corpus), options.corpus(experiment, corpus))
    tasks = ("copy_sentences_ru", "copy_paragraphs_ru")
    for task in tasks:
        entry = experiment.evaluation.generation.tasks[task]
        pool, test = map(layout.task_text, (entry.pool, entry.test))
        words = ("--pool-files", *pool, "--test-files", *test)
        run("build_prompts", layout.paths.prompts(task), options.prompts(experiment, task), *words)
    below = "resources/lep"
    found = {name: read_json(Path(f"{below}/corpora/{name}/manifest.json")) for name in corpora}
    assert all(one["train"]["documents"] > 0 for one in found.values())
    for name, begins in DARULM.items():
        rows = read_jsonl(f"{below}/corpora/{name}/train.jsonl.gz")
        assert {row["text"] for row in rows} <= texts_of(root, begins)
    assert found["copies"]["copying"] == "article"
    trained = found["wikipedia-ru"]["train"]["documents"]
    assert trained + found["wikipedia-ru"]["heldout"]["documents"] == hub_lep.SHARDS - 1
    copied = {
        row["id"].split(".")[1] for row in read_jsonl(f"{below}/corpora/copies/train.jsonl.gz")
    }
    assert copied == {f"ru-{hub_lep.SHARDS - 1}"}
    held_out = {row["id"] for row in read_jsonl(f"{below}/corpora/wikipedia-ru/heldout.jsonl.gz")}
    for task in tasks:
        rows = list(read_jsonl(layout.paths.prompts(task)))
        assert rows and len(rows[0]["shots"]) == 5
        assert {row["id"].rpartition(".")[0] for row in rows} <= held_out
