"""Greedy generation: batches against one-by-one, the cut, shortened prompts, resuming."""

from __future__ import annotations

import csv
import types

import pytest
import torch
from evaluation_toys import write_model
from transformers import AutoModelForCausalLM, AutoTokenizer

from revocab.device import Checkpoint
from revocab.evaluation.generation import generate
from revocab.evaluation.generation.generate import generate_checkpoints, generate_task
from revocab.evaluation.generation.prompts import prompt_row
from revocab.evaluation.inference.decoding import BLANK_LINE, Output, end_tokens, finished
from revocab.evaluation.inference.engine import choose_engine
from revocab.evaluation.inference.engines.transformers import StopText, TransformersGenerator
from revocab.evaluation.options import Generating
from revocab.io import read_json, read_jsonl, write_jsonl
from revocab.marker import MARKER

SHOTS = [{"id": f"p{i}", "en": "the cat sat", "it": "il gatto"} for i in range(3)]


def translation(i, shots):
    query = {"id": f"t{i}", "en": "bread " * (i + 1), "it": "pane " * (i + 1)}
    return prompt_row("translation", ["en", "it"], query, SHOTS[:shots])


def question(i):
    query = {"id": f"q{i}", "context": "il pane", "question": f"chi {i}?", "answers": ["nessuno"]}
    return prompt_row("question_answering", ["it"], query, [])


PROMPTS = {
    "flores_en_it": [translation(i, 3) for i in range(5)],
    "squad_it": [question(i) for i in range(3)],
}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("generation")
    return {s: write_model(folder / f"step-{s}", seed=s, context_length=256) for s in (0, 4)}


@pytest.fixture
def prompts(tmp_path):
    paths = {}
    for name, rows in PROMPTS.items():
        write_jsonl(tmp_path / f"{name}.jsonl", rows)
        paths[name] = tmp_path / f"{name}.jsonl"
    return paths


def load(folder, batch_size=4):
    return TransformersGenerator(Checkpoint(folder, "cpu", "float32", batch_size), 256)


def greedy_texts(folder, prompts, max_new_tokens):
    """Return what the plainest loop says: the most probable token, one after another."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    texts = []
    for prompt in prompts:
        ids = tokenizer(prompt)["input_ids"]
        start = len(ids)
        with torch.no_grad():
            while len(ids) - start < max_new_tokens:
                token = int(model(torch.tensor([ids])).logits[0, -1].argmax())
                if token in (tokenizer.eos_token_id, tokenizer.bos_token_id):
                    break
                ids.append(token)
        text = tokenizer.decode(ids[start:], skip_special_tokens=True)
        texts.append(text.split("\n\n")[0].strip())
    return texts


class Words:
    """A tokenizer of which only the end tokens and decoding are used."""

    bos_token_id, eos_token_id = 1, 2

    def decode(self, ids, skip_special_tokens):
        return " ".join(f"w{one}" for one in ids if one > 2)


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ([7, 8, 1, 9, 9], Output("w7 w8", 3, "eos")),
        ([7, 8, 2, 9, 9], Output("w7 w8", 3, "eos")),
        ([1, 7], Output("", 1, "eos")),
        ([7, 8], Output("w7 w8", 2, "length")),
    ],
)
def test_the_next_documents_beginning_ends_a_text(ids, expected):
    settings = types.SimpleNamespace(eos_token_id=2, bos_token_id=None)
    assert finished(ids, Words(), end_tokens(settings, Words()), BLANK_LINE) == expected


def test_end_tokens_are_all_that_are_named():
    settings = types.SimpleNamespace(eos_token_id=[2, 30], bos_token_id=40)
    assert end_tokens(settings, Words()) == [1, 2, 30, 40]
    nothing = types.SimpleNamespace(eos_token_id=None, bos_token_id=None)
    assert end_tokens(nothing, nothing) == []


def test_batches_equal_one_by_one_greedy(models):
    prompts = [row["prompt"] for row in PROMPTS["flores_en_it"] + PROMPTS["squad_it"]]
    for folder in models.values():
        expected = greedy_texts(folder, prompts, 12)
        for batch_size in (1, 4):
            engine = load(folder, batch_size)
            outputs = engine.generate(list(map(engine.encode, prompts)), 12, "\n\n")
            assert [output.text for output in outputs] == expected


def scripted(engine, monkeypatch, texts):
    """Let the engine's model write ``texts``: its logits favour the next token of each row."""
    scripts = [engine.tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]
    forward = engine.model.forward
    start = {}

    def written(*args, input_ids=None, **options):
        result = forward(*args, input_ids=input_ids, **options)
        start["at"] = start.get("at", -1) + 1
        result.logits[:] = -1e9
        for row, script in enumerate(scripts):
            token = script[start["at"]] if start["at"] < len(script) else engine.eos[0]
            result.logits[row, -1, token] = 0
        return result

    monkeypatch.setattr(engine.model, "forward", written)


def generated(engine, monkeypatch, texts, most, stop):
    scripted(engine, monkeypatch, texts)
    return engine.generate([engine.encode("Text: uno\nTranslation:")] * len(texts), most, stop)


def test_each_row_ends_where_its_text_or_document_does(models, monkeypatch):
    engine = load(models[0])
    texts = [
        " il gatto\n\nText: altro", " il pane", " il cielo è azzurro e sereno, e così via",
        f"il pane{engine.tokenizer.bos_token}il gatto",
    ]  # fmt: skip
    outputs = generated(engine, monkeypatch, texts, 12, BLANK_LINE)
    reasons = [output.finish_reason for output in outputs]
    assert reasons == ["blank_line", "eos", "length", "eos"]
    written = [output.text for output in outputs]
    assert (written[0], written[1], written[3]) == ("il gatto", "il pane", "il pane")
    assert texts[2].strip().startswith(written[2])
    assert outputs[2].tokens == 12 > outputs[0].tokens


@pytest.mark.parametrize("stop", ["\n\n", "\n", "§ fine della risposta §"])
def test_generation_stops_when_every_row_has_its_stop(models, monkeypatch, stop):
    """Also at one of many tokens, which are looked at together."""
    engine = load(models[0])
    texts = [f" il gatto{stop}altro testo ancora"] * 2
    with_stop = len(engine.tokenizer(f" il gatto{stop}", add_special_tokens=False)["input_ids"])
    for output in generated(engine, monkeypatch, texts, 90, stop):
        reason = "blank_line" if stop == BLANK_LINE else "stop"
        assert (output.text, output.finish_reason) == ("il gatto", reason)
        assert output.tokens <= with_stop + 1


def test_the_layout_says_where_an_answer_ends(models, monkeypatch):
    engine = load(models[0])
    scripted(engine, monkeypatch, [" uno\n\ndue\n##\ntre quattro cinque"])
    row = {**translation(0, 2), "layout": {"between_shots": "\n##\n"}}
    (output,) = generate_task(engine, [row], Generating(max_new_tokens=40, context_length=256))
    assert output["prompt"].count("\n##\n") == 2
    assert (output["output"], output["finish_reason"]) == ("uno\n\ndue", "stop")


def test_stop_criterion_looks_past_the_prompt(models):
    engine = load(models[0])
    prompt = engine.tokenizer("a\n\n", add_special_tokens=False)["input_ids"]
    more = engine.tokenizer("b\n", add_special_tokens=False)["input_ids"]
    criterion = StopText(engine.tokenizer, len(prompt), "\n\n")
    assert criterion(torch.tensor([prompt + more]), None).tolist() == [False]
    assert criterion(torch.tensor([prompt + more + more[-1:]]), None).tolist() == [True]


def test_text_ends_at_the_stop(models):
    tokenizer = load(models[0]).tokenizer
    for text, stop, output in (
        (" uno\ndue\n\ntre", "\n\n", "uno\ndue"),
        (" uno\ndue\n\ntre", "\n", "uno"),
        ("\n\nuno", "\n\n", ""),
        (" uno\n\ndue", None, "uno\n\ndue"),  # of a chat, where end tokens alone end an answer
    ):
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        assert finished(ids, tokenizer, [], stop).text == output


def test_long_prompts_lose_shots_and_say_so(models):
    engine = load(models[0])
    row = translation(0, 3)
    lengths = [len(engine.encode(generate.render(row, shots))) for shots in range(4)]
    new = 8
    for shots, length in enumerate(lengths):
        options = Generating(max_new_tokens=new, context_length=length + new)
        (made,) = generate_task(engine, [row], options)
        assert (made["shots_used"], made["prompt_tokens"]) == (shots, length)
        assert made["prompt"] == generate.render(row, shots)
    options = Generating(max_new_tokens=new, context_length=lengths[0] + new)
    made, _ = generate_task(engine, [translation(4, 3), row], options)
    assert made["finish_reason"] == "prompt_too_long"
    assert made["output"] == "" and made["output_tokens"] == 0
    (reason, *_) = [one["reason"] for one in generate.score_rows([row], [made], options)]
    assert reason == "1 of 1 prompts with fewer shots; 1 of 1 prompts too long, scored as empty"


def test_the_models_own_context_counts_too(models, tmp_path):
    engine = load(write_model(tmp_path / "short", context_length=64))
    made = generate_task(engine, [translation(0, 3)], Generating(max_new_tokens=16))
    assert made[0]["prompt_tokens"] <= 48
    assert made[0]["shots_used"] < 3


def test_folder(models, prompts, tmp_path):
    out = tmp_path / "generation"
    options = Generating(max_new_tokens=6, context_length=200, engine="transformers", limit=5)
    generate_checkpoints("llama-sava", models, prompts, out, options)
    made = list(read_jsonl(out / "step-000004" / "flores_en_it.jsonl"))
    assert list(made[0]) == [
        "id", "prompt", "output", "references", "prompt_tokens", "output_tokens", "finish_reason",
        "shots_used",
    ]  # fmt: skip
    assert [row["id"] for row in made] == [f"t{i}" for i in range(5)]
    with (out / "scores.csv").open(encoding="utf-8", newline="") as handle:
        scores = list(csv.DictReader(handle))
    assert list(scores[0]) == list(generate.COLUMNS)
    assert [(row["step"], row["task"], row["metric"]) for row in scores[:6]] == [
        *(("0", "flores_en_it", metric) for metric in ("chrf++", "bleu", "comet22")),
        *(("0", "squad_it", metric) for metric in ("rougeL", "exact_match", "f1")),
    ]
    assert scores[2]["value"] == "" and "comet not configured" in scores[2]["reason"]
    assert {(row["shots"], row["limit"]) for row in scores} == {("3", "5"), ("0", "5")}
    assert read_json(out / "manifest.json")["steps"] == [0, 4]
    assert str(tmp_path) not in (out / "manifest.json").read_text()
    assert sorted(path.name for path in out.iterdir()) == [
        generate.Finished.NAME, MARKER, "manifest.json", "scores.csv", "step-000000", "step-000004",
    ]  # fmt: skip
    first = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    generate_checkpoints("llama-sava", models, prompts, out, options)
    assert {path: path.read_bytes() for path in first} == first
    assert {path for path in out.rglob("*") if path.is_file()} == first.keys()


def test_a_killed_run_continues(models, prompts, tmp_path, monkeypatch):
    out, calls = tmp_path / "generation", []
    options = Generating(max_new_tokens=4, context_length=200, engine="transformers")
    task = generate.generate_task

    def interrupted(*arguments):
        if len(calls) == 3:
            raise KeyboardInterrupt
        calls.append(1)
        return task(*arguments)

    monkeypatch.setattr(generate, "generate_task", interrupted)
    with pytest.raises(KeyboardInterrupt):
        generate_checkpoints("r", models, prompts, out, options)
    assert not (out / "manifest.json").exists()
    monkeypatch.setattr(generate, "generate_task", lambda *a: calls.append(1) or task(*a))
    generate_checkpoints("r", models, prompts, out, options)
    assert len(calls) == 4
    assert (out / "manifest.json").exists()


@pytest.mark.parametrize(
    ("first", "second", "again"),
    [
        ({}, {"dtype": "float32"}, False),  # auto on a CPU
        ({}, {"batch_size": 2}, False),
        ({}, {"dtype": "bfloat16"}, True),
        ({"dtype": "bfloat16"}, {"dtype": "bfloat16", "batch_size": 2}, True),
        ({}, {"max_new_tokens": 5}, True),
        ({}, {"context_length": 199}, True),
        ({}, {"most_shots": 1}, True),
        ({}, {"decoding": {"beams": 2}}, True),
        ({}, {"limit": 4}, False),  # only recorded
    ],
)
def test_what_decides_numbers_decides_what_is_kept(tmp_path, monkeypatch, first, second, again):
    known = {"max_new_tokens": 4, "context_length": 200, "engine": "transformers", "device": "cpu"}
    monkeypatch.setattr(generate, "model_hash", lambda folder: "hash")
    monkeypatch.setattr(generate, "sha256", lambda path: "hash")
    of = [
        generate.Finished(
            tmp_path, choose_engine("transformers", "generation"), Generating(**options)
        ).made_from(tmp_path, tmp_path, "translation")
        for options in ({**known, **first}, {**known, **second})
    ]
    assert (of[0] != of[1]) == again


def test_a_prompt_has_room():
    with pytest.raises(ValueError, match="max_new_tokens: 64 must be less than context_length 64"):
        Generating(max_new_tokens=64, context_length=64)
