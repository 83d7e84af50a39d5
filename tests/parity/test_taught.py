"""Stages that learn from a source model: damaged teachers, folders, processes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from damaged_models import DAMAGES, damaged
from taught_pico import BATCH, taught_run
from training_pico import changed, losses

from revocab import io
from revocab.errors import RevocabError
from revocab.training.train import train

pytestmark = pytest.mark.usefixtures("one_thread")

STAGES = (
    {"name": "distil", "steps": 4, "learning_rate": 1e-2, "train": ["new_rows"],
     "distil": {"snippet": 8, "per_token": 5}},
    {"name": "again", "steps": 5, "learning_rate": 1e-2, "train": ["new_rows"],
     "distil": {"layers": [1], "snippet": 8}},
)  # fmt: skip


@pytest.fixture(scope="module")
def alone(folders, tmp_path_factory):
    out = tmp_path_factory.mktemp("out") / "run"
    train(taught_run(folders, out, *STAGES))
    return out


@pytest.mark.parametrize("damage", ["no mlp", "nan"])
@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage["name"])
def test_a_damaged_teacher_is_refused_before_anything_is_made(folders, tmp_path, stage, damage):
    """Also of a last stage, which would be reached after hours."""
    change, words = DAMAGES[damage]
    teacher = damaged(folders / "untied", tmp_path / "teacher", change)
    first = {"name": "everything", "steps": 3, "learning_rate": 1e-3}
    with pytest.raises(RevocabError) as caught:
        run = taught_run(folders, tmp_path / "out", first, stage)
        train(changed(run, source=teacher))
    assert str(teacher) in str(caught.value) and words in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_folder_with_a_file_of_the_users_is_left_as_it_is(folders, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(RevocabError, match=r"notes\.txt"):
        train(taught_run(folders, tmp_path / "out", *STAGES))
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["notes.txt"]
    assert (tmp_path / "out/notes.txt").read_text(encoding="utf-8") == "mine"


def test_a_finished_run_is_left_alone_and_other_layers_train_again(folders, alone, capsys):
    before = io.sha256(alone / "losses.csv")
    train(taught_run(folders, alone, *STAGES))
    assert "this training is finished" in capsys.readouterr().err
    other = {**STAGES[1], "distil": {"layers": [-1], "snippet": 8}}
    train(taught_run(folders, alone.parent / "other", STAGES[0], other))
    ours, theirs = losses(alone), losses(alone.parent / "other")
    assert ours[:4] == theirs[:4] and ours[4] != theirs[4]
    assert io.sha256(alone / "losses.csv") == before


def test_bfloat16(folders, alone, tmp_path):
    train(taught_run(folders, tmp_path / "out", *STAGES, precision="bfloat16"))
    assert losses(tmp_path / "out") == pytest.approx(losses(alone), rel=0.1)


def test_the_source_models_operations_are_counted(folders, alone):
    """A token's of the teacher in both stages, the more where it has more tokens to read."""
    from revocab.costs.model import flops_per_token, operations
    from revocab.models.shape import load_shape

    run, timing = taught_run(folders, alone, *STAGES), io.read_json(alone / "timing.json")
    model, teacher = load_shape(run.model), load_shape(run.source)
    own = flops_per_token(model, run.settings.plan.groups(model), run.settings, 24)
    rows, _ = teacher.get_output_embeddings().weight.shape
    most = operations(teacher).flops(24)
    assert own + (most - 2 * rows * 32) / 2 < timing["flops_per_token"] < own + 2.5 * most


@pytest.mark.long
@pytest.mark.parametrize("flags", [(), ("--fsdp",)], ids=["plain", "sharded"])
def test_two_processes_agree_with_one(folders, alone, tmp_path, repository, flags):
    run = taught_run(folders, tmp_path / "out", *STAGES)
    options = {
        "model": run.model, "source": run.source, "packed": run.packed, "heldout": run.heldout,
        "out": run.out, "steps": 9, "batch_size": BATCH, "learning_rate": 1e-2, "seed": 17,
        "checkpoint_every": 3, "weight_decay": 0.3, "threads": 1,
    }  # fmt: skip
    done = subprocess.run(
        [
            sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2",
            repository / "scripts/run_job.py", "train_model",
            *(f"--{key.replace('_', '-')}={value}" for key, value in options.items()),
            "--stages", *(stage.model_dump_json() for stage in run.settings.stages), *flags,
        ],
        env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert io.read_json(run.out / "timing.json")["processes"] == 2
    assert losses(run.out) == pytest.approx(losses(alone), rel=2e-3)
