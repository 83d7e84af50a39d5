"""Tables that order methods, of results made up, by hand."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import yaml
from fake_results import REPOSITORY, change_experiment, experiment_alone, fake_results, write_csv
from one_group import written_out

from revocab.errors import RevocabError
from revocab.evaluation.over_seeds import t_quantile
from revocab.experiment import validate
from revocab.io import write_json
from revocab.report.figures.curves import STANDING_OUT
from revocab.report.make_tables import build_table, make_figures, make_tables
from revocab.report.results import Results
from revocab.report.table import Table

STEPS = (0, 25, 50, 75, 100)
#: Bits per byte by step, and what each of three seeds adds.
LOSSES = {
    "lapt": ((2.0, 1.8, 1.6, 1.5, 1.4), (0, 0.01, 0.02)),
    "random": ((4.0, 3.0, 2.0, 1.9, 1.8), (0, 0.01, 0.02)),
    "fvt": ((3.0, 1.7, 1.5, 1.3, 1.2), (0, 0.01, 0.02)),
    "sava": ((2.5, 1.5, 1.45, 1.3, 1.21), (0.02, 0.01, 0)),
}
RANKING = {
    "kind": "ranking", "title": "Starts", "groups": {"mistral": "it"}, "reference": "lapt",
    "points": [0, 50, "last", "equal-text", "equal-flops"],
}  # fmt: skip
CURVES = {
    "kind": "loss", "title": "Curves", "languages": ["it"], "over": "flops", "training": False,
    "runs": [f"mistral-{name}" for name in LOSSES], "reference": "mistral-lapt",
}  # fmt: skip


def seeded(*groups: str) -> dict:
    """Return the runs of the demo's groups, the same four methods with three seeds in each."""
    values = yaml.safe_load((REPOSITORY / "config/demos/demo.yaml").read_text(encoding="utf-8"))
    runs = {group: dict(values["runs"]["mistral"]) for group in groups}
    for group, entry in runs.items():
        entry |= {"label": group.capitalize(), "for": {"seed": [1, 2, 3]}, "references": {}}
        entry["methods"] = {name: {"evaluate": False} for name in LOSSES}
    values |= {"runs": runs, "tables": {"t": RANKING}, "figures": {"f": CURVES}}
    values["scale"] = None
    return values


def train(root: Path, group: str, shift: float = 0.0) -> None:
    """Write what trainings leave: 4 bytes and 6 million operations a token, of lapt half of each.

    So at its end, after 8 MB and 12 units, the others are at step 50.
    """
    for name, (losses, seeds) in LOSSES.items():
        half = 0.5 if name == "lapt" else 1
        for seed, more in enumerate(seeds, 1):
            folder = root / "runs" / f"{group}-{name}-seed{seed}"
            heldout = [
                {"step": step, "corpus": "world-it", "language": "it", "loss": 9.9, "tokens": 7,
                 "bits_per_byte": loss + more + shift, "bytes": 100}
                for step, loss in zip(STEPS, losses, strict=True)
            ]  # fmt: skip
            write_csv(folder / "heldout.csv", heldout)
            per_byte = 2.0 / (4 * half * math.log(2))
            rows = [
                {"step": step, "tokens": 40_000 * step, "loss": 2.0, "bits_per_byte": per_byte,
                 "learning_rate": 0, "gradient_norm": 1}
                for step in STEPS[1:]
            ]  # fmt: skip
            write_csv(folder / "losses.csv", rows)
            write_json(folder / "timing.json", {"flops_per_token": 6e6 * half})


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("ranking") / "results" / "demo"
    values = written_out(seeded("mistral", "other"))
    fake_results(folder, **{key: values[key] for key in ("runs", "tables", "figures", "scale")})
    train(folder, "mistral")
    train(folder, "other", shift=1.0)
    return folder


@pytest.fixture
def root(made, tmp_path) -> Path:
    """Return the same results with an experiment that may be changed."""
    folder = experiment_alone(made, tmp_path / "results" / "demo")
    (folder / "runs").symlink_to(made / "runs")
    return folder


def table(root: Path, **options: object) -> Table:
    for key, value in options.items():
        change_experiment(root, "tables", "t", key, value=value)
    return build_table(Results(root), "t")


def shown(table: Table) -> list[list[str]]:
    return [
        [cell.text if cell.text is not None else cell.number() for cell in row.cells]
        for row in table.data_rows()
    ]


def test_methods_by_hand(root):
    """Of t with two degrees of freedom 4.303 / sqrt(3) times 0.01 is 0.025; for three rows at once
    the quantile is 7.649.
    """
    rows = shown(table(root))
    assert [row[:2] for row in rows] == [
        ["LAPT", "–"], ["FVT", "1"], ["SAVA", "2"], ["Random", "3"],
    ]  # fmt: skip
    assert rows[0][2:] == [
        "2.010±0.025", "1.610±0.025", "1.410±0.025", "1.410±0.025", "1.410±0.025", "–", "–",
    ]  # fmt: skip
    assert rows[1][2:] == [
        "3.010±0.025", "1.510±0.025", "1.210±0.025", "1.510±0.025", "1.510±0.025",
        "-0.200±0.000", "0.100±0.000",
    ]  # fmt: skip
    reach = t_quantile(2, 1 - 0.05 / 3) * 0.02 / math.sqrt(3)
    assert rows[2][7:] == [f"-0.190±{reach:.3f}", f"0.050±{reach:.3f}"]


def test_marks_by_hand(root):
    """SAVA is 0.01 above FVT, seed by seed -0.01 to 0.03: it may be the best, and Random cannot."""
    rows = table(root).data_rows()
    assert [row.cells[1].mark for row in rows] == [None, "best", "best", None]
    assert [row.cells[4].mark for row in rows] == [None, "best", "second", None]
    assert [row.cells[7].mark for row in rows] == [None, "best", "best", "best"]
    assert [row.cells[8].mark for row in rows] == [None, "best", None, "best"]
    assert rows[1].cells[2].provenance == "runs/mistral-fvt-seed1/heldout.csv"
    low, _ = rows[2].cells[7].seed_interval
    assert rows[2].cells[7].seeds == 3 and -0.3 < low < -0.2


def test_a_block_for_each_group(root):
    groups = {"mistral": "it", "other": "it"}
    each = table(root, groups=groups)
    assert [row.section for row in each.rows if row.section] == ["Mistral", "Other"]
    assert shown(each)[:4] == shown(table(root, groups={"mistral": "it"}))


def test_tables_and_figures_are_written(root):
    make_tables(root, root / "tables")
    make_figures(root, root / "figures")
    header = (root / "tables" / "t.csv").read_text(encoding="utf-8").partition("\n")[0]
    assert "bits per byte last checkpoint seeds low" in header
    assert "**-0.200±0.000**" in (root / "tables" / "t.md").read_text(encoding="utf-8")
    assert STANDING_OUT["color"] in (root / "figures" / "f.svg").read_text(encoding="utf-8")


def test_operations_that_were_not_recorded_are_missing(root, made):
    timing = made / "runs/mistral-lapt-seed2/timing.json"
    kept = timing.read_text(encoding="utf-8")
    timing.unlink()
    try:
        rows = table(root).data_rows()
    finally:
        timing.write_text(kept, encoding="utf-8")
    assert rows[1].cells[6].value is None and rows[1].cells[6].text is None
    assert rows[1].cells[5].value is not None


WRONG = [
    ({"reference": "lap"}, ".reference: no trained run of group 'mistral' 'lap'"),
    ({"points": [0, 3]}, ".points: held-out loss is measured at no step 3"),
    ({"differences": ["equal"]},
     ".differences: held-out loss is measured at no step 'equal' of these runs (measured: 0, 25, "
     "50, 75, 100; or by name: first, last, equal-text, equal-flops); "),
    ({"rank_by": "end"}, ".rank_by: held-out loss is measured at no step 'end'"),
    ({"groups": {"mistral": "de"}},
     ".groups.mistral: no language with held-out text 'de'"),
    ({"groups": {"mistrall": "it"}}, ".groups: no run group 'mistrall'"),
    ({"groups": {}}, ".groups: "),
]  # fmt: skip


@pytest.mark.parametrize(("change", "line"), WRONG)
def test_a_wrong_option_is_named(change, line, monkeypatch):
    monkeypatch.chdir(REPOSITORY)
    values = seeded("mistral")
    values["recipes"]["adapt"] |= {"steps": 100, "warmup_steps": 5, "checkpoint_every": 25}
    values |= {"tables": {"t": {**RANKING, **change}}, "figures": {}}
    with pytest.raises(RevocabError) as caught:
        validate(values)
    assert any(problem.startswith(f"tables.t{line}") for problem in caught.value.problems), (
        caught.value.problems
    )
