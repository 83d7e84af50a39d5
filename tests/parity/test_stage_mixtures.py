"""A mixture for each stage, from corpora to the run: counts by hand, rows where they belong."""

from __future__ import annotations

import shutil
import subprocess
import sys

import numpy as np
import pytest
from training_pico import run_of, table, write_inputs

from revocab import io
from revocab.errors import RevocabError
from revocab.training.data.heldout import pack_heldout_folder
from revocab.training.data.packed_rows import open_packed
from revocab.training.data.packing import HeldoutJob
from revocab.training.stages import Stage
from revocab.training.train import train

pytestmark = pytest.mark.usefixtures("one_thread")

#: Documents of seven words and a bos fill half a row of sixteen.
WORDS = {"ar": "a", "en": "english"}
STAGES = (
    Stage(name="embeddings", steps=5, learning_rate=1e-2, train=("embeddings",)),
    Stage(name="everything", steps=2, learning_rate=1e-3, warmup_steps=1),
)


@pytest.fixture(scope="module")
def root(tmp_path_factory, repository):
    """Gosal et al.'s shares at pico size, packed by the script: 20 rows at 9:1, then 8 at 1:1."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    root = tmp_path_factory.mktemp("stages")
    write_inputs(root)
    for name in ("heldout", "packed"):  # made below by the commands, which replace their own only
        shutil.rmtree(root / name)
    words = ["[u]", "<s>", *(f"{letter}{n}" for letter in WORDS.values() for n in range(20))]
    backend = Tokenizer(models.WordLevel({w: n for n, w in enumerate(words)}, unk_token="[u]"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token="<s>", unk_token="[u]"
    ).save_pretrained(root / "tokenizer")
    for name, letter in WORDS.items():
        rows = [
            {"id": f"{n}", "text": " ".join(f"{letter}{(n + word) % 20}" for word in range(7))}
            for n in range(60)
        ]
        io.write_jsonl(root / name / "train.jsonl.gz", rows[4:])
        io.write_jsonl(root / name / "heldout.jsonl.gz", rows[:4])
        io.write_json(root / name / "manifest.json", {"language": name})
    corpora, job = {name: root / name for name in WORDS}, HeldoutJob(sequence_length=16)
    pack_heldout_folder(root / "tokenizer", corpora, job, root / "heldout")
    arguments = [
        "--tokenizer", root / "tokenizer", "--sequence-length", "16", "--rows", "28",
        "--corpora", f"ar={root / 'ar'}", f"en={root / 'en'}",
        "--shares", "ar=[0.9, 0.5]", "en=[0.1, 0.5]",
        "--stages", "embeddings=20", "everything=8",
        "--seed", "17", "--out", root / "packed",
    ]  # fmt: skip
    subprocess.run([sys.executable, "-m", "revocab", "pack", *arguments], check=True)
    return root


def test_counts_of_every_stage_are_exact(root):
    manifest = io.read_json(root / "packed/manifest.json")
    stages = [
        {key: value for key, value in stage.items() if key != "tokens_per_byte"}
        for stage in manifest["stages"]
    ]
    assert stages == [
        {"name": "embeddings", "rows": 20,
         "corpora": {"ar": {"share": 0.9, "rows": 18}, "en": {"share": 0.1, "rows": 2}}},
        {"name": "everything", "rows": 8,
         "corpora": {"ar": {"share": 0.5, "rows": 4}, "en": {"share": 0.5, "rows": 4}}},
    ]  # fmt: skip
    assert {name: one["documents"] for name, one in manifest["corpora"].items()} == {
        "ar": 2 * (18 + 4), "en": 2 * (2 + 4)
    }  # fmt: skip
    assert manifest["corpora"]["ar"]["share"] == 22 / 28
    assert manifest["languages"]["en"]["tokens"] == 6 * 16


def test_bytes_of_a_stage_are_those_of_its_corpora(root):
    manifest = io.read_json(root / "packed/manifest.json")
    arabic, english = (manifest["corpora"][name] for name in ("ar", "en"))
    for stage, (first, second) in zip(manifest["stages"], [(18, 2), (4, 4)], strict=True):
        size = first * arabic["bytes"] / 22 + second * english["bytes"] / 6
        assert stage["tokens_per_byte"] == pytest.approx(16 * (first + second) / size)
    assert manifest["stages"][0]["tokens_per_byte"] > 1.3 * manifest["stages"][1]["tokens_per_byte"]


def test_every_batch_holds_what_its_stage_draws(root):
    packed = open_packed(root / "packed", 28, batch_size=4)
    batches = [packed.batch(list(range(n, n + 4)))["input_ids"] for n in range(0, 28, 4)]
    arabic = [int((batch[:, 1] < 22).sum()) for batch in batches]
    assert (sum(arabic[:5]), sum(arabic[5:])) == (18, 4)


def test_a_run_trains_on_them_and_keeps_the_shares(root, tmp_path):
    manifest = train(run_of(root, tmp_path, steps=7, checkpoint_every=5, stages=STAGES))
    assert manifest["stages"] == io.read_json(root / "packed/manifest.json")["stages"]
    rows = table(tmp_path / "losses.csv")
    assert len(rows) == 7
    for step, row in enumerate(rows, 1):
        ratio = manifest["stages"][step > 5]["tokens_per_byte"]
        bits = float(row["loss"]) * ratio / np.log(2)
        assert float(row["bits_per_byte"]) == pytest.approx(bits, rel=1e-5)


def test_rows_mixed_for_other_stages_are_refused(root, tmp_path):
    other = [one.model_copy(update={"steps": n}) for one, n in zip(STAGES, (4, 3), strict=True)]
    with pytest.raises(RevocabError, match=r"stages embeddings 20, everything 8 \(rows\), but"):
        train(run_of(root, tmp_path, steps=7, checkpoint_every=5, stages=other))
