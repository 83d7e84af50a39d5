"""What init_embeddings writes beside the model, and what it says."""

from __future__ import annotations

import pytest
from toy_folders import adapt, initialise, shard, shared_pairs

from revocab.errors import RevocabError
from revocab.initialise.rows.source_weights import NEW_ROWS, read_new_rows
from revocab.io import read_json
from revocab.models.folder import ModelFolder


@pytest.mark.parametrize("method", ["fvt", "lapt"])
def test_the_folder_says_which_rows_are_new(toys, tmp_path, method):
    out = adapt(toys, tmp_path / "out", method=method)
    if method == "lapt":
        assert not (out / NEW_ROWS).exists()
        return
    counts = read_json(out / "provenance.json")["counts"]
    assert counts["overlap"] + counts["missing"] == counts["target_tokens"]
    described = read_json(out / "diagnostics.json")["matrices"]
    for statistics in (described["input"], described["output"]):
        assert statistics["norm_copied"]["rows"] == counts["overlap"]
        assert statistics["norm_new"]["rows"] == counts["missing"]
    new_V = read_new_rows(out, counts["target_tokens"])
    assert int(new_V.sum()) == counts["missing"]
    assert not new_V[shared_pairs(toys)[0]].any()


def test_what_a_method_lacks_is_said_at_once_and_before_anything_is_read(toys, tmp_path):
    said = []
    with pytest.raises(RevocabError) as caught:
        initialise(toys / "untied", tmp_path / "out", "sava", say=said.append)
    assert [problem.split()[3] for problem in caught.value.problems] == [
        "--target-tokenizer,", "--helper,",
    ]  # fmt: skip
    assert said == []
    with pytest.raises(RevocabError, match=r"savaa"):
        initialise(toys / "untied", tmp_path / "out", "savaa")
    absent = {name: tmp_path / name for name in ("source", "target_tokenizer", "helper", "pairs")}
    with pytest.raises(RevocabError) as caught:
        initialise(absent.pop("source"), tmp_path / "out", "sava", say=said.append, **absent)
    flags = ("--source", "--target-tokenizer", "--pairs", "--helper")
    assert [problem.split(": ")[0] for problem in caught.value.problems] == [*flags]
    assert said == []


def test_a_device_that_is_not_there_is_refused(toys, tmp_path):
    with pytest.raises(RevocabError, match="--device cuda:97: not available"):
        adapt(toys, tmp_path / "out", device="cuda:97")


def test_only_vocabulary_tensors_are_read(toys, tmp_path, monkeypatch):
    source = shard(toys / "untied", tmp_path / "sharded")
    read, plain = set(), ModelFolder.read

    def watched(self, name):
        read.add((self.path, name))
        return plain(self, name)

    monkeypatch.setattr(ModelFolder, "read", watched)
    adapt(toys, tmp_path / "out", source, "sava")
    assert read == {
        (source, "model.embed_tokens.weight"),
        (source, "lm_head.weight"),
        (toys / "helper", "model.embed_tokens.weight"),
    }
