"""``keep`` of a recipe: which checkpoints go, after which jobs, and that it is no damage."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from revocab import io
from revocab.closed import Job
from revocab.costs.experiment import CostOptions, costs_of
from revocab.errors import RevocabError
from revocab.experiment import options, validate
from revocab.experiment.layout import Layout
from revocab.marker import DROPPED, changed_since, hashes_of, made_by
from revocab.output import OutputFolder, ResumableFolder
from revocab.training.checkpoints import drop_checkpoints

RUN = "mistral-sava"
FOLDER = f"results/small/runs/{RUN}"


def planned(repository: Path, keep: str, scored: list[object] | None = None) -> Layout:
    values = yaml.safe_load((repository / "tests/experiments/small.yaml").read_text())
    changes = {"keep": keep, "checkpoint_every": 5}
    values["recipes"]["adapt"] = {**values["recipes"]["train"], **changes}
    values["runs"]["mistral"]["methods"]["sava"] = {"recipe": "adapt"}
    if scored:
        for kind in ("multiple_choice", "generation"):
            values["evaluation"][kind]["steps"] = scored
            for table in values["tables"].values():
                if table["kind"] == kind:
                    table["steps"] = scored
    return Layout(validate(values))


def dropped(layout: Layout) -> dict[str, list[int]]:
    return {run: options.dropping(layout, run).steps for run in layout.dropping}


def test_all_but_the_last_go_when_they_are_scored(repository):
    layout = planned(repository, "last")
    assert dropped(layout) == {RUN: [5, 10, 15]}
    scores = {f"{FOLDER}/multiple_choice.csv", f"{FOLDER}/generation/manifest.json"}
    assert {*layout.readers_of_dropped(RUN)} == scores
    assert layout.drops == [f"{FOLDER}/{DROPPED}"]


def test_what_something_reads_stays_where_that_is_asked(repository):
    assert dropped(planned(repository, "evaluated")) == {}  # tables show every checkpoint
    layout = planned(repository, "evaluated", [10, "last"])
    assert dropped(layout) == {RUN: [5, 15]}
    assert layout.readers_of_dropped(RUN) == []


def test_without_it_there_is_no_such_job_and_no_training_is_another(repository):
    kept, without = planned(repository, "last"), planned(repository, "all")
    assert dropped(without) == {}
    first, second = (options.run_training(one.experiment, RUN) for one in (kept, without))
    assert first.canonical() == second.canonical()
    assert "keep" not in without.experiment.recipes["adapt"].model_dump()


def test_a_stand_in_keeps_its_checkpoints(repository):
    values = yaml.safe_load((repository / "tests/experiments/small.yaml").read_text())
    values["recipes"]["train"]["keep"] = "last"
    with pytest.raises(RevocabError, match="which only runs can have"):
        validate(values)


def test_disk_at_the_end_is_less_and_its_peak_is_not(repository, monkeypatch):
    monkeypatch.chdir(repository)
    every, last = (
        costs_of(planned(repository, keep), CostOptions()).totals for keep in ("all", "last")
    )
    assert last["disk at the end"] < every["disk at the end"]
    peaks = [totals["disk at the peak, at most"][0] for totals in (every, last)]
    assert peaks[1] == pytest.approx(peaks[0], rel=0.01)


def test_what_was_removed_is_no_damage_and_cannot_be_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    training = Path("results/small/runs/r")
    folder = ResumableFolder(
        training, "training run", names=["manifest.json"], parts={"checkpoints": "checkpoint"}
    )
    files = [training / "checkpoints" / f"step-{step:06d}" / "model" for step in (5, 10)]
    with made_by("train_model", Job(), "adapt_model--r"):
        folder.hold()
        for file in files:
            with OutputFolder(file.parent, "checkpoint").replaced(part=True) as part:
                io.write_text(part / "model", "x")
        io.write_text(training / "manifest.json", "x")
        folder.finish()
    manifest, out = training / "manifest.json", training / DROPPED
    drop_checkpoints(training, [5], out)
    drop_checkpoints(training, [5], out)  # as after a kill
    assert [file.exists() for file in files] == [False, True]
    assert [*(training / "checkpoints").iterdir()] == [files[1].parent]
    assert list(changed_since([manifest], "small")) == []

    io.write_text(files[0].with_name("notes"), "mine")
    drop_checkpoints(training, [5], out)
    assert [path.name for path in files[0].parent.iterdir()] == ["notes"]
    with pytest.raises(RevocabError, match=r"model was removed \(keep of its recipe\).*forcerun"):
        hashes_of([files[0].parent], "small")
    files[1].unlink()
    assert "model is missing" in next(changed_since([manifest], "small"))
    io.write_json(out, {})
    with pytest.raises(RevocabError, match=r"dropped.json.*forcerun results/small/runs/r/dropped"):
        list(changed_since([manifest], "small"))
