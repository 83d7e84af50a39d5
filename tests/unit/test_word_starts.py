"""Rows of words of a list: by hand, in every matrix, with noise, and what the source lacks."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from construction_toys import construct, inputs_of
from method_inputs import SOURCE, chosen, make, random_inputs
from toy_folders import initialise

from revocab.errors import RevocabError
from revocab.initialise.options import find_method
from revocab.initialise.rows.source_weights import mean_weights, weights_with_words
from revocab.initialise.target_matrix import fill, new_rows
from revocab.io import read_json, write_json
from revocab.models.folder import ModelFolder
from revocab.vocabulary.tokenizers.load import load_tokenizer

METHODS = ("fvt", "mean", "random", "vocadt", "asymmetric", "clp", "projection")


def rows_of(inputs, name, **options):
    return new_rows(inputs, find_method(name), chosen(name, **options))


def test_rows_by_hand():
    """Source rows (1, 0), (0, 2), (3, 4): a copy, a mean in which a piece counts twice, FVT."""
    inputs = make(
        SOURCE, missing=(2, 3, 4), pieces={4: [0, 1]}, word_starts={2: [2], 3: [0, 0, 1, 2]}
    )
    assert rows_of(inputs, "fvt").tolist() == [[3.0, 4.0], [1.25, 1.5], [0.5, 1.0]]
    assert inputs.notes["words_with_a_start"] == 2
    assert rows_of(inputs, "mean")[:2].tolist() == [[3.0, 4.0], [1.25, 1.5]]


@pytest.mark.parametrize("name", METHODS)
def test_other_tokens_have_the_rows_of_the_method(name):
    """Words leave each other token the row that it has without their starts."""
    inputs = random_inputs()
    words = {int(inputs.missing_N[place]): [place, place + 1] for place in (0, 7, 24)}
    with_words = random_inputs()
    object.__setattr__(with_words, "word_starts", words)
    plain, rows = rows_of(inputs, name), rows_of(with_words, name)
    named = torch.tensor([token in words for token in inputs.missing_N.tolist()])
    for token, row in zip(inputs.missing_N.tolist(), rows, strict=True):
        if token in words:
            assert torch.allclose(row, inputs.source_VD[words[token]].mean(dim=0), atol=1e-6)
    if name != "random":  # whose draws are as many as its tokens
        assert torch.allclose(rows[~named], plain[~named], atol=1e-5)
    matrix = fill(inputs.source_VD, with_words, find_method(name), chosen(name))
    assert torch.equal(matrix[inputs.overlap_target_N], inputs.source_VD[inputs.overlap_source_N])


@pytest.mark.parametrize("matrix", ["input", "output"])
def test_noise_is_of_the_stated_size_seeded_and_of_words_alone(matrix):
    generator = torch.Generator().manual_seed(1)
    source = torch.randn(50, 400, generator=generator) * torch.linspace(0.1, 3, 400)
    words = {2: [4], 3: [5]}
    inputs = make(source.tolist(), missing=(2, 3, 4), pieces={4: [0]}, word_starts=words,
                  matrix=matrix, seed=8)  # fmt: skip
    rows = rows_of(inputs, "fvt", words_noise=0.1)
    noise = (rows[:2] - source[[4, 5]]) / source.std(dim=0)
    assert noise.std().item() == pytest.approx(0.1, rel=0.1)
    assert noise.mean().item() == pytest.approx(0, abs=0.02)
    assert torch.equal(rows[2], source[0])
    assert torch.equal(rows, rows_of(inputs, "fvt", words_noise=0.1))
    other = make(source.tolist(), missing=(2, 3, 4), pieces={4: [0]}, word_starts=words, seed=8,
                 matrix="output" if matrix == "input" else "input")  # fmt: skip
    assert not torch.equal(rows, rows_of(other, "fvt", words_noise=0.1))


@pytest.mark.parametrize("name", ["fvt", "vocadt", "asymmetric"])
def test_weights_that_adapters_start_from_make_the_same_rows(name):
    inputs = random_inputs()
    words = {int(inputs.missing_N[3]): [1, 1, 2], int(inputs.missing_N[4]): [6]}
    object.__setattr__(inputs, "word_starts", words)
    method, options = find_method(name), chosen(name)
    weights = weights_with_words(inputs, method.source_weights(inputs, options))
    rows = weights.combine(inputs.source_VD)
    assert torch.allclose(rows, rows_of(inputs, name), atol=1e-5)
    assert mean_weights([1, 1, 2]) == pytest.approx({1: 2 / 3, 2: 1 / 3})


@pytest.fixture
def words(toys):
    """Return three words of the toys' letters, which the source splits."""
    vocabulary = load_tokenizer(toys / "source-tokenizer").get_vocab()
    letters = sorted(token for token in vocabulary if len(token) == 1 and token.isalpha())
    return ["".join(order) for order in (letters, letters[::-1], letters[::2] + letters[1::2])]


@pytest.fixture
def grown(toys, tmp_path):
    """Return what builds the toys' source tokenizer with words of a list."""

    def build(*lines):
        path = tmp_path / "words.txt"
        path.write_text("\n".join(lines), encoding="utf-8")
        inputs = inputs_of({}, base=toys / "source-tokenizer")
        inputs.places["words"] = path
        construct("extend", inputs, tmp_path / "grown", word_steps=True)
        return tmp_path / "grown"

    return build


def start(toys, folder, out, source="untied", **options):
    return initialise(toys / source, out, "fvt", target_tokenizer=folder, seed=3, **options)


@pytest.mark.parametrize("source", ["untied", "tied"])
def test_a_model_whose_words_start_as_the_list_says(toys, words, grown, tmp_path, source):
    tokenizer = load_tokenizer(toys / "source-tokenizer")
    single = next(
        token.removeprefix("Ġ").removeprefix("▁") for token in tokenizer.get_vocab()
        if token[:1] in "Ġ▁" and token[1:].isalpha() and token[1:] in tokenizer.get_vocab()
    )  # fmt: skip
    folder = grown(f"{words[0]}\t={single}", f"{words[1]}\ta small house", words[2])
    out = start(toys, folder, tmp_path / "out", source)
    plain = start(toys, folder, tmp_path / "plain", source, options={"words": False})
    listed = read_json(folder / "words.json")["words"]
    assert all(word["tokens"] for word in listed)
    described = tokenizer("a small house", add_special_tokens=False)["input_ids"]
    before, after, other = ModelFolder(toys / source), ModelFolder(out), ModelFolder(plain)
    assert list(after.vocabulary_tensors) == (
        ["input"] if source == "tied" else ["input", "output"]
    )
    for which in after.vocabulary_tensors:
        old, new = (
            before.matrix(which, len(tokenizer)),
            after.matrix(which, len(load_tokenizer(folder))),
        )
        fvt = other.matrix(which, len(load_tokenizer(folder)))
        for token in listed[0]["tokens"]:
            mark = token["token"][0].strip(words[0])
            assert torch.equal(new[token["id"]], old[tokenizer.get_vocab()[mark + single]])
        for token in listed[1]["tokens"]:
            assert torch.allclose(
                new[token["id"]].float(), old[described].float().mean(0), atol=1e-2
            )
        for token in listed[2]["tokens"]:
            assert torch.equal(new[token["id"]], fvt[token["id"]])
        assert not torch.equal(new[listed[0]["tokens"][0]["id"]], fvt[listed[0]["tokens"][0]["id"]])
    with np.load(out / "source_weights.npz") as arrays:
        assert arrays["input.source_rows"] == len(tokenizer)


def test_a_start_that_the_source_lacks_is_named(toys, words, grown, tmp_path):
    folder = grown(f"{words[0]}\t=zzzz", f"{words[1]}\t=not here", f"{words[2]}\ta house")
    with pytest.raises(RevocabError) as refused:
        start(toys, folder, tmp_path / "out")
    assert len(refused.value.problems) == 2
    assert all("words.json" in problem for problem in refused.value.problems)


TOKEN = {"id": 0, "token": "x"}
#: A ``words.json`` that somebody else made, and the key or the id that is named.
DAMAGED = {
    "no object": ([], "words.json"),
    "no list": ({}, "words"),
    "a word that is none": ({"words": ["x"]}, "words.0"),
    "no tokens": ({"words": [{"word": "x", "became": "added"}]}, "words.0.tokens"),
    "a negative id": (
        {"words": [{"word": "x", "became": "added", "tokens": [TOKEN | {"id": -1}]}]},
        "words.0.tokens.0.id",
    ),
    "a description that is no text": (
        {"words": [{"word": "x", "became": "added", "tokens": [TOKEN], "description": 7}]},
        "words.0.description",
    ),
    "another tokenizer's id": (
        {"words": [{"word": "x", "became": "added", "tokens": [TOKEN | {"id": 10**6}]}]},
        "id 1000000 as 'x'",
    ),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_a_damaged_list_of_a_tokenizer_is_refused(toys, words, grown, tmp_path, case):
    content, named = DAMAGED[case]
    folder = grown(words[0])
    (folder / ".revocab.json").unlink()
    write_json(folder / "words.json", content)
    with pytest.raises(RevocabError) as refused:
        start(toys, folder, tmp_path / "out")
    (problem,) = refused.value.problems
    assert "words.json" in problem and named in problem
    assert not (tmp_path / "out").exists()
