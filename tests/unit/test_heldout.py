"""Held-out windows and losses: each token predicted once, bits per byte by hand."""

from __future__ import annotations

import copy
import math
import shutil

import pytest
import torch

from revocab import io
from revocab.errors import RevocabError
from revocab.training import heldout_loss
from revocab.training.data.heldout import pack_heldout_folder, windows_of
from revocab.training.data.packing import Document, HeldoutJob
from revocab.training.heldout_loss import (
    HeldoutCorpus,
    heldout_losses,
    heldout_rows,
    open_heldout,
)

JOB = HeldoutJob(sequence_length=5)


@pytest.fixture(scope="module")
def model():
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=32, hidden_size=16, intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=2, max_position_embeddings=16,
    )  # fmt: skip
    return LlamaForCausalLM(config).eval()


def documents():
    lengths = (5, 1, 0, 9, 4)
    return [
        Document(str(n), "x" * length, [3 + (7 * n + i) % 29 for i in range(length)])
        for n, length in enumerate(lengths)
    ]


def corpus_of(windows, **changes):
    values = {
        "name": "c",
        "language": "it",
        "bytes": windows.bytes,
        "tokens": windows.tokens,
        "input_ids": torch.from_numpy(windows.input_ids),
        "lengths": torch.from_numpy(windows.lengths),
    }
    return HeldoutCorpus(**{**values, **changes})


def test_windows_by_hand():
    windows = windows_of([Document("0", "abcde", [5, 6, 7, 8, 9])], 1, 3)
    assert windows.input_ids.tolist() == [[1, 5, 6], [1, 7, 8], [1, 9, 0]]
    assert windows.lengths.tolist() == [3, 3, 2]
    assert (windows.count.documents, windows.bytes, windows.tokens) == (1, 5, 5)


@pytest.mark.parametrize("length", [2, 3, 5, 16])
def test_each_text_token_is_predicted_once_and_in_order(length):
    windows = windows_of(documents(), 1, length)
    predicted = [
        token
        for row, size in zip(windows.input_ids.tolist(), windows.lengths, strict=True)
        for token in row[1:size]
    ]
    assert predicted == [token for document in documents() for token in document.ids]
    assert windows.tokens == len(predicted) == 19
    assert (windows.input_ids[:, 0] == 1).all()
    assert windows.count.documents == 4  # the empty one is no document


def test_loss_is_the_sum_over_windows_taken_alone(model):
    windows = windows_of(documents(), 1, 6)
    expected = 0.0
    for row, size in zip(windows.input_ids, windows.lengths, strict=True):
        ids = torch.from_numpy(row[:size]).long()[None]
        with torch.no_grad():
            log_probabilities = model(input_ids=ids).logits.log_softmax(-1)[0]
        expected -= sum(log_probabilities[i, ids[0, i + 1]].item() for i in range(size - 1))
    assert heldout_losses(model, [corpus_of(windows)])[0] == pytest.approx(expected, rel=1e-6)


def test_a_batch_that_does_not_fit_is_halved_until_it_does(model, monkeypatch):
    windows = windows_of(documents(), 1, 5)
    whole = heldout_losses(model, [corpus_of(windows)])
    sizes, usual, most = [], heldout_loss.summed_loss, 2

    def limited(model, ids, *rest):
        sizes.append(len(ids))
        if len(ids) > most:
            raise torch.OutOfMemoryError("planted")
        return usual(model, ids, *rest)

    monkeypatch.setattr(heldout_loss, "summed_loss", limited)
    assert heldout_losses(model, [corpus_of(windows)]) == pytest.approx(whole, abs=1e-5)
    assert sizes[0] == len(windows.lengths) and max(sizes[-2:]) <= most
    assert sum(size for size in sizes if size <= most) == len(windows.lengths)
    most = 0
    with pytest.raises(RevocabError, match="a single window of held-out text"):
        heldout_losses(model, [corpus_of(windows)])


def test_bits_per_byte_by_hand(model):
    """A model that knows nothing spends log2(V) bits a token."""
    uniform = copy.deepcopy(model)
    torch.nn.init.zeros_(uniform.lm_head.weight)
    windows = windows_of(documents(), 1, 6)
    ((step, name, language, loss, bits, tokens, size),) = heldout_rows(
        uniform, [corpus_of(windows, bytes=38)], 25
    )
    assert (step, name, language, tokens, size) == (25, "c", "it", 19, 38)
    assert loss == pytest.approx(math.log(32), rel=1e-6)
    assert bits == pytest.approx(19 * 5 / 38, rel=1e-6)


@pytest.fixture
def folders(tmp_path):
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.WordLevel({"<s>": 0, "a": 1, "b": 2, "[u]": 3}, unk_token="[u]"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>")
    tokenizer.save_pretrained(tmp_path / "tokenizer")
    rows = [{"id": "0", "text": "a b"}, {"id": "1", "text": "b a b a b a"}]
    io.write_jsonl(tmp_path / "it" / "heldout.jsonl.gz", rows)
    io.write_json(tmp_path / "it" / "manifest.json", {"corpus": "it", "language": "it"})
    return tmp_path


def windows_in(folders):
    corpora = {"it": folders / "it"}
    return pack_heldout_folder(folders / "tokenizer", corpora, JOB, folders / "out")


def test_folder_round_trip_longest_first(folders):
    manifest = windows_in(folders)
    assert manifest == io.read_json(folders / "out" / "manifest.json")
    (corpus,), _ = open_heldout(folders / "out")
    assert (corpus.tokens, corpus.bytes, corpus.language) == (8, 14, "it")
    assert corpus.lengths.tolist() == [5, 3, 3]
    assert corpus.input_ids.tolist() == [[0, 2, 1, 2, 1], [0, 1, 2, 0, 0], [0, 2, 1, 0, 0]]


def test_what_no_token_stands_for_divides_no_loss(folders):
    rows = [{"id": "0", "text": "a zz b"}, {"id": "1", "text": "zz"}, {"id": "2", "text": ""}]
    io.write_jsonl(folders / "it" / "heldout.jsonl.gz", rows)
    manifest = windows_in(folders)
    described = manifest["corpora"]["it"]
    assert {key: described[key] for key in ("bytes", "unseen_bytes", "unseen", "tokens")} == {
        "bytes": 4, "unseen_bytes": 4, "unseen": {"zz": 2}, "tokens": 4,
    }  # fmt: skip
    assert open_heldout(folders / "out")[0][0].bytes == 4
    io.write_jsonl(folders / "it" / "heldout.jsonl.gz", rows[1:])
    with pytest.raises(RevocabError, match="no token for any"):
        windows_in(folders)


def test_windows_of_another_tokenizer_are_refused(folders):
    from transformers import MistralConfig

    from revocab.training.heldout_loss import measure_heldout

    windows_in(folders)
    model = shutil.copytree(folders / "tokenizer", folders / "model")
    MistralConfig(vocab_size=4).save_pretrained(model)
    content = io.read_json(model / "tokenizer.json")
    content["model"]["vocab"] |= {"a": 2, "b": 1}  # ids that fit all the same
    io.write_json(model / "tokenizer.json", content)
    with pytest.raises(RevocabError, match="another tokenizer") as raised:
        measure_heldout({0: model}, folders / "out", folders / "heldout.csv", "cpu")
    assert str(model) in raised.value.problems[0] and str(folders / "out") in str(raised.value)


def test_a_damaged_file_is_an_error(folders):
    windows_in(folders)
    with (folders / "out" / "it.safetensors").open("ab") as handle:
        handle.write(b"x")
    with pytest.raises(RevocabError, match="checksum"):
        open_heldout(folders / "out")


def test_a_corpus_without_heldout_text(folders):
    io.write_jsonl(folders / "it" / "heldout.jsonl.gz", [])
    with pytest.raises(RevocabError, match="no held-out text"):
        windows_in(folders)


@pytest.mark.parametrize("processes", [2, 3, 7])
def test_processes_share_the_batches_and_agree(model, monkeypatch, processes):
    """Each process's part is computed here in turn; more processes than batches work too."""
    corpora = [corpus_of(windows_of(documents(), 1, length)) for length in (4, 6)]
    monkeypatch.setattr(heldout_loss, "CPU_BATCH_TOKENS", 8)
    alone = heldout_loss.heldout_losses(model, corpora)
    parts = {}

    def gather(everyone, own):
        parts[torch.distributed.get_rank()] = own
        for number, part in parts.items():
            everyone[number].copy_(part)

    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: processes)
    monkeypatch.setattr(torch.distributed, "all_gather", gather)
    for rank in range(processes):
        monkeypatch.setattr(torch.distributed, "get_rank", lambda r=rank: r)
        together = heldout_loss.heldout_losses(model, corpora)
    assert len({len(part) for part in parts.values()}) == 1  # equally many calls
    assert together == alone
