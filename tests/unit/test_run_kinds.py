"""Kinds that compare runs by chosen numbers: runs, categories, languages, a kind of one's own."""

from __future__ import annotations

import copy
import math
from pathlib import Path
from statistics import fmean
from typing import ClassVar, Literal

import pytest
import yaml
from fake_results import change_experiment, fake_results, finished_demo, write_csv
from scratch_package import blocks
from snakemake.utils import update_config

from revocab.errors import RevocabError
from revocab.experiment import validate
from revocab.experiment.layout import Layout
from revocab.io import read_json, write_json
from revocab.report.kind import Place
from revocab.report.make_tables import build_table
from revocab.report.pivot import Pivot, PivotRow, PivotTable
from revocab.report.results import Results
from revocab.report.results.heldout_losses import heldout_curve
from revocab.report.results.scores import collect_scores
from revocab.report.table import Cell, Table
from revocab.report.values import Average, Fertility, RunValue

RUNS = ["mistral-base", "mistral-fvt", "mistral-sava"]
TABLES: dict[str, dict] = {
    "runs": {
        "kind": "runs",
        "title": "Runs",
        "runs": RUNS,
        "columns": [
            {"tokens": {}},
            {"tokens": {"language": "it"}, "label": "Italian"},
            {"bytes": {"language": "it"}},
            {"heldout": {"language": "it"}},
            {"first_step_loss": {}},
            {"first_step_loss": {"per": "byte"}},
            {"average": {"language": "it"}},
            {"average": {"named": ["mmlu_it", "squad_it"]}, "label": "Both"},
            {"fertility": {"corpus": "world-it"}},
            {"vocabulary": {}},
        ],
    },
    "categories": {
        "kind": "runs",
        "title": "By category",
        "runs": [*RUNS, "llama-base", "llama-sava"],
        "columns": [
            {"label": "Knowledge", "average": {"named": ["mmlu_it", "sciq_it"]}},
            {"label": "Reading", "average": {"named": ["boolq_it"]}},
            {"label": "All", "average": {"named": ["mmlu_it", "sciq_it", "boolq_it"]}},
        ],
    },
}
#: Score, standard error and number of items by task.
SCORES = {"mmlu_it": (0.5, 0.03, 300), "sciq_it": (0.7, 0.04, 100), "boolq_it": (0.9, 0.05, 100)}


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    root = fake_results(tmp_path_factory.mktemp("kinds") / "results" / "demo", tables=TABLES)
    for file in sorted(root.glob("runs/*/multiple_choice.csv")):
        write_csv(file, [with_scores(row) for row in Results(root).csv(str(file))])
    corpora = {
        "world-it": {"tokens": 250_000, "bytes": 1_000_000},
        "world-en": {"tokens": 159_600, "bytes": 640_000},
    }
    for run in ("mistral-fvt", "mistral-sava"):
        write_json(
            root / "runs" / run / "manifest.json",
            {"tokens": 409_600, "bytes": 1_640_000, "corpora": corpora},
        )
    for tokenizer, size in (("source", 1024), ("target", 1152)):
        write_json(root / "tokenizers" / tokenizer / "manifest.json", {"vocabulary_size": size})
    collect_scores(root, root / "scores.parquet")
    return root


def with_scores(row: dict) -> dict:
    """Return a row with the values above, those of SAVA a tenth higher."""
    if row["task"] not in SCORES:
        return row
    value, stderr, items = SCORES[row["task"]]
    value += 0.1 * ("sava" in row["run"])
    return {**row, "value": value, "stderr": stderr, "items": items}


@pytest.fixture
def root(finished, tmp_path) -> Path:
    """The same results, whose experiment may be changed."""
    for path in finished.iterdir():
        (tmp_path / path.name).symlink_to(path)
    (tmp_path / "experiment.json").unlink()
    (tmp_path / "experiment.json").write_bytes((finished / "experiment.json").read_bytes())
    return tmp_path


def table(root: Path, name: str, **options: object) -> Table:
    change_experiment(root, "tables", name, value={**TABLES[name], **options})
    return build_table(Results(root), name)


def shown(root: Path, name: str, **options: object) -> dict[str, list[str]]:
    """Return the cells as shown by the row's label, the last of that name."""
    return {
        row.cells[0].text or "": [
            cell.text if cell.text is not None else cell.number() for cell in row.cells[1:]
        ]
        for row in table(root, name, **options).data_rows()
    }


def test_chosen_numbers_of_runs(finished, root):
    found = table(root, "runs")
    assert found.header == [
        "Model", "Tokens (M)", "Italian", "Italian bytes (M)", "Italian loss (bits per byte)",
        "First-step loss (nats per token)", "First-step loss (bits per byte)", "Average (Italian)",
        "Both", "Fertility on world-it", "Vocabulary",
    ]  # fmt: skip
    rows = shown(root, "runs")
    results = Results(root)
    first = results.csv("runs/mistral-fvt/losses.csv")[0]
    assert (rows["Mistral stand-in"][9], rows["FVT"][9]) == ("1024", "1152")
    assert rows["FVT"][:3] == ["0.410", "0.250", "1.000"]
    assert rows["FVT"][4:6] == [f"{float(first[one]):.3f}" for one in ("loss", "bits_per_byte")]
    assert rows["Mistral stand-in"][:3] == ["–"] * 3 and rows["Mistral stand-in"][4:6] == ["–"] * 2
    curve = heldout_curve(results, results.run("mistral-fvt"), "it")
    assert rows["FVT"][3] == f"{curve[100]:.3f}"
    accuracies = [
        results.scores.choice("mistral-fvt", 100, task, results.family(task))
        for task in results.choice_tasks("it")
    ]
    value = 100 * fmean(row["value"] for row in accuracies)
    stderr = 100 * math.hypot(*(row["stderr"] for row in accuracies)) / len(accuracies)
    assert rows["FVT"][6] == f"{value:.2f}±{stderr:.2f}"
    written = results.scores.get("mistral-fvt", 100, "squad_it", "rougeL")["value"]
    assert rows["FVT"][7] == f"{(50 + written) / 2:.2f}"
    measured = {row["tokenizer"]: row for row in results.csv("fertility/fertility.csv")
                if row["corpus"] == "world-it"}  # fmt: skip
    for row, tokenizer in (("FVT", "target"), ("Mistral stand-in", "source")):
        assert rows[row][8] == f"{float(measured[tokenizer]['fertility']):.2f}"
    assert found.limited == "limited run: 32 queries of squad_it"
    assert found.rows[0].cells[4].mark is None


def test_a_count_of_a_part_of_the_rows_is_not_known(root):
    content = read_json(root / "runs/mistral-fvt/manifest.json")
    (root / "runs").unlink()
    for run in RUNS:
        (root / "runs" / run).mkdir(parents=True)
    write_json(root / "runs/mistral-fvt/manifest.json", {**content, "corpora": None})
    assert shown(root, "runs")["FVT"][:2] == ["0.410", "–"]
    assert table(root, "runs").rows[1].cells[2].text is None  # so that checks name it


def test_categories_over_groups_by_hand(root):
    rows = shown(root, "categories")
    error = math.sqrt(3**2 + 4**2) / 2
    assert rows["FVT"][:2] == [f"60.00±{error:.2f}", "90.00±5.00"]
    assert rows["SAVA"][:2] == [f"70.00±{error:.2f}", "100.00±5.00"]
    assert rows["FVT"][2] == f"70.00±{math.sqrt(3**2 + 4**2 + 5**2) / 3:.2f}"
    sections = [row.section for row in table(root, "categories").rows if row.section]
    assert sections == ["Mistral stand-in", "Llama stand-in"]


def test_a_mean_without_one_of_its_scores_is_empty(root):
    results = Results(root)
    results.scores.rows[:] = [one for one in results.scores.rows if one["task"] != "boolq_it"]
    results.scores._by_key = {
        key: one for key, one in results.scores._by_key.items() if key[2] != "boolq_it"
    }
    cells = build_table(results, "categories").rows[1].cells[1:]
    assert cells[1].value is None and cells[1].text is None


def test_files_are_made_first(demo):
    columns = [{"fertility": {"corpus": "world-it"}}, {"vocabulary": {}},
               {"heldout": {"language": "it", "reference": "source"}}]  # fmt: skip
    tables = {"runs": {**TABLES["runs"], "columns": columns}}
    layout = Layout(validate({**demo, "tables": tables, "figures": {}}))
    length = demo["recipes"]["adapt"]["sequence_length"]
    assert layout.read_by_tables == [
        "results/demo/fertility/manifest.json",
        "results/demo/tokenizers/source/manifest.json",
        "results/demo/tokenizers/target/manifest.json",
        f"results/demo/heldout/source--{length}/manifest.json",
    ]


def test_tasks_in_other_languages_than_a_groups_are_told(demo):
    demo["runs"]["llama"]["languages"] = ["en"]
    tables = {"categories": TABLES["categories"]}
    with pytest.raises(RevocabError) as caught:
        validate({**demo, "tables": tables, "figures": {}})
    told = [one for one in caught.value.problems if "in other languages than the group's" in one]
    assert all(one.startswith("tables.categories.columns.") for one in told)
    assert "group 'llama' are not scored on mmlu_it, sciq_it, being" in told[0]


def test_the_examples_of_the_docs_are_valid(demo):
    places = {"fvt": {"rate": "low", "mix": "plain"}, "sava": {"rate": "high", "mix": "plain"}}
    for name, place in places.items():
        demo["runs"]["mistral"]["methods"][name] = {"axes": place}
    found = [yaml.safe_load(block) for block in blocks("tables.md", "yaml")]
    assert len(found) == 7
    kinds = set()
    for values in found:
        merged = copy.deepcopy({**demo, "tables": {}, "figures": {}})
        update_config(merged, values)
        validate(merged)
        kinds |= {one["kind"] for one in values.get("tables", {}).values()}
    assert kinds == {
        "runs", "models_by_language", "heldout", "sweep", "examples", "claims", "ranking"
    }  # fmt: skip


def test_runs_that_are_not_scored_are_dashes_unless_there_are_no_others(demo):
    demo["runs"]["mistral"]["methods"]["fvt"] = {"evaluate": False}
    table = {**TABLES["categories"], "runs": ["mistral-fvt", "mistral-sava"]}
    validate({**demo, "tables": {"t": table}, "figures": {}})
    with pytest.raises(RevocabError, match=r"tables\.t\.columns.*: none of the runs is scored"):
        validate({**demo, "tables": {"t": {**table, "runs": ["mistral-fvt"]}}, "figures": {}})


OWN_RUNS = ("mistral-base", "mistral-fvt", "mistral-sava")


class Fixed(RunValue):
    """A number that stands in the value itself, by run."""

    better: ClassVar[str] = "lower"
    numbers: dict[str, float]

    def header(self) -> str:
        return "Fixed"

    def of_training(self, results: Results, run) -> Cell:
        return Cell(self.numbers[run.id])


class OwnTable(PivotTable):
    """Knowledge and fertility of three runs, the base not ranked."""

    kind: Literal["own"]
    step: int | str = "last"

    def pivot(self, index) -> Pivot:
        columns = {
            "Knowledge": Average(named=["mmlu_it", "squad_it"], step=self.step),
            "Fertility": Fertility(corpus="world-it"),
        }
        rows = [
            PivotRow(
                run.name,
                [
                    Place(value, run, None if run.base else name, f"columns.{name}")
                    for name, value in columns.items()
                ],
            )
            for run in map(index.run, OWN_RUNS)
        ]
        return Pivot(["Model", *columns], [*rows, PivotRow("nobody", [None, None], "Others")])


def own(**options: object) -> OwnTable:
    return OwnTable(kind="own", title="Own", **options)


def test_what_it_shows_is_scored_and_made_first(demo):
    experiment = validate({**demo, "tables": {}, "figures": {}})
    assert set(own().scores(experiment)) == {("mistral", "mmlu_it"), ("mistral", "squad_it")}
    assert set(own().needs(Layout(experiment))) == {"results/demo/fertility/manifest.json"}
    assert list(own().problems(experiment, "tables.own")) == []


@pytest.mark.parametrize("step", [3, 50])
def test_a_step_without_scores_is_named_once_for_each_run(demo, step):
    demo["evaluation"]["generation"]["steps"] = ["last"]
    experiment = validate({**demo, "tables": {}, "figures": {}})
    problems = list(own(step=step).problems(experiment, "tables.own"))
    assert [line.partition(": ")[0] for line in problems] == [
        "tables.own.columns.Knowledge.step"
    ] * 2
    assert all(repr(run) in line for run, line in zip(OWN_RUNS[1:], problems, strict=True))


def test_cells_headings_and_dashes():
    results = Results(finished_demo())
    table = own().build(results)
    knowledge = Average(named=["mmlu_it", "squad_it"])
    runs = [results.run(run) for run in OWN_RUNS]
    rows = table.data_rows()
    assert [row.cells[1].value for row in rows[:3]] == [
        knowledge.cell(results, run).value for run in runs
    ]
    assert [(block, row.cells[0].text) for block, row in table.rows_in_blocks()][-2:] == [
        ("", "sava"), ("Others", "nobody"),
    ]  # fmt: skip
    assert [cell.text for cell in rows[3].cells[1:]] == ["–", "–"]


def test_only_what_is_in_a_contest_is_ranked():
    """Lower is better: of 3, 1, 2 and an unranked 0 the best is 1, and 2 comes second."""
    results = Results(finished_demo())
    index = results
    value = Fixed(numbers={"mistral-base": 0.0, "mistral-fvt": 1.0, "mistral-sava": 2.0,
                           "mistral-random": 3.0})  # fmt: skip
    order = ["mistral-base", "mistral-random", "mistral-fvt", "mistral-sava"]
    places = [[Place(value, index.run(run), None if run == order[0] else "all")] for run in order]
    pivot = Pivot(["Model", "Fixed"], [PivotRow("", place) for place in places])
    assert [cells[0].mark for cells in pivot.cells(results)] == [None, None, "best", "second"]
