"""A run that is trained in one version of an experiment and not in another: both stay."""

from __future__ import annotations

import training_pico as pico

from revocab.output import check_files
from revocab.training.records import HELDOUT, MEASURED
from revocab.training.train import output_folder


def test_losses_are_measured_beside_a_training(tmp_path):
    """And a training beside measured losses."""
    run = pico.run_of(pico.write_inputs(tmp_path), tmp_path / "run")
    run.out.mkdir()
    (run.out / MEASURED).write_text("step\n0\n")
    output_folder(run).hold()
    (run.out / HELDOUT).write_text("step\n0\n25\n")
    check_files(run.out / MEASURED)
    output_folder(run).finish()
    output_folder(run).check()
    assert (run.out / MEASURED).read_text() == "step\n0\n"
