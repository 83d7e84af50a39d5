"""Attention within conversations, mixtures by size, held-out text, workers, disks that fill."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional
from waiting import wait_until

from revocab import io
from revocab.errors import RevocabError
from revocab.training.data.mixture import shares_by_size
from revocab.training.data.packed_folder import pack_folder
from revocab.training.data.packed_rows import PackedRows, positions_of
from revocab.training.data.packing import PackingJob
from revocab.training.loop.loss import next_token_loss

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


# Attention within conversations -------------------------------------------------------------------


def test_positions_begin_anew():
    firsts = np.array([[1, 0, 0, 1, 1, 0], [1, 0, 0, 0, 0, 0]], dtype=bool)
    assert positions_of(firsts).tolist() == [[0, 1, 2, 0, 0, 1], [0, 1, 2, 3, 4, 5]]


def model_of(family):
    import transformers

    torch.manual_seed(0)
    config = getattr(transformers, f"{family}Config")(
        vocab_size=43, hidden_size=16, intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=32,
    )  # fmt: skip
    return getattr(transformers, f"{family}ForCausalLM")(config).eval()


def masked_rows(rows=8, length=16):
    """Rows of pieces of many lengths, in which every token but a piece's first is learned."""
    random = np.random.default_rng(5)
    tokens = random.integers(3, 43, (rows, length)).astype(np.uint16)
    starts = random.random((rows, length)) < 0.2
    starts[:, 0] = True
    marks = {"starts": np.packbits(starts, axis=1), "answers": np.packbits(~starts, axis=1)}
    return PackedRows(tokens, {"sequence_length": length}, rows, marks, batch_size=4)


@pytest.mark.parametrize("family", ["Mistral", "Llama", "GPTNeoX"])
def test_masked_loss_and_gradients_equal_those_of_pieces_passed_one_by_one(family):
    """GPT-NeoX has a head that takes the long way."""
    batch = masked_rows().__getitems__([0, 1, 2, 3])
    model = model_of(family)
    loss = next_token_loss(model, **batch)
    loss.backward()
    gradients = {name: p.grad.clone() for name, p in model.named_parameters()}
    model.zero_grad()
    total, count, pieces = torch.zeros(()), 0, 0
    for row, positions in zip(batch["input_ids"], batch["position_ids"], strict=True):
        begins = [*(positions == 0).nonzero().flatten().tolist(), len(row)]
        for begin, end in itertools.pairwise(begins):
            logits = model(input_ids=row[None, begin:end], use_cache=False).logits[0]
            total = total + functional.cross_entropy(
                logits[:-1], row[begin + 1 : end], reduction="sum"
            )
            count += end - begin - 1
            pieces += 1
    assert pieces > 8
    assert int(batch["predicted"][0]) == count
    torch.testing.assert_close(loss, (total / count).detach(), check_dtype=False)
    (total / count).backward()
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(gradients[name], parameter.grad, rtol=1e-4, atol=1e-6, msg=name)


def test_micro_batches_add_up_to_the_mean_over_predicted_tokens():
    rows, model = masked_rows(), model_of("Llama")
    whole = next_token_loss(model, **rows.__getitems__([4, 5, 6, 7]))
    parts = [next_token_loss(model, **rows.__getitems__(part)) for part in ([4], [5, 6], [7])]
    torch.testing.assert_close(sum(parts), whole)


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
    for name in ("tokens-00000.npy", "manifest.json"):
        assert (folders / "1" / name).read_bytes() == (folders / "2" / name).read_bytes()


# Disks that fill ----------------------------------------------------------------------------------


@pytest.mark.parametrize("shard_bytes", ["99999", "1100"])
def test_a_disk_that_fills_is_a_clear_error_and_leaves_nothing(folders, shard_bytes):
    """The limit on a file's size stands in for the disk: the same errors, from the same calls."""
    full = command(folders, "full", "--shard-bytes", shard_bytes)
    limited = ["bash", "-c", 'ulimit -f 1; exec "$@"', "limited", *full]
    done = subprocess.run(limited, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "no room for" in done.stderr and "no partial output was kept" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(folders.glob("*full*"))


def test_a_killed_packing_leaves_nothing_that_is_read(folders):
    """Its folder never got its name; the next packing clears it away."""
    killed = subprocess.Popen(command(folders, "out", "--rows", "400000", "--shard-bytes", "9999"))
    wait_until(lambda: any(folders.glob(".out.*.part/.tokens-00009*.part")), killed)
    killed.kill()
    assert killed.wait() == -signal.SIGKILL
    assert not (folders / "out").exists()
    for name in ("out", "fresh"):
        subprocess.run(command(folders, name, "--shard-bytes", "999"), check=True)
    names = sorted(path.name for path in (folders / "fresh").iterdir())
    assert sorted(path.name for path in (folders / "out").iterdir()) == names
    assert len(names) == 3 + 3 and not list(folders.glob(".out*"))
    for name in names:
        assert (folders / "out" / name).read_bytes() == (folders / "fresh" / name).read_bytes()
