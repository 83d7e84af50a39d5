"""Every kind of table and figure, with results and without; labels and notes of kinds."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
import yaml
from fake_results import REPOSITORY, change_experiment, experiment_alone, fake_results
from test_heldout_kinds import FIGURE, TABLE
from test_models_by_language import TABLE as MODELS
from test_ranking_tables import RANKING
from test_run_kinds import TABLES
from test_sweep_kinds import EXAMPLES, SWEEP, with_runs

from revocab.errors import RevocabError
from revocab.evaluation.metrics import (
    choice_metrics,
    families,
    family_chance,
    family_label,
)
from revocab.languages import language_label, languages
from revocab.report.kind import FIGURE_ENDINGS, TABLE_ENDINGS, figure_kinds, table_kinds
from revocab.report.make_tables import build_table, make_figures, make_tables
from revocab.report.page import build_report
from revocab.report.results import Results
from revocab.report.results.scores import collect_scores
from revocab.report.template import environment

CLAIM = {"says": "so", "place": "1", "at_least": 1.0, "product": {"factors": [1.0, 2.0]}}
TOKENIZERS = {"tokenizers": ["source"], "corpora": ["world-it"]}
#: Kinds that the demo does not show.
MORE = {
    **TABLES,
    "percent": {**MODELS, "change": "percent"},
    "heldout": TABLE,
    "examples": EXAMPLES,
    "sweep": SWEEP,
    "ranking": {**RANKING, "reference": "sava"},
    "claims": {"kind": "claims", "title": "Claims", "claims": [CLAIM]},
    "differences": {"kind": "significance", "title": "Pairs", "group": "mistral"},
    "cost": {"kind": "efficiency", "title": "Cost", "group": "mistral"},
    "adoption": {"kind": "adoption", "title": "Adoption", "group": "mistral"},
}
FIGURES = {
    "sweep": SWEEP,
    "corpora": {"kind": "fertility", "title": "Corpora", "overlaid": True, **TOKENIZERS},
    "linear": {**FIGURE, "scale": "linear"},
    "bytes": {**FIGURE, "over": "bytes"},
    "bars": {"kind": "bars", "title": "Bars", "tables": ["runs"], "column": "Vocabulary"},
    "models": {
        "kind": "models_by_language", "title": "Models", "show": "scores", "tables": {"m": MODELS},
    },
}  # fmt: skip


def demo() -> dict:
    """Return the demo with runs of a sweep beside its own, and with every kind."""
    values = yaml.safe_load((REPOSITORY / "config/demos/demo.yaml").read_text(encoding="utf-8"))
    methods = values["runs"]["mistral"]["methods"]
    swept = with_runs(values)["runs"]["mistral"]["methods"]
    values["runs"]["mistral"]["methods"] = {**methods, **swept}
    values["tables"] |= MORE
    # Of each kind that the demo shows, one: test_figures.py draws all of them.
    values["figures"] = {one["kind"]: one for one in values["figures"].values()} | FIGURES
    return values


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    values = demo()
    folder = tmp_path_factory.mktemp("every") / "results" / "demo"
    shown = {key: values[key] for key in ("runs", "tables", "figures")}
    fake_results(folder, **shown)
    collect_scores(folder, folder / "scores.parquet")
    return folder


@pytest.fixture(scope="module", params=["results", "none"])
def folder(request, root, tmp_path_factory) -> Path:
    """Results, or their experiment alone, with all tables and figures."""
    folder = root
    if request.param == "none":
        folder = experiment_alone(root, tmp_path_factory.mktemp("bare") / "results" / "demo")
    make_tables(folder, folder / "tables")
    make_figures(folder, folder / "figures")
    return folder


def test_every_kind_is_here():
    assert {one["kind"] for one in demo()["tables"].values()} == table_kinds().keys()
    assert {one["kind"] for one in demo()["figures"].values()} == figure_kinds().keys()


@pytest.mark.parametrize("name", demo()["tables"])
def test_a_table_in_every_ending(folder, name):
    contents = {
        ending: (folder / f"tables/{name}.{ending}").read_text(encoding="utf-8")
        for ending in TABLE_ENDINGS
    }
    header = next(csv.reader(contents["csv"].splitlines()))
    assert len({*header}) == len(header) and all(contents.values())
    bare = contents["tex"].replace("\\{", "").replace("\\}", "")
    assert bare.count("{") == bare.count("}")


@pytest.mark.parametrize("name", demo()["tables"])
def test_no_number_without_results_and_the_same_rows(root, tmp_path, name):
    found = build_table(Results(root), name)
    empty = build_table(Results(experiment_alone(root, tmp_path / "bare")), name)
    if name not in ("examples", "differences"):  # whose rows are what was found
        assert len(empty.rows) == len(found.rows)
    assert all(cell.value is None for row in empty.data_rows() for cell in row.cells)


def test_figures_in_every_ending(folder):
    for name in Results(folder).experiment.figures:
        svg, png = (folder / f"figures/{name}.{ending}" for ending in FIGURE_ENDINGS)
        assert png.read_bytes().startswith(b"\x89PNG") and svg.stat().st_size > 5000


def test_the_page_shows_all(folder):
    build_report(folder, folder / "report.html")
    page = (folder / "report.html").read_text(encoding="utf-8")
    experiment = Results(folder).experiment
    assert all(f'id="table-{name}"' in page for name in MORE)
    assert page.count("data:image/svg+xml;base64,") == len(experiment.figures) + 1


@pytest.fixture(scope="module")
def shipped(repository) -> dict:
    return yaml.safe_load((repository / "config/demos/demo.yaml").read_text(encoding="utf-8"))


def test_every_kind_has_its_note_and_every_note_its_kind():
    written = vars(environment().get_template("notes.j2").module)
    for what, kinds in (("table", table_kinds()), ("figure", figure_kinds())):
        assert {name for name in written if name.startswith(f"{what}_")} == {
            f"{what}_{name}" for name in kinds
        }


def test_families_and_languages_are_data(shipped):
    assert list(families())[:3] == ["hellaswag", "mmlu", "arc_easy"]
    assert (family_label("siqa"), family_label("social_iqa")) == ("siqa", "SIQA")
    assert family_chance("xnli") == 1 / 3
    assert family_chance("invalsi") is None and family_chance("unheard-of") is None
    assert [choice_metrics(name)[0] for name in ("piqa", "xcopa")] == ["acc_norm", "acc"]
    assert choice_metrics("crows_pairs") == ("pct_stereotype", "acc", "acc_norm")
    assert (language_label("ht"), language_label("xx")) == ("Haitian Creole", "xx")
    assert languages()["it"].colours[0] == "#0072B2"


def test_results_name_the_file_and_every_key_that_is_wrong(tmp_path):
    root = fake_results(tmp_path / "shipped")
    change_experiment(root, "seed", value="many")
    change_experiment(root, "colour", value="red")
    with pytest.raises(RevocabError) as caught:
        Results(root)
    for start in ("experiment.seed: ", "experiment.colour: unknown"):
        assert any(
            problem.startswith(f"{root / 'experiment.json'}: {start}")
            and problem.endswith("rebuild it with revocab write_experiment")
            for problem in caught.value.problems
        ), caught.value.problems
