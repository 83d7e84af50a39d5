"""Kinds of tables, figures and claims: adding one takes one file; labels stand beside things."""

from __future__ import annotations

import pytest
import yaml
from fake_results import change_experiment, fake_results

from revocab.errors import RevocabError
from revocab.evaluation.metrics import (
    choice_metrics,
    families,
    family_chance,
    family_label,
)
from revocab.languages import language_label, languages
from revocab.report.kind import figure_kinds, table_kinds
from revocab.report.results import Results
from revocab.report.template import environment


@pytest.fixture(scope="module")
def demo(repository) -> dict:
    return yaml.safe_load((repository / "config/demos/demo.yaml").read_text(encoding="utf-8"))


def test_every_kind_has_its_note_and_every_note_its_kind():
    written = vars(environment().get_template("notes.j2").module)
    for what, kinds in (("table", table_kinds()), ("figure", figure_kinds())):
        assert {name for name in written if name.startswith(f"{what}_")} == {
            f"{what}_{name}" for name in kinds
        }


def test_families_and_languages_are_data(demo):
    assert list(families())[:3] == ["hellaswag", "mmlu", "arc_easy"]
    assert (family_label("siqa"), family_label("social_iqa")) == ("siqa", "SIQA")
    assert family_chance("xnli") == 1 / 3
    assert family_chance("invalsi") is None and family_chance("unheard-of") is None
    assert [choice_metrics(name)[0] for name in ("piqa", "xcopa")] == ["acc_norm", "acc"]
    assert choice_metrics("crows_pairs") == ("pct_stereotype", "acc", "acc_norm")
    assert (language_label("ht"), language_label("xx")) == ("Haitian Creole", "xx")
    assert languages()["it"].colours[0] == "#0072B2"


def test_results_name_the_file_and_every_key_that_is_wrong(tmp_path):
    root = fake_results(tmp_path / "demo")
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
