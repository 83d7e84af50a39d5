"""Evaluation through chat templates: messages, token ids, ends of answers, refusals."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
import yaml
from evaluation_toys import IT_ROWS, write_model, write_task

from revocab.errors import RevocabError
from revocab.evaluation.generation.generate import (
    encoded_prompt,
    generate_checkpoints,
    load_generator,
)
from revocab.evaluation.generation.prompts import messages, prompt_row
from revocab.evaluation.inference.chat_prompts import ChatFormat, ChatOptions, template_text
from revocab.evaluation.inference.engine import choose_engine
from revocab.evaluation.multiple_choice.scoring import Scorer
from revocab.evaluation.options import Generating, Scoring
from revocab.experiment.expand import expand
from revocab.experiment.schema import Experiment
from revocab.io import read_jsonl, write_jsonl
from revocab.training.chat.layout import Layout
from revocab.training.chat.template import find_template
from revocab.vocabulary.tokenizers.load import load_tokenizer

CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
LLAMA = (
    "{{ bos_token }}{% for m in messages %}{{ '<|start_header_id|>' + m['role'] + "
    "'<|end_header_id|>\n\n' + m['content'] | trim + '<|eot_id|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}"
    "{% endif %}"
)
MISTRAL = (
    "{{ bos_token }}{% for m in messages %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('roles must alternate') }}{% endif %}{% if m['role'] == 'user' %}"
    "{{ '[INST] ' + m['content'] + ' [/INST]' }}{% else %}{{ ' ' + m['content'] + eos_token }}"
    "{% endif %}{% endfor %}"
)
TEMPLATES = {"chatml": (CHATML, "<|im_end|>"), "llama": (LLAMA, "<|eot_id|>"),
             "mistral": (MISTRAL, "</s>")}  # fmt: skip
SHOTS = [{"id": f"p{i}", "en": "the cat sat", "it": "il gatto"} for i in range(2)]
QUERY = {"id": "t", "en": "bread", "it": "pane"}
ROW = prompt_row("translation", ["en", "it"], QUERY, SHOTS)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chat")
    chat = {
        name: write_model(folder / name, context_length=512, chat_template=template)
        for name, (template, _) in TEMPLATES.items()
    }
    return {**chat, "plain": write_model(folder / "plain", context_length=512)}


def chat_of(folder, **options):
    return ChatFormat(load_tokenizer(folder), folder, ChatOptions(**options))


def generator(folder, chat_template=None, **options):
    given = Generating(
        chat=ChatOptions(**options), chat_template=chat_template, context_length=512,
        max_new_tokens=64,
    )  # fmt: skip
    return load_generator(folder, choose_engine("transformers", "generation"), given), given


# Messages -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("repeated", [False, True])
def test_turns_and_one_turn_say_the_same(repeated):
    layout = Layout(labels=("Q", "A"), instruction="Answer.", repeated=repeated)
    shots, query = [["1+1", "2"], ["1+2", "3"]], ["2+2", "4"]
    again = "Answer.\n" * repeated
    assert layout.messages(shots, query, turns=True) == [
        {"role": "user", "content": "Answer.\nQ: 1+1\nA:"},
        {"role": "assistant", "content": "2"},
        {"role": "user", "content": f"{again}Q: 1+2\nA:"},
        {"role": "assistant", "content": "3"},
        {"role": "user", "content": f"{again}Q: 2+2\nA:"},
    ]
    (whole,) = layout.messages(shots, query, turns=False)
    assert whole == {"role": "user", "content": layout.prompt(shots, query)}


# Generation ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("shots", ["turns", "one_turn"])
def test_token_ids_are_those_of_apply_chat_template(models, name, shots):
    engine, _ = generator(models[name], shots=shots)
    text, ids = encoded_prompt(engine, ROW, 2)
    said = messages(ROW, 2, turns=shots == "turns")
    assert len(said) == (5 if shots == "turns" else 1)
    expected = engine.tokenizer.apply_chat_template(said, add_generation_prompt=True)
    assert ids == expected["input_ids"]
    assert ids.count(engine.tokenizer.bos_token_id) == ("bos_token" in TEMPLATES[name][0])
    assert engine.tokenizer(text)["input_ids"] != ids  # which would put bos before it


@pytest.mark.parametrize("name", TEMPLATES)
def test_what_the_template_ends_an_answer_with_ends_generation(models, name):
    tokenizer = load_tokenizer(models[name])
    ends = chat_of(models[name]).ends
    assert tokenizer.convert_ids_to_tokens(ends) == [TEMPLATES[name][1]]
    engine, _ = generator(models[name])
    assert {*ends, tokenizer.eos_token_id} <= {*engine.eos}


def test_outputs_are_made_again_when_the_way_of_asking_changes(models, tmp_path):
    write_jsonl(tmp_path / "p.jsonl", [ROW])
    out = tmp_path / "out"
    prompts = []
    ways = [
        {}, {"most_shots": 0}, {"chat": ChatOptions()}, {"chat": ChatOptions(shots="one_turn")},
        {"chat": ChatOptions(), "most_shots": 1}, {"chat": ChatOptions(), "most_shots": 0},
    ]  # fmt: skip
    for way in ways:
        options = Generating(max_new_tokens=4, context_length=512, **way)
        generate_checkpoints("r", {3: models["llama"]}, {"t": tmp_path / "p.jsonl"}, out, options)
        (row,) = read_jsonl(out / "step-000003" / "t.jsonl")
        prompts.append(row["prompt"])
    assert len({*prompts}) == len(ways)
    assert [one.count("<|eot_id|>") for one in prompts] == [0, 0, 5, 1, 3, 1]
    with (out / "scores.csv").open(encoding="utf-8") as handle:
        assert {row["shots"] for row in csv.DictReader(handle)} == {"0"}


# Multiple choice ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def task(tmp_path_factory, repository):
    folder = tmp_path_factory.mktemp("task")
    return write_task(folder, repository, "arc_easy_it", IT_ROWS, "arc_easy_it")


@pytest.mark.parametrize("name", TEMPLATES)
def test_choices_follow_the_templates_text_without_a_second_bos(models, task, name, monkeypatch):
    scorer = Scorer([task], Scoring(shots=1, limit=3, device="cpu", chat=ChatOptions()))
    model = scorer.load(models[name])
    seen = []
    original = model._loglikelihood_tokens

    def tokens(requests, *arguments, **options):
        seen.extend(requests)
        return original(requests, *arguments, **options)

    monkeypatch.setattr(model, "_loglikelihood_tokens", tokens)
    scorer.score(model, "arc_easy_it")
    ends = {"chatml": "<|im_end|>", "llama": "<|eot_id|>", "mistral": "</s>"}[name]
    assert len(seen) >= 6
    for (context, choice), context_ids, choice_ids in seen:
        assert context.count("Domanda:") == 2 and context.count(ends) >= 1
        assert not choice.startswith(" ")  # the template ends where an answer begins
        whole = model.tokenizer(context + choice, add_special_tokens=False)["input_ids"]
        assert context_ids + choice_ids == whole
        assert whole.count(1) == ("bos_token" in TEMPLATES[name][0])


def test_checkpoints_with_other_templates_are_asked_by_their_own(models, task):
    scorer = Scorer([task], Scoring(limit=2, device="cpu", chat=ChatOptions()))
    texts = []
    for name in ("llama", "chatml"):
        model = scorer.load(models[name])
        scorer.score(model, "arc_easy_it")
        (loaded,) = scorer.tasks["arc_easy_it"]["tasks"].values()
        texts.append(loaded.instances[0].args[0])
    assert "<|eot_id|>" in texts[0] and "<|im_end|>" in texts[1]


# Refusals -----------------------------------------------------------------------------------------


def test_a_model_without_a_template_is_refused_in_one_line(models, task):
    with pytest.raises(RevocabError, match="plain: its tokenizer has no chat template") as caught:
        generator(models["plain"])
    assert len(caught.value.problems) == 1
    scorer = Scorer([task], Scoring(device="cpu", chat=ChatOptions()))
    with pytest.raises(RevocabError, match="plain: its tokenizer has no chat template"):
        scorer.load(models["plain"])


def test_a_template_may_be_given_for_all_models(models, task):
    plain = find_template("plain").read_text(encoding="utf-8")
    engine, _ = generator(models["llama"], chat_template=plain)
    text, ids = encoded_prompt(engine, ROW, 0)
    assert text == "<s>user:\n" + messages(ROW, 0, turns=True)[0]["content"] + "\nassistant:\n"
    assert ids.count(engine.tokenizer.bos_token_id) == 1
    assert engine.tokenizer.convert_ids_to_tokens(engine.chat.ends) == ["</s>"]
    scorer = Scorer([task], Scoring(limit=1, device="cpu", chat=ChatOptions(), chat_template=plain))
    scorer.score(scorer.load(models["plain"]), "arc_easy_it")
    (loaded,) = scorer.tasks["arc_easy_it"]["tasks"].values()
    assert loaded.instances[0].args[0].startswith("<s>user:\n")


def test_a_given_template_is_there_and_is_asked_for():
    for name, options, said in (
        ("plane", ChatOptions(), r"no file 'plane', and no template of this name"),
        ("plain", None, "--chat-template plain: models are asked as plain text"),
    ):
        with pytest.raises(RevocabError, match=said):
            template_text(Path(name), options)
    assert template_text(None, None) is None
    assert template_text(Path("plain"), ChatOptions()) == find_template("plain").read_text()


def test_what_a_template_refuses_is_said_with_what_to_do(models):
    chat = chat_of(models["mistral"])
    twice = [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]
    with pytest.raises(RevocabError, match=r"rejects messages of user, user \(roles must altern"):
        chat.text(twice)


def test_a_model_is_scored_once_for_each_way_of_asking(repository):
    values = yaml.safe_load((repository / "tests/workflow/every_key.yaml").read_text())
    values["runs"] = {
        name: {"label": name, "source": "fetched", **chat}
        for name, chat in {
            "text": {}, "same": {}, "chat": {"chat": {}}, "also": {"chat": {"shots": "turns"}},
            "given": {"chat": {"template": "plain"}}, "fewer": {"most_shots": 0},
            "none": {"most_shots": 0}, "bare": {"chat": {}, "most_shots": 0},
        }.items()
    }  # fmt: skip
    runs = {run.id: run.scored_id for run in expand(Experiment.model_validate(values))}
    assert runs == {
        "text-base": "text-base", "same-base": "text-base",
        "chat-base": "chat-base", "also-base": "chat-base", "given-base": "given-base",
        "fewer-base": "fewer-base", "none-base": "fewer-base", "bare-base": "bare-base",
    }  # fmt: skip
