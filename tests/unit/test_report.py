"""Claims, checks, the page and the exported results: whole path on made-up numbers."""

from __future__ import annotations

import re
import subprocess
import sys
from types import SimpleNamespace

import pytest
from fake_results import copy_of_demo, fake_results, write_csv

from revocab.errors import RevocabError
from revocab.io import read_json, write_json
from revocab.report import page as html
from revocab.report.claims import all_claims, shipped
from revocab.report.page import build_report
from revocab.report.results import Results
from revocab.report.results.folder import read_csv
from revocab.report.results.heldout_losses import heldout_curve
from revocab.report.results.scores import check_artefacts, check_results, collect_scores


def fake_figures(root):
    """Put a stroke in place of every figure: drawing is tested elsewhere, and slow."""
    (root / "figures").mkdir()
    for identifier in Results(root).experiment.figures:
        for ending in ("svg", "png"):
            content = '<svg xmlns="http://www.w3.org/2000/svg"/>'
            (root / "figures" / f"{identifier}.{ending}").write_text(content)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = copy_of_demo(tmp_path_factory.mktemp("report"))
    fake_figures(root)
    return root


@pytest.fixture
def broken(tmp_path):
    """A finished folder of its own, to break."""
    return copy_of_demo(tmp_path)


def edit(path, change):
    write_csv(path, change(read_csv(path)))


def problems_of(root):
    return list(check_results(Results(root)))


def test_finished_results_pass(folder):
    check_artefacts(folder, folder / "checks.json")
    checks = read_json(folder / "checks.json")
    assert checks["problems"] == 0
    for kind, files in (("tables", "*.csv"), ("figures", "*.svg"), ("runs", "*")):
        assert checks[kind] == len(list((folder / kind).glob(files)))


def test_missing_scores_and_values_out_of_range_are_named(broken):
    run, lost = broken / "runs/llama-sava", ("50", "piqa_en")
    edit(
        run / "multiple_choice.csv",
        lambda rows: [row for row in rows if (row["step"], row["task"]) != lost],
    )
    edit(run / "heldout.csv", lambda rows: [row for row in rows if row["step"] != "75"])
    edit(
        broken / "runs/mistral-fvt/multiple_choice.csv",
        lambda rows: [{**rows[0], "value": "1.7"}, {**rows[1], "value": ""}, *rows[2:]],
    )
    collect_scores(broken, broken / "scores.parquet")
    found = problems_of(broken)
    assert any("1.7 is not in 0 to 1" in problem for problem in found)
    assert any("no value" in problem for problem in found)
    assert "scores.parquet: llama-sava has no score of piqa_en at step 50; score it" in found
    assert any("llama-sava/heldout.csv: no held-out loss at steps [75]" in one for one in found)


@pytest.mark.parametrize(
    ("value", "problem"),
    [("301.08", None), ("inf", "inf is not finite"), ("-1", "-1.0 is not in 0")],
)
def test_a_loss_may_be_great_but_not_infinite_or_below_0(broken, value, problem):
    def change(rows):
        return [{**rows[0], "loss": value}, *rows[1:]]

    edit(broken / "runs/mistral-fvt/heldout.csv", change)
    collect_scores(broken, broken / "scores.parquet")
    found = [one for one in problems_of(broken) if " loss: " in one]
    assert len(found) == (problem is not None)
    assert problem is None or problem in found[0]


def test_scores_without_a_column_are_refused(broken):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"run": ["a"]}), broken / "scores.parquet")
    with pytest.raises(RevocabError, match=r"scores\.parquet: has no column experiment, "):
        problems_of(broken)


def test_fertility_is_claimed_of_the_languages_that_a_tokenizer_is_for(folder, monkeypatch):
    """The vocabulary of a group with Greek is not asked to shorten another group's Swahili."""
    runs = [
        SimpleNamespace(
            group=group, source_tokenizer="source", target=group, keeps_vocabulary=False
        )
        for group in ("latin", "greek")
    ]
    targets, languages = ("latin", "greek", "of-no-run"), ("sw", "el", "en")
    measured = {
        (tokenizer, f"{language}-text"): {"language": language, "fertility": fertility}
        for tokenizer, fertility in (("source", "4.0"), *((each, "3.0") for each in targets))
        for language in languages
    }
    for_group = {"latin": "sw", "greek": "el"}
    monkeypatch.setattr(shipped, "adapted_language", lambda _, group: for_group[group])
    corpora = SimpleNamespace(corpora=[f"{language}-text" for language in languages])
    results = SimpleNamespace(
        runs=runs,
        trained_on=lambda _: [],
        measured_tokenizers=measured,
        tokenizer_pairs=lambda: [("source", target) for target in targets],
        experiment=SimpleNamespace(fertility=corpora),
    )
    found = {
        (one.statement.split()[0], one.statement.split()[-1]) for one in shipped.falls(results)
    }
    every = {("Swahili", "of-no-run"), ("Greek", "of-no-run")}
    assert found == {("Swahili", "latin"), ("Greek", "greek"), *every}


def test_claims_by_hand(broken):
    root = broken
    edit(
        root / "fertility/fertility.csv",
        lambda rows: [
            {**r, "fertility": "1.5" if r["tokenizer"] == "target" else "2.0"} for r in rows
        ],
    )
    collect_scores(root, root / "scores.parquet")
    found = {claim.statement: claim for claim in all_claims(Results(root))}
    fall = found["Italian fertility on world-it falls by at least 20% from source to target"]
    assert fall.holds
    assert fall.numbers == (
        "2.000 → 1.500: falls by 25.0%; target was trained on world-it, so this flatters it"
    )


def test_heldout_of_several_corpora_is_weighted_by_bytes(broken):
    root = broken
    common = {"step": 0, "language": "it", "loss": 1.0, "tokens": 10}
    rows = [
        {**common, "corpus": "a", "bits_per_byte": 1.0, "bytes": 300},
        {**common, "corpus": "b", "bits_per_byte": 2.0, "bytes": 100},
    ]
    write_csv(root / "runs/mistral-fvt/heldout.csv", rows)
    results = Results(root)
    assert heldout_curve(results, results.run("mistral-fvt"), "it") == {0: 1.25}


def test_page_stands_alone(folder):
    build_report(folder, folder / "report.html")
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert not re.search(r'(?:src|href|url\()=?"?(?:https?:)?//', page)
    assert page.count("data:image/svg+xml;base64,") == 12 + 1  # one at the top
    for anchor in re.findall(r"<nav.*?</nav>", page, flags=re.DOTALL)[0].split('href="#')[1:]:
        assert f'id="{anchor.split(chr(34))[0]}"' in page
    for link in set(re.findall(r'href="([^"#][^"]*)"', page)) - {"checks.json"}:
        assert (folder / link).is_file(), link
    assert 'title="from runs/mistral-fvt/multiple_choice.csv"' in page


def test_new_rows_stand_in_the_page_with_their_warnings(folder):
    rows = html.new_rows(Results(folder))
    clp = next(row for row in rows if row["run"].endswith("CLP") and row["matrix"] == "LM head")
    assert clp["ratio"] == pytest.approx(0.05 / 1.5)
    assert not any("LAPT" in row["run"] for row in rows)
    page = html.page(Results(folder))
    (table,) = re.findall(r'<section id="initialisation">.*?</section>', page, flags=re.DOTALL)
    cells = {
        row.split("</th>")[0]: re.findall(r"<td[^>]*>(.*?)</td>", row)
        for row in table.split('<th scope="row">')[1:]
    }
    assert cells["Mistral stand-in, CLP"][-3:] == ["17", "–", "–"]  # fits no map
    assert cells["Mistral stand-in, SAVA"][-3:] == ["17", "0.61", "0.52"]
    assert "mistral-clp: method" in table


def test_text_is_escaped(tmp_path):
    root = fake_results(tmp_path / "demo", title="<script>alert(1)</script>")
    build_report(root, root / "report.html")
    assert "<script>alert" not in (root / "report.html").read_text(encoding="utf-8")


def test_results_folder_without_experiment(tmp_path):
    with pytest.raises(RevocabError, match=r"experiment\.json: no such file"):
        Results(tmp_path)
    write_json(tmp_path / "experiment.json", {"runs": []})
    with pytest.raises(RevocabError, match=r"experiment\.json: experiment: "):
        Results(tmp_path)


def test_help_is_light():
    verbs = ["collect_scores", "make_tables", "make_figures", "build_report", "check_artefacts"]
    code = (
        "import sys; from revocab.__main__ import main\n"
        f"for name in {verbs}:\n"
        "    try: main([name, '--help'])\n"
        "    except SystemExit: pass\n"
        "assert not {'torch', 'matplotlib', 'pandas', 'pyarrow'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("--results") >= len(verbs)
