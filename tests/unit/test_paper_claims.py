"""A paper's statements: the numbers behind them by hand, and what they are compared with."""

from __future__ import annotations

import csv
from pathlib import Path
from statistics import fmean

import pytest
import yaml
from fake_results import REPOSITORY, change_experiment, fake_results, write_csv
from one_group import written_out
from snakemake.utils import update_config

from revocab.errors import RevocabError
from revocab.experiment import as_json, read, validate
from revocab.experiment.layout import Layout
from revocab.io import read_json, write_json
from revocab.report.make_tables import build_table
from revocab.report.results import Results
from revocab.report.results.folder import read_csv
from revocab.report.results.heldout_losses import heldout_curve
from revocab.report.results.scores import collect_scores
from revocab.report.table import Cell, difference
from revocab.report.tables.claims import PaperClaim
from revocab.report.values import Average, OneValue

STEPS = {25: 200, 50: 400, 100: 2000}
CLAIMS = [
    {"shared_tokens": {"source": "source", "target": "target"}, "at_least": 700, "at_most": 700},
    {"cell_gain": {"table": "fertility", "rows": ["target"], "columns": ["Italian world-it"],
                   "over_rows": ["source"], "share": True}, "at_least": 0.1},
    {"size_fall": {"of": "parameters", "source": "LLaMa-3-8B",
                   "target": "LLaMa-3-8B a.w. Minerva", "share": False}, "at_least": 1e9},
    {"gain": {"value": {"average": {"language": "it", "step": 400}},
              "runs": ["mistral-sava", "mistral-fvt"], "over": ["mistral-random"],
              "over_value": {"average": {"language": "it", "step": 2000}}}, "at_least": 0},
    {"gain": {"value": {"similarity": {"step": 2000}}, "runs": ["mistral-sava"],
              "over": ["mistral-clp"]}, "at_least": 0},
    {"product": {"factors": [50000, 0.4, 0.432]}, "at_least": 8640, "at_most": 8640},
    {"cell_gain": {"table": "fertility", "rows": ["target"], "over_rows": ["source"],
                   "columns": ["Italian world-it", "English world-en"], "share": True,
                   "mean": True}, "at_least": 0.1},
]  # fmt: skip


@pytest.fixture(scope="module")
def root(tmp_path_factory, repository) -> Path:
    folder = tmp_path_factory.mktemp("claims") / "results" / "demo"
    claims = [{"says": "so", "place": "1", **one} for one in CLAIMS]
    table = {"claims": {"kind": "claims", "title": "Claims", "claims": claims}}
    table |= {"fertility": {"kind": "fertility", "title": "Fertility"}}
    values = str(repository / "config/published/sava")
    fake_results(folder, tables=table, paper_values=values)
    path = folder / "intersections/source--target/report.json"
    write_json(path, {**read_json(path), "shared_by": {"bytes": 705, "marker": 700}})
    collect_scores(folder, folder / "scores.parquet")
    return folder


def table_of(root: Path) -> list[list[str]]:
    rows = build_table(Results(root), "claims").data_rows()
    return [[cell.text for cell in row.cells[2:]] for row in rows]


def test_our_numbers_and_verdicts(root):
    shared, fertility, size, scores, similarity, product, mean = table_of(root)
    assert shared == ["700", "–", "not printed", "700 by marker; 705 by bytes", "holds"]
    measured = {
        (row["tokenizer"], row["corpus"]): float(row["fertility"])
        for row in csv.DictReader((root / "fertility/fertility.csv").open())
    }
    falls = [
        1 - measured["target", corpus] / measured["source", corpus]
        for corpus in ("world-it", "world-en")
    ]
    for found, fall in ((fertility, falls[0]), (mean, fmean(falls))):
        assert found[3:] == [f"{100 * fall:.1f} %", "holds" if fall >= 0.1 else "does not hold"]
    assert size == ["at least 1.00 B", "0.78 B", "does not hold", "0.78 B", "does not hold"]
    # The paper's steps stand for themselves here, and no run has them.
    assert scores[3:] == ["–", "not measured here"] == similarity[3:]
    assert product == ["8,640", "8,640", "holds", "–", "not measured here"]


def test_steps_that_stand_for_the_papers(root):
    content = read_json(root / "experiment.json")
    change_experiment(root, "runs", value={
        **content["experiment"]["runs"],
        "mistral": {**content["experiment"]["runs"]["mistral"], "paper_steps": STEPS},
    })  # fmt: skip
    try:
        scores, similarity = table_of(root)[3:5]
        results = Results(root)
        value = {
            (name, step): Average(language="it", step=step)
            .cell(results, results.run(f"mistral-{name}"))
            .value
            for name, step in (("sava", 50), ("fvt", 50), ("random", 100))
        }
        worst = min(value["sava", 50], value["fvt", 50])
        gain = f"{worst - value['random', 100]:+.2f}"
        assert scores[3].startswith(f"{gain}, 95 % interval ")
        assert similarity[3].endswith("no error known")
        assert scores[4] == similarity[4] == "cannot be tested at this scale"
        # Sizes do not depend on the length of a training; a claim that is no paper's has one scale.
        assert table_of(root)[2][4] == "does not hold"
        change_experiment(root, "tables", "claims", "claims", 3, "place", value=None)
        assert table_of(root)[3][4] != "cannot be tested at this scale"
    finally:
        write_json(root / "experiment.json", content)


def test_published_values_of_a_step_that_stands_for_another(root):
    results = Results(root)
    run = results.run("mistral-sava")
    group = results.experiment.runs["mistral"].model_copy(update={"paper_steps": STEPS})
    results.experiment.runs["mistral"] = group
    label = group.label
    assert results.published_place(run, 25) == (label, 200, "sava")
    assert results.published_place(run, 0) == (label, 0, "sava")
    assert results.published_place(run, 75) == (label, 75, "sava")


@pytest.mark.parametrize(
    ("bounds", "shown", "inside", "outside"),
    [
        ({"at_least": 0.25}, "at least 25.0%", 0.25, 0.2499),
        ({"at_most": 0.25}, "at most 25.0%", 0.25, 0.2501),
        ({"at_least": 0.1, "at_most": 0.2}, "10.0% to 20.0%", 0.1 + 0.1, 0.21),
    ],
)
def test_bounds(bounds, shown, inside, outside):
    claim = PaperClaim(says="so", place="1", product={"factors": [1, 1]}, **bounds)
    assert claim.bounds("{:.1%}".format) == shown
    assert claim.holds(inside) is True and claim.holds(outside) is False
    around = sorted((inside, outside))
    assert claim.holds(*around) is None  # an interval that the bound parts: cannot tell
    assert claim.holds(inside, inside) is True and claim.holds(outside, outside) is False


#: Rows of a table of runs, and metrics of generated text.
ROWS = {"table": "t", "rows": ["mistral-sava", "mistral-fvt"], "over_rows": ["mistral-random"]}
MORE = [
    {"cell_gain": {**ROWS, "columns": ["Loss", "Mean"]}, "at_least": 0},
    {"cell_gain": {**ROWS, "columns": ["Loss"], "share": True}, "at_least": -5},
    {"gain": {"value": {"score": {"task": "squad_it", "metric": "rougeL", "step": 100}},
              "runs": ["mistral-sava"], "over": ["mistral-fvt", "mistral-random"]}, "at_least": 0},
]  # fmt: skip
COLUMNS = [
    {"heldout": {"language": "it"}, "label": "Loss"},
    {"average": {"named": ["arc_easy_it"]}, "label": "Mean"},
]
NAMES = ["random", "fvt", "sava"]


def test_rows_and_texts_by_hand(tmp_path):
    """The worst run in the worst column against the best of others; of losses, lower is better.

    Rows are compared as their table shows them, SAVA at another checkpoint.
    """
    claims = [{"says": "so", "place": "1", **one} for one in MORE]
    runs = [f"mistral-{name}" for name in NAMES]
    tables = {
        "t": {"kind": "runs", "title": "T", "runs": runs, "columns": COLUMNS,
              "steps": {"mistral-sava": 50}},
        "claims": {"kind": "claims", "title": "Claims", "claims": claims},
    }  # fmt: skip
    folder = fake_results(tmp_path / "demo", tables=tables)
    for path in folder.glob("runs/mistral-*/generation/scores.csv"):
        write_csv(path, [{**row, "stderr": 1.5} for row in read_csv(path)])
    collect_scores(folder, folder / "scores.parquet")
    (tmp_path / "paper").mkdir()
    lines = ["table,block,row,column,value,stderr,note"]
    for name, loss, mean in (("Random", 1.5, 40.0), ("FVT", 1.2, 41.0), ("SAVA", 1.25, 44.0)):
        lines += [f"t,,{name},Loss,{loss},,", f"t,,{name},Mean,{mean},,"]
    (tmp_path / "paper/t.csv").write_text("\n".join([*lines, ""]))
    change_experiment(folder, "paper_values", value=str(tmp_path / "paper"))
    results = Results(folder)
    rows, share, texts = [one.measure for one in results.experiment.tables["claims"].claims]
    of_rows, of_share, of_texts = (one.measured(results) for one in (rows, share, texts))
    assert of_rows.printed == pytest.approx(0.25)  # of losses 0.25, of means 1
    assert of_share.printed == pytest.approx(0.25 / 1.5)
    cells = build_table(results, "t").places()
    loss, mean = ({name: cells["", label, column].value for name, label in
                   zip(NAMES, ("Random", "FVT", "SAVA"), strict=True)}
                  for column in ("Loss", "Mean"))  # fmt: skip
    least = loss["random"] - max(loss["sava"], loss["fvt"])
    least_mean = min(mean["sava"], mean["fvt"]) - mean["random"]
    assert of_rows.ours == pytest.approx(min(least, least_mean))
    assert of_share.ours == pytest.approx(least / loss["random"])
    assert of_rows.interval is None and of_share.interval is None  # losses of one seed
    scores = {
        name: results.scores.get(f"mistral-{name}", 100, "squad_it", "rougeL") for name in NAMES
    }
    others = max(scores[name]["value"] for name in ("random", "fvt"))
    assert of_texts.ours == pytest.approx(scores["sava"]["value"] - others)
    reach = 1.959964 * 1.5 * 2**0.5  # by itself; its high end holds for both at once
    low, high = of_texts.interval
    assert low == pytest.approx(of_texts.ours - reach) and high > low + 2 * reach - 1e-6
    wrong = OneValue(score={"task": "squad_it", "metric": "rouge", "step": 100})
    changes = [
        (rows, {"columns": ["Los"]}), (rows, {"table": "u"}), (texts, {"value": wrong}),
        (rows, {"over_rows": ["mistral-lapt"]}),
    ]  # fmt: skip
    problems = [
        problem
        for measure, change in changes
        for problem in measure.model_copy(update=change).problems(results.experiment, "k")
    ]
    keys = ("k.columns", "k.table", "k.value.metric", "k.rows")
    for key, said in zip(keys, problems, strict=True):
        assert said.startswith(f"{key}: no ")


#: How many of each paper's statements its printed values bear out, and which do not.
BORNE_OUT = {
    ("sava", "claims-english"): (26, 3),
    ("sava", "claims-texts"): (13, 1),
    ("bilingual", "claims"): (25, 4),
    ("lep", "claims-text"): (38, 1),
}


@pytest.mark.parametrize(("paper", "table"), BORNE_OUT)
def test_statements_of_every_paper_on_its_printed_values(repository, tmp_path, paper, table):
    given = str(repository / "config/published" / paper)
    experiment = read(repository / f"config/{paper}.yaml", paper_values=given)
    write_json(tmp_path / "experiment.json", as_json(experiment))
    rows = build_table(Results(tmp_path), table).data_rows()
    said = [row.cells[4].text for row in rows]
    assert (len(said), said.count("does not hold")) == BORNE_OUT[paper, table]


def test_a_statement_needs_a_measure_and_a_bound():
    product = {"factors": [2, 3]}
    for wrong in ({"product": product}, {"at_least": 1}):
        with pytest.raises(ValueError, match="must be given"):
            PaperClaim(says="so", place="1", **wrong)


def test_what_the_paper_itself_bears_out(repository, tmp_path):
    """From its printed tables alone: which of its statements hold."""
    given = str(repository / "config/published/sava")
    experiment = read(repository / "config/sava.yaml", paper_values=given)
    write_json(tmp_path / "experiment.json", as_json(experiment))
    rows = build_table(Results(tmp_path), "claims").data_rows()
    found = {row.cells[0].text: (row.cells[3].text, row.cells[4].text) for row in rows}
    numbers = {
        "Fertility falls by 25 % from Mistral's (CulturaX)": ("26.1 %", "holds"),
        "Fertility falls by 25 % from Mistral's (Wikipedia)": ("19.0 %", "does not hold"),
        "Fertility falls by 25 % from Mistral's (mean of the two)": ("22.5 %", "does not hold"),
        "Fertility falls by 16 % from Llama's (CulturaX)": ("16.8 %", "holds"),
        "Fertility falls by 16 % from Llama's (Wikipedia)": ("7.8 %", "does not hold"),
        "Fertility falls by 16 % from Llama's (mean of the two)": ("12.3 %", "does not hold"),
        "SAVA is 3.7 points more similar than CLP (step 0)": ("+3.71", "holds"),
        "SAVA is 3.7 points more similar than CLP (end)": ("+2.49", "does not hold"),
        "SAVA's BoolQ is 4 points above FVT's (Llama, 3,000 steps)": ("+4.80", "holds"),
    }
    assert {says: found[says] for says in numbers} == numbers


def test_the_small_copy_has_every_printed_score_beside_its_own(repository, tmp_path):
    """At the steps that its overlay names, on made-up scores; COMET is not among them."""
    values: dict = {}
    for name in ("sava", "overlays/pico-sava"):
        path = repository / f"config/{name}.yaml"
        update_config(values, yaml.safe_load(path.read_text(encoding="utf-8")))
    values["paper_values"] = str(repository / "config/published/sava")
    path = tmp_path / "small.yaml"
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    root = fake_results(tmp_path / "results" / "sava", config=str(path))
    collect_scores(root, root / "scores.parquet")
    results, beside = Results(root), 0
    for number in (3, 4, 5, 6, 7, 10, 11):
        table = build_table(results, f"table{number:02d}")
        printed = [
            (cell, name)
            for row in table.data_rows()
            for cell, name in zip(row.cells, table.header, strict=True)
            if cell.published and "COMET" not in name
        ]
        assert all(cell.value is not None for cell, _ in printed), table.identifier
        beside += len(printed)
    assert beside == 2 * (77 + 49) + 11 + 7 + 12


@pytest.mark.parametrize(
    ("claim", "problem"),
    [
        ({"shared_tokens": {"source": "mistrall", "target": "minerva"}}, "no tokenizer 'mistrall'"),
        ({"size_fall": {"of": "parameters", "source": "x", "target": "LLaMa-3-8B"}}, "no label"),
        ({"gain": {"value": {"average": {"language": "it", "step": 400}}, "runs": ["mistral-sva"],
                   "over": ["mistral-fvt"]}}, "no run 'mistral-sva'"),
        ({"gain": {"value": {"score": {"task": "boolq", "step": 400}}, "runs": ["mistral-sava"],
                   "over": ["mistral-fvt"]}}, "no task 'boolq'"),
        ({"cell_gain": {"table": "u", "rows": ["minerva"], "columns": ["Italian"],
                        "over_rows": ["mistral"]}}, "no table of runs, languages or fertility 'u'"),
        ({"cell_gain": {"table": "t", "rows": ["French"], "columns": ["Italian"],
                        "over_rows": ["mistral"]}}, "no row of 't' 'French'"),
        ({"cell_gain": {"table": "t", "rows": ["minerva"], "columns": ["Italian x"],
                        "over_rows": ["mistral"]}}, "no column of 't', also printed, 'Italian x'"),
    ],
)  # fmt: skip
def test_what_a_statement_refers_to_is_checked(repository, claim, problem):
    values = yaml.safe_load((repository / "config/sava.yaml").read_text(encoding="utf-8"))
    row = {"says": "so", "place": "1", "at_least": 0, **claim}
    values["tables"] = {"claims": {"kind": "claims", "title": "Claims", "claims": [row]}}
    values["tables"] |= {"t": {"kind": "fertility", "title": "Fertility"}}
    with pytest.raises(RevocabError, match=r"tables\.claims\.claims\.0[^ ]*: " + problem):
        validate(values)


def test_steps_that_no_run_has_are_refused(repository):
    values = yaml.safe_load((repository / "config/sava.yaml").read_text(encoding="utf-8"))
    values["runs"]["mistral"]["paper_steps"] = {300: 400}
    with pytest.raises(RevocabError, match=r"runs.mistral.paper_steps: 300 is not a checkpoint"):
        validate(values)


MEAN_RUNS = ["mistral-sava", "mistral-fvt"]
MEAN_TASKS = ["arc_easy_en", "hellaswag_en"]
MEAN_COLUMNS = [
    {"average": {"named": [task]}, "label": label}
    for task, label in zip(MEAN_TASKS, ("ARC", "HellaSwag"), strict=True)
]
MEAN_COLUMNS += [{"average": {"named": MEAN_TASKS}, "label": "Mean"}]
MEAN_TABLES = {"t": {"kind": "runs", "title": "T", "runs": MEAN_RUNS, "columns": MEAN_COLUMNS}}
#: Two rows, off by 0.1 and 0.25 points where both tasks count alike; the third has no mean.
MEANS = [("SAVA", 10.0, 20.0, 15.1), ("FVT", 30.0, 20.5, 25.5), ("CLP", 1.0, 2.0, None)]


def mean_claim(**changes: object) -> PaperClaim:
    weights = {"ARC": 1, "HellaSwag": 1}
    measure = {"tables": ["t"], "column": "Mean", "weights": weights, **changes}
    return PaperClaim(says="so", place="1", at_most=0.3, mean=measure)


@pytest.fixture(scope="module")
def means(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("means")
    means = fake_results(folder / "demo", tables=MEAN_TABLES)
    collect_scores(means, means / "scores.parquet")
    lines = ["table,block,row,column,value,stderr,note"]
    for name, *values in MEANS:
        for label, value in zip(("ARC", "HellaSwag", "Mean"), values, strict=True):
            lines.append(
                f"t,,{name},{label},{'' if value is None else value},,{'x' * (value is None)}"
            )
    (folder / "paper").mkdir()
    (folder / "paper/t.csv").write_text("\n".join([*lines, ""]))
    change_experiment(means, "paper_values", value=str(folder / "paper"))
    return means


def test_the_worst_row_counts(means):
    results = Results(means)
    one = mean_claim()
    found = one.measure.measured(results)
    assert found.printed == pytest.approx(0.25)
    assert one.holds(found.printed) and one.bounds(found.show) == "at most 0.30"
    uneven = mean_claim(weights={"ARC": 3, "HellaSwag": 1}).measure.measured(results)
    assert uneven.printed == pytest.approx(15.1 - (3 * 10 + 20) / 4)


def test_our_mean_is_one_and_another_is_not(means):
    results = Results(means)
    assert mean_claim().measure.measured(results).ours == pytest.approx(0, abs=1e-12)
    cells = build_table(results, "t").places()
    wrong = mean_claim(weights={"ARC": 1}).measure.measured(results).ours
    rows = {(block, row) for block, row, _ in cells}
    assert wrong == pytest.approx(
        max(abs(cells[*row, "Mean"].value - cells[*row, "ARC"].value) for row in rows)
    )
    assert wrong > 0


#: Italian bits per byte at steps 0 and 100, by run and seed.
LOSSES = {
    "replicates-random": {1: (3.0, 1.0), 2: (3.0, 2.0), 3: (3.0, 1.5)},
    "replicates-fvt": {1: (2.0, 1.1), 2: (2.0, 1.2), 3: (2.0, 1.3)},
}
LAST = {"heldout": {"language": "it"}}
FIRST = {"heldout": {"language": "it", "step": 0}}
FERTILITY = {"fertility": {"corpus": "world-it"}}
GAINS = {
    "random": {"value": LAST, "runs": ["replicates-fvt"], "over": ["replicates-random"]},
    "itself": {"value": LAST, "runs": ["replicates-fvt"], "over": ["replicates-fvt"],
               "over_value": FIRST, "share": True},
    "worst": {"value": LAST, "runs": ["replicates-fvt", "replicates-random"],
              "over": ["mistral-base"]},
    "tokenizer": {"value": FERTILITY, "runs": ["mistral-fvt"], "over": ["mistral-base"],
                  "share": True},
}  # fmt: skip


def gains(**changes: object) -> dict:
    claims = [
        {"says": name, "place": "here", "at_least": 0.0, "gain": {**one, **changes}}
        for name, one in GAINS.items()
    ]
    return {"claims": {"kind": "claims", "title": "Claims", "claims": claims}}


def shipped() -> dict:
    return yaml.safe_load((REPOSITORY / "config/demos/demo.yaml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def replicated(tmp_path_factory) -> Path:
    values = written_out(shipped())
    folder = tmp_path_factory.mktemp("falls") / "shipped"
    fake_results(folder, runs=values["runs"], tables=gains())
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
def rows(replicated) -> dict[str, list[str]]:
    found = build_table(Results(replicated), "claims").data_rows()
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


def test_the_worst_of_several_runs_counts(replicated, rows):
    """And a run without seeds stands for every seed."""
    results = Results(replicated)
    curve = heldout_curve(results, results.run("mistral-base"), "it")
    base = curve[0]
    random = [last for _, last in LOSSES["replicates-random"].values()]
    fvt = [last for _, last in LOSSES["replicates-fvt"].values()]
    seeds = [base - max(pair) for pair in zip(random, fvt, strict=True)]
    listed = ", ".join(f"{one:.3f}" for one in seeds)
    fall = base - fmean(random)
    assert rows["worst"][0].startswith(f"{fall:.3f} (by seed: {listed}), 95 % interval ")
    assert rows["worst"][1] == "cannot tell"  # 1.0, 2.0 and 1.5 reach 1.24 to either side


def test_a_number_without_seeds(replicated, rows):
    found = {
        row["tokenizer"]: float(row["fertility"])
        for row in Results(replicated).csv("fertility/fertility.csv")
        if row["corpus"] == "world-it"
    }
    assert rows["tokenizer"][0] == f"{100 * (1 - found['target'] / found['source']):.1f} %"


def test_a_missing_number_is_not_measured(replicated, tmp_path):
    for path in replicated.iterdir():
        (tmp_path / path.name).symlink_to(path)
    (tmp_path / "experiment.json").unlink()
    (tmp_path / "experiment.json").write_bytes((replicated / "experiment.json").read_bytes())
    change_experiment(tmp_path, "tables", value=gains(value={"vocabulary": {}}))
    found = build_table(Results(tmp_path), "claims").data_rows()
    assert [cell.text for cell in found[0].cells[-2:]] == ["–", "not measured here"]


def test_what_is_wrong_is_told_and_files_are_made_first():
    values = {**shipped(), "figures": {}, "tables": gains()}
    assert "results/demo/fertility/manifest.json" in Layout(validate(values)).read_by_tables
    for changes, key in (
        ({"runs": ["mistral-nobody"]}, "gain.runs: no run 'mistral-nobody'"),
        ({"value": {"heldout": {"language": "fr"}}}, "gain.value.language: no language"),
    ):
        with pytest.raises(RevocabError) as caught:
            validate({**values, "tables": gains(**changes)})
        assert f"tables.claims.claims.0.{key}" in "\n".join(caught.value.problems)
