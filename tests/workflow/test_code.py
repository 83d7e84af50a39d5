"""What runs again beside a changed experiment: changed code, and folders that another job wrote."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from snakemake.settings.types import RerunTrigger

from revocab.imports import code_hash
from revocab.marker import MARKER, read_marker
from revocab.plan import rerun
from revocab.plan.plan import rules
from revocab.rule import Step

#: As profiles/slurm has them.
KEEPING = RerunTrigger.all() - {RerunTrigger.CODE}
TRAINED = ["adapt_model", "pretrain_stand_in"]
LASTING = {name for name, rule in rules().items() if rule.lasting}


@pytest.fixture
def edit(monkeypatch):
    """Change the code of a command, or of all."""

    def change(command: str = "") -> None:
        def hashed(module: str, found: tuple[str, ...] = ()) -> str:
            known = code_hash(module, found)
            return known[::-1] if command in module else known

        monkeypatch.setattr(rerun, "code_hash", hashed)

    return change


def test_changed_code_runs_again_and_trains_again_where_it_is_not_kept(finished, edit):
    edit("train_model")
    plan = finished.plan()
    assert plan.needed == plan.fed(TRAINED)
    assert finished.plan(triggers=KEEPING).needed == set()
    # Another option trains again as ever.
    change = {"recipes.adapt.learning_rate": 0.1}
    assert "adapt_model:main-sava" in finished.plan(change, triggers=KEEPING).needed


def test_what_trainings_read_is_kept_with_them_and_the_rest_is_not(finished, edit):
    """A module of everyone's, whose change would else train again by way of the corpora."""
    edit()
    assert finished.plan().rules() >= {"prepare_corpus", *TRAINED}
    kept = finished.plan(triggers=KEEPING).rules()
    assert not kept & LASTING and {"score_multiple_choice", "make_tables"} <= kept


def test_what_is_kept_is_said():
    assert {"init_embeddings", "pack_tokens", *TRAINED} <= LASTING
    params = rerun.CodeParams(None, keeps=True, kept={"adapt_model--mistral-sava"})
    assert "adapt_model mistral-sava" in params.report()
    assert rerun.CodeParams(None, keeps=True).report() == ""


def test_a_changed_setting_prints_no_json_as_reason(finished):
    plan = finished.plan({"recipes.adapt.learning_rate": 0.1, "title": "Another"})
    reasons = {name: plan.reasons[name] for name in plan.needed}
    assert "write_experiment" in reasons and "adapt_model:main-sava" in reasons
    assert len(reasons["write_experiment"]) < 500
    assert not [reason for reason in reasons.values() if "{" in reason or '"' in reason]


# --- a folder that another job wrote --------------------------------------------------------------


@pytest.fixture
def init(finished, monkeypatch) -> tuple[Step, Path]:
    """A run's new embeddings as the experiment asks for them, and where their job is recorded."""
    monkeypatch.chdir(finished.folder)
    with finished.workflow(finished.values) as workflow:
        plan = workflow.globals["PLAN"]
    step = plan.step("init_embeddings", run="main-sava")
    file = finished.folder / step.out / MARKER
    yield step, file
    file.unlink(missing_ok=True)


def write_job(step: Step, file: Path, **changes) -> None:
    content = {"command": step.command, "job": step.job.model_dump(mode="json") | changes}
    file.write_text(json.dumps({"kind": "adapted model", "files": {}, **content}))


def test_a_run_whose_model_was_replaced_is_made_again(finished, init):
    """By another method's: the table would say one method, and the rows be another's."""
    step, file = init
    write_job(step, file)
    assert finished.plan().needed == set()
    write_job(step, file, method="fvt", option={})
    plan = finished.plan()
    assert plan.needed == plan.fed(["init_embeddings:main-sava"])
    assert finished.plan(triggers=KEEPING).needed == plan.needed


def test_an_option_that_is_younger_than_the_folder_is_its_default(init):
    step, file = init
    step = replace(step, job=step.job.model_copy(update={"seed": 0}))
    write_job(step, file)
    content = json.loads(file.read_text())
    assert content["job"].pop("seed") == 0
    file.write_text(json.dumps(content))
    assert rerun.is_of(read_marker(file.parent), step)
    del content["job"]["method"]  # which has no default
    file.write_text(json.dumps(content))
    assert not rerun.is_of(read_marker(file.parent), step)
