"""Claims about numbers of runs: means over seeds by hand, shares, other steps, problems."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import pytest
import yaml
from fake_results import REPOSITORY, fake_results, write_csv
from one_group import written_out

from revocab.errors import RevocabError
from revocab.experiment import validate
from revocab.experiment.layout import Layout
from revocab.report.make_tables import build_table
from revocab.report.results import Results
from revocab.report.results.heldout_losses import heldout_curve
from revocab.report.results.scores import collect_scores
from revocab.report.table import Cell, difference

#: Italian bits per byte at steps 0 and 100, by run and seed.
LOSSES = {
    "replicates-random": {1: (3.0, 1.0), 2: (3.0, 2.0), 3: (3.0, 1.5)},
    "replicates-fvt": {1: (2.0, 1.1), 2: (2.0, 1.2), 3: (2.0, 1.3)},
}
LAST = {"heldout": {"language": "it"}}
FIRST = {"heldout": {"language": "it", "step": 0}}
FERTILITY = {"fertility": {"corpus": "world-it"}}
CLAIMS = {
    "random": {"value": LAST, "runs": ["replicates-fvt"], "over": ["replicates-random"]},
    "itself": {"value": LAST, "runs": ["replicates-fvt"], "over": ["replicates-fvt"],
               "over_value": FIRST, "share": True},
    "worst": {"value": LAST, "runs": ["replicates-fvt", "replicates-random"],
              "over": ["mistral-base"]},
    "tokenizer": {"value": FERTILITY, "runs": ["mistral-fvt"], "over": ["mistral-base"],
                  "share": True},
}  # fmt: skip


def table(**changes: object) -> dict:
    claims = [
        {"says": name, "place": "here", "at_least": 0.0, "gain": {**one, **changes}}
        for name, one in CLAIMS.items()
    ]
    return {"claims": {"kind": "claims", "title": "Claims", "claims": claims}}


def demo() -> dict:
    return yaml.safe_load((REPOSITORY / "config/demos/demo.yaml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    values = written_out(demo())
    folder = tmp_path_factory.mktemp("falls") / "demo"
    fake_results(folder, runs=values["runs"], tables=table())
    for run, by_seed in LOSSES.items():
        for seed, losses in by_seed.items():
            path = folder / f"runs/{run}-seed{seed}/heldout.csv"
            last = Results(folder).run(f"{run}-seed{seed}").steps[-1]
            rows = [
                {"step": step, "corpus": "world-it", "language": "it", "loss": 1, "tokens": 9,
                 "bits_per_byte": loss, "bytes": 60000}
                for step, loss in zip((0, last), losses, strict=True)
            ]  # fmt: skip
            write_csv(path, rows)
    collect_scores(folder, folder / "scores.parquet")
    return folder


@pytest.fixture(scope="module")
def rows(root) -> dict[str, list[str]]:
    found = build_table(Results(root), "claims").data_rows()
    return {row.cells[0].text: [cell.text for cell in row.cells[-2:]] for row in found}


@pytest.mark.parametrize(
    ("other", "found"),
    [
        # Seed by seed all differ by 1; apart, each would have a deviation of 1.
        ({"by_seed": {1: 0.0, 2: 1.0, 3: 2.0}, "deviation": 1.0, "seeds": 3}, (0.0, 3, True)),
        ({"by_seed": {4: 0.0, 5: 1.0, 6: 2.0}, "deviation": 1.0, "seeds": 3}, (2**0.5, 3, True)),
        ({}, (1.0, 3, True)),  # not trained
        ({"by_seed": {1: 1.0}}, (1.0, 3, False)),  # trained once
    ],
)
def test_the_difference_of_cells_pairs_equal_seeds(other, found):
    cell = Cell(2.0, by_seed={1: 1.0, 2: 2.0, 3: 3.0}, deviation=1.0, seeds=3)
    gain = difference(cell, Cell(1.0, **other))
    assert gain.value == 1.0 and gain.item_error == 0.0
    assert (gain.deviation, gain.seeds, gain.known) == (pytest.approx(found[0]), *found[1:])


def test_means_over_seeds_and_each_seed(rows):
    """1.5 − 1.2 in the mean; 1.0 − 1.1, 2.0 − 1.2 and 1.5 − 1.3 by seed."""
    assert rows["random"] == [
        "0.300 (by seed: -0.100, 0.800, 0.200), 95 % interval -0.838 to 1.438", "cannot tell"
    ]  # fmt: skip


def test_another_number_of_the_same_run_as_a_share(rows):
    """From 2.0 at step 0 to 1.1, 1.2 and 1.3."""
    assert rows["itself"] == [
        "40.0 % (by seed: 45.0 %, 40.0 %, 35.0 %), 95 % interval 27.6 % to 52.4 %", "holds"
    ]  # fmt: skip


def test_the_worst_of_several_runs_counts(root, rows):
    """And a run without seeds stands for every seed."""
    results = Results(root)
    curve = heldout_curve(results, results.run("mistral-base"), "it")
    base = curve[0]
    random = [last for _, last in LOSSES["replicates-random"].values()]
    fvt = [last for _, last in LOSSES["replicates-fvt"].values()]
    seeds = [base - max(pair) for pair in zip(random, fvt, strict=True)]
    listed = ", ".join(f"{one:.3f}" for one in seeds)
    fall = base - fmean(random)
    assert rows["worst"][0].startswith(f"{fall:.3f} (by seed: {listed}), 95 % interval ")
    assert rows["worst"][1] == "cannot tell"  # 1.0, 2.0 and 1.5 reach 1.24 to either side


def test_what_is_wrong_is_told_and_files_are_made_first():
    values = {**demo(), "figures": {}, "tables": table()}
    assert "results/demo/fertility/manifest.json" in Layout(validate(values)).read_by_tables
    for changes, key in (
        ({"runs": ["mistral-nobody"]}, "gain.runs: no run 'mistral-nobody'"),
        ({"value": {"heldout": {"language": "fr"}}}, "gain.value.language: no language"),
    ):
        with pytest.raises(RevocabError) as caught:
            validate({**values, "tables": table(**changes)})
        assert f"tables.claims.claims.0.{key}" in "\n".join(caught.value.problems)
