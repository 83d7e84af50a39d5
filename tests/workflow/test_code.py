"""What changed code runs again."""

from __future__ import annotations

import pytest
from snakemake.settings.types import RerunTrigger

from revocab import imports
from revocab.imports import code_hash

#: As profiles/slurm has them.
KEEPING = RerunTrigger.all() - {RerunTrigger.CODE}
TRAINED = ["adapt_model", "pretrain_stand_in"]


@pytest.fixture
def lasting(finished) -> set[str]:
    """The rules whose shell commands end in the hash of their code."""
    with finished.workflow(finished.values) as workflow:
        return {rule.name for rule in workflow.rules if "  # code " in (rule.shellcmd or "")}


@pytest.fixture
def edit(monkeypatch):
    """Change the code of a command, or of all."""

    def change(command: str = "") -> None:
        def hashed(name: str, module: str, finds: tuple[str, ...] = ()) -> str:
            known = code_hash(name, module, finds)
            return known[::-1] if command in ("", name) else known

        monkeypatch.setattr(imports, "code_hash", hashed)

    return change


def test_changed_code_runs_again_and_trains_again_where_it_is_not_kept(finished, edit):
    edit("train_model")
    plan = finished.plan()
    assert plan.needed == plan.fed(TRAINED)
    assert finished.plan(triggers=KEEPING).needed == set()
    # Another option trains again as ever.
    change = {"recipes.adapt.learning_rate": 0.1}
    plan = finished.plan(change, triggers=KEEPING)
    assert "adapt_model:main-sava" in plan.needed
    # What a user reads of it is no JSON.
    reasons = [plan.reasons[name] for name in plan.needed]
    assert not [reason for reason in reasons if "{" in reason or '"' in reason]


def test_what_trainings_read_is_kept_with_them_and_the_rest_is_not(finished, lasting, edit):
    """A module of everyone's, whose change would else train again by way of the corpora."""
    edit()
    assert finished.plan().rules() >= {"prepare_corpus", *TRAINED}
    kept = finished.plan(triggers=KEEPING).rules()
    assert not kept & lasting and {"score_multiple_choice", "make_tables"} <= kept


def test_every_rule_runs_again_for_its_code(finished, lasting):
    with finished.workflow(finished.values) as workflow:
        rest = {rule.name for rule in workflow.rules if "code" in rule.params.keys()}  # noqa: SIM118
        assert rest == {rule.name for rule in workflow.rules} - lasting - {"all"}
    assert {"init_embeddings", "pack_tokens", *TRAINED} <= lasting
