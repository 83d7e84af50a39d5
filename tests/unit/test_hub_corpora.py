"""Data sets of the Hub in the layouts that papers' data have there, read from the cache."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import hub_content
import pytest
import yaml

from revocab.corpora.source import HubData
from revocab.demoworld.stories import build
from revocab.errors import RevocabError
from revocab.experiment.load import overlaid, substitute, without_nulls
from revocab.hub import explain
from revocab.io import read_json, read_jsonl

WEB, BOOKS, SCRIPT = "example/web", "example/books", "example/script"
#: Laid out as MADLAD-400: a script on main, and files by language, clean and noisy.
ESCAPED = "example/escaped"
ROLES = ("user", "assistant")
CHAT = [[{"role": role, "content": f"{role} {number}"} for role in ROLES] for number in range(8)]
ITEMS = 3


def rows(kind: str, count: int) -> list[dict]:
    return [{"id": f"{kind}-{n}", "text": f"{kind} {n}"} for n in range(count)]


def lines(documents: list[dict]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in documents).encode()


@pytest.fixture(scope="module")
def world():
    return build(hub_content.SEED)


@pytest.fixture(scope="module")
def root(world, tmp_path_factory) -> Path:
    """Parquet in two splits; JSONL as gz and as zst, where another field holds the text."""

    root = tmp_path_factory.mktemp("hub")
    main = root / "datasets" / WEB / "main"
    splits = {split: f"pages/{split}-*" for split in ("train", "validation")}
    hub_content.card(main, {"pages": splits})
    for number in range(2):
        part = rows(f"train{number}", 30)
        hub_content.parquet(main / f"pages/train-0000{number}-of-00002.parquet", part)
    hub_content.parquet(main / "pages/validation-00000-of-00001.parquet", rows("validation", 5))
    books = [{"title": row["id"], "content": row["text"]} for row in rows("book", 40)]
    main = root / "datasets" / BOOKS / "main"
    hub_content.card(main, {"long": {"train": "long/*"}})
    (main / "long").mkdir()
    for number, part in enumerate((books[:20], books[20:])):
        (main / f"long/{number}.jsonl.gz").write_bytes(gzip.compress(lines(part)))
    beside = root / "datasets" / SCRIPT / "main"
    hub_content.jsonl_zst(beside / "short/0.jsonl.zst", books[:7])
    (beside / "script.py").write_text("raise SystemExit('never run')\n")
    own = root / "datasets" / ESCAPED / "main/data/sw"
    own.mkdir(parents=True)
    (own.parent.parent / "escaped.py").write_text("raise SystemExit('never run')\n")
    for part in ("clean_0000", "clean_0001", "noisy_0000"):
        text = lines([{"text": f"{part}: Habari.\\nNjema \\\\nane."}])
        (own / f"sw_{part}.jsonl.gz").write_bytes(gzip.compress(text))
    chat = [{"id": f"c{number}", "messages": said} for number, said in enumerate(CHAT)]
    hub_content.data_set(root / "datasets/example/chat/main", {"default": {"train": chat}})
    pairs = [{"id": n, "sentence_eng_Latn": f"Cat {n}.", "sentence_ita_Latn": f"Gatto {n}."}
             for n in range(8)]  # fmt: skip
    converted = {"eng_Latn-ita_Latn": {"dev": pairs[:6], "devtest": pairs[6:]}}
    hub_content.converted(root / "datasets/example/pairs", "pairs.py", converted)
    hub_content.flores_plus(root, world, ITEMS)
    languages = hub_content.FLORES.items()
    hub_content.flores_200(
        root, {code: hub_content.flores_rows(world, one, ITEMS) for code, one in languages}
    )
    return root


@pytest.fixture
def prepare(job, hub, tmp_path):
    """Run prepare_corpus on a data set of the Hub; return the corpus folder."""

    def run(*arguments: str, data_set: str = WEB) -> Path:
        out = tmp_path / "corpus"
        words = ("--corpus", "c", "--source.hub.id", data_set, "--language", "it", "--out", out)
        job("prepare_corpus", *words, *arguments)
        return out

    return run


def texts(out: Path) -> list[str]:
    return [row["text"] for row in read_jsonl(out / "train.jsonl.gz")]


def test_parquet_shards_come_in_order_and_splits_stay_apart(prepare, hub):
    out = prepare("--source.hub.name", "pages")
    assert texts(out) == [row["text"] for n in range(2) for row in rows(f"train{n}", 30)]
    assert next(read_jsonl(out / "train.jsonl.gz"))["id"] == "train0-0"
    taken = (hub / "datasets--example--web/refs/main").read_text()
    source = read_json(out / "manifest.json")["source"]
    assert (source["commit"], source["pinned"]) == (taken, False)
    limited = ("--source.hub.split", "validation", "--limit-documents", "3")
    out = prepare("--source.hub.name", "pages", "--source.hub.revision", taken, *limited)
    assert texts(out) == [row["text"] for row in rows("validation", 3)]
    source = read_json(out / "manifest.json")["source"]
    assert (source["name"], source["split"], source["pinned"]) == ("pages", "validation", True)


def test_conversations_keep_their_messages(prepare):
    out = prepare("--messages-field", "messages", data_set="example/chat")
    assert [row["messages"] for row in read_jsonl(out / "train.jsonl.gz")] == CHAT
    with pytest.raises(RevocabError, match="no field 'text'"):
        prepare(data_set="example/chat")


@pytest.mark.parametrize(
    ("data_set", "chosen", "count"),
    [(BOOKS, ("name", "long"), 40), (SCRIPT, ("files", "short/*.jsonl.zst"), 7)],
)
def test_compressed_jsonl_with_a_field_renamed(prepare, data_set, chosen, count):
    key, value = chosen
    out = prepare(f"--source.hub.{key}", value, "--text-field", "content", data_set=data_set)
    assert texts(out) == [row["text"] for row in rows("book", count)]


def test_escaped_line_ends_of_files_by_a_pattern_are_undone(prepare):
    chosen = ("--source.hub.files", "data/sw/sw_clean_*.jsonl.gz", "--escaped-line-ends")
    clean = "clean_0000", "clean_0001"
    out = prepare(*chosen, data_set=ESCAPED)
    assert texts(out) == [f"{part}: Habari.\nNjema \\\nane." for part in clean]


@pytest.mark.parametrize(
    ("arguments", "data_set"),
    [
        ("", "example/nothing"),
        ("--source.hub.name pages --source.hub.revision v9", WEB),
        ("--source.hub.name pages --text-field body", WEB),
        ("--source.hub.name poems", WEB),
        ("--source.hub.name pages --source.hub.split dev", WEB),
        ("--source.hub.files long/*.jsonl.zst", SCRIPT),
    ],
)
def test_what_cannot_be_read_is_said_and_nothing_is_written(prepare, tmp_path, arguments, data_set):
    with pytest.raises(RevocabError):
        prepare(*arguments.split(), data_set=data_set)
    assert not (tmp_path / "corpus").exists()


def test_a_stream_that_is_lost_is_another_matter_than_one_that_never_was():
    assert "after 7 rows" in explain(ConnectionError("lost"), "a/b", rows=7)
    assert "rows" not in explain(ConnectionError("lost"), "a/b")


@pytest.mark.parametrize(
    "values", [{"files": "a/*.csv"}, {"files": "a/*.jsonl", "name": "a"}], ids=["csv", "both"]
)
def test_a_pattern_that_cannot_be_is_refused(values):
    with pytest.raises(ValueError, match="files"):
        HubData(id="a/b", **values)


# Pairs -------------------------------------------------------------------------------------------


def flags(part: str, data: dict) -> list[str]:
    """Return the flags that name a data set for a part of a job."""
    found = []
    for key, value in data.items():
        pairs = [f"{a}={b}" for a, b in value.items()] if isinstance(value, dict) else [value]
        found += [f"--{part}.hub.{key}", *pairs]
    return found


@pytest.fixture
def pairs(job, hub, tmp_path):
    """Build the prompts of a translation; return its pairs and its manifest."""

    def run(pool: list[str], test: list[str]) -> tuple[list[tuple[str, str]], dict]:
        out = tmp_path / "prompts.jsonl"
        task = ("translation", "--task", "f", "--direction", "en", "it")
        job("build_prompts", *task, "--shots", "2", "--seed", "1", *pool, *test, "--out", out)
        found = [(row["query"]["en"], row["references"][0]) for row in read_jsonl(out)]
        return found, read_json(out.with_suffix(".manifest.json"))

    return run


def test_a_converted_branch_is_read_by_name_and_by_commit(pairs, hub):
    branch = "refs/convert/parquet"
    commit = (hub / "datasets--example--pairs" / "refs" / branch).read_text()
    data = {
        "id": "example/pairs",
        "name": "eng_Latn-ita_Latn",
        "fields": {"en": "sentence_eng_Latn", "it": "sentence_ita_Latn"},
    }
    for revision in (branch, commit):
        parts = [
            flags(part, {**data, "split": split, "revision": revision})
            for part, split in (("pool", "dev"), ("test", "devtest"))
        ]
        found, manifest = pairs(*parts)
        assert found == [("Cat 6.", "Gatto 6."), ("Cat 7.", "Gatto 7.")]
        assert {manifest[part]["commit"] for part in ("pool", "test")} == {commit}
        assert manifest["test"]["pinned"] is (revision == commit)


def task(repository: Path, overlay: str | None, data_root: str = "") -> dict:
    """Return the paper's task from English, with an overlay over it."""
    files = ["config/sava.yaml", *([f"config/overlays/{overlay}.yaml"] if overlay else [])]
    found = {}
    for file in files:
        found = overlaid(found, yaml.safe_load((repository / file).read_text(encoding="utf-8")))
    found = found["evaluation"]["generation"]["tasks"]["flores_en_it"]
    return substitute(without_nulls(found), data_root)


@pytest.mark.parametrize("home", [None, "flores-200", "flores-files"])
def test_flores_has_the_same_pairs_in_each_of_its_homes(pairs, repository, tmp_path, world, home):
    for code, language in hub_content.FLORES.items():
        for split, sentences in hub_content.flores_rows(world, language, ITEMS).items():
            path = tmp_path / f"flores200_dataset/{split}/{code}.{split}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"{text}\n" for _, text in sentences), encoding="utf-8")
    given = task(repository, home, str(tmp_path))
    parts = []
    for part in ("pool", "test"):
        words = flags(part, given[part].get("hub", {}))
        if files := given[part].get("lines"):
            words += [f"--{part}.languages", *files, f"--{part}-files", *files.values()]
        parts.append(words)
    sides = [dict(hub_content.flores_rows(world, one, ITEMS)["devtest"]) for one in ("en", "it")]
    assert pairs(*parts)[0] == [(sides[0][n], sides[1][n]) for n in range(ITEMS)]
