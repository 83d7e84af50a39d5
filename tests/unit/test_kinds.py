"""Kinds of tables, figures and claims: adding one takes one file; labels stand beside things."""

from __future__ import annotations

from dataclasses import replace

import pytest
import yaml
from fake_results import change_experiment, fake_results
from scratch_package import blocks, run_scratch, scratch

from revocab.closed import kind_of
from revocab.config import Experiment, expand, validate
from revocab.errors import RevocabError
from revocab.evaluation.multiple_choice.families import (
    choice_metrics,
    families,
    family_chance,
    family_label,
    main_metric,
)
from revocab.initialise.method import methods
from revocab.languages import language_label, languages
from revocab.report.claim import claim_kinds
from revocab.report.figure_parts.palette import Palette
from revocab.report.kind import figure_kinds, table_kinds
from revocab.report.names import method_label
from revocab.report.results import Results
from revocab.report.template import environment

#: Where the files of docs/extending.md belong, and the sections that show them.
PLACES = {
    "tables/group_sizes.py": "A table",
    "figures/steps.py": "A figure",
    "claims/trained.py": "A claim",
}
#: Run with a copy of the package that has three files more.
SCRIPT = """
import sys
from pathlib import Path

import yaml

from revocab.config import validate
from revocab.errors import RevocabError

assert not {"matplotlib", "numpy", "pandas", "pyarrow", "torch"} & set(sys.modules)
folder = Path(sys.argv[1])
values = yaml.safe_load(Path("config/demo.yaml").read_text())
tables = {"table01": {"kind": "group_sizes", "title": "Runs", "groups": ["mistral", "llama"]}}
figures = {"figure01": {"kind": "steps", "title": "Steps"}}
experiment = validate({**values, "tables": tables, "figures": figures})

from revocab.plan import Plan

assert Plan(experiment).step("make_tables").also == ()
wrong = {"table01": {**tables["table01"], "groups": ["mistrall"]}}
try:
    validate({**values, "tables": wrong, "figures": figures})
except RevocabError as error:
    assert error.problems[0].startswith("tables.table01.groups: no run group 'mistrall'"), error
else:
    raise AssertionError("an unknown group was accepted")

from fake_results import fake_results
from revocab.report.page.html import build_report
from revocab.report.make_figures import make_figures
from revocab.report.make_tables import make_tables

root = fake_results(folder / "results" / "demo", tables=tables, figures=figures)
make_tables(root, root / "tables")
make_figures(root, root / "figures")
build_report(root, root / "report.html")
assert (root / "tables" / "table01.csv").read_text() == "Group,Runs\\nmistral,7.0\\nllama,4.0\\n"
page = (root / "report.html").read_text()
for shown in ("Steps of training.", "data:image/svg+xml", "Llama stand-in was adapted"):
    assert shown in page, shown
"""


@pytest.fixture(scope="module")
def demo(repository) -> dict:
    return yaml.safe_load((repository / "config" / "demo.yaml").read_text(encoding="utf-8"))


def test_a_kind_is_one_file_and_one_line(repository, tmp_path):
    """Those of the docs, put into a copy of the package."""
    docs = (repository / "docs" / "extending.md").read_text(encoding="utf-8")
    assert all(f"report/{place}`" in docs for place in PLACES)
    files = {}
    for place, section in PLACES.items():
        (files[f"report/{place}"],) = blocks("extending.md", "python", section)
    scratch(tmp_path, **files)
    run_scratch(tmp_path, SCRIPT, tmp_path, at=repository)


def test_every_kind_is_found_under_its_own_name():
    assert set(table_kinds()) >= {"parameters", "multiple_choice", "significance", "efficiency"}
    assert set(figure_kinds()) >= {"fertility", "average_score", "loss"}
    for kinds in (table_kinds(), figure_kinds()):
        assert all(name == kind_of(kind) for name, kind in kinds.items())
    assert len({kind.place for kind in claim_kinds().values()}) == len(claim_kinds())
    for what, kinds in (("table", table_kinds()), ("figure", figure_kinds())):
        written = environment().get_template("notes.j2").module
        assert all(hasattr(written, f"{what}_{name}") for name in kinds)


def test_a_kind_that_there_is_not_is_refused(demo, repository, monkeypatch):
    monkeypatch.chdir(repository)
    tables = {"table01": {"kind": "fertillity", "title": "t"}}
    with pytest.raises(RevocabError, match=r"tables\.table01: .*'fertillity'.*'fertility'"):
        validate({**demo, "tables": tables})


def test_every_method_has_a_label_and_the_shipped_ones_their_colours(demo):
    labels = [method.label for method in methods().values()]
    assert len(set(labels)) == len(labels) and all(labels)
    lines = {name: Palette([]).line(name) for name in ("sava", "sava-lstsq", "lapt")}
    assert lines["sava"] == {"color": "#0072B2", "linestyle": "solid"}
    assert lines["sava-lstsq"]["color"] == "#009E73"
    assert lines["lapt"]["linestyle"] == (0, (4, 1.5, 1, 1.5))
    run = next(run for run in expand(Experiment.model_validate(demo)) if run.name == "sava")
    for name, method, shown in (
        ("sava", "sava", "SAVA"),
        ("sava-anchors200", "sava", "SAVA (anchors 200)"),
        ("fvt-released", "fvt-released", "FVT (released)"),
        ("focus-fasttext", "focus", "FOCUS (fasttext)"),
        ("mine", "sava", "mine"),
    ):
        assert method_label(replace(run, name=name, method=method)) == shown


def test_families_and_languages_are_data(demo):
    assert list(families())[:3] == ["hellaswag", "mmlu", "arc_easy"]
    assert (family_label("siqa"), family_label("social_iqa")) == ("siqa", "SIQA")
    assert family_chance("xnli") == 1 / 3
    assert family_chance("invalsi") is None and family_chance("unheard-of") is None
    assert (main_metric("piqa"), main_metric("xcopa")) == ("acc_norm", "acc")
    assert main_metric("piqa", {"piqa": "acc"}) == "acc"
    assert choice_metrics("crows_pairs") == ("pct_stereotype", "acc", "acc_norm")
    assert choice_metrics("piqa", {"piqa": "acc"}) == ("acc", "acc_norm", "pct_stereotype")
    assert (language_label("ht"), language_label("xx")) == ("Haitian Creole", "xx")
    assert languages()["it"].colours[0] == "#0072B2"


def test_results_name_the_file_and_every_key_that_is_wrong(tmp_path):
    root = fake_results(tmp_path / "demo")
    change_experiment(root, "seed", value="many")
    change_experiment(root, "colour", value="red")
    with pytest.raises(RevocabError) as caught:
        Results(root)
    for start in ("experiment.seed: expected a whole number", "experiment.colour: unknown"):
        assert any(
            problem.startswith(f"{root / 'experiment.json'}: {start}")
            and problem.endswith("rebuild it with revocab write_experiment")
            for problem in caught.value.problems
        ), caught.value.problems
