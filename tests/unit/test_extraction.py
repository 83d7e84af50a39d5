"""Extraction: rows, R-precision, and likelihoods equal to those of a plain forward pass."""

from __future__ import annotations

import itertools

import pytest
from evaluation_toys import write_model
from jobs import job_of

from revocab.device import Checkpoint
from revocab.errors import RevocabError
from revocab.evaluation.generation.generate import encode, generate_task, score_rows
from revocab.evaluation.generation.kinds.darumeru import EXTRACTION, Extraction, r_precision
from revocab.evaluation.generation.prompts import PromptJob, build_prompts
from revocab.evaluation.inference.chat_prompts import ChatFormat, ChatOptions
from revocab.evaluation.inference.engines.transformers import TransformersGenerator
from revocab.evaluation.options import Generating
from revocab.io import write_jsonl

SENTENCES = [
    "Il fornaio vende il pane in città.", "Piove.", "Il gatto sedeva e poi dormiva sul tappeto.",
    "La città è sveglia.", "Nessuno dorme di notte.", "Il cane corre.",
]  # fmt: skip
ROWS = [
    {"sentences": SENTENCES, "extracted": [0, 3]},
    {"sentences": SENTENCES[1:4], "extracted": [1]},
]
OPTIONS = Generating(max_new_tokens=8, context_length=1024)
CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("extraction") / "model"
    return write_model(place, context_length=1024, chat_template=CHATML)


def load(folder, chat=False, batch_size=4):
    engine = TransformersGenerator(Checkpoint(folder, "cpu", "float32", batch_size), 1024)
    engine.chat = ChatFormat(engine.tokenizer, folder, ChatOptions()) if chat else None
    return engine


def built(tmp_path, rows=ROWS):
    write_jsonl(tmp_path / "rows.jsonl", rows)
    job = job_of(PromptJob, 
        task="gazeta", kind="extraction", direction=["it"], shots=0, seed=1,
        layout={"instruction": "Scegli.", "labels": ["<<text>>", "Il più importante"]},
    )  # fmt: skip
    return build_prompts(job, *[[tmp_path / "rows.jsonl"]] * 2)


# Likelihoods --------------------------------------------------------------------------------------


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


# Rows and score -----------------------------------------------------------------------------------


def precision(chosen, extracted):
    return r_precision([{"chosen": chosen, "extracted": extracted}], ["it"]).value()


def test_r_precision_by_hand():
    assert precision([3, 0], [0, 3]) == 100
    assert precision([3, 1], [0, 3]) == 50
    assert precision([], [0, 3]) == 0


def test_a_random_choice_finds_k_of_n():
    every = [precision(list(pair), [1, 4]) for pair in itertools.permutations(range(7), 2)]
    assert sum(every) / len(every) == pytest.approx(100 * 2 / 7)


def test_blank_sentences_go_and_texts_without_any_mark_are_named(capsys):
    rows = [
        {"id": "a", "sentences": ["", "uno", " ", "due", "tre"], "extracted": [3, 1, 3]},
        {"id": "b", "sentences": ["uno"], "extracted": []},
        {"id": "c", "sentences": ["uno", " "], "extracted": [1]},
    ]
    options = Extraction(kind="extraction", direction=["it"], shots=0)
    (row,) = options.usable(rows, "rows.jsonl")
    assert (row["sentences"], row["extracted"]) == (["uno", "due", "tre"], [0, 1])
    assert EXTRACTION.right_answers(row, ["it"]) == ["uno", "due"]
    assert "rows.jsonl: no sentence is extracted of rows b, c" in capsys.readouterr().err


def test_places_that_no_sentence_has_are_all_named(tmp_path):
    with pytest.raises(RevocabError) as caught:
        built(tmp_path, [{"sentences": ["a"], "extracted": [one]} for one in (1, 0, -1)])
    first, second = caught.value.problems
    assert "row 0: extracted: received [1]; the text has 1 sentences, counted from 0" in first
    assert "row 2: extracted: received [-1]" in second
