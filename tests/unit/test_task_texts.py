"""Generation tasks on what corpora hold out: what they read, what training leaves out, refusals."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from revocab.errors import RevocabError
from revocab.experiment import options, validate
from revocab.experiment.layout import Layout

KEY = "evaluation.generation.tasks.copy_it"


@pytest.fixture
def values(repository, monkeypatch) -> dict:
    """The small experiment with a copying task on held-out text."""
    monkeypatch.chdir(repository)
    values = yaml.safe_load(Path("tests/experiments/small.yaml").read_text(encoding="utf-8"))
    values["evaluation"]["generation"]["tasks"]["copy_it"] = {
        "kind": "copying", "unit": "sentence", "direction": ["it"], "shots": 2,
        "pool": {"heldout": "world-it"}, "test": {"heldout": "world-it"},
    }  # fmt: skip
    return values


def text_of(values: dict, part: str) -> dict:
    return values["evaluation"]["generation"]["tasks"]["copy_it"][part]


def test_prompts_are_made_of_the_held_out_file(values):
    experiment = validate(values)
    task = experiment.evaluation.generation.tasks["copy_it"]
    for text in (task.pool, task.test):
        files = Layout(experiment).task_text(text)
        assert files == ["resources/small/corpora/world-it/heldout.jsonl.gz"]
    job = options.prompts(experiment, "copy_it")
    assert job.pool.kind == job.test.kind == "path"


def test_no_training_reads_what_is_copied(values):
    values["evaluation"]["heldout"] = ["world-en"]
    texts = Layout(validate(values)).texts_held_out("train")
    assert [Path(one).parent.name for one in texts] == ["world-en", "world-it"]


def test_a_corpus_that_holds_out_nothing_another_language_and_no_corpus(values):
    del values["corpora"]["world-it"]["heldout_bytes"]
    text_of(values, "test")["heldout"] = "world-en"
    with pytest.raises(RevocabError) as caught:
        validate(values)
    assert caught.value.problems[-2:] == [
        f"{KEY}.pool.heldout: 'world-it' holds out no text; give corpora.world-it.heldout_bytes",
        f"{KEY}.test.heldout: 'world-en' is in 'en', the task in 'it'; name a corpus in its "
        "language",
    ]
    text_of(values, "test")["heldout"] = "world-ti"
    with pytest.raises(RevocabError, match=r"test\.heldout: no corpus 'world-ti' \(known: chat"):
        validate(values)


def test_one_place(values):
    text_of(values, "pool")["world"] = "parallel.train"
    with pytest.raises(RevocabError, match="must be given, received world, heldout"):
        validate(values)
