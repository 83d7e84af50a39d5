"""`revocab advise` from words to files, on a toy model without weights."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
import yaml
from toy_models import SOURCE_WORDS, TARGET_WORDS, build_model, build_tokenizer

from revocab.errors import RevocabError
from revocab.experiment import read
from revocab.experiment.layout import Layout
from revocab.product.adapt import recommended
from revocab.product.advice.advise import advise, data_of
from revocab.product.advice.findings import COUNTED_BYTES
from revocab.product.choices import TOKENS_PER_NEW_TOKEN
from revocab.product.inputs import describe, measure_texts


def write_text(file: Path, words: list[str], seed: int) -> Path:
    """Write 100 documents of 200 words each, which are made of two of the given ones."""
    chance = random.Random(seed)
    compounds = [a + b for a in words for b in words]
    lines = [" ".join(chance.choices(compounds, k=200)) for _ in range(100)]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("advice")
    build_model(build_tokenizer(SOURCE_WORDS, 30, folder / "tokenizer"), folder / "toy")
    (folder / "toy/model.safetensors").unlink()
    write_text(folder / "new.txt", TARGET_WORDS, 1)
    write_text(folder / "old.txt", SOURCE_WORDS, 2)
    return folder


def words_of(folder: Path, *more: str) -> list[str]:
    return [f"{folder}/toy", f"fi={folder}/new.txt", "--keep", f"mt={folder}/old.txt", *more]


@pytest.fixture(scope="module")
def written(folder) -> tuple[str, Path]:
    out = folder / "out"
    said = advise(words_of(folder, "--out", str(out), "--served", "1000000", "--share", "fi=0.8"))
    return said, out


def test_one_page_is_text_markdown_html_and_json(written):
    said, out = written
    data = json.loads((out / "advice.json").read_text())
    markdown, html = ((out / f"advice.{ending}").read_text() for ending in ("md", "html"))
    for page in (said, markdown, html):
        assert f"{data['texts'][0]['tokens'] / data['texts'][0]['words']:.2f}" in page
        for curve in data["curves"]:
            assert all(f"{point['vocabulary']:,}" in page for point in curve["points"])
    assert html.count("data:image/svg+xml") == 2 and "http" not in html.split("<body>")[1][:2000]
    assert (out / "curve.png").stat().st_size > 5000
    assert data["against"] and data["against"][0].startswith("0.")  # it is a text of 0.6 MB
    assert all(len(data[name]) > 3 for name in ("reasons", "losses"))


def test_numbers_have_the_formulas_that_made_them(written):
    data = json.loads((written[1] / "advice.json").read_text())
    numbers = data["numbers"]
    assert numbers["memory, today: weights"] > 0
    (extend,) = (curve for curve in data["curves"] if curve["construction"] == "extend")
    used = next(each for each in data["options"] if each["construction"] == "extend")
    point = next(point for point in extend["points"] if point["added"] == used["added"])
    assert used["saved_tokens"] == pytest.approx(1 - point["tokens"] / extend["source_tokens"])
    sizes = {point["vocabulary"] for curve in data["curves"] for point in curve["points"]}
    assert {size % 64 for size in sizes} == {0}


def test_the_experiment_is_valid_and_begins_with_a_check(written):
    file = written[1] / "advised.yaml"
    layout = Layout(read(str(file)))
    (trained,) = (
        run for run in layout.runs if run.startswith("adapted-") and run != "adapted-base"
    )
    construction, _ = layout.experiment.tokenizers["target"].construction()
    assert "check-fvt" in layout.runs and trained.startswith(f"adapted-{construction}")
    experiment = yaml.safe_load(file.read_text())
    assert experiment["recipes"]["check"]["steps"] == 4
    assert experiment["mixtures"]["adaptation"] == {"fi": 0.75, "mt": 0.25}
    first = file.read_text().splitlines()[2]
    assert first.endswith("-- results/advised/runs/check-fvt/manifest.json")


def test_the_same_words_write_the_same_bytes(folder, written):
    before = {path.name: path.read_bytes() for path in written[1].iterdir() if path.is_file()}
    advise(words_of(folder, "--out", str(written[1]), "--served", "1000000", "--share", "fi=0.8"))
    after = {path.name: path.read_bytes() for path in written[1].iterdir() if path.is_file()}
    assert before == after and "advice.html" in before


def test_adapt_is_told_what_advise_says_of_the_same_budget(folder, tmp_path, monkeypatch):
    """And JSON alone is printed, and nothing written."""
    monkeypatch.chdir(tmp_path)
    budget = 6_400
    data = json.loads(advise(words_of(folder, "--json", "--budget", str(budget))))
    assert data["planned"]["tokens"] == budget and not [*tmp_path.iterdir()]
    (cost,) = data["texts"]
    assert cost["name"] == "fi" and cost["bytes"] <= COUNTED_BYTES
    texts, keep = (
        measure_texts({language: folder / file}, "--text")
        for language, file in (("fi", "new.txt"), ("mt", "old.txt"))
    )
    advised = recommended(describe(folder / "toy"), texts, keep, budget)
    found = data_of(advised)
    assert (found["against"], found["options"]) == (data["against"], data["options"])
    assert 0 < advised.best.added <= budget / TOKENS_PER_NEW_TOKEN


def test_a_step_is_timed_where_that_is_asked_for(folder):
    data = json.loads(advise(words_of(folder, "--json", "--measure")))
    assert data["numbers"]["training, today: body"] > 0


def test_all_problems_are_told_at_once(folder):
    with pytest.raises(RevocabError) as caught:
        advise(["nowhere", "it=none.txt", "--share", "fr=0.5", "it=0.7"])
    assert len(caught.value.problems) == 4, caught.value.problems
