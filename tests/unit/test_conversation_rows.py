"""Conversations in rows: whole, in order, marked; their loss is that of each by itself."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from chat_toys import text_of, write_chat, write_tokenizer
from torch.nn import functional

from revocab import io
from revocab.errors import RevocabError
from revocab.training.data.conversations import (
    ConversationCount,
    conversations_of,
    load_chat_tokenizer,
)
from revocab.training.data.heldout import pack_heldout_folder
from revocab.training.data.packed_folder import pack_folder
from revocab.training.data.packed_rows import MARKS, open_packed, positions_of
from revocab.training.data.packing import HeldoutJob, PackingJob
from revocab.training.heldout_loss import heldout_losses, open_heldout
from revocab.training.loss import next_token_loss

LENGTH, ROWS = 144, 8


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("chat")
    write_tokenizer(root / "tokenizer")
    write_chat(root / "it")
    write_chat(root / "en", count=30, language="en")
    return root


def packed(folders, out, corpora=("it",), template="plain", **options):
    values = {"sequence_length": LENGTH, "rows": ROWS, "seed": 3, "loss": "answers", **options}
    shares = dict.fromkeys(corpora, 1 / len(corpora))
    return pack_folder(
        folders / "tokenizer",
        {name: folders / name for name in corpora},
        PackingJob(**values, shares=shares),
        out,
        chat_template=template,
    )


def rows_of(folder, length=LENGTH):
    """Return tokens, starts and learned tokens of a packed folder."""
    tokens = np.load(folder / "tokens.npy")
    bits = [
        np.unpackbits(np.load(folder / f"{stem}.npy"), axis=1, count=length).astype(bool)
        for stem in MARKS
    ]
    return tokens, *bits


def conversations(folders, corpus="it", split="train", template="plain"):
    chat = load_chat_tokenizer(folders / "tokenizer", template)
    rows = io.read_jsonl(folders / corpus / f"{split}.jsonl.gz")
    return list(conversations_of(chat, rows, ConversationCount(corpus, 1, 0)))


@pytest.mark.parametrize("one_per_row", [False, True])
def test_rows_hold_whole_conversations_in_order(folders, tmp_path, one_per_row):
    manifest = packed(folders, tmp_path / "out", one_per_row=one_per_row)
    expected, number = conversations(folders), 0
    for row, starts, learned in zip(*rows_of(tmp_path / "out"), strict=True):
        place = 0
        while number < len(expected) and place + len(expected[number].ids) <= LENGTH:
            one = expected[number]
            end = place + len(one.ids)
            assert row[place:end].tolist() == one.ids
            assert starts[place:end].tolist() == [True] + [False] * (len(one.ids) - 1)
            assert learned[place:end].tolist() == one.learned.tolist()
            place, number = end, number + 1
            if one_per_row:
                break
        assert not row[place:].any() and not learned[place:].any()
        assert starts[place:].sum() == (place < LENGTH)
    count = manifest["corpora"]["it"]
    assert count["documents"] == number and (number == ROWS) is one_per_row
    assert count["tokens"] == sum(len(one.ids) for one in expected[:number])
    assert count["tokens"] + count["padding"] == ROWS * LENGTH == manifest["tokens"]
    assert count["answer_tokens"] == sum(int(one.learned.sum()) for one in expected[:number])
    assert manifest["tokens_per_byte"] == count["answer_tokens"] / count["answer_bytes"]
    assert "skipped_too_long" not in count


def test_packing_is_deterministic(folders, tmp_path):
    first, again = (
        packed(folders, tmp_path / name, corpora=("it", "en"), shuffle_rows=True) for name in "ab"
    )
    assert first == again and {"sha256", "starts_sha256", "answers_sha256"} <= {*first}


def test_a_corpus_may_begin_again(folders, tmp_path):
    with pytest.raises(RevocabError, match=r"corpus en: its conversations fill \d+ rows of 144 to"):
        packed(folders, tmp_path / "out", corpora=("en",), rows=60)
    manifest = packed(folders, tmp_path / "out", corpora=("en",), rows=60, repeat_corpora=True)
    assert manifest["corpora"]["en"]["passes"] > 1


def test_what_is_longer_than_a_row_is_refused_or_left_out(folders, tmp_path):
    longest = max(conversations(folders)[:20], key=lambda one: len(one.ids))
    length = len(longest.ids) - 1
    with pytest.raises(RevocabError, match=rf"conversation '{longest.id}': {length + 1} tokens, b"):
        packed(folders, tmp_path / "out", sequence_length=length, rows=16)
    manifest = packed(folders, tmp_path / "whole", sequence_length=length + 1, rows=16)
    assert "skipped_too_long" not in manifest["corpora"]["it"]
    manifest = packed(
        folders, tmp_path / "out", sequence_length=length, rows=16, drop_too_long=True
    )
    count = manifest["corpora"]["it"]
    found = conversations(folders)[: count["documents"] + count["skipped_too_long"]]
    assert count["skipped_too_long"] == sum(len(one.ids) > length for one in found) > 0
    with pytest.raises(RevocabError, match=r"no conversation of at most 8 tokens"):
        packed(folders, tmp_path / "out", sequence_length=8, rows=2, drop_too_long=True)


def test_what_is_longer_than_a_row_may_be_cut(folders, tmp_path):
    """Its first tokens are a row; with no answer among them it is left out."""
    whole = conversations(folders)[:20]
    length = max(len(one.ids) for one in whole) - 1
    options = {"rows": 20, "one_per_row": True, "cut_too_long": True}
    manifest = packed(folders, tmp_path / "out", sequence_length=length, **options)
    count = manifest["corpora"]["it"]
    assert manifest["cut_too_long"] is True and "skipped_too_long" not in count
    assert count["documents"] == count["rows"] == 20
    assert count["tokens"] == sum(min(len(one.ids), length) for one in whole)
    assert count["answer_tokens"] == sum(int(one.learned[:length].sum()) for one in whole)
    assert 0 < count["answer_bytes"] <= sum(one.answer_bytes for one in whole)
    tokens, starts, learned = rows_of(tmp_path / "out", length)
    longest = max(range(20), key=lambda number: len(whole[number].ids))
    assert tokens[longest].tolist() == whole[longest].ids[:length]
    assert learned[longest].tolist() == whole[longest].learned[:length].tolist()
    assert starts[longest].sum() == 1
    with pytest.raises(RevocabError, match=r"no conversation of at most 2 tokens"):
        packed(folders, tmp_path / "none", sequence_length=2, **options)
    with pytest.raises(ValueError, match="left out or cut; give one"):
        packed(folders, tmp_path / "both", **options, drop_too_long=True)


def test_of_a_cut_answer_the_bytes_before_the_cut_count(folders):
    chat = load_chat_tokenizer(folders / "tokenizer", "plain")
    (whole,) = conversations(folders)[:1]
    first = int(np.flatnonzero(whole.learned)[0])
    cut = whole.cut(first + 1)
    assert (len(cut.ids), int(cut.learned.sum())) == (first + 1, 1)
    spelt = chat.backend.decode(cut.ids[-1:])
    assert 0 < cut.answer_bytes <= len(spelt.encode()) + 1


def test_text_and_conversations_are_not_taken_for_one_another(folders, tmp_path):
    with pytest.raises(RevocabError, match=r"corpus it: holds conversations, .* set loss: answers"):
        packed(folders, tmp_path / "out", loss="all")
    io.write_json(tmp_path / "text" / "manifest.json", {"language": "it", "train": {"bytes": 1}})
    with pytest.raises(RevocabError, match=r"corpus it: holds text, and loss: answers needs conv"):
        pack_folder(
            folders / "tokenizer",
            {"it": tmp_path / "text"},
            PackingJob(sequence_length=16, rows=2, seed=1, loss="answers", shares={"it": [1.0]}),
            tmp_path / "out",
        )


def test_the_template_is_no_output(folders, tmp_path):
    file = tmp_path / "out" / "mine.jinja"
    io.write_text(file, "{% generation %}")
    with pytest.raises(RevocabError, match="out"):
        packed(folders, tmp_path / "out", template=file)
    assert file.read_text() == "{% generation %}"


def test_positions_begin_anew():
    firsts = np.array([[1, 0, 0, 1, 1, 0], [1, 0, 0, 0, 0, 0]], dtype=bool)
    assert positions_of(firsts).tolist() == [[0, 1, 2, 0, 0, 1], [0, 1, 2, 3, 4, 5]]


# The loss -----------------------------------------------------------------------------------------


def model_of(family):
    import transformers

    torch.manual_seed(0)
    config = getattr(transformers, f"{family}Config")(
        vocab_size=320, hidden_size=16, intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=160,
    )  # fmt: skip
    return getattr(transformers, f"{family}ForCausalLM")(config).eval()


def plain_loop(model, found):
    """Return the mean loss over the answers' tokens of conversations passed one by one."""
    total, count = torch.zeros(()), 0
    for one in found:
        ids = torch.tensor(one.ids)
        logits = model(input_ids=ids[None], use_cache=False).logits[0]
        learned = torch.from_numpy(one.learned)[1:]
        total = total + functional.cross_entropy(
            logits[:-1][learned], ids[1:][learned], reduction="sum"
        )
        count += int(learned.sum())
    return total / count, count


@pytest.mark.parametrize(("family", "one_per_row"), [("Mistral", False), ("GPTNeoX", True)])
def test_loss_and_gradients_are_those_of_a_plain_loop_for_any_micro_batch(
    folders, tmp_path, family, one_per_row
):
    manifest = packed(folders, tmp_path / "out", rows=4, one_per_row=one_per_row)
    rows = open_packed(tmp_path / "out", 4, batch_size=4)
    model = model_of(family)
    found = conversations(folders)[: manifest["corpora"]["it"]["documents"]]
    expected, count = plain_loop(model, found)
    expected.backward()
    gradients = {name: p.grad.clone() for name, p in model.named_parameters()}
    for parts in ([[0, 1, 2, 3]], [[0], [1, 2], [3]]):
        model.zero_grad()
        batches = [rows.batch(part) for part in parts]
        assert {int(n) for batch in batches for n in batch["predicted"]} == {count}
        losses = [next_token_loss(model, **batch) for batch in batches]
        for loss in losses:
            loss.backward()
        torch.testing.assert_close(sum(losses), expected.detach())
        for name, parameter in model.named_parameters():
            torch.testing.assert_close(
                parameter.grad, gradients[name], rtol=1e-4, atol=1e-6, msg=name
            )


# Held out -----------------------------------------------------------------------------------------


def test_heldout_loss_is_that_of_answers(folders, tmp_path):
    job, corpora = HeldoutJob(sequence_length=128), {"it": folders / "it"}
    manifest = pack_heldout_folder(folders / "tokenizer", corpora, job, tmp_path / "out", "plain")
    corpora, read = open_heldout(tmp_path / "out")
    model = model_of("Mistral")
    expected, count = plain_loop(model, conversations(folders, split="heldout"))
    assert corpora[0].tokens == count and read == manifest
    (nats,) = heldout_losses(model, corpora)
    assert nats / count == pytest.approx(expected.item(), rel=1e-6)
    answers = [
        message["content"]
        for row in io.read_jsonl(folders / "it" / "heldout.jsonl.gz")
        for message in row["messages"]
        if message["role"] == "assistant"
    ]
    assert corpora[0].bytes == sum(len(one.encode()) for one in answers)


def test_heldout_conversations_that_are_too_long(folders, tmp_path):
    def windows_of(**options):
        job, corpora = HeldoutJob(sequence_length=40, **options), {"it": folders / "it"}
        return pack_heldout_folder(folders / "tokenizer", corpora, job, tmp_path / "out", "plain")

    with pytest.raises(RevocabError, match=r"corpus it, conversation .* but a row has 40"):
        windows_of()
    count = windows_of(drop_too_long=True)["corpora"]["it"]
    assert count["documents"] + count["skipped_too_long"] == 6 > count["documents"]


def test_heldout_text_beside_conversations_stays_text(folders, tmp_path):
    text = tmp_path / "text"
    io.write_jsonl(text / "heldout.jsonl.gz", [{"id": "0", "text": text_of(3)}])
    io.write_json(text / "manifest.json", {"language": "it"})
    job = HeldoutJob(sequence_length=128)
    corpora = {"text": text, "chat": folders / "it"}
    pack_heldout_folder(folders / "tokenizer", corpora, job, tmp_path / "both", "plain")
    pack_heldout_folder(folders / "tokenizer", {"text": text}, job, tmp_path / "alone")
    assert (tmp_path / "both/text.safetensors").read_bytes() == (
        tmp_path / "alone/text.safetensors"
    ).read_bytes()
