"""The corpora of config/lep.yaml and what is copied of them, from repositories laid out as theirs.

Layouts as on stored pages of the Hub: Wikipedia in 21 shards, darulm as compressed JSONL beside a
loading script, Saiga's conversations at the commit of its set d7. The text is the demo's.
"""

from __future__ import annotations

import json
from pathlib import Path

import hub_content
import hub_server
import pytest
import yaml

from revocab.config import read
from revocab.demoworld.build import documents
from revocab.demoworld.stories import build
from revocab.io import read_json, read_jsonl, write_text
from revocab.plan import Plan

SHARDS = 21
#: One of each kind of darulm's files; its text goes to one corpus alone.
FILES = ("rulm_habr_0", "rulm_pikabu_0", "rulm_lenta_0", "rulm_taiga-fontanka_0", "libru_prose_0",
         "libru_science_0", "rulm_wiki_0")  # fmt: skip
#: Runs several commands in one process: each start of Python with its libraries takes seconds.
CALLS = """
import json, sys
from importlib import import_module
from revocab import cli
for command, words in json.loads(sys.argv[1]):
    cli.call(import_module(f"revocab.commands.{command}").COMMAND, words, command)
"""


#: Of which files each corpus is.
DARULM = {
    "habr": "rulm_habr", "pikabu": "rulm_pikabu", "news": ("rulm_lenta", "rulm_taiga"),
    "fiction": "libru_prose", "education": "libru_science",
}  # fmt: skip


def wikipedia(main: Path, world) -> None:
    """Write both languages; paragraphs long enough to be copied."""
    names = [f"20231101.{one}" for one in ("ru", "en")]
    hub_content.card(main, {one: {"train": f"{one}/train-*"} for one in names})
    texts = [row["text"] for row in documents(world, "it", 6 * SHARDS, hub_content.SEED)]
    articles = [" ".join(texts[n : n + 6]) for n in range(0, len(texts), 6)]
    for name in names:
        for shard, text in enumerate(articles):
            rows = [{"id": f"{name}-{shard}", "title": "x", "text": f"{text}\nShard {shard}."}]
            hub_content.parquet(main / f"{name}/train-{shard:05d}-of-{SHARDS:05d}.parquet", rows)


def darulm(folder: Path, texts: list[str]) -> None:
    """Write a file per domain, as compressed JSONL beside a loading script."""
    import pyarrow

    folder.mkdir(parents=True)
    for name in FILES:
        domain = name.split("_")[1]
        rows = [{"text": f"{text} {name}.", "domain": domain} for text in texts]
        lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
        packed = pyarrow.compress(lines, codec="zstd", asbytes=True)
        (folder / f"{name}.jsonl.zst").write_bytes(packed)
    (folder / "darulm.py").write_text("raise SystemExit('never run')\n")


@pytest.fixture(scope="module")
def root(tmp_path_factory, repository) -> Path:
    root, world = tmp_path_factory.mktemp("hub"), build(hub_content.SEED)
    sets = root / "datasets"
    texts = [row["text"] for row in documents(world, "it", 40, hub_content.SEED)]
    wikipedia(sets / "wikimedia/wikipedia/main", world)
    darulm(sets / "dichspace/darulm/main", texts)
    said = [
        {"messages": [{"role": "user", "content": "?"}, {"role": "bot", "content": text}],
         "opus_score": 7 + n % 3, "is_bad_by_regex": n % 5 == 0}
        for n, text in enumerate(texts)
    ]  # fmt: skip
    saiga = yaml.safe_load(Path(repository / "config/lep.yaml").read_text(encoding="utf-8"))
    commit = saiga["corpora"]["saiga"]["source"]["hub"]["revision"]
    hub_content.data_set(sets / "IlyaGusev/saiga_scored" / commit, {"default": {"train": said}})
    return root


@pytest.mark.hub
def test_every_corpus_is_prepared_and_copied_from_what_none_trains_on(
    repository, hub, tmp_path, monkeypatch
):
    monkeypatch.chdir(repository)
    small = {
        "wikipedia-ru": {"heldout_bytes": 12000},
        **{name: {"heldout_bytes": 1000} for name in ("wikipedia-en", "news", "saiga")},
    }
    write_text(tmp_path / "small.yaml", json.dumps({"corpora": small}))
    plan = Plan(read("config/lep.yaml", tmp_path / "small.yaml"))
    corpora = [name for name, one in plan.experiment.corpora.items() if one.answers is None]
    steps = [plan.step("prepare_corpus", corpus=one) for one in corpora]
    tasks = ("copy_sentences_ru", "copy_paragraphs_ru")
    steps += [plan.step("build_prompts", task=task) for task in tasks]
    below = f"{tmp_path}/resources/lep"
    calls = [
        (one.command, [word.replace("resources/lep", below) for word in one.arguments()])
        for one in steps
    ]
    for _, words in calls:
        words[-1] = words[-1].replace("results/lep", f"{tmp_path}/results/lep")
    done = hub_server.run_against(hub, tmp_path / "cache", ["-c", CALLS, json.dumps(calls)])
    assert done.returncode == 0, done.stderr
    found = {name: read_json(Path(f"{below}/corpora/{name}/manifest.json")) for name in corpora}
    assert all(one["train"]["documents"] > 0 for one in found.values())
    for name, begins in DARULM.items():
        rows = read_jsonl(f"{below}/corpora/{name}/train.jsonl.gz")
        assert {row["text"].split()[-1].startswith(begins) for row in rows} == {True}
    assert found["copies"]["copying"] == "paragraph"
    trained = found["wikipedia-ru"]["train"]["documents"]
    assert trained + found["wikipedia-ru"]["heldout"]["documents"] == SHARDS - 1
    copied = {
        row["id"].split(".")[1] for row in read_jsonl(f"{below}/corpora/copies/train.jsonl.gz")
    }
    assert copied == {f"ru-{SHARDS - 1}"}
    held_out = {row["id"] for row in read_jsonl(f"{below}/corpora/wikipedia-ru/heldout.jsonl.gz")}
    for task in tasks:
        rows = list(read_jsonl(tmp_path / f"results/lep/prompts/{task}.jsonl"))
        assert rows and len(rows[0]["shots"]) == 5
        assert {row["id"].rpartition(".")[0] for row in rows} <= held_out
