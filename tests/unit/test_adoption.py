"""Adoption of new tokens: shares by hand, models that always or never write them, empty rows."""

from __future__ import annotations

import shutil
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import torch
import yaml
from fake_results import REPOSITORY, fake_results
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, processors
from toy_models import TARGET_WORDS, build_old_and_new

from revocab.corpora.prepare import CorpusJob, prepare_corpus
from revocab.corpora.read import texts
from revocab.errors import RevocabError
from revocab.evaluation.adoption import (
    adoption,
    counts,
    empty_rows,
    measure_adoption,
    shares,
    windows,
    words_in_pieces,
)
from revocab.evaluation.options import AdoptionJob, AdoptionOptions, Hardware
from revocab.io import read_json, write_json
from revocab.report.results import Results
from revocab.vocabulary.tokenizers.canonical import CanonicalToken, canonical_vocabulary
from revocab.vocabulary.tokenizers.load import load_tokenizer

OPTIONS, CPU = AdoptionOptions(), Hardware(device="cpu")
TEXT = [f"the cat sat on the mat {number} and il gatto è a casa" for number in range(60)]


def token(text: str) -> CanonicalToken:
    kind = "word_start" if text.startswith(" ") else "continuation"
    return CanonicalToken(kind, text.encode(), None, text)


#: By id: pieces, whole words, an end token.
TOKENS = [*map(token, (" ca", "sa", " è", " casa", "ne", ",", " il")),
          CanonicalToken("special", b"</s>", "eos", "</s>")]  # fmt: skip
CA, SA, E, CASA, NE, COMMA, IL, END = range(8)


def cut(text: str) -> list[int]:
    """Cut a text into the longest tokens from its left."""
    ids = []
    while text:
        best = max((n for n in range(END) if text.startswith(TOKENS[n].string)),
                   key=lambda n: len(TOKENS[n].string))  # fmt: skip
        ids.append(best)
        text = text[len(TOKENS[best].string) :]
    return ids


def test_counts_by_hand():
    # " ca" and "ne" are five characters; " casa" five; " è" two, of three bytes. 99: no token.
    found = counts([CA, NE, CASA, E, END, 99], TOKENS, {E, CASA})
    assert found == {"tokens": (2, 4), "characters": (7, 12)}


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ([IL, CASA, IL], (0, 2)),  # the last word is left out
        ([IL, CA, SA, IL], (1, 2)),
        ([IL, CA, SA, COMMA, E, CA, NE, IL], (1, 4)),  # " casa," of three pieces, for two
        ([SA, CA, SA, IL], (1, 1)),  # "sa" goes on from the prompt
        ([CA, SA], (0, 0)),
        ([CA, SA, IL, END], (1, 1)),
    ],
)
def test_words_in_pieces_by_hand(ids, expected):
    assert words_in_pieces([IL], ids, TOKENS, cut) == expected


def test_text_that_the_tokenizer_rewrites_has_no_words():
    ids, rewriting = [IL, CA, SA, IL], lambda text: cut(text.replace("casa", "cane"))
    assert words_in_pieces([IL], ids, TOKENS, rewriting) == (0, 0)


def test_shares_are_of_all_prompts_together():
    found = shares({"tokens": pair, "none": (0, 0)} for pair in [(1, 2), (0, 6), (3, 4)])
    assert found["tokens"]["share"] == pytest.approx(4 / 12)
    assert found["tokens"]["of"] == 12
    assert 0 <= found["tokens"]["low"] < 4 / 12 < found["tokens"]["high"] <= 0.75
    assert found["none"] is None
    # Of three prompts one has a word: without it there is no share, which counts as none.
    (words,) = shares({"words": pair} for pair in [(1, 2), (0, 0), (0, 0)]).values()
    assert (words["share"], words["low"], words["high"]) == (0.5, 0, 0.5)


@given(st.integers(0, 3000), st.integers(-2, 100), st.randoms(use_true_random=False))
def test_windows_lie_in_the_text_one_after_the_other(size, room, random):
    ids = random.choices(range(END), k=size)
    pairs, at = [*windows(ids, TOKENS, room, OPTIONS)], 0
    for prompt, rest in pairs:
        assert 0 < len(prompt) <= room and len(rest) == OPTIONS.written_tokens
        both = prompt + rest
        at = next(n for n in range(at, len(ids)) if ids[n : n + len(both)] == both) + len(prompt)
    assert (len(pairs) > 0) == (room > 0 and len(ids) >= 2 * OPTIONS.written_tokens)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return build_old_and_new(tmp_path_factory.mktemp("toys"))


@pytest.fixture(scope="module")
def vocabulary(models):
    """Return the new tokenizer, its tokens by id, and ids by bytes."""
    tokenizer = load_tokenizer(models[1])
    tokens = canonical_vocabulary(tokenizer)
    return tokenizer, tokens, {tokens[n].data: n for n in reversed(range(len(tokens)))}


@given(st.lists(st.sampled_from([*TARGET_WORDS, "7", "gattocasa"]), min_size=4, max_size=20))
def test_the_tokenizers_own_cut_has_no_word_in_pieces_and_letters_have(vocabulary, words):
    tokenizer, tokens, by_bytes = vocabulary

    def ids_of(text):
        return tokenizer(text, add_special_tokens=False)["input_ids"]

    prompt, rest, inner = ids_of(words[0]), ids_of(" ".join(words[1:])), words[1:-1]
    assert words_in_pieces(prompt, rest, tokens, ids_of) == (0, len(inner))
    letters = [by_bytes[letter.encode()] for word in words[1:] for letter in f" {word}"]
    shorter = sum(len(ids_of(word)) < len(word) + 1 for word in inner)
    assert words_in_pieces(prompt, letters, tokens, ids_of) == (shorter, len(inner))


def constant(folder, out, winner: int, value: float, rest: float):
    """Write a model whose state is ones everywhere, and whose head's row ``winner`` is other."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(folder)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            weight.fill_(0.0 if "proj" in name else 1.0)
        model.lm_head.weight.fill_(rest)
        model.lm_head.weight[winner] = value
    model.save_pretrained(out)
    AutoTokenizer.from_pretrained(folder).save_pretrained(out)
    return out


@pytest.mark.parametrize(("word", "share"), [(b" gat", 1), (b" cat", 0)])
def test_a_model_that_writes_one_token_alone(models, vocabulary, tmp_path, word, share):
    # The others' logits are 64 below.
    model = constant(models[1], tmp_path / "model", vocabulary[2][word], 1.0, -1.0)
    found = adoption(models[0], model, TEXT, CPU, OPTIONS)
    assert (found["prompts"], found["greedy"]["tokens"]["of"]) == (16, 16 * OPTIONS.written_tokens)
    for written in (found["greedy"], found["sampled"]):
        assert written["tokens"]["share"] == written["characters"]["share"] == share
        words = written["words_in_pieces"]
        assert (words["share"], words["of"]) == (0, 16 * (OPTIONS.written_tokens - 1))
    assert 0 < found["reference"]["tokens"]["share"] < found["reference"]["characters"]["share"] < 1
    assert found["empty_rows"] == {"rows": 0, "largest": 0}


def test_an_empty_row_wins_where_all_logits_are_negative(models, tmp_path):
    below = constant(models[1], tmp_path / "below", 300, -0.04, -1.0)
    above = constant(models[1], tmp_path / "above", 300, 0.0, 1.0)
    found = [adoption(models[1], model, TEXT, CPU, OPTIONS) for model in (below, above)]
    assert [model["empty_rows"] for model in found] == [{"rows": 1, "largest": n} for n in (1, 0)]
    assert "greedy" not in found[0]  # it has no new token


def test_checkpoints_by_step_are_what_the_function_says(models, tmp_path):
    corpus, out = tmp_path / "corpus", tmp_path / "adoption.json"
    rows = [{"text": line} for line in [*TEXT, *(f"{line}." for line in TEXT)]]
    options = CorpusJob(corpus="c", language="it", heldout_bytes=sum(map(len, TEXT)))
    prepare_corpus(rows, {"label": "c"}, options, corpus)
    job = AdoptionJob(run="r", corpus="c", prompts=4, written_tokens=8)
    measure_adoption(models[0], {0: models[1], 5: models[0]}, corpus, job, CPU, out)
    written, heldout = read_json(out), [*texts(corpus, "heldout")]
    assert 0 < len(heldout) < len(rows)
    assert (written["run"], written["prompts"], written["written_tokens"]) == ("r", 4, 8)
    assert written["steps"]["0"] == adoption(models[0], models[1], heldout, CPU, job)
    assert (written["steps"]["0"]["prompts"], written["steps"]["5"]["new_tokens"]) == (4, 0)
    out.unlink()
    job = AdoptionJob(run="r", corpus="c", written_tokens=5000)
    with pytest.raises(RevocabError, match="has no room for a prompt and 5000 tokens; hold out"):
        measure_adoption(models[0], {0: models[1]}, corpus, job, CPU, out)
    assert not out.exists()


def test_the_table_by_hand(tmp_path):
    """Step 0 has several prompts, step 24 a single one, without words and so without error."""
    folder = tmp_path / "results/demo"
    values = yaml.safe_load((REPOSITORY / "config/demos/demo.yaml").read_text(encoding="utf-8"))
    evaluation = values["evaluation"] | {"adoption": {"corpus": "world-it"}}
    table = {"kind": "adoption", "group": "mistral", "title": "New tokens"}
    fake_results(folder, tables={"new": table}, evaluation=evaluation)
    several = {"share": 0.25, "of": 64, "low": 0.125, "high": 0.5, "stderr": 0.0625}
    single = {"share": 0.5, "of": 16}
    sides = [
        {"tokens": share, "characters": share, "words_in_pieces": words}
        for share, words in ((several, several), (single, None))
    ]
    results = Results(folder)
    last = results.experiment.expanded["mistral-sava"].steps[-1]
    steps = {
        step: {"reference": side, "greedy": side, "sampled": side, "empty_rows": {"largest": 0.125}}
        for step, side in zip((0, last), sides, strict=True)
    }
    told = {"corpus": "world-it", "prompts": 4, "written_tokens": 16}
    write_json(folder / "adoption/mistral-sava.json", {**told, "steps": steps})
    built = results.experiment.tables["new"].build(results)
    rows = [[cell.text or cell.number() for cell in row.cells] for row in built.rows]
    assert ["SAVA", "0", *["25.0±6.2"] * 8, "12.5"] in rows
    assert ["SAVA", str(last), *["50.0"] * 6, "–", "–", "12.5"] in rows
    assert ["FVT", "0", *["–"] * 9] in rows
    assert not any(row[0] in ("LAPT", "Mistral") for row in rows)  # they have no new token
    (cell,) = {row.cells[2].interval for row in built.rows} - {None}
    assert cell == (0.125, 0.5)


def test_an_empty_row_wins_where_it_has_the_largest_logit():
    """Of three places in the first, of two in the second."""
    logits = {
        3: torch.tensor([[[0.5, -1, -2, 0], [-3, -1, -2, 0], [-1, -1, 2, 1]]]),
        2: torch.tensor([[[-3.0, -1, -2, 0], [1, 1, 2, -1]]]),
    }
    weight = torch.tensor([[1.0, 0], [0, 1], [1, 1], [0, 0]])
    model = Mock(device="cpu", side_effect=lambda ids: SimpleNamespace(logits=logits[ids.numel()]))
    model.get_output_embeddings.return_value.weight = weight
    assert empty_rows(model, [[1, 2, 0], [2, 1]]) == {"rows": 1, "largest": 2 / 5}


def test_a_prompt_has_room_for_what_begins_every_text(models, tmp_path):
    folder = tmp_path / "bos"
    shutil.copytree(models[1], folder)
    file = str(folder / "tokenizer.json")
    tokenizer = Tokenizer.from_file(file)
    begin = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    tokenizer.post_processor = begin
    tokenizer.save(file)
    found = adoption(models[0], folder, TEXT, CPU, OPTIONS)  # its context has 64 tokens
    assert found["greedy"]["tokens"]["of"] == found["prompts"] * OPTIONS.written_tokens == 512
