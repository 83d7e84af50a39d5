"""Candidates: likelihoods equal to those of a plain forward pass, and which are chosen."""

from __future__ import annotations

import pytest
from evaluation_toys import write_model
from test_chat_prompts import CHATML
from test_prompts import prompts_of

from revocab.device import Checkpoint
from revocab.evaluation.generation.generate import encode, generate_task, score_rows
from revocab.evaluation.inference.chat_prompts import ChatFormat, ChatOptions
from revocab.evaluation.inference.engines.transformers import TransformersGenerator
from revocab.evaluation.options import Generating

SENTENCES = [
    "Il fornaio vende il pane in città.", "Piove.", "Il gatto sedeva e poi dormiva sul tappeto.",
    "La città è sveglia.", "Nessuno dorme di notte.", "Il cane corre.",
]  # fmt: skip
ROWS = [
    {"sentences": SENTENCES, "extracted": [0, 3]},
    {"sentences": SENTENCES[1:4], "extracted": [1]},
]
OPTIONS = Generating(max_new_tokens=8, context_length=1024)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("extraction") / "model"
    return write_model(place, context_length=1024, chat_template=CHATML)


def load(folder, chat=False, batch_size=4):
    engine = TransformersGenerator(Checkpoint(folder, "cpu", "float32", batch_size), 1024)
    engine.chat = ChatFormat(engine.tokenizer, folder, ChatOptions()) if chat else None
    return engine


def built(tmp_path, rows=ROWS):
    layout = {"instruction": "Scegli.", "labels": ["<<text>>", "Il più importante"]}
    return prompts_of(tmp_path, "extraction", rows, layout=layout)


def by_hand(folder, before, answers, special):
    """Return mean log-probabilities, one plain forward pass for each answer."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    prefix = tokenizer(before, add_special_tokens=special)["input_ids"]
    texts = [tokenizer(before + one, add_special_tokens=special)["input_ids"] for one in answers]
    assert all(ids[: len(prefix)] == prefix for ids in texts)
    tokens = min(map(len, texts)) - len(prefix)
    means = []
    for ids in texts:
        with torch.no_grad():
            scores = torch.log_softmax(model(torch.tensor([ids])).logits[0].double(), dim=-1)
        places = range(len(prefix), len(prefix) + tokens)
        means.append(sum(float(scores[at - 1, ids[at]]) for at in places) / tokens)
    return means


@pytest.mark.parametrize("batch_size", [1, 4])
@pytest.mark.parametrize("chat", [False, True])
def test_likelihoods_equal_a_plain_forward_pass(folder, tmp_path, chat, batch_size):
    rows = built(tmp_path)
    made = generate_task(load(folder, chat, batch_size), rows, OPTIONS)
    for source, row in zip(ROWS, made, strict=True):
        asked = f"Scegli.\nTesto: {' '.join(source['sentences'])}"
        if chat:
            before = f"<|im_start|>user\n{asked}<|im_end|>\n<|im_start|>assistant\n"
        else:
            before = f"{asked}\n"
        answers = [f"Il più importante: {text}" for text in source["sentences"]]
        means = by_hand(folder, before, answers, special=not chat)
        assert row["likelihoods"] == pytest.approx(means, abs=1e-5)
        assert row["prompt"] == f"{before}Il più importante:"
        count = len(source["extracted"])
        assert row["chosen"] == sorted(range(len(means)), key=lambda at: -means[at])[:count]
        assert row["output"] == "\n".join(source["sentences"][at] for at in row["chosen"])
        assert row["references"] == [source["sentences"][at] for at in source["extracted"]]
        assert row["finish_reason"] == "chosen"


def test_the_shortest_sentence_says_how_much_is_read(folder, tmp_path):
    """What stands beyond as many tokens as it has changes nothing."""
    engine = load(folder)
    longer = [SENTENCES[0], SENTENCES[0] + " E altro ancora.", "Piove."]
    (row,) = generate_task(
        engine, built(tmp_path, [{"sentences": longer, "extracted": [1]}]), OPTIONS
    )
    first, second, _ = row["likelihoods"]
    assert first == second
    assert row["chosen"] != [1]  # of equal ones the earlier is taken


def test_a_text_that_does_not_fit_is_not_scored(folder, tmp_path):
    rows = built(tmp_path, [{"sentences": SENTENCES * 9, "extracted": [0]}, ROWS[1]])
    long, short = generate_task(
        load(folder), rows, Generating(context_length=256, max_new_tokens=1)
    )
    assert long["finish_reason"] == "prompt_too_long" and long["chosen"] == []
    assert short["finish_reason"] == "chosen"
    (score,) = score_rows(rows, [long, short], Generating())
    assert score["reason"] == "1 of 2 prompts too long, scored as empty"


def test_the_answer_begins_at_the_token_of_its_first_character(folder, tmp_path):
    engine, (row, _) = load(folder), built(tmp_path)
    ids, start = encode(engine, row, 0, SENTENCES[1])
    assert engine.tokenizer.decode(ids[start:]) == f"Il più importante: {SENTENCES[1]}"
