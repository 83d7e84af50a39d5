"""Sweeps in two dimensions, and examples of what runs answered."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from fake_results import experiment_alone, fake_results
from hypothesis import given
from hypothesis import strategies as st
from one_group import rates

from revocab.errors import RevocabError
from revocab.experiment import validate
from revocab.io import write_jsonl
from revocab.report.make_tables import build_table
from revocab.report.results import Results
from revocab.report.results.scores import collect_scores
from revocab.report.table import Cell
from revocab.report.tables.texts import shown
from revocab.report.template import rendered

SWEEP = {
    "kind": "sweep",
    "title": "Rates and mixtures",
    "group": "mistral",
    "rows": "rate",
    "columns": "mix",
    "value": {"heldout": {"language": "it"}},
}
EXAMPLES = {
    "kind": "examples",
    "title": "Answers",
    "task": "squad_it",
    "runs": ["mistral-base", "mistral-sava"],
    "number": 2,
}
#: Runs of the sweep by where they stand; nobody stands at (high, mixed).
PLACES = {
    "low-plain": {"rate": "low", "mix": "plain"},
    "low-mixed": {"rate": "low", "mix": "mixed"},
    "high-plain": {"rate": "high", "mix": "plain"},
}
LOSSES = {"low-plain": 1.5, "low-mixed": 1.25, "high-plain": 2.0}


def with_runs(values: dict, **more: dict) -> dict:
    """Return an experiment whose first group has the runs of the sweep."""
    runs = {name: {"method": "fvt", "axes": place} for name, place in {**PLACES, **more}.items()}
    group = values["runs"]["mistral"]
    return {**values, "runs": {**values["runs"], "mistral": {**group, "methods": runs}}}


@pytest.fixture
def root(demo, tmp_path) -> Path:
    values = with_runs(demo)
    folder = fake_results(
        tmp_path / "results" / "demo",
        runs=values["runs"],
        tables={"t": SWEEP},
        figures={"f": SWEEP},
    )
    for name, loss in LOSSES.items():
        path = folder / "runs" / f"mistral-{name}" / "heldout.csv"
        head = "step,corpus,language,loss,bits_per_byte,tokens,bytes"
        path.write_text(f"{head}\n0,world-it,it,9,9,5,10\n100,world-it,it,3,{loss},5,10\n")
    collect_scores(folder, folder / "scores.parquet")
    return folder


def test_a_sweep_as_a_grid(root):
    table = build_table(Results(root), "t")
    assert table.header == ["rate / mix", "plain", "mixed"]
    cells = [[one.text or one.number() for one in row.cells] for row in table.rows]
    assert cells == [["low", "1.500", "1.250"], ["high", "2.000", "–"]]
    marks = [[one.mark for one in row.cells[1:]] for row in table.rows]
    assert marks == [["second", "best"], [None, None]]


def test_two_runs_at_one_place_are_told_apart(demo):
    again = {"again": {"rate": "low", "mix": "plain", "depth": "two"}}
    values = {**with_runs(demo, **again), "tables": {"t": SWEEP}, "figures": {}}
    with pytest.raises(RevocabError, match="'mistral-low-plain' and 'mistral-again' stand at the"):
        validate(values)


def test_axes_that_a_sweep_writes_out_are_read(demo):
    group = demo["runs"]["mistral"]
    decays = {"none": 0.0, "some": 0.1}
    sweep = {
        "rate": rates({"low": 1e-3, "high": 2e-3}),
        "decay": {name: {"recipe": {"weight_decay": decays[name]}} for name in decays},
    }
    methods = {"fvt": {"for": sweep, "evaluate": False}}
    runs = {"mistral": {**group, "methods": methods}}
    table = {**SWEEP, "rows": "rate", "columns": "decay"}
    experiment = validate(
        {**demo, "runs": runs, "tables": {"t": table}, "figures": {}, "scale": None}
    )
    runs = experiment.tables["t"].runs_on_axes(experiment.index)
    places = [("low", "none"), ("low", "some"), ("high", "none"), ("high", "some")]
    assert list(runs.values()) == places and len(runs) == 4


#: What breaks a table in one of the formats.
HOSTILE = (
    "<script>alert(1)</script> | a_b *c* `d` [x](javascript:0) ![i](http://x) &lt; $x^2$ ~e~\n"
    "[second] \\input{/etc/passwd} 100% #1 {\x00\x1b[31m}\u202eback"
)


def put_answers(root: Path, first: str) -> None:
    """Write prompts of two queries, and two runs' answers: the first of one run is given."""
    kind = {"kind": "question_answering", "direction": ["it"], "shots": []}
    query = {"context": "Ugo vive a Lodi.", "question": "Dove vive Ugo?", "answers": ["a Lodi"]}
    prompts = [{"id": str(n), **kind, "query": {"id": str(n), **query}, "references": ["a Lodi"],
                "prompt": "…"} for n in (1, 2, 3)]  # fmt: skip
    write_jsonl(root / "prompts" / "squad_it.jsonl", prompts)
    for run, step, outputs in (("base", 0, ("Roma", "a Lodi")), ("sava", 100, (first, ""))):
        path = root / "runs" / f"mistral-{run}" / "generation" / f"step-{step:06d}"
        rows = [{"id": str(n), "output": one} for n, one in enumerate(outputs, start=1)]
        write_jsonl(path / "squad_it.jsonl", rows)


@pytest.fixture
def answered(tmp_path) -> Path:
    folder = fake_results(tmp_path / "results" / "demo", tables={"t": EXAMPLES}, figures={})
    put_answers(folder, HOSTILE)
    return folder


def test_answers_stand_side_by_side(answered):
    table = build_table(Results(answered), "t")
    assert table.header == [
        "Query", "Prompt (no shots shown)", "Reference", "Mistral stand-in", "SAVA"
    ]  # fmt: skip
    rows = [[cell.text for cell in row.cells] for row in table.rows]
    assert len(rows) == 2
    assert rows[0][:1] + rows[0][2:4] == ["1", "a Lodi", "Roma"]
    assert "Dove vive Ugo?" in rows[0][1]
    assert rows[1][3:] == ["a Lodi", "(nothing)"]


def test_hostile_answers_stay_text(answered):
    table = build_table(Results(answered), "t")
    page, plain, latex = rendered(table, "html"), rendered(table, "md"), rendered(table, "tex")
    assert "<script>" not in page and "&lt;script&gt;" in page and "&amp;lt;" in page
    line = next(one for one in plain.splitlines() if "script" in one)
    cells = re.split(r"(?<!\\)\|", line)
    assert len(cells) == 5 + 2  # as in the header, and nothing before and after
    assert not re.search(r"(?<!\\)[`*_<>\[\]&~$]", cells[5].replace("<br>", ""))
    assert r"\textbackslash{}input\{" in latex and r"\input" not in latex
    assert latex.count("{") - latex.count(r"\{") == latex.count("}") - latex.count(r"\}")
    for content in (page, plain, latex, rendered(table, "csv")):
        assert not set(content) & set("\x00\x1b\u202e")
        assert "␀" in content


def test_a_title_is_no_markup_and_a_value_links_to_results_alone(answered):
    table = replace(build_table(Results(answered), "t"), title="[x](javascript:0) *c*")
    assert r"\[x\](javascript:0) \*c\*" in rendered(table, "md")
    links = {
        "runs/a-b/heldout.csv": True, "javascript:alert(1)": False, "../../x.csv": False,
        "/etc/passwd": False, "https://x.y/z": False, "//x.y/z": False, "a/../b": False,
    }  # fmt: skip
    for provenance, linked in links.items():
        assert Cell(1.0, provenance=provenance).is_from_a_file() is linked, provenance


def test_a_first_cell_in_brackets_is_no_option_of_latex(answered):
    table = build_table(Results(answered), "t")
    table.rows[1].cells[0].text = "[2]"
    assert "\n{}[2] & " in rendered(table, "tex")


@given(st.text())
def test_what_is_shown_has_no_control_characters_and_keeps_the_rest(content):
    clean = shown(content)
    assert not any(ord(one) < 32 and one not in "\t\n" for one in clean)
    kept = [one for one in content if one.isalnum()]
    assert [one for one in clean if one.isalnum()] == kept or clean == "(nothing)"


def test_examples_without_results_and_missing_answers(answered, tmp_path):
    results = Results(answered)
    (answered / "runs/mistral-sava/generation/step-000100/squad_it.jsonl").unlink()
    assert build_table(results, "t").rows[0].cells[4].text == "–"
    bare = experiment_alone(answered, tmp_path / "bare")
    assert build_table(Results(bare), "t").rows == []
