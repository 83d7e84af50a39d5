"""The best checkpoint: which one it is, what it holds, and what may be made of it."""

from __future__ import annotations

import copy
import csv
from pathlib import Path

import numpy as np
import pytest
import training_pico as pico
import yaml

from revocab import io
from revocab.errors import RevocabError
from revocab.experiment import options, validate
from revocab.experiment.layout import Layout
from revocab.marker import is_whole
from revocab.training.checkpoints import best_step, heldout_means
from revocab.training.train import train


def row(step, corpus, loss, tokens):
    return {"step": str(step), "corpus": corpus, "loss": str(loss), "tokens": str(tokens)}


def test_losses_of_corpora_are_one_by_token():
    """By hand: (2 * 30 + 1 * 10) / 40, whatever another group's corpus says."""
    rows = [row(5, "sw", 2.0, 30), row(5, "et", 1.0, 10), row(5, "ru", 9.0, 10)]
    rows += [row(10, "sw", 1.0, 30), row(10, "et", 3.0, 10), row(10, "ru", 0.0, 10)]
    assert heldout_means(rows, {"sw", "et"}) == {5: 1.75, 10: 1.5}


def test_the_lowest_checkpoint_and_of_equal_ones_the_earliest():
    means = {0: 0.1, 2: 3.0, 3: 0.5, 4: 2.0, 6: 2.0, 8: 2.5}
    assert best_step(means, [2, 4, 6, 8]) == 4  # steps 0 and 3 are no checkpoints
    assert best_step({2: 1.0}, [2]) == 2


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    return pico.write_inputs(tmp_path_factory.mktemp("pico"))


def run_of(inputs, out, **changes):
    """Return a run whose first update has rate 0, and which then runs away."""
    settings = {
        "keep_best": True,
        "schedule": "constant",
        "checkpoint_every": 1,
        "learning_rate": 2.0,
        **changes,
    }
    return pico.run_of(inputs, out, **settings)


def losses(out):
    with (out / "heldout.csv").open() as file:
        return {int(one["step"]): float(one["loss"]) for one in csv.DictReader(file)}


def test_a_training_keeps_its_best_checkpoint(inputs, tmp_path):
    manifest = train(run_of(inputs, tmp_path / "run"))
    found = {step: loss for step, loss in losses(tmp_path / "run").items() if step}
    best = min(found, key=lambda step: (found[step], step))
    assert best < max(found)  # else this test shows nothing
    assert manifest["best"] == {
        "step": best, "path": "checkpoints/best", "heldout_loss": found[best]
    }  # fmt: skip
    kept = tmp_path / "run/checkpoints/best"
    same = tmp_path / f"run/checkpoints/step-{best:06d}"
    names = {one.name for one in same.iterdir()}
    assert names == {one.name for one in kept.iterdir()} and is_whole(kept)
    for name in names - {".revocab.json"}:
        assert (kept / name).read_bytes() == (same / name).read_bytes()
    before = (tmp_path / "run/manifest.json").stat().st_mtime_ns
    assert train(run_of(inputs, tmp_path / "run")) == manifest  # finished, and left as it is
    assert (tmp_path / "run/manifest.json").stat().st_mtime_ns == before


def test_a_run_stopped_before_its_end_keeps_the_same(inputs, tmp_path, monkeypatch):
    """Killed after the checkpoints and before the manifest, and resumed from the middle."""
    train(run_of(inputs, tmp_path / "whole"))

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("revocab.training.train.manifest_of", killed)
        with pytest.raises(KeyboardInterrupt):
            train(run_of(inputs, tmp_path / "resumed"))
    train(run_of(inputs, tmp_path / "resumed"))
    timing = io.read_json(tmp_path / "resumed/timing.json")
    assert timing["resumed_from_step"] == pico.RECIPE["steps"] - 1
    pico.assert_same(tmp_path / "resumed", tmp_path / "whole")


def test_nothing_to_judge_by_is_said_before_training(inputs, tmp_path):
    rows = np.load(inputs / "packed/tokens.npy")
    pico.write_packed(tmp_path / "packed", rows, corpora={"ru": {"rows": len(rows)}})
    run = pico.changed(run_of(inputs, tmp_path / "run"), packed=tmp_path / "packed")
    with pytest.raises(RevocabError, match=r"keep_best: no held-out text .*trained on: ru"):
        train(run)


# In an experiment ---------------------------------------------------------------------------------


@pytest.fixture
def values(repository, monkeypatch):
    """The small experiment, whose recipe ``train`` keeps the best, and a run made of it."""
    monkeypatch.chdir(repository)
    found = yaml.safe_load(Path("tests/experiments/small.yaml").read_text(encoding="utf-8"))
    found["recipes"]["train"]["keep_best"] = True
    found["runs"]["mistral"]["methods"]["chosen"] = {
        "method": "lapt", "start": {"run": "mistral-sava", "step": "best"}, "recipe": None,
    }  # fmt: skip
    return found


def problems_of(values):
    with pytest.raises(RevocabError) as caught:
        validate(copy.deepcopy(values))
    return "\n".join(caught.value.problems)


def test_a_run_is_made_of_the_best_checkpoint(values):
    """Its path is known before the step is, and it waits for the whole training."""
    layout = Layout(experiment := validate(values))
    folder = "results/small/runs/mistral-sava"
    assert layout.origin("mistral-chosen") == (
        f"{folder}/checkpoints/best",
        f"{folder}/manifest.json",
    )
    chosen = layout.runs["mistral-chosen"]
    assert chosen.start == ("mistral-sava", "best") and chosen.steps == [0]
    assert options.run_training(experiment, "mistral-sava").keep_best


def test_a_best_that_cannot_be_is_named(values):
    plain = copy.deepcopy(values)
    plain["recipes"]["train"]["keep_best"] = False
    assert "run 'mistral-sava' keeps no best checkpoint; set keep_best: true" in problems_of(plain)
    mixed = {corpus for mixture in values["mixtures"].values() for corpus in mixture}
    unheld, evaluation = copy.deepcopy(values), values["evaluation"]
    unheld["evaluation"]["heldout"] = [one for one in evaluation["heldout"] if one not in mixed]
    said = "keeps the best checkpoint, but evaluation.heldout names no corpus"
    assert said in problems_of(unheld)
    evaluation["generation"]["steps"] = ["best"]  # it is scored as a run
    said = problems_of(values)
    assert "step 'best' is not a checkpoint" in said and "make a run of it" in said
