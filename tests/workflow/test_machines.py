"""What rules ask of a machine, and what profiles give them: no rule that uses a GPU is left out."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from planning import call_of, config_of, workflow_of
from snakemake.cli import parse_set_resources

from revocab.verbs import find
from revocab.workflow import gpus
from revocab.workflow.launch import nodes_and_tasks

SMALL = "tests/experiments/small.yaml"


@pytest.fixture(scope="module")
def rules(repository) -> dict[str, Any]:
    """Every rule of the workflow, by name."""
    with workflow_of(repository, config_of(repository, SMALL)) as workflow:
        return {rule.name: rule for rule in workflow.rules}


def machine_of(rule: Any) -> dict[str, Any]:
    """Return the machine's flags of the verb that a rule runs."""
    verb = re.search(r"-m revocab (\w+)", rule.shellcmd or "")
    return find(verb[1]).machine if verb else {}


def uses_gpu(fields: dict[str, Any]) -> bool:
    """Return whether a verb takes a GPU where there is one: it trains, or looks for a device."""
    return "fsdp" in fields or ("device" in fields and fields["device"].default == "auto")


def with_gpu(rules: dict[str, Any]) -> set[str]:
    return {name for name, rule in rules.items() if uses_gpu(machine_of(rule))}


def test_every_rule_that_uses_a_gpu_asks_for_one_and_no_other_does(rules):
    assert {"adapt_model", "pretrain_stand_in", "score_comet"} < with_gpu(rules)
    assert {name for name, rule in rules.items() if "gpu" in rule.resources} == with_gpu(rules)


def test_slurm_gives_each_of_them_threads_memory_and_time(rules, repository):
    """Those of all rules are for short jobs on a CPU."""
    given = yaml.safe_load((repository / "profiles/slurm/config.yaml").read_text())
    for name in with_gpu(rules):
        own = given["set-resources"][name]
        assert "mem_mb" in own and ("runtime" in own or name == "measure_efficiency"), name
        assert given["set-threads"][name] > 1, name


@contextmanager
def under(repository: Path, profile: str, file: str, *overlays: Path) -> Iterator[Any]:
    """Yield the workflow of an experiment under a profile, as far as it is about GPUs."""
    given = yaml.safe_load((repository / f"profiles/{profile}/config.yaml").read_text())
    entries = [
        f"{rule}:{name}={value}"
        for rule, own in given.get("set-resources", {}).items()
        for name, value in own.items()
        if isinstance(value, int)
    ]
    named = dict(entry.split("=") for entry in given.get("resources", ()))
    resources: dict[str, Any] = {
        "overwrite_resources": parse_set_resources(entries),
        "nodes": given.get("jobs"),
        "resources": {name: int(value) for name, value in named.items()},
    }
    config = config_of(repository, f"config/{file}.yaml", *overlays)
    with workflow_of(repository, config, resources=resources) as workflow:
        yield workflow


@dataclass(frozen=True)
class Started:
    """What the command line of a job says of the machine."""

    #: GPUs that the job asks the scheduler for, and those that it waits for itself.
    gpu: int
    taken: int
    #: What runs a model, the interpreter that has it, and the file in ``envs/`` for --sdm conda.
    engine: str | None
    interpreter: str
    environment: str

    @classmethod
    def of(cls, job: Any) -> Started:
        words = shlex.split(job.shellcmd)
        waits = "revocab.workflow.gpus"
        taken = int(words[words.index(waits) + 1]) if waits in words else 0
        before = words[: words.index("revocab")]
        python = [word for word in before if Path(word).name.startswith("python")][-1]
        options = call_of(job).arguments.options.model_dump()
        engine = options.get("engine")
        environment = Path(str(job.conda_env_spec.file)).name
        return cls(job.resources.get("gpu", 0), taken, engine, python, environment)


@pytest.mark.parametrize("engines", [("vllm", "transformers"), ("transformers", "vllm")])
def test_answers_and_their_judge_have_their_own_engines(repository, monkeypatch, tmp_path, engines):
    """Whatever ``evaluation.generation.engine`` is."""
    python, overlay = tmp_path / "python-vllm", tmp_path / "engines.yaml"
    python.touch()
    monkeypatch.setenv("REVOCAB_VLLM_PYTHON", str(python))
    monkeypatch.setenv(gpus.PRETENDED, "8")
    answers = {"engine": engines[0], "judge": {"engine": engines[1]}}
    overlay.write_text(yaml.safe_dump({"corpora": {"own-answers": {"answers": answers}}}))
    expected = {"vllm": (str(python), "vllm.yaml"), "transformers": (sys.executable, "core.yaml")}
    rules = ("answer_prompts", "judge_answers")
    with under(repository, "default", "lep", overlay) as workflow:
        jobs = [job for job in workflow.dag.jobs if job.rule.name in rules]
        found = {job.rule.name: Started.of(job) for job in jobs}
    for rule, engine in zip(rules, engines, strict=True):
        assert found[rule].engine == engine
        assert (found[rule].interpreter, found[rule].environment) == expected[engine]


@pytest.mark.parametrize(
    ("profile", "there", "trained_on"),
    [("default", 1, 1), ("default", 0, 1), ("one-node", 2, 2), ("one-node", 0, 8)],
)
def test_jobs_take_turns_on_the_gpus_that_are_there(
    repository, monkeypatch, profile, there, trained_on
):
    """``snakemake --cores N`` without a profile, and a profile for more; without a GPU all on CPUs,
    whose number Snakemake knows."""
    monkeypatch.setenv(gpus.PRETENDED, str(there))
    with under(repository, profile, "demos/one-gpu") as workflow:
        limit = workflow.global_resources.get("gpu")
        assert getattr(limit, "value", None) == (there or {"one-node": 8}.get(profile))
        trainings = [job for job in workflow.dag.jobs if job.rule.name == "adapt_model"]
        started = {(one.gpu, one.taken) for one in map(Started.of, trainings)}
    assert started == {(trained_on, there)}


@pytest.mark.parametrize("profile", ["one-node", "slurm"])
def test_several_processes_whose_memory_runs_out_start_again_by_themselves(repository, profile):
    """Each start has half the micro batch of the one before (``MicroBatch.halve``)."""
    given = yaml.safe_load((repository / f"profiles/{profile}/config.yaml").read_text())
    assert nodes_and_tasks(given["set-resources"]["adapt_model"])[1] > 1
    assert given["retries"] >= 3
