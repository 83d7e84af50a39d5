"""Which language a group's runs are adapted to, of small changes to the demo."""

from __future__ import annotations

import pytest
import yaml

from revocab.experiment import as_json, validate
from revocab.io import write_json
from revocab.report.claims.shipped import adapted_language
from revocab.report.results import Results


@pytest.fixture
def adapted(repository, tmp_path):
    """The adapted language of the demo's first group, with sections of the demo changed."""

    def found(**sections):
        values = yaml.safe_load((repository / "config/demos/demo.yaml").read_text(encoding="utf-8"))
        for section, changed in sections.items():
            values[section] |= changed
        write_json(tmp_path / "experiment.json", as_json(validate(values)))
        return adapted_language(Results(tmp_path), "mistral")

    return found


FETCHED = {"mistral": {"tokenizer": "source", "hub": "organisation/model"}}


@pytest.mark.parametrize("order", [("world-it", "world-en"), ("world-en", "world-it")])
def test_of_equal_shares_it_is_what_the_source_model_saw_less_of_else_the_first(adapted, order):
    mixtures = {"adaptation": dict.fromkeys(order, 0.5)}
    assert adapted(mixtures=mixtures) == adapted() == "it"
    assert adapted(mixtures=mixtures, models=FETCHED) == order[0].removeprefix("world-")


@pytest.mark.parametrize(("english", "language"), [(10, "it"), (90, "en")])
def test_stages_count_by_their_steps(adapted, english, language):
    stages = [
        {"name": "embeddings", "steps": 100 - english, "learning_rate": 0.001},
        {"name": "rest", "steps": english, "learning_rate": 0.001, "mixture": "english"},
    ]
    recipe = {"sequence_length": 256, "batch_size": 4, "steps": 100, "checkpoint_every": 50}
    recipes = {"adapt": {**recipe, "stages": stages}}
    assert adapted(recipes=recipes, models=FETCHED) == language


def test_tuning_on_answers_adapts_to_no_language(repository, tmp_path):
    values = yaml.safe_load((repository / "config/demos/lep.yaml").read_text(encoding="utf-8"))
    group = values["runs"]["instruct"]
    values["runs"] = {"instruct": {**group, "methods": {"original": group["methods"]["original"]}}}
    values |= {"tables": {}, "figures": {}}
    write_json(tmp_path / "experiment.json", as_json(validate(values)))
    assert adapted_language(Results(tmp_path), "instruct") is None
