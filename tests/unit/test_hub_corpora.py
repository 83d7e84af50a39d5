"""Corpora streamed from a server that speaks the Hub's protocol, through `datasets` itself."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import hub_content
import hub_server
import pytest

from revocab.corpora.source import HubData
from revocab.io import read_json, read_jsonl

WEB, BOOKS, SCRIPT = "example/web", "example/books", "example/script"
#: Laid out as MADLAD-400: a script on main, and files by language, clean and noisy.
ESCAPED = "example/escaped"
ROLES = ("user", "assistant")
CHAT = [[{"role": role, "content": f"{role} {number}"} for role in ROLES] for number in range(8)]
#: Runs a script with fewer and quicker attempts than `datasets` makes by itself (20, 5 s apart).
IMPATIENT = """
import runpy, sys, time
from datasets import config
config.STREAMING_READ_MAX_RETRIES = config.STREAMING_OPEN_MAX_RETRIES = 2
time.sleep = lambda seconds: None
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def rows(kind: str, count: int) -> list[dict]:
    """Return documents that do not compress to nothing."""
    words = [" ".join(f"{n * k % 997:x}" for k in range(60)) for n in range(count)]
    return [{"id": f"{kind}-{n}", "text": f"{kind} {text}"} for n, text in enumerate(words)]


def lines(documents: list[dict]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in documents).encode()


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    """Parquet in two splits; JSONL as gz and as zst, where another field holds the text."""
    import pyarrow

    root = tmp_path_factory.mktemp("hub")
    main = root / "datasets" / WEB / "main"
    splits = {split: f"pages/{split}-*" for split in ("train", "validation")}
    hub_content.card(main, {"pages": splits})
    for number in range(2):
        part = rows(f"train{number}", 300)
        hub_content.parquet(main / f"pages/train-0000{number}-of-00002.parquet", part)
    hub_content.parquet(main / "pages/validation-00000-of-00001.parquet", rows("validation", 5))
    main = root / "datasets" / BOOKS / "main"
    hub_content.card(main, {one: {"train": f"{one}/*"} for one in ("long", "short")})
    books = [{"title": row["id"], "content": row["text"]} for row in rows("book", 40)]
    for one in ("long", "short"):
        (main / one).mkdir()
    for number, part in enumerate((books[:20], books[20:])):
        (main / f"long/{number}.jsonl.gz").write_bytes(gzip.compress(lines(part)))
    packed = pyarrow.compress(lines(books[:7]), codec="zstd", asbytes=True)
    (main / "short/0.jsonl.zst").write_bytes(packed)
    beside = root / "datasets" / SCRIPT / "main"
    (beside / "short").mkdir(parents=True)
    (beside / "short/0.jsonl.zst").write_bytes(packed)
    (beside / "script.py").write_text("raise SystemExit('never run')\n")
    own = root / "datasets" / ESCAPED / "main/data/sw"
    own.mkdir(parents=True)
    (own.parent.parent / "escaped.py").write_text("raise SystemExit('never run')\n")
    for part in ("clean_0000", "clean_0001", "noisy_0000"):
        said = lines([{"text": f"{part}: Habari.\\nNjema \\\\nane."}])
        (own / f"sw_{part}.jsonl.gz").write_bytes(gzip.compress(said))
    chat = [{"id": f"c{number}", "messages": said} for number, said in enumerate(CHAT)]
    hub_content.data_set(root / "datasets/example/chat/main", {"default": {"train": chat}})
    hub_content.data_set(
        root / "datasets/example/gated/main", {"default": {"train": rows("secret", 3)}}
    )
    (root / "datasets/example/gated/.gated").touch()
    return root


@pytest.fixture
def prepare(hub, repository, tmp_path):
    """Run prepare_corpus on a data set of the Hub; return the process and the corpus folder."""

    def run(*arguments: str, impatient: bool = False, data_set: str = WEB):
        out = tmp_path / "corpus"
        script = repository / "scripts/run_job.py"
        start = ["-c", IMPATIENT, script] if impatient else [script]
        start.append("prepare_corpus")
        given = ("--corpus", "c", "--source.hub.id", data_set, "--language", "it", "--out", out)
        command = [*start, *given, *arguments]
        return hub_server.run_against(hub, tmp_path / "cache", command), out

    return run


def texts(out: Path) -> list[str]:
    return [row["text"] for row in read_jsonl(out / "train.jsonl.gz")]


def test_parquet_shards_come_in_order_and_splits_stay_apart(prepare, hub):
    done, out = prepare("--source.hub.name", "pages")
    assert done.returncode == 0, done.stderr
    assert texts(out) == [row["text"] for n in range(2) for row in rows(f"train{n}", 300)]
    assert next(read_jsonl(out / "train.jsonl.gz"))["id"] == "train0-0"
    done, out = prepare("--source.hub.name", "pages", "--source.hub.split", "validation")
    assert texts(out) == [row["text"] for row in rows("validation", 5)]
    source = read_json(out / "manifest.json")["source"]
    assert (source["name"], source["split"]) == ("pages", "validation")
    # Streamed: nothing of the data was kept in the cache.
    assert not list(out.parent.rglob("cache/**/blobs/*.parquet"))


def test_conversations_keep_their_messages(prepare, hub):
    done, out = prepare("--messages-field", "messages", data_set="example/chat")
    assert done.returncode == 0, done.stderr
    assert [row["messages"] for row in read_jsonl(out / "train.jsonl.gz")] == CHAT
    assert read_json(out / "manifest.json")["messages_field"] == "messages"
    done, out = prepare(data_set="example/chat")
    assert "no field 'text'; fields found: id, messages" in done.stderr


@pytest.mark.parametrize(("name", "count"), [("long", 40), ("short", 7)])
def test_compressed_jsonl_with_a_field_renamed_at_a_pinned_revision(prepare, hub, name, count):
    commit = hub.repositories["datasets", BOOKS].refs["main"]
    chosen = f"--source.hub.name {name} --text-field content --source.hub.revision {commit}"
    done, out = prepare(*chosen.split(), data_set=BOOKS)
    assert done.returncode == 0, done.stderr
    assert "pin it with" not in done.stderr
    assert texts(out) == [row["text"] for row in rows("book", count)]
    manifest = read_json(out / "manifest.json")
    assert (manifest["source"]["commit"], manifest["source"]["pinned"]) == (commit, True)
    assert manifest["text_field"] == "content"


def test_files_by_a_pattern_whatever_the_configurations_and_scripts_say(prepare, hub):
    chosen = ("--source.hub.files", "short/*.jsonl.zst", "--text-field", "content")
    done, out = prepare(*chosen, data_set=SCRIPT)
    assert done.returncode == 0, done.stderr
    assert texts(out) == [row["text"] for row in rows("book", 7)]
    done, _ = prepare("--source.hub.files", "long/*.jsonl.zst", data_set=SCRIPT)
    assert done.returncode == 1 and "long/*.jsonl.zst" in done.stderr


def test_escaped_line_ends_of_files_by_a_pattern_are_undone(prepare, hub):
    chosen = ("--source.hub.files", "data/sw/sw_clean_*.jsonl.gz")
    done, out = prepare(*chosen, "--escaped-line-ends", data_set=ESCAPED)
    assert done.returncode == 0, done.stderr
    clean = "clean_0000", "clean_0001"
    assert texts(out) == [f"{part}: Habari.\nNjema \\\nane." for part in clean]
    assert read_json(out / "manifest.json")["escaped_line_ends"] is True


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"files": "a/*.csv"}, "allowed are .jsonl or .txt"),
        ({"files": "a/*.jsonl", "name": "a"}, "leave out name and names"),
    ],
)
def test_a_pattern_that_cannot_be_is_refused(given, said):
    with pytest.raises(ValueError, match=said):
        HubData(id="a/b", **given)


def test_a_limit_ends_the_stream_early(prepare, hub):
    done, out = prepare("--source.hub.name", "pages", "--limit-documents", "10")
    assert done.returncode == 0, done.stderr
    assert len(texts(out)) == 10
    second = hub.repositories["datasets", WEB].refs["main"]
    file = hub.repositories["datasets", WEB].commits[second]["pages/train-00001-of-00002.parquet"]
    assert not any(file.sha256 in path for _, path, *_ in hub.requests)


ABSENT = "check name, configuration, split and revision"


@pytest.mark.parametrize(
    ("arguments", "data_set", "words"),
    [
        ("", "example/nothing", "'example/nothing' does not exist on the Hub"),
        ("", "example/gated", "'example/gated' is gated"),
        ("--source.hub.name pages --source.hub.revision v9", WEB, "has no such revision"),
        ("--source.hub.name pages --text-field body", WEB, "no field 'body'; fields found: id"),
        ("--source.hub.name poems", WEB, ABSENT),
        ("--source.hub.name pages --source.hub.split dev", WEB, ABSENT),
    ],
)
def test_what_cannot_be_read_is_said_and_nothing_is_written(prepare, arguments, data_set, words):
    done, out = prepare(*arguments.split(), data_set=data_set)
    assert done.returncode == 1 and words in done.stderr, done.stderr
    assert not out.exists()


@pytest.mark.long
@pytest.mark.parametrize(
    ("data_set", "path", "arguments"),
    [
        (WEB, "pages/train-00001-of-00002.parquet", ("--source.hub.name", "pages")),
        (BOOKS, "long/1.jsonl.gz", ("--source.hub.name", "long", "--text-field", "content")),
    ],
)
def test_a_connection_lost_half_way_is_said_and_nothing_is_written(
    prepare, hub, data_set, path, arguments
):
    repository = hub.repositories["datasets", data_set]
    file = repository.commits[repository.refs["main"]][path]
    hub.breaks[file.sha256] = len(file.data) // 2
    done, out = prepare(*arguments, data_set=data_set, impatient=True)
    assert done.returncode == 1, done.stderr
    assert f"'{data_set}': the connection to the Hub was lost" in done.stderr, done.stderr
    assert "run the same command again" in done.stderr
    assert not out.exists()
    del hub.breaks[file.sha256]
    done, out = prepare(*arguments, data_set=data_set)
    assert done.returncode == 0, done.stderr
