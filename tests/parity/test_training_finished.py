"""A finished training stays finished, wherever a kill comes while its resume state is deleted."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from training_pico import run_of

from revocab.marker import MARKER
from revocab.output import ResumableFolder
from revocab.training import resume_state
from revocab.training.train import train

pytestmark = pytest.mark.usefixtures("one_thread")


class Killed(BaseException):
    """Stands in for a kill: nothing catches it."""


def tree(folder):
    """Return the files of a run, without its times; its marker has theirs."""
    files = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "timing.json"
    }
    marker = json.loads(files[MARKER])
    del marker["files"]["timing.json"]
    return {**files, MARKER: marker}


@pytest.fixture(scope="module")
def reference(inputs, tmp_path_factory):
    """A finished run, and beside it the same at the moment before its state is deleted."""
    root = tmp_path_factory.mktemp("finished")
    train(run_of(inputs, root / "done"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resume_state, "discard", lambda root: root.mkdir(parents=True, exist_ok=True))
        patch.setattr(resume_state, "begin", begin_plainly)
        patch.setattr(ResumableFolder, "finish", lambda self: None)  # it comes after that
        train(run_of(inputs, root / "before"))
    assert [path.name for path in resume_state.states(root / "before/state")] == ["checkpoint-4"]
    return root


def begin_plainly(root, mark):
    from revocab import io

    io.write_json(root / resume_state.FINGERPRINT, {"fingerprint": mark})


@pytest.fixture
def killed_after(monkeypatch):
    """Run something, and end it after a number of deletions and renames; say if it came so far."""

    def run(count, action):
        left = [count]

        def counting(plain):
            def counted(*arguments, **named):
                if left[0] == 0:
                    raise Killed
                left[0] -= 1
                return plain(*arguments, **named)

            return counted

        with monkeypatch.context() as patch:
            for name in ("unlink", "rmdir", "rename", "replace"):
                patch.setattr(os, name, counting(getattr(os, name)))
            try:
                action()
            except Killed:
                return True
        return False

    return run


def copy(source, tmp_path, name="out"):
    out = tmp_path / name
    shutil.rmtree(out, ignore_errors=True)
    return Path(shutil.copytree(source, out))


def test_a_finished_run_is_left_as_it_is(inputs, reference, tmp_path, capsys):
    out = copy(reference / "done", tmp_path)
    times = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    manifest = train(run_of(inputs, out))
    assert "this training is finished; nothing to do" in capsys.readouterr().err
    assert manifest["steps"] == 6
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == times


@pytest.mark.parametrize("place", ["state/checkpoint-22", "state", ".state.discarded/checkpoint-4"])
def test_an_empty_state_starts_nothing(inputs, reference, tmp_path, place):
    out = copy(reference / "done", tmp_path)
    (out / place).mkdir(parents=True)
    train(run_of(inputs, out))
    assert tree(out) == tree(reference / "done")
    assert not (out / "state").exists() and not (out / ".state.discarded").exists()


def test_a_kill_at_any_moment_of_deleting_the_state(inputs, reference, tmp_path, killed_after):
    """After the manifest, before the state is gone: the next start has nothing left to do."""
    count = 0
    while True:
        out = copy(reference / "before", tmp_path)
        came = killed_after(count, lambda root=out / "state": resume_state.discard(root))
        train(run_of(inputs, out))
        assert tree(out) == tree(reference / "done")
        assert not (out / "state").exists() and not (out / ".state.discarded").exists()
        if not came:
            break
        count += 1
    assert count > 5


@pytest.mark.parametrize("count", [0, 1, 2, 4])
def test_without_its_manifest_it_ends_with_the_same_bytes(
    inputs, reference, tmp_path, killed_after, count
):
    """Snakemake removes the manifest before it runs a job again."""
    out = copy(reference / "before", tmp_path)
    assert killed_after(count, lambda: resume_state.discard(out / "state"))
    (out / "manifest.json").unlink()
    train(run_of(inputs, out))
    assert tree(out) == tree(reference / "done")


@pytest.mark.parametrize("count", [*range(12), 16, 24])
def test_a_kill_while_another_training_clears_the_folder(
    inputs, reference, tmp_path, killed_after, count
):
    """No state goes on from checkpoints that are gone: the first settings give their bytes."""
    out = copy(reference / "before", tmp_path)
    assert killed_after(count, lambda: train(run_of(inputs, out, seed=18)))
    train(run_of(inputs, out))
    assert tree(out) == tree(reference / "done")


def test_other_settings_and_other_inputs_are_another_training(inputs, reference, tmp_path):
    out = copy(reference / "done", tmp_path)
    manifest = train(run_of(inputs, out, learning_rate=2e-3))
    assert manifest["settings"]["learning_rate"] == 2e-3
    assert tree(out)["losses.csv"] != tree(reference / "done")["losses.csv"]
    train(run_of(inputs, out))
    assert tree(out) == tree(reference / "done")
    for name in ("model", "packed", "heldout"):
        shutil.copytree(inputs / name, tmp_path / "inputs" / name)
    config = tmp_path / "inputs/model/config.json"
    config.write_text(config.read_text() + "\n")
    before = (out / "manifest.json").read_bytes()
    train(run_of(tmp_path / "inputs", out))
    assert (out / "manifest.json").read_bytes() != before


def test_a_checkpoint_that_is_gone_is_made_again(inputs, reference, tmp_path):
    out = copy(reference / "done", tmp_path)
    (out / "checkpoints/step-000004/model.safetensors").unlink()
    train(run_of(inputs, out))
    assert tree(out) == tree(reference / "done")


SUPPORT = Path(__file__).resolve().parents[1] / "support"
KILLED = """
import os, shutil, signal, sys
sys.path.insert(0, sys.argv[1])
import torch
torch.set_num_threads(1)
from pathlib import Path
from training_pico import run_of
from revocab.marker import MARKER
from revocab.output import ResumableFolder
from revocab.training import resume_state
from revocab.training.train import train
plain, removed = os.unlink, []
def unlink(*arguments, **named):
    plain(*arguments, **named)
    removed.append(arguments)
    if len(removed) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
def armed(root, discard=resume_state.discard):
    if (root.parent / "manifest.json").is_file():
        os.unlink = unlink
    discard(root)
resume_state.discard = armed
train(run_of(Path(sys.argv[2]), Path(sys.argv[3])))
"""


@pytest.mark.long
def test_a_real_kill_in_the_middle_of_it(inputs, reference, tmp_path, capsys):
    out = tmp_path / "out"
    done = subprocess.run(
        [sys.executable, "-c", KILLED, SUPPORT, inputs, out],
        env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert (out / "manifest.json").is_file() and [*(out / ".state.discarded").rglob("*")]
    train(run_of(inputs, out))
    assert "this training is finished" in capsys.readouterr().err
    assert tree(out) == tree(reference / "done")
