"""Likelihood matching as a stage: parity with a plain loop, resumes, other models, refusals."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from taught_pico import (
    BATCH,
    EVERYTHING,
    LENGTH,
    STEPS,
    opened,
    taught_run,
    unshared_tokenizers,
    write_packed_text,
)
from torch.nn import functional
from training_pico import assert_same, at, changed, losses, stop_training, table, weights

from revocab import io
from revocab.errors import RevocabError
from revocab.initialise.rows.source_weights import read_new_rows
from revocab.training.loop import chunk_likelihoods
from revocab.training.train import train

pytestmark = pytest.mark.usefixtures("one_thread")

#: What a stage trains and how, by the model that it is tried on.
OPTIONS = {
    "untied": {
        "train": ["all"], "weight_decay": 0.3, "alm": {"temperature": 2.0, "cross_entropy": 0.5},
    },
    "tied": {"train": ["new_rows"], "alm": {}},
}  # fmt: skip
#: Of the source model.
POSITIONS = 64
MATCH = {"name": "match", "steps": STEPS, "learning_rate": 1e-2, "schedule": "constant"}


def alm_run(root, out, *stages, name="untied", **changes):
    stages = stages or ({**MATCH, **OPTIONS[name]}, EVERYTHING)
    return taught_run(root, out, *stages, name=name, **{"seed": 5, **changes})


@pytest.fixture(scope="module", params=["untied", "tied"])
def matched(request, folders, tmp_path_factory):
    out = tmp_path_factory.mktemp("out") / "run"
    return folders, request.param, out, train(alm_run(folders, out, name=request.param))


def documents(row, tokenizer):
    """Return the texts between the bos of a packed row."""
    pieces = [[]]
    for token in row:
        if token == tokenizer.bos_token_id:
            pieces.append([])
        else:
            pieces[-1].append(token)
    return [tokenizer.decode(piece).strip("\ufffd") for piece in pieces if piece], bool(pieces[0])


def ends(tokenizer, ids, text):
    """Return by length of text the last token whose whole text, decoded, has that length."""
    decoded = [tokenizer.decode(ids[: n + 1]) for n in range(len(ids))]
    return {len(part): n for n, part in enumerate(decoded) if part and text.startswith(part)}


def chunks_of(row, student, source):
    """Return ids of both, and of each chunk the first and the last token in both."""
    texts, _ = documents(row, student)
    sides = [student.bos_token_id], [source.bos_token_id]
    chunks = []
    for number, text in enumerate(texts):
        if number:
            chunks.append([(len(side), len(side)) for side in sides])
            sides[0].append(student.bos_token_id)
            sides[1].append(source.bos_token_id)
        both = [own.encode(text, add_special_tokens=False) for own in (student, source)]
        places = [ends(own, ids, text) for own, ids in zip((student, source), both, strict=True)]
        begins = [len(side) for side in sides]
        for length in sorted({*places[0]} & {*places[1]}):
            lasts = [len(side) + own[length] for side, own in zip(sides, places, strict=True)]
            chunks.append([*zip(begins, lasts, strict=True)])
            begins = [last + 1 for last in lasts]
        for side, ids in zip(sides, both, strict=True):
            side.extend(ids)
    read = [pair for pair in chunks if pair[0][1] < LENGTH and pair[1][1] < POSITIONS]
    return sides[0][:LENGTH], sides[1][:POSITIONS], read


def known(model, ids):
    """Return the log-likelihood of each token after those before it, from whole logits."""
    logits = model(input_ids=torch.tensor([ids])).logits[0, :-1]
    logs = functional.log_softmax(logits.float(), dim=1)
    return torch.cat([torch.zeros(1), logs[torch.arange(len(ids) - 1), torch.tensor(ids[1:])]])


def test_steps_equal_a_plain_loop(matched):
    """Each row alone, chunks found by decoded text and not by offsets, from whole logits."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    root, name, out, _ = matched
    load = AutoModelForCausalLM.from_pretrained
    both = root / f"{name}-adapted", root / name
    model, source = (load(folder, dtype=torch.float32) for folder in both)
    tokenizers = [*map(AutoTokenizer.from_pretrained, both)]
    whole = OPTIONS[name]["train"] == ["all"]
    own = model.get_input_embeddings().weight
    new = read_new_rows(root / f"{name}-adapted", len(own))
    parameters = [*model.parameters()] if whole else [own]
    optimizer = torch.optim.AdamW(
        parameters, lr=1e-2, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.3 if whole else 0.0
    )
    alm = {"temperature": 100.0, "cross_entropy": 0.0, **OPTIONS[name]["alm"]}
    packed = opened(alm_run(root, out, name=name))
    for step, said in enumerate(table(out / "losses.csv")[:STEPS]):
        rows = packed.__getitems__([*range(step * BATCH, (step + 1) * BATCH)])["input_ids"]
        divergences, crosses = [], []
        model.zero_grad()
        for row in rows.tolist():
            ids, theirs, chunks = chunks_of(row, *tokenizers)
            ours = known(model, ids)
            with torch.no_grad():
                due = known(source, theirs)
            for (begin, last), (first, end) in chunks:
                p, q = (
                    (logs.sum() / alm["temperature"]).exp()
                    for logs in (due[first : end + 1], ours[begin : last + 1])
                )
                p, q = torch.stack([p, 1 - p]), torch.stack([q, 1 - q])
                divergences.append(functional.kl_div(q.log(), p, reduction="sum"))
            crosses.append(-ours[1:])
        loss = torch.stack(divergences).mean() + alm["cross_entropy"] * torch.cat(crosses).mean()
        loss.backward()
        if not whole:
            own.grad[~new] = 0
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        assert float(said["loss"]) == pytest.approx(loss.item(), rel=1e-5)
    ours = weights(at(out, STEPS))["model.embed_tokens.weight"].float()
    torch.testing.assert_close(ours, own.detach(), rtol=0.01, atol=1e-4)


def test_what_is_said_of_it(matched):
    root, name, out, manifest = matched
    (said,) = manifest["distilled"]
    counts = said["first_step"]
    assert said["stage"] == "match" and 0 < counts["chunks"] < counts["tokens"]
    assert counts["tokens"] < counts["source_tokens"]
    (timed,) = io.read_json(out / "timing.json")["distilled"]
    assert timed["seconds_per_step"] * STEPS == pytest.approx(timed["training_seconds"])
    assert timed["seconds_per_token"] * BATCH * LENGTH == pytest.approx(timed["seconds_per_step"])
    rows = table(out / "losses.csv")
    assert [row["bits_per_byte"] == "" for row in rows] == [True] * STEPS + [False] * 3
    assert float(rows[STEPS - 1]["loss"]) < float(rows[0]["loss"])
    before, after = weights(root / f"{name}-adapted"), weights(at(out, STEPS))
    moved = {tensor for tensor in before if not torch.equal(before[tensor], after[tensor])}
    assert moved == ({*before} if name == "untied" else {"model.embed_tokens.weight"})


def test_micro_batches_change_no_loss(matched, tmp_path):
    root, name, out, _ = matched
    train(changed(alm_run(root, tmp_path / "out", name=name), micro_batch=1))
    assert losses(tmp_path / "out") == pytest.approx(losses(out), rel=1e-3, abs=1e-6)


def test_a_stop_inside_the_stage_changes_no_byte(matched, tmp_path):
    root, name, out, _ = matched

    run = alm_run(root, tmp_path / "out", name=name)
    stop_training(run, after=5)
    assert list((tmp_path / "out/state").glob("checkpoint-*"))
    train(run)
    assert_same(tmp_path / "out", out)


@pytest.mark.parametrize(
    "options",
    [
        {"train": "embeddings", "adapter": {}},
        {"train": ["lora", "output_embeddings"], "lora": {"rank": 2, "alpha": 4}},
    ],
)
def test_other_parts_learn_too(folders, tmp_path, options):
    stage = {**MATCH, "steps": 3, "alm": {"temperature": 1.0}, **options}
    train(alm_run(folders, tmp_path / "out", stage))
    made = losses(tmp_path / "out")
    assert made[-1] < made[0]


def test_tokenizers_that_share_no_token_and_models_of_another_shape(toys, tmp_path):
    """Words against single bytes, of which the source model reads no more than it has positions."""
    from toy_models import build_model

    student, source = unshared_tokenizers(tmp_path)
    build_model(student, tmp_path / "words-adapted", seed=3, family="llama", layers=1)
    build_model(source, tmp_path / "words", seed=4, hidden_size=24)
    rows = [{"id": str(n), "text": "casa gatto cane " * 6} for n in range(60)]
    write_packed_text(tmp_path, student, rows)
    run = alm_run(tmp_path, tmp_path / "out", {**MATCH, "alm": {"temperature": 1.0}}, name="words")
    manifest = train(run)
    counts = manifest["distilled"][0]["first_step"]
    assert (
        counts["source_tokens"] == BATCH * POSITIONS
        and BATCH * 9 < counts["chunks"] < BATCH * LENGTH
    )
    made = losses(tmp_path / "out")
    assert made[-1] < 0.9 * made[0]


def test_no_chunk_in_common_is_refused(folders, tmp_path):
    from revocab.training.data.chunks import ChunkedText

    class Unaligned(ChunkedText):
        def rows(self, rows_BL):
            return [
                tuple(replace(side, chunk=[-1] * len(side.ids)) for side in sides)
                for sides in super().rows(rows_BL)
            ]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("revocab.training.data.taught_rows.ChunkedText", Unaligned)
        with pytest.raises(RevocabError, match="have no chunk that both tokenizers can spell"):
            train(alm_run(folders, tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_heads_of_other_kinds_give_the_same(toys, monkeypatch):
    """From whole logits, as of a model whose head has a cap or a bias."""
    from revocab.models.load import load_causal_lm

    ids, sizes = torch.tensor([[1, 300, 280, 7], [1, 5, 0, 0]]), torch.tensor([4, 2])
    made = []
    for plain in (True, False):
        monkeypatch.setattr(chunk_likelihoods, "has_plain_head", lambda model, plain=plain: plain)
        model = load_causal_lm(toys / "helper", dtype=torch.float32)
        logs = chunk_likelihoods.token_log_likelihoods(model, ids, sizes)
        assert (logs[1, 2:] == 0).all() and (logs[:, 0] == 0).all()
        logs.exp().sum().backward()
        made.append((logs.detach(), model.get_input_embeddings().weight.grad))
    for ours, theirs in zip(*made, strict=True):
        torch.testing.assert_close(ours, theirs)
