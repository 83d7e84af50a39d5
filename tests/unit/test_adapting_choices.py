"""What `adapt` chooses, by hand; and what it refuses, in one line each."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
import yaml
from toy_models import SOURCE_WORDS, build_model, build_tokenizer

from revocab.adapting.adapt import adapt
from revocab.adapting.choices import bytes_by_language, choose, mixture, shares, vocabulary_size
from revocab.adapting.experiment_file import Asked, experiment_text
from revocab.adapting.from_texts import without_cores
from revocab.adapting.source import Source, look_at, look_at_stand_in
from revocab.adapting.texts import Text, measure
from revocab.config import validate
from revocab.errors import RevocabError

SOURCE = Source("model", tokens=1000, context=2048, width=512, parameters=1_000_000)


def text(language: str, size: int) -> Text:
    return Text(language, Path(f"/{language}.txt"), size, documents=100)


@pytest.mark.parametrize(
    ("asked", "base", "size", "tokens"),
    [
        (None, 1000, 100_000, 1152),  # 200 new: 1,200, and 1,152 is 18 x 64
        (None, 1000, 10_000_000, 1984),  # 20,000 new would be more than the base has
        (1500, 1000, 25_000, 1500),
        (1500, 1000, 24_999, "at most 1499"),
        (1000, 1000, 10**9, "has 1,000 tokens"),
        (None, 1000, 31_999, "needs 32,000|need 32,000"),
    ],
)
def test_a_vocabulary_is_as_large_as_its_text_carries(asked, base, size, tokens):
    if isinstance(tokens, int):
        assert vocabulary_size(asked, base, size) == tokens
        return
    with pytest.raises(RevocabError, match=tokens):
        vocabulary_size(asked, base, size)


def test_shares_are_by_size_and_sum_to_one():
    texts = [text("it", 100), text("el", 200), text("sw", 400)]
    assert shares(bytes_by_language(texts)) == {"it": 0.1429, "el": 0.2857, "sw": 0.5714}
    assert shares({"a": 1, "b": 999_999}) == {"a": 0.0001, "b": 0.9999}
    assert shares({"a": 0, "b": 0, "c": 0}) == {"a": 0.0001, "b": 0.0001, "c": 0.9998}
    both = mixture(texts[:2], [text("en", 50)])
    assert both == {"it": 0.25, "el": 0.5, "en": 0.25}


def test_steps_are_what_the_text_or_the_time_allows():
    texts = [text("it", 4_000_000)]
    # Four passes over a million tokens; rows of 512, 8 a step: 976 steps.
    fast = choose(SOURCE, texts, [], minutes=10, flops=1e15)
    assert (fast.row, fast.rows, fast.steps) == (512, 8, 4_000_000 // 4096)
    # Vocabulary 1,984: 2 x 984 x 512 more parameters; 0.4 of the device's speed.
    slow = choose(SOURCE, texts, [], minutes=10, flops=1e10)
    speed = 1e10 * 0.4 / (6 * (1_000_000 + 2 * 984 * 512))
    assert slow.steps == int(600 * speed) // (slow.rows * 512)
    assert 9 < slow.minutes <= 10
    # Of a mixture three quarters are the text, so that four passes are more tokens.
    kept = choose(SOURCE, texts, [text("en", 1000)])
    assert kept.steps == int(4_000_000 / 0.75) // 4096
    given = choose(SOURCE, texts, [], tokens=40_960)
    assert (given.rows, given.steps) == (1, 80)
    assert given.embedding_rate == pytest.approx(8e-4)


def test_the_file_is_a_valid_experiment_that_says_why(tmp_path):
    for name in ("it", "en"):
        (tmp_path / f"{name}.txt").write_text("a b\n" * 20_000, encoding="utf-8")
    texts = [measure(name, tmp_path / f"{name}.txt") for name in ("it", "en")]
    assert texts[0].by_line and texts[0].documents == 20_000
    place, source = look_at_stand_in()
    choices = choose(source, texts[:1], texts[1:], tokens=10_000)
    written = experiment_text(Asked("revocab adapt --demo", "Stand-in", place, "fvt", choices))
    experiment = validate(yaml.safe_load(written))
    assert experiment.expanded["adapted-fvt"].steps[-1] == choices.steps
    assert written.count("#") > 10
    # What is marked out can be put in.
    more = validate(yaml.safe_load(written.replace("# more:", "more:").replace("# unch", "unch")))
    assert more.expanded["adapted-more"].start == ("adapted-fvt", choices.steps)


def test_documents_are_separated_by_empty_lines_also_when_compressed(tmp_path):
    with gzip.open(tmp_path / "it.txt.gz", "wb") as file:
        file.write("è\nuno\n\ndue\n".encode())
    found = measure("it", tmp_path / "it.txt.gz")
    assert (found.documents, found.bytes, found.by_line) == (2, 9, False)


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("toy")
    return build_model(build_tokenizer(SOURCE_WORDS, 30, folder / "tokenizer"), folder / "model")


def test_all_that_is_missing_is_said_at_once(tmp_path):
    for words, problems in (
        ([], ["give either MODEL", "--text: no text"]),
        (
            [str(tmp_path / "gone"), "--text", "it=gone.txt"],
            ["no folder with a model", "no such"],
        ),
    ):
        with pytest.raises(RevocabError) as caught:
            adapt([*words, "--out", str(tmp_path / "new")])
        assert len(caught.value.problems) == len(problems), caught.value
        for line, problem in zip(caught.value.problems, problems, strict=True):
            assert problem in line
    assert not (tmp_path / "new").exists()


def test_a_command_goes_on_with_other_cores():
    assert without_cores(["m", "--cores", "2", "--cores=2", "--out", "o"]) == ["m", "--out", "o"]


def test_a_row_fills_a_short_context(model):
    assert look_at(str(model))[1].row == 64
