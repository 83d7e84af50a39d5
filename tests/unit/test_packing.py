"""Packing: rows by hand, mixtures, counts, held-out text, errors, disks that fill, kills."""

from __future__ import annotations

import dataclasses
import gzip
import itertools
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from waiting import wait_until

from revocab import __main__ as entry
from revocab import io
from revocab.errors import RevocabError
from revocab.training.data.mixture import interleave, rows_by_share, shares_by_size
from revocab.training.data.packed_folder import pack, pack_folder
from revocab.training.data.packing import PackingJob, TextTokenizer

WORDS = ["[unk]", "<s>", "</s>", *"abcdefgh", "è", "città"]
IDS = {word: number for number, word in enumerate(WORDS)}
START, END = 1, 2


def backend():
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel(IDS, unk_token="[unk]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return tokenizer


@pytest.fixture
def tokenizer():
    return TextTokenizer(backend(), len(WORDS), START, END, Path("toy"))


def reader(*texts):
    return lambda: [{"id": str(number), "text": text} for number, text in enumerate(texts)]


def packed(tokenizer, corpora, **options):
    options = PackingJob(**{"sequence_length": 4, "rows": 2, "seed": 1, **options})
    array = np.zeros((options.rows, options.sequence_length), dtype=np.uint16)
    corpora = {
        name: (share if isinstance(share, tuple) else (share,), read)
        for name, (share, read) in corpora.items()
    }
    return array, pack({"tokens": array}, corpora, tokenizer, options)


def ids(text):
    return [IDS[word] for word in text.split()]


#: Texts, options, the two rows of four tokens that they make, and counts of what is in them.
ROWS = {
    "documents are wrapped, and the last one is cut": (
        ["a b c d", "e f g h"], {}, ["<s> a b c", "d <s> e f"],
        {"tokens": 8, "documents": 2, "bytes": len("a b c d") + len("e f"), "words": 6},
    ),
    "an end and no start": (
        ["a b", "c", "d e"], {"document_start": False, "document_end": True},
        ["a b </s> c", "</s> d e </s>"], {},
    ),
    "a cut that falls on a special counts no text": (
        ["a b c d e f", "g"], {}, ["<s> a b c", "d e f <s>"], {"documents": 2, "bytes": 11},
    ),
    "bytes are UTF-8": (
        ["è città", "a b c d e f"], {}, ["<s> è città <s>", "a b c d"],
        {"bytes": len("è città".encode()) + len("a b c d")},
    ),
    "empty documents are skipped": (
        ["", "a b c", "  ", "d e f g"], {}, ["<s> a b c", "<s> d e f"], {"skipped_empty": 2},
    ),
    "a corpus repeats where it may": (
        ["a b"], {"repeat_corpora": True}, ["<s> a b <s>", "a b <s> a"], {"passes": 3, "words": 5},
    ),
    "what becomes unknown is no byte that is learned": (
        ["a zz b", "c d e"], {}, ["<s> a [unk] b", "<s> c d e"],
        {"bytes": 11, "learned": (8, 9)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ROWS)
def test_rows_and_counts_by_hand(tokenizer, case):
    texts, options, rows, counts = ROWS[case]
    array, result = packed(tokenizer, {"x": (1.0, reader(*texts))}, **options)
    assert array.tolist() == [*map(ids, rows)]
    assert {key: getattr(result.corpora["x"], key) for key in counts} == counts
    assert result.largest_id == array.max()


def test_a_token_that_is_bos_and_eos_stands_once_between_documents(tokenizer):
    shared = dataclasses.replace(tokenizer, end_id=START)
    array, _ = packed(shared, {"x": (1.0, reader("a b", "c", "d e"))}, document_end=True)
    assert array.tolist() == [ids("<s> a b <s>"), ids("c <s> d e")]


def test_text_of_special_tokens_is_text_unless_it_is_parsed(tokenizer):
    tokenizer.backend.add_special_tokens(["<s>", "</s>"])
    corpora = {"x": (1.0, reader("a </s> b", "c d </s>"))}
    array, text = packed(tokenizer, corpora)
    assert array.tolist() == [ids("<s> a [unk] b"), ids("<s> c d [unk]")]
    parsing = dataclasses.replace(tokenizer, special_tokens="parse")
    array, parsed = packed(parsing, corpora)
    assert array.tolist() == [ids("<s> a </s> b"), ids("<s> c d </s>")]
    assert {one.corpora["x"].special_texts for one in (text, parsed)} == {2}
    assert text.corpora["x"].described()["unseen"] == {"</s>": 2}


def test_a_document_without_any_token_counts_by_its_bytes():
    from tokenizers import Tokenizer, models

    letters = Tokenizer(models.BPE({"<s>": 0, **{c: n for n, c in enumerate("abcdefg", 1)}}, []))
    array, text = packed(
        TextTokenizer(letters, 8, 0, None, Path("toy")), {"x": (1.0, reader("éé", "abc", "defg"))}
    )
    assert array.tolist() == [[0, 1, 2, 3], [0, 4, 5, 6]]
    found = text.corpora["x"].described()
    assert (found["bytes"], found["skipped_empty"], found["unseen"]) == (4 + 3 + 3, 1, {"é": 2})


@pytest.mark.parametrize(
    ("texts", "options", "said"),
    [
        (["a"], {"document_end": True}, "toy: tokenizer has no bos token; set document_start"),
        (["a"], {"document_start": False, "document_end": True}, "toy: tokenizer has no eos token"),
        (["a b c"], {}, "corpus x: ends after 4 tokens, 8 needed.*repeat_corp"),
        ([""], {"repeat_corpora": True}, "corpus x: no text"),
        (["a b", "\ud800"], {}, "document '1': a lone surrogate"),
    ],
)
def test_a_corpus_that_does_not_do_is_named(tokenizer, texts, options, said):
    without = dataclasses.replace(tokenizer, end_id=None)
    if "no bos" in said:
        without = dataclasses.replace(tokenizer, start_id=None)
    with pytest.raises(RevocabError, match=said):
        packed(without, {"x": (1.0, reader(*texts))}, **options)


def test_all_corpora_that_are_too_short_are_named(tokenizer):
    short = {name: (0.5, reader("a b c")) for name in ("x", "y")}
    with pytest.raises(RevocabError) as raised:
        packed(tokenizer, short, rows=8)
    assert [problem[:10] for problem in raised.value.problems] == ["corpus x: ", "corpus y: "]


def test_stages_have_shares_of_their_own_and_corpora_go_on(tokenizer):
    """By hand: 8 rows 3:1, then 4 rows 1:1 with a third corpus; every row is one document."""
    corpora = {
        "it": ((0.75, 0.25), reader(*["a b c"] * 6, *["c b a"] * 4)),
        "en": ((0.25, 0.5), reader(*["d e f"] * 3, "f e d", "d d d")),
        "de": ((0.0, 0.25), reader("g g g")),
    }
    stages = {"embeddings": 8, "everything": 4}
    array, result = packed(tokenizer, corpora, rows=12, stages=stages)
    assert [(stage["name"], stage["rows"]) for stage in result.stages] == list(stages.items())
    assert [stage["corpora"] for stage in result.stages] == [
        {"it": {"share": 0.75, "rows": 6}, "en": {"share": 0.25, "rows": 2}},
        {"it": {"share": 0.25, "rows": 1}, "en": {"share": 0.5, "rows": 2},
         "de": {"share": 0.25, "rows": 1}},
    ]  # fmt: skip
    rows = array.tolist()
    assert sorted(rows[:8]) == sorted([ids("<s> a b c")] * 6 + [ids("<s> d e f")] * 2)
    # Each corpus goes on where the first stage left it.
    assert sorted(rows[8:]) == sorted(
        ids(f"<s> {text}") for text in ("c b a", "d e f", "f e d", "g g g")
    )
    english = [row for row in rows if IDS["e"] in row]
    assert english == [ids("<s> d e f")] * 3 + [ids("<s> f e d")]
    count = result.corpora["it"]
    assert (count.rows, count.share, count.tokens) == (7, 7 / 12, 28)


def test_stages_with_one_mixture_are_laid_out_one_after_the_other(tokenizer):
    corpora = {
        "it": ((0.5, 0.5), reader(*["a b c"] * 50)),
        "en": ((0.5, 0.5), reader(*["d e f"] * 50)),
    }
    array, result = packed(tokenizer, corpora, rows=80, stages={"a": 40, "b": 40})
    italian = [IDS["a"] in row for row in array.tolist()]
    assert (sum(italian[:40]), sum(italian[40:])) == (20, 20)
    assert italian[:40] != italian[40:]  # an order of its own
    assert result.corpora["en"].share == 0.5


def test_problems_of_all_stages_are_named_at_once(tokenizer):
    corpora = {"it": ((0.5, 0.99, 0), reader("a")), "en": ((0.4, 0.01, 0), reader("b"))}
    stages = {"one": 4, "two": 4, "three": 4}
    with pytest.raises(RevocabError) as caught:
        packed(tokenizer, corpora, rows=12, stages=stages)
    first, second, third = caught.value.problems
    assert first.startswith("stage one: shares: it=0.5, en=0.4 sum to 0.9")
    assert second.startswith("stage two: share of en: 0.01 of 4 rows is less than one row")
    assert third.startswith("stage three: shares: none sum to 0")
    with pytest.raises(ValidationError, match="stages: 4 rows in all, but rows is 12"):
        packed(tokenizer, corpora, rows=12, stages={"one": 4})


def test_blocks_larger_than_one_keep_the_stream(tokenizer, monkeypatch):
    monkeypatch.setattr("revocab.training.data.packing.BLOCK_ROWS", 2)
    array, _ = packed(tokenizer, {"x": (1.0, reader(*["a b c"] * 7))}, rows=7)
    assert array.tolist() == [ids("<s> a b c")] * 7


shares_strategy = st.lists(st.integers(1, 50), min_size=1, max_size=5).map(
    lambda weights: {f"c{n}": weight / sum(weights) for n, weight in enumerate(weights)}
)


@given(shares_strategy, st.integers(500, 3000))
def test_rows_by_share_is_exact_to_one_row(shares, rows):
    counts = rows_by_share(shares, rows)
    assert sum(counts.values()) == rows
    assert all(abs(counts[name] - share * rows) < 1 for name, share in shares.items())


def test_rows_by_share_by_hand():
    assert rows_by_share({"it": 0.75, "en": 0.25}, 8) == {"it": 6, "en": 2}
    # 3.5, 2.1, 1.4: the spare row goes to the largest remainder.
    assert rows_by_share({"a": 0.5, "b": 0.3, "c": 0.2}, 7) == {"a": 4, "b": 2, "c": 1}
    for wrong in ({"a": 0.5, "b": 0.4}, {"a": 1.2, "b": -0.2}):
        with pytest.raises(RevocabError, match="sum to"):
            rows_by_share(wrong, 10)


@given(shares_strategy, st.integers(500, 2000), st.integers(0, 9))
def test_the_running_mixture_stays_close_to_the_shares(shares, rows, seed):
    counts = rows_by_share(shares, rows)
    positions = interleave(counts, seed)
    assert sorted(itertools.chain(*positions.values())) == list(range(rows))
    for name, count in counts.items():
        seen = np.zeros(rows)
        seen[positions[name]] = 1
        drift = np.cumsum(seen) - count / rows * np.arange(1, rows + 1)
        assert np.abs(drift).max() <= len(counts)


@pytest.fixture
def folders(tmp_path):
    from transformers import PreTrainedTokenizerFast

    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend(), bos_token="<s>", eos_token="</s>", unk_token="[unk]"
    )
    tokenizer.save_pretrained(tmp_path / "tokenizer")
    for name, text in {"it": "a b c", "en": "d e f"}.items():
        rows = [{"id": f"{name}{number}", "text": text} for number in range(30)]
        io.write_jsonl(tmp_path / name / "train.jsonl.gz", rows)
        manifest = {"language": name, "train": {"bytes": 150}}
        io.write_json(tmp_path / name / "manifest.json", manifest)
    return tmp_path


def packed_in(folders, out, shares, heldout=(), **options):
    job = PackingJob(**{"sequence_length": 4, "rows": 20, "seed": 17, **options}, shares=shares)
    corpora = {name: folders / name for name in shares}
    return pack_folder(folders / "tokenizer", corpora, job, folders / out, heldout)


def test_pack_folder_writes_array_and_manifest_with_the_same_bytes_each_time(folders):
    places = [folders / "x", folders / "y"]
    manifests = [packed_in(folders, out, {"it": 0.75, "en": 0.25}) for out in places]
    assert manifests[0] == manifests[1] == io.read_json(folders / "x" / "manifest.json")
    for name in ("tokens.npy", "manifest.json"):
        assert len({(place / name).read_bytes() for place in places}) == 1
    tokens, manifest = np.load(folders / "x" / "tokens.npy"), manifests[0]
    assert (tokens.dtype, tokens.shape) == (np.uint16, (20, 4))
    assert (manifest["tokens"], manifest["tokens_per_byte"]) == (80, 80 / (20 * 5))
    assert manifest["corpora"]["it"] == {
        "share": 0.75, "rows": 15, "tokens": 60, "bytes": 75, "words": 45, "documents": 15,
        "passes": 1, "skipped_empty": 0,
    }  # fmt: skip
    assert manifest["sha256"] == io.sha256(folders / "x" / "tokens.npy")


@pytest.mark.parametrize("english", ["it", "en"])
def test_counts_are_summed_by_language(folders, english):
    io.write_json(folders / "en" / "manifest.json", {"language": english})
    manifest = packed_in(folders, "x", {"it": 0.75, "en": 0.25})
    summed = {"rows": 20, "tokens": 80, "bytes": 100, "words": 60, "documents": 20}
    quarters = {"it": 4} if english == "it" else {"it": 3, "en": 1}
    assert manifest["languages"] == {
        language: {key: value * part // 4 for key, value in summed.items()}
        for language, part in quarters.items()
    }


def test_a_manifest_tells_rows_of_stages(folders):
    shares = {"it": [0.75, "size"], "en": [0.25, 0.5]}
    stages = {"first": 8, "second": 4}
    manifest = packed_in(folders, "x", shares, rows=12, stages=stages)
    assert manifest["stages"] == [
        {"name": "first", "rows": 8,
         "corpora": {"it": {"share": 0.75, "rows": 6}, "en": {"share": 0.25, "rows": 2}},
         "tokens_per_byte": 0.8},
        {"name": "second", "rows": 4,
         "corpora": {"it": {"share": 0.5, "rows": 2}, "en": {"share": 0.5, "rows": 2}},
         "tokens_per_byte": 0.8},
    ]  # fmt: skip
    assert manifest["sizes"] == {"it": 150}
    tokens = np.load(folders / "x" / "tokens.npy")
    italian = (tokens == IDS["a"]).any(axis=1)
    assert (italian[:8].sum(), italian[8:].sum()) == (6, 2)
    with pytest.raises(RevocabError, match=r"shares\.it: 1 shares for 2 stages"):
        packed_in(folders, "y", {"it": [1.0], "en": [0.0, 1.0]}, rows=12, stages=stages)
    options = PackingJob(sequence_length=4, rows=12, seed=17, stages=stages, shares=shares)
    with pytest.raises(RevocabError, match=r"shares\.en: no corpus folder of this id"):
        pack_folder(folders / "tokenizer", {"it": folders / "it"}, options, folders / "y")


def latin(path):
    path.write_bytes(gzip.compress('{"id": "1", "text": "citt\u00e0"}\n'.encode("latin-1")))


def cut(path):
    path.write_bytes(path.read_bytes()[:-20])


def empty(path):
    io.write_jsonl(path, [{"id": str(n), "text": " \n" * n} for n in range(9)])


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (latin, "train.jsonl.gz, after line 0: not UTF-8"),
        (cut, "train.jsonl.gz, after line .*: broken gzip file"),
        (empty, "corpus it: no text in it"),
        (lambda path: None, "corpus it: ends after 120 tokens, 160 needed"),
    ],
)
def test_a_packing_that_fails_names_the_corpus_and_leaves_nothing(folders, harm, message):
    harm(folders / "it" / "train.jsonl.gz")
    with pytest.raises(RevocabError, match=message):
        packed_in(folders, "x", {"it": 1.0}, rows=40, repeat_corpora=harm is empty)
    assert not list(folders.glob("*x*"))


def test_rows_are_shuffled_by_the_seed_within_their_stage(tokenizer):
    text = [" ".join("abcdefg"[n % 7] for n in range(k, k + 40)) for k in range(20)]
    corpora = {"x": ((0.75, 1), reader(*text)), "y": ((0.25, 0), reader(*reversed(text)))}

    def rows(**options):
        values = {"rows": 80, "stages": {"one": 60, "two": 20}, **options}
        return [tuple(row) for row in packed(tokenizer, corpora, **values)[0].tolist()]

    plain, mixed = rows(), rows(shuffle_rows=True)
    for stage in (slice(60), slice(60, 80)):
        assert sorted(mixed[stage]) == sorted(plain[stage]) and mixed[stage] != plain[stage]
    assert mixed == rows(shuffle_rows=True) != rows(shuffle_rows=True, seed=99)


# Mixtures by size, held-out text ------------------------------------------------------------------


def test_shares_by_size_by_hand():
    sizes = {"sw": 100, "id": 400}
    shares = shares_by_size({"en": 0.2, "sw": "size", "id": "size"}, sizes)
    assert shares == pytest.approx({"en": 0.2, "sw": 0.16, "id": 0.64})
    with pytest.raises(RevocabError, match="0 is left for the corpora drawn by size"):
        shares_by_size({"en": 1.0, "sw": "size"}, sizes)


def test_text_held_out_of_one_corpus_is_trained_on_in_none(folders):
    """A copy in another corpus, with other whitespace, is met too."""
    io.write_jsonl(folders / "it/heldout.jsonl.gz", [{"id": "secret", "text": "g h g"}])

    def digest(out, heldout=()):
        manifest = packed_in(folders, out, {"it": 0.5, "en": 0.5}, heldout, rows=8)
        counts = manifest["corpora"].items()
        return manifest["sha256"], {name: one.get("skipped_heldout") for name, one in counts}

    clean, _ = digest("clean")
    english = list(io.read_jsonl(folders / "en/train.jsonl.gz"))
    copy = {"id": "copy", "text": "  g\n h g"}
    io.write_jsonl(folders / "en/train.jsonl.gz", [copy, *english])
    assert digest("leaking")[0] != clean
    assert digest("safe", [folders / "it"]) == (clean, {"it": None, "en": 1})


# Workers, disks that fill, kills ------------------------------------------------------------------


def command(folders, out, rows=600):
    return [
        sys.executable, "-m", "revocab", "pack",
        "--tokenizer", folders / "tokenizer", "--corpora", f"it={folders / 'it'}",
        f"en={folders / 'en'}", "--shares", "it=0.5", "en=0.5", "--sequence-length", "4",
        "--rows", str(rows), "--seed", "3", "--repeat-corpora", "--out", folders / out,
    ]  # fmt: skip


@pytest.mark.long  # how many is read when a process starts
def test_any_number_of_workers_gives_the_same_bytes(folders):
    for threads in ("1", "2"):
        environment = {
            **os.environ, "RAYON_NUM_THREADS": threads, "TOKENIZERS_PARALLELISM": "true"
        }  # fmt: skip
        subprocess.run(command(folders, threads), env=environment, check=True)
    for name in ("tokens.npy", "manifest.json"):
        assert (folders / "1" / name).read_bytes() == (folders / "2" / name).read_bytes()


def test_a_disk_that_fills_is_a_clear_error_and_leaves_nothing(folders, full_disk, capsys):
    """The limit on a file's size stands in for the disk: the same errors, from the same calls."""
    words = [str(word) for word in command(folders, "full")[3:]]
    with full_disk(1024), pytest.raises(SystemExit) as ended:
        entry.main(words)
    said = capsys.readouterr().err
    assert ended.value.code == 1
    assert "no room for" in said and "no partial output was kept" in said
    assert "Traceback" not in said
    assert not list(folders.glob("*full*"))


@pytest.mark.long
def test_a_killed_packing_leaves_nothing_that_is_read(folders):
    """Its folder never got its name; the next packing clears it away."""
    killed = subprocess.Popen(command(folders, "out", 1_000_000))
    wait_until(lambda: any(folders.glob(".out.*.part/tokens.npy")), killed)
    killed.kill()
    assert killed.wait() == -signal.SIGKILL
    assert not (folders / "out").exists()
    for name in ("out", "fresh"):
        subprocess.run(command(folders, name), check=True)
    names = sorted(path.name for path in (folders / "fresh").iterdir())
    assert sorted(path.name for path in (folders / "out").iterdir()) == names
    assert len(names) == 3 and not list(folders.glob(".out*"))
    for name in names:
        assert (folders / "out" / name).read_bytes() == (folders / "fresh" / name).read_bytes()
