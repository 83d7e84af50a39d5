"""Packing: mixtures by size, held-out text, workers, disks that fill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from waiting import wait_until

from revocab import io
from revocab.errors import RevocabError
from revocab.training.data.mixture import shares_by_size
from revocab.training.data.packed_folder import pack_folder
from revocab.training.data.packing import PackingJob

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def folders(tmp_path):
    """A word tokenizer and two corpora of documents of many lengths, some held out."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = ["[u]", "<s>", "</s>", *(f"w{n}" for n in range(40))]
    backend = Tokenizer(
        models.WordLevel({word: n for n, word in enumerate(words)}, unk_token="[u]")
    )
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token="<s>", eos_token="</s>", unk_token="[u]"
    ).save_pretrained(tmp_path / "tokenizer")
    random = np.random.default_rng(5)
    for name, count in {"it": 120, "en": 60}.items():
        rows = [
            {"id": f"{name}{n}", "text": " ".join(f"w{w}" for w in random.integers(0, 40, size))}
            for n, size in enumerate(random.integers(5, 14, count))
        ]
        io.write_jsonl(tmp_path / name / "train.jsonl.gz", rows[5:])
        io.write_jsonl(tmp_path / name / "heldout.jsonl.gz", rows[:5])
        size = sum(len(row["text"]) for row in rows[5:])
        io.write_json(
            tmp_path / name / "manifest.json", {"language": name, "train": {"bytes": size}}
        )
    return tmp_path


def packed(folders, out, corpora=("it",), heldout=(), **options):
    values = {"sequence_length": 16, "rows": 8, "seed": 3, **options}
    shares = dict.fromkeys(corpora, 1 / len(corpora))
    return pack_folder(
        folders / "tokenizer",
        {name: folders / name for name in corpora},
        PackingJob(**values, shares=shares),
        folders / out,
        heldout,
    )


# Mixtures by size ---------------------------------------------------------------------------------


def test_shares_by_size_by_hand():
    sizes = {"sw": 100, "id": 400}
    shares = shares_by_size({"en": 0.2, "sw": None, "id": None}, sizes)
    assert shares == pytest.approx({"en": 0.2, "sw": 0.16, "id": 0.64})
    with pytest.raises(RevocabError, match="0 is left for the corpora drawn by size"):
        shares_by_size({"en": 1.0, "sw": None}, sizes)


def test_packing_by_size_reads_the_corpora_s_sizes(folders):
    shares = {"it": "size", "en": "size"}
    options = PackingJob(sequence_length=16, rows=16, seed=3, shares=shares)
    corpora = {name: folders / name for name in shares}
    manifest = pack_folder(folders / "tokenizer", corpora, options, folders / "out")
    assert {name: one["rows"] for name, one in manifest["corpora"].items()} == {"it": 11, "en": 5}
    assert set(manifest["sizes"]) == {"it", "en"}


# Held-out text ------------------------------------------------------------------------------------


def test_text_held_out_of_one_corpus_is_trained_on_in_none(folders):
    """A copy in another corpus, with other whitespace, is met too."""
    (secret, *_), train = (
        list(io.read_jsonl(folders / "it" / f"{part}.jsonl.gz")) for part in ("heldout", "train")
    )
    copy = {"id": "copy", "text": "  " + secret["text"].replace(" ", "\n ")}
    english = list(io.read_jsonl(folders / "en" / "train.jsonl.gz"))
    clean = packed(folders, "clean", corpora=("it", "en"))
    io.write_jsonl(folders / "en" / "train.jsonl.gz", [copy, *english])
    leaking = packed(folders, "leaking", corpora=("it", "en"))
    kept = packed(folders, "kept", corpora=("it", "en"), heldout=[folders / "it", folders / "en"])
    assert kept["corpora"]["en"]["skipped_heldout"] == 1
    assert "skipped_heldout" not in kept["corpora"]["it"]
    assert kept["sha256"] == clean["sha256"] != leaking["sha256"]
    assert len(train) == 115


# Workers ------------------------------------------------------------------------------------------


def command(folders, out, *more):
    return [
        sys.executable, "-m", "revocab", "pack",
        "--tokenizer", folders / "tokenizer", "--corpora", f"it={folders / 'it'}",
        f"en={folders / 'en'}", "--shares", "it=0.5", "en=0.5", "--sequence-length", "16",
        "--rows", "64",
        "--seed", "3", "--repeat-corpora", "--out", folders / out, *more,
    ]  # fmt: skip


def test_any_number_of_workers_gives_the_same_bytes(folders):
    for threads in ("1", "2"):
        environment = {
            **os.environ, "RAYON_NUM_THREADS": threads, "TOKENIZERS_PARALLELISM": "true"
        }  # fmt: skip
        subprocess.run(command(folders, threads), env=environment, check=True)
    for name in ("tokens.npy", "manifest.json"):
        assert (folders / "1" / name).read_bytes() == (folders / "2" / name).read_bytes()


# Disks that fill ----------------------------------------------------------------------------------


def test_a_disk_that_fills_is_a_clear_error_and_leaves_nothing(folders):
    """The limit on a file's size stands in for the disk: the same errors, from the same calls."""
    full = command(folders, "full")
    limited = ["bash", "-c", 'ulimit -f 1; exec "$@"', "limited", *full]
    done = subprocess.run(limited, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "no room for" in done.stderr and "no partial output was kept" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(folders.glob("*full*"))


@pytest.mark.long
def test_a_killed_packing_leaves_nothing_that_is_read(folders):
    """Its folder never got its name; the next packing clears it away."""
    killed = subprocess.Popen(command(folders, "out", "--rows", "400000"))
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
