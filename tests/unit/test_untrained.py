"""A run that is trained in one version of an experiment and not in another: both stay."""

from __future__ import annotations

import training_pico as pico
from fake_results import change_experiment, fake_results, write_csv

from revocab.io import read_json, write_json
from revocab.output import check_files
from revocab.report.checks import coverage_problems
from revocab.report.results import Results
from revocab.report.results.heldout_losses import heldout_curve
from revocab.report.results.scores import collect_scores
from revocab.training.outputs.loss_tables import HELDOUT, MEASURED
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


def test_the_report_reads_the_losses_of_what_the_run_is(tmp_path):
    root = fake_results(tmp_path / "demo")
    trained = Results(root)
    run = trained.run("mistral-fvt")
    rows, provenance = trained.heldout(run)
    assert provenance == f"runs/mistral-fvt/{HELDOUT}" and len({row["step"] for row in rows}) > 1

    change_experiment(root, "runs", "mistral", "methods", "fvt", "recipe", value=None)
    content = read_json(root / "experiment.json")
    for one in content["runs"]:
        if one["id"] == run.id:
            one |= {"recipe": None, "mixture": None, "steps": [0], "trains": False}
    write_json(root / "experiment.json", content)
    collect_scores(root, root / "scores.parquet")
    missing = f"runs/mistral-fvt/{MEASURED}: no held-out loss at steps [0]; measure it"
    assert missing in [*coverage_problems(Results(root))]

    row = {"step": 0, "corpus": "world-it", "language": "it", "loss": 1, "bits_per_byte": 3.5}
    write_csv(root / "runs/mistral-fvt" / MEASURED, [{**row, "tokens": 10, "bytes": 30}])
    results = Results(root)
    assert heldout_curve(results, results.run(run.id), "it") == {0: 3.5}
    assert missing not in [*coverage_problems(results)]
