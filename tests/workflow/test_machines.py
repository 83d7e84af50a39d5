"""What rules ask of a machine, and what profiles give them: no rule that uses a GPU is left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from planning import config_of, workflow_of

from revocab.plan.plan import rules as planned_rules
from revocab.training.run import TrainingMachine
from revocab.workflow.launch import nodes_and_tasks, resources_of

#: Options by which a profile places a job's model.
PLACING = ("device", "dtype", "batch_size")
PROFILES = ("default", "one-gpu", "one-node", "slurm")


@pytest.fixture(scope="module")
def rules(repository) -> dict[str, Any]:
    """Every rule of the workflow, by name."""
    with workflow_of(repository, config_of(repository, "config/paper.yaml")) as workflow:
        return {rule.name: rule for rule in workflow.rules}


def machine_of(rule: Any) -> type | None:
    """Return the machine options of the command that a rule runs."""
    known = planned_rules().get(rule.name)
    return known.command.machine if known else None


def uses_gpu(machine: type | None) -> bool:
    """Return whether a command takes a GPU where there is one: it trains, or looks for a device."""
    fields = getattr(machine, "model_fields", {})
    return machine is TrainingMachine or ("device" in fields and fields["device"].default == "auto")


def with_gpu(rules: dict[str, Any]) -> set[str]:
    return {name for name, rule in rules.items() if uses_gpu(machine_of(rule))}


def test_every_rule_that_uses_a_gpu_asks_for_one_and_no_other_does(rules):
    assert {"adapt_model", "pretrain_stand_in", "score_comet"} < with_gpu(rules)
    assert {name for name, rule in rules.items() if "gpu" in rule.resources} == with_gpu(rules)


def test_every_rule_passes_on_what_a_profile_says_of_the_device(rules, finished, monkeypatch):
    monkeypatch.chdir(finished.folder)
    with finished.workflow(finished.values) as workflow:
        plan = workflow.globals["PLAN"]
        rules = {rule.name: rule for rule in workflow.rules}
    for name in with_gpu(rules):
        fields = machine_of(rules[name]).model_fields
        job = next(job for job in plan.jobs.values() if job.rule == name)
        ids = dict(zip(planned_rules()[name].wildcards, job.ids, strict=True))
        words = rules[name].params["words"](ids, dict.fromkeys(fields, 1), threads=1)
        passed = json.loads(words[words.index("--machine") + 1])
        assert {one for one in PLACING if one in fields} <= {*passed}, name


def test_slurm_gives_each_of_them_threads_memory_and_time(rules, repository):
    """Those of all rules are for short jobs on a CPU."""
    given = yaml.safe_load((repository / "profiles/slurm/config.yaml").read_text())
    for name in with_gpu(rules):
        own = given["set-resources"][name]
        assert "mem_mb" in own and ("runtime" in own or name == "measure_efficiency"), name
        assert given["set-threads"][name] > 1, name


def test_one_node_runs_one_job_with_gpus_at_a_time(rules, repository):
    """Jobs cannot be told different GPUs, so each asks for all; a stand-in is small enough."""
    profile = repository / "profiles/one-node"
    (limit,) = yaml.safe_load((profile / "config.yaml").read_text())["resources"]
    asked = {name: resources_of(profile, name).get("gpu") for name in with_gpu(rules)}
    assert asked.pop("pretrain_stand_in") is None
    assert {*asked.values()} == {int(limit.removeprefix("gpu="))}


@pytest.mark.parametrize("profile", ["one-node", "slurm"])
def test_several_processes_whose_memory_runs_out_start_again_by_themselves(repository, profile):
    """Each start has half the micro batch of the one before (``MicroBatch.halve``)."""
    given = yaml.safe_load((repository / f"profiles/{profile}/config.yaml").read_text())
    assert nodes_and_tasks(resources_of(repository / f"profiles/{profile}", "adapt_model"))[1] > 1
    assert given["retries"] >= 3


@pytest.mark.parametrize("profile", PROFILES)
def test_profiles_name_rules_that_there_are(rules, repository, profile):
    file = repository / f"profiles/{profile}/config.yaml"
    given = yaml.safe_load(file.read_text())
    named = {*given.get("set-resources", {}), *given.get("set-threads", {})}
    assert named | {*given.get("groups", {})} <= {*rules}


def test_every_profile_is_tested(repository):
    assert {Path(one).parent.name for one in repository.glob("profiles/*/config.yaml")} == {
        *PROFILES
    }
