"""Pages of papers: what a paper states beside what our experiment file has, and why it differs."""

from __future__ import annotations

import copy
import re
from pathlib import Path

import pytest
import yaml
from write_papers import Compared, shown

from revocab.errors import RevocabError

REPOSITORY = Path(__file__).resolve().parents[2]
FILES = sorted(REPOSITORY.glob("config/*/settings.yaml"))

EXPERIMENT = {
    "experiment": "toy",
    "title": "Toy",
    "corpora": {
        "one": {"language": "it", "source": {"hub": {"id": "a/one"}}},
        "two": {"language": "en", "source": {"hub": {"id": "a/two"}}},
    },
    "mixtures": {"both": {"one": 0.75, "two": 0.25}},
    "recipes": {
        "main": {
            "sequence_length": 8, "batch_size": 12000, "steps": 5, "warmup_steps": 1,
            "learning_rate": 1e-5, "schedule": "cosine", "weight_decay": 0.1,
            "checkpoint_every": 5, "precision": "float32",
            "stages": [{"name": "rows", "train": "embeddings", "share": 1.0}],
        },
    },
    "tables": {"table01": {"kind": "fertility", "title": "How many tokens"}},
}  # fmt: skip
SETTINGS = {
    "page": "toy",
    "title": "Toy: A & B 2024",
    "intro": "A toy.",
    "experiment": "config/toy.yaml",
    "tables": 1,
    "figures": 1,
    "tables_and_figures": [
        {"what": "Table 1", "paper": "fertility", "where": "2", "key": "tables.table01"},
        {"what": "Figure 1", "paper": "a sketch", "where": "1", "reason": "no experiment"},
    ],
    "hyperparameters": [
        {"what": "batch", "paper": 12000, "where": "3", "key": "recipes.main.batch_size"}
    ],
    "method_variants": [
        {
            "what": "stages",
            "paper": "embeddings alone",
            "value": ["embeddings"],
            "where": "3",
            "key": "recipes.main.stages.rows.train",
        }
    ],
    "data_and_evaluation": [
        {
            "what": "text",
            "paper": ["a/one", "a/two"],
            "where": "4",
            "key": "corpora.*.source.hub.id",
        }
    ],
}


def compared(tmp_path: Path, overlay: dict | None = None, **row: object) -> Compared:
    """Read the toy's settings with another row of hyperparameters."""
    settings = copy.deepcopy(SETTINGS)
    if row:
        settings["hyperparameters"].append({"what": "the row", "where": "3", **row})
    return made(tmp_path, settings, overlay)


def made(root: Path, settings: dict, overlay: dict | None = None) -> Compared:
    (root / "config/toy").mkdir(parents=True)
    (root / "config/overlays").mkdir()
    (root / "config/toy.yaml").write_text(yaml.safe_dump(EXPERIMENT, sort_keys=False))
    (root / "config/overlays/more.yaml").write_text(yaml.safe_dump(overlay or {"title": "T"}))
    file = root / "config/toy/settings.yaml"
    file.write_text(yaml.safe_dump(settings, sort_keys=False))
    return Compared(file, root)


def last_row(page: str) -> str:
    return next(line for line in page.splitlines() if line.startswith("| the row |"))


RATE = "recipes.main.learning_rate"
ROWS = {
    "equal": (
        {"paper": 1e-5, "key": RATE},
        f"| the row | 1e-5 | 3 | — | 1e-5 (`{RATE}`) | — |",
    ),
    "equal in the file's words": (
        {"paper": "one in 100,000", "value": 1e-5, "key": RATE},
        f"| the row | one in 100,000 | 3 | — | 1e-5 (`{RATE}`) | — |",
    ),
    "departs": (
        {"paper": 2e-5, "key": RATE, "reason": "as released", "released": "1e-5 (a.py:3)"},
        f"| the row | 2e-5 | 3 | 1e-5 (a.py:3) | 1e-5 (`{RATE}`) | as released |",
    ),
    "not stated": (
        {"key": RATE, "reason": "ASSUME"},
        f"| the row | not stated | 3 | — | 1e-5 (`{RATE}`) | ASSUME |",
    ),
    "nothing of ours": (
        {"paper": "64 GPUs", "reason": "no part of it"},
        "| the row | 64 GPUs | 3 | — | — | no part of it |",
    ),
    "a mapping": (
        {"paper": {"one": 0.75, "two": 0.25}, "key": "mixtures.both"},
        "| the row | one: 0.75, two: 0.25 | 3 | — | one: 0.75, two: 0.25 (`mixtures.both`) | — |",
    ),
    "a thing that is there": (
        {"paper": "has a recipe", "key": "recipes.main"},
        "| the row | has a recipe | 3 | — | `recipes.main` | — |",
    ),
    "a thing that is otherwise": (
        {"paper": "a recipe", "key": "recipes.main", "ours": "two", "reason": "why"},
        "| the row | a recipe | 3 | — | two (`recipes.main`) | why |",
    ),
    "nothing under a key": (
        {"paper": "greedy", "value": "none", "key": "recipes.main.tokens"},
        "| the row | greedy | 3 | — | none (`recipes.main.tokens`) | — |",
    ),
    "two keys that agree": (
        {"paper": 5, "key": ["recipes.main.steps", "recipes.main.checkpoint_every"]},
        "| the row | 5 | 3 | — | 5 (`recipes.main.steps`, `recipes.main.checkpoint_every`) | — |",
    ),
    "numbers multiplied": (
        {
            "paper": "0.5 M",
            "product": 480000,
            "key": [f"recipes.main.{one}" for one in ("steps", "batch_size", "sequence_length")],
        },
        "| the row | 0.5 M | 3 | — | 5 × 12,000 × 8 = 480,000 (`recipes.main.steps`,"
        " `recipes.main.batch_size`, `recipes.main.sequence_length`) | — |",
    ),
    "a bar": (
        {"paper": "a|b", "reason": "c|d"},
        "| the row | a\\|b | 3 | — | — | c\\|d |",
    ),
}


@pytest.mark.parametrize("case", ROWS)
def test_rows_on_the_page(tmp_path, case):
    row, line = ROWS[case]
    assert last_row(compared(tmp_path, **row).page) == line


def test_an_overlay_gives_a_key(tmp_path):
    overlay = {"recipes": {"main": {"learning_rate": 3e-5}}}
    row = {"paper": 3e-5, "key": RATE, "overlays": ["more"]}
    line = last_row(compared(tmp_path, overlay, **row).page)
    assert line == f"| the row | 3e-5 | 3 | — | 3e-5 (`{RATE}` with `overlays/more.yaml`) | — |"


WRONG = {
    "differs without a reason": ({"paper": 2e-5, "key": RATE}, "the paper has 2e-5, we have 1e-5"),
    "a reason without a difference": (
        {"paper": 1e-5, "key": RATE, "reason": "why"},
        "a reason, but nothing differs",
    ),
    "a thing with a reason": (
        {"paper": "x", "key": "recipes.main", "reason": "why"},
        "a reason, but nothing differs",
    ),
    "an unknown key": (
        {"paper": 1, "key": "recipes.main.learning_rat"},
        "key 'recipes.main.learning_rat': recipes.main has no 'learning_rat'",
    ),
    "a key below a value": ({"paper": 1, "key": f"{RATE}.x"}, f"{RATE} has no 'x'"),
    "a number's name": ({"paper": 1, "key": "recipes.main.stages.2"}, "has no '2'; it has rows"),
    "another product": (
        {"paper": "6", "product": 6, "key": ["recipes.main.steps"]},
        "the paper has 6, we have 5 = 5",
    ),
    "not stated without a reason": ({"key": RATE}, "the paper has not stated, we have 1e-5"),
    "neither key nor reason": ({"paper": "64 GPUs"}, "give a reason"),
    "said and compared": (
        {"paper": "x", "value": 1e-5, "key": RATE, "ours": "y", "reason": "why"},
        "ours and value",
    ),
    "an unknown field": ({"paper": "x", "because": "why"}, "because: unknown key"),
    "no such overlay": ({"paper": 1, "key": RATE, "overlays": ["none"]}, "no such file"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said(tmp_path, case):
    row, said = WRONG[case]
    with pytest.raises(RevocabError, match=re.escape(said)) as caught:
        compared(tmp_path, **row)
    assert len(caught.value.problems) == 1 and "settings.yaml" in str(caught.value)


def test_all_problems_at_once(tmp_path):
    settings = {**SETTINGS, "tables": 2, "figures": 0}
    wrong = {"what": "Table 1", "paper": "again", "where": "2", "key": "recipes.main"}
    settings["tables_and_figures"] = [*SETTINGS["tables_and_figures"], wrong]
    with pytest.raises(RevocabError) as caught:
        made(tmp_path, settings)
    said = [problem.partition("settings.yaml: ")[2] for problem in caught.value.problems]
    assert [one.partition(";")[0] for one in said] == [
        "tables_and_figures: Table 1 has 2 rows",
        "tables_and_figures: Table 2 has 0 rows",
        "tables_and_figures: 'Table 1': key 'recipes.main'",
    ]


def test_numbers_as_they_are_read():
    values = [9999, 10000, 0.000025, 1e-05, 0.1, True, None, [1, "a"], {"a": 0.5}]
    told = ["9999", "10,000", "2.5e-5", "1e-5", "0.1", "yes", "not stated", "1, a", "a: 0.5"]
    assert list(map(shown, values)) == told


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.parent.name)
def test_the_committed_page_is_the_written_one(file):
    made_now = Compared(file, REPOSITORY)
    page = REPOSITORY / f"docs/papers/{made_now.settings.page}.md"
    assert page.read_text(encoding="utf-8") == made_now.page, "run `make papers`"


def test_every_paper_whose_values_are_published_has_a_page():
    folders = {file.parent for file in REPOSITORY.glob("config/*/*.csv")}
    assert folders and folders == {file.parent for file in FILES}


def test_no_page_without_its_file():
    written = {Compared(file, REPOSITORY).settings.page for file in FILES}
    assert written == {page.stem for page in (REPOSITORY / "docs/papers").glob("*.md")}


def test_what_savas_release_states_is_not_assumed():
    """Facts of commit f4049c6, each of which our file has."""
    compared = Compared(REPOSITORY / "config/paper/settings.yaml", REPOSITORY)
    experiment = compared.experiment([])
    steps = {name: experiment.recipes[name].warmup_steps for name in ("mistral", "llama")}
    assert steps == {"mistral": 20, "llama": 30}
    generation = experiment.evaluation.generation
    assert generation.context_length - generation.max_new_tokens == 2048  # of a prompt
    assert generation.tasks["squad_it"].pool_limit == 1000
    assert experiment.fertility.limit_documents == 50000
    released = {
        "warm-up steps", "precision", "a second number of anchors", "documents of fertility",
        "tokens of a prompt and its answer", "pool of its examples",
    }  # fmt: skip
    rows = {row.what: row for _, row in compared.settings.rows if row.what in released}
    assert rows.keys() == released
    assert all(row.released and "ASSUME" not in (row.reason or "") for row in rows.values())
    assert "f4049c6" in compared.page


def test_released_models_of_vocadt_are_the_first_uploads():
    """Where their commits are known; their vocabularies are those of the same commits."""
    compared = Compared(REPOSITORY / "config/vocadt/settings.yaml", REPOSITORY)
    first = {"latin": "1c5b072", "mixed": "67b0d17", "cyrillic": None}
    for overlays in ([], ["vocadt-released"]):
        experiment = compared.experiment(overlays)
        assert {name: experiment.tokenizers[name].revision for name in first} == first
    assert {name: experiment.models[name].revision for name in first} == first


def test_results_have_a_page_that_says_what_will_be_there():
    page = (REPOSITORY / "results/README.md").read_text(encoding="utf-8")
    assert all(name in page for name in ("report.html", "checks.json", "scores.csv", "tables/"))
    ignored = (REPOSITORY / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert "!/results/README.md" in ignored
