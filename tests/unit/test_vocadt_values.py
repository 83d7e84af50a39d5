"""VocADT's published values as data: whole, and their averages and changes as they follow."""

from __future__ import annotations

import pytest

from revocab.errors import RevocabError
from revocab.evaluation.generation.kinds.references import TRANSLATION
from revocab.experiment import as_json, options, read
from revocab.experiment.check_tasks import unasked_layouts
from revocab.experiment.layout import Layout
from revocab.experiment.load import read_values, validate
from revocab.io import write_json
from revocab.report.make_tables import build_table
from revocab.report.published import PaperValues
from revocab.report.results import Results

#: Rows of each table, averages included; the last average is over all of them.
ROWS = {
    "table02-into-en": 12, "table02-from-en": 12, "table03": 12, "table04": 12, "table05": 6,
    "table06": 5, "table07": 13, "table08": 6,
}  # fmt: skip
RUNS = {"Mistral", "VocADT-multi", "ZeTT-mono", "OFA-multi", "FOCUS-mono"}
CHANGE = " change (%)"
#: Statements that the printed values do not bear out, by the table that a claim reads.
WEAKENED = {
    "VocADT is above Mistral on average: MMMLU",
    *(
        f"Languages in Latin script gain, whatever the task: {one}"
        for one in ("FLORES into English", "Belebele", "MMMLU")
    ),
    "Greek, split most, gains: XNLI",
    *(
        f"Other languages of the Mixed group gain nothing or little, and lose nothing: {one}"
        for one in ("FLORES into English", "FLORES out of English", "Belebele", "MMMLU")
    ),
}
#: Half a unit of the last printed digit, in per cent.
ROUNDED = 0.05


@pytest.fixture(scope="module")
def paper(repository) -> PaperValues:
    return PaperValues(repository / "config/published/vocadt")


@pytest.fixture(scope="module")
def printed(paper):
    """The printed scores by table, by row, by column."""
    found = {}
    for table in ROWS:
        for one in paper.cells(table):
            if not one.column.endswith(CHANGE):
                found.setdefault(table, {}).setdefault(one.row, {})[one.column] = one
    return found


@pytest.fixture(scope="module")
def changes(paper):
    """The printed changes against Mistral, by table, row and column of the score."""
    cells = [one for table in ROWS for one in paper.cells(table) if one.column.endswith(CHANGE)]
    return {(one.table, one.row, one.column.removesuffix(CHANGE)): one.value for one in cells}


def test_every_printed_cell_is_there(printed):
    assert {table: len(rows) for table, rows in printed.items()} == ROWS
    for table, rows in printed.items():
        for row, cells in rows.items():
            lacking = (
                {"ZeTT-mono"} if row in ("Ukrainian", "Kazakh") or cells.keys() != RUNS else set()
            )
            assert cells.keys() == RUNS - lacking, (table, row)
            assert all(15 < one.value < 100 for one in cells.values())


def test_averages_are_those_of_the_rows(printed):
    for table, rows in printed.items():
        values = {name: cells for name, cells in rows.items() if "Average" not in name}
        for name, cells in rows.items():
            if name in values:
                continue
            first = list(values.values())[: int(name.rpartition(" ")[2])]
            for column, one in cells.items():
                mean = sum(row[column].value for row in first) / len(first)
                assert one.value == pytest.approx(mean, abs=2 * ROUNDED), (table, name, column)


def test_printed_changes_follow_from_the_printed_scores(printed, changes):
    """Within what rounding both scores to a tenth of a per cent allows."""
    for (table, row, column), change in changes.items():
        base, value = (printed[table][row][one].value for one in ("Mistral", column))
        allowed = 100 * ROUNDED / base * (1 + value / base) + 0.01
        assert change == pytest.approx(100 * (value / base - 1), abs=allowed), (table, row)
    assert len(changes) > 190
    assert {table for table, _, _ in changes} == {one for one in ROWS if one[:7] != "table02"}


def test_where_the_papers_tables_weaken_its_sentences(printed):
    """Languages that lose by adapters (docs/papers.md)."""
    losing = {
        table: [
            row
            for row, cells in rows.items()
            if cells["VocADT-multi"].value < cells["Mistral"].value
        ]
        for table, rows in printed.items()
    }
    assert losing["table08"] == list(printed["table08"])
    assert losing["table03"] == ["Indonesian", "Korean", "Russian", "Bulgarian", "Ukrainian"]
    assert losing["table04"] == ["Korean", "Russian", "Bulgarian", "Ukrainian"]
    assert losing["table05"] == ["Greek"]
    assert losing["table06"] == []


def results_of(folder) -> Results:
    """Return the results, none so far, of the paper's experiment."""
    experiment = read("config/vocadt.yaml")
    write_json(folder / "experiment.json", as_json(experiment))
    return Results(folder)


def test_printed_values_stand_beside_ours(repository, tmp_path, monkeypatch):
    """Every printed value of a model that is run here has its place, and no other."""
    monkeypatch.chdir(repository)
    results = results_of(tmp_path)
    for name in ROWS:
        table = build_table(results, name)
        cells = [cell for row in table.data_rows() for cell in row.cells]
        places = {one.place for one in results.paper.cells(name) if "ZeTT" not in one.column}
        assert sum(cell.published is not None for cell in cells) == len(places), name
        lacking = (
            "column ZeTT-mono." if name[:7] == "table02" else "ZeTT-mono, ZeTT-mono change (%)."
        )
        assert table.notes[-1].endswith(lacking)


def test_claims_on_the_printed_values(repository, tmp_path, monkeypatch):
    """Sentences that the paper's own tables weaken are marked (docs/papers.md)."""
    monkeypatch.chdir(repository)
    results = results_of(tmp_path)
    table = build_table(results, "claims")
    verdicts = {row.cells[0].text: row.cells[4].text for row in table.data_rows()}
    assert {row.cells[6].text for row in table.data_rows()} == {"not measured here"}
    assert {one for one, said in verdicts.items() if said == "does not hold"} == WEAKENED
    assert sum(said == "not printed" for said in verdicts.values()) == 3
    translation = build_table(results, "claims-translation")
    said = {row.cells[0].text for row in translation.data_rows() if "not" in row.cells[4].text}
    assert said == {
        "Every language gains by VocADT: into English",
        "Every language but Swahili gains by VocADT: out of English",
    }


def test_models_of_table_2_are_asked_as_their_pairs_ask(repository, monkeypatch):
    """Without examples, in both directions; a table that asks otherwise is warned of."""
    monkeypatch.chdir(repository)
    layout = Layout(experiment := read("config/vocadt.yaml"))
    assert [*unasked_layouts(experiment)] == []
    tasks = {
        "latin-translation-vocadt": ("sw", "id", "et", "ht"),
        "cyrillic-translation-mistral": ("uk", "kk"),
        "greek-translation-focus": ("el",),
    }
    for run, languages in tasks.items():
        asked = set(layout.generation_tasks(run))
        assert asked == {f"alma_{pair}" for one in languages for pair in (f"{one}_en", f"en_{one}")}
    assert not any("alma" in task for task in layout.generation_tasks("latin-vocadt"))
    for language in ("sw", "kk"):
        taught = experiment.corpora[f"nllb-{language}"].translation
        for direction, layout in taught.layouts.items():
            job = options.prompts(experiment, "alma_" + "_".join(direction))
            asked = TRANSLATION.layout_in(job.direction, job.layout_changes())
            assert (asked, job.shots) == (layout, 0)
    values = read_values("config/vocadt.yaml")
    for direction in ("into", "from"):
        values["tables"][f"table02-{direction}-en"]["taught"] = False
    warned = [*unasked_layouts(validate(values))]
    groups = {warning.partition(":")[0] for warning in warned}
    assert groups == {f"runs.{name}" for name in experiment.runs if "-translation" in name}
    tasks = values["evaluation"]["generation"]["tasks"]
    tasks["alma_sw_en"]["taught_by"] = "nllb-kk"
    tasks["alma_en_sw"]["layout"] = {"instruction": ""}
    with pytest.raises(RevocabError) as caught:
        validate(values)
    wrong = [f"evaluation.generation.tasks.alma_{one}.taught_by" for one in ("sw_en", "en_sw")]
    assert all(any(one in problem for problem in caught.value.problems) for one in wrong)
