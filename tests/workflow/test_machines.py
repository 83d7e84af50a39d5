"""What rules ask of a machine, and what profiles give them: no rule that uses a GPU is left out."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from planning import config_of, job_name, workflow_of
from snakemake.cli import parse_set_resources

from revocab.plan.plan import rules as planned_rules
from revocab.training.run import TrainingMachine
from revocab.workflow import gpus
from revocab.workflow.launch import nodes_and_tasks

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


PAPERS = ("paper", "vocadt", "bilingual", "lep")
#: GPUs of a training, and what starts its processes, by profile.
TRAININGS = {
    "default": (1, []),
    "one-node": (8, ["torch.distributed.run", 8]),
    "slurm": (64, ["srun", 16, 4]),
}
#: Batches that so many processes do not divide, and what starts those that do.
FEWER = {
    ("one-node", 500): ["torch.distributed.run", 5],
    ("slurm", 500): ["srun", 5, 4],
    ("slurm", 1440): ["srun", 15, 4],
}
#: Engines of the rules that run one, by paper: what the papers ran, but for sampling among beams.
ENGINES = {
    "paper": dict.fromkeys(
        ("score_multiple_choice", "generate_text", "measure_efficiency"), "vllm"
    ),
    "vocadt": {
        "score_multiple_choice": "vllm", "generate_text": "transformers",
        "measure_efficiency": "transformers",
    },
    "bilingual": {"score_multiple_choice": "vllm", "measure_efficiency": "transformers"},
    "lep": dict.fromkeys(
        ("score_multiple_choice", "generate_text", "measure_efficiency", "answer_prompts",
         "judge_answers"), "vllm"),
}  # fmt: skip
#: GPUs of jobs whose models one GPU of 80 GB does not hold; all others have one, under any profile.
DIVIDED = {
    "score_multiple_choice:llama-2-70b-base": 2,
    "score_multiple_choice:llama-2-70b-adapted": 4,
    "score_multiple_choice:llama-2-70b-released": 4,
    "measure_heldout:llama-2-70b-base": 4,
    "measure_heldout:llama-2-70b-released": 4,
    "judge_answers:own-answers": 4,
}


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
    processes: list[Any]
    fsdp: bool
    #: GPUs among which one process divides a model.
    divided: int
    #: What runs a model, the interpreter that has it, and the file in ``envs/`` for --sdm conda.
    engine: str | None
    interpreter: str
    environment: str

    @classmethod
    def of(cls, job: Any) -> Started:
        words = shlex.split(job.shellcmd)
        at = {word: number for number, word in enumerate(words)}
        machine = json.loads(words[at["--machine"] + 1]) if "--machine" in at else {}
        taken = words[at["revocab.workflow.gpus"] + 1] if "revocab.workflow.gpus" in at else 0
        processes: list[Any] = []
        for launch, flags in (
            ("torch.distributed.run", ["--nproc-per-node"]),
            ("srun", ["--nodes", "--ntasks-per-node"]),
        ):
            if launch in at:
                processes = [launch, *(int(words[at[flag] + 1]) for flag in flags)]
        here = at["scripts/run_job.py"]
        python = [word for word in words[:here] if Path(word).name.startswith("python")][-1]
        options = json.loads(words[at["--job"] + 1]) if words[at["--job"] + 1] != "-" else {}
        engine = options.get("engine") or (options.get("option") or {}).get("engine")
        environment = Path(str(job.conda_env_spec.file)).name
        return cls(
            job.resources.get("gpu", 0), int(taken), processes, bool(machine.get("fsdp")),
            machine.get("gpus", 1), engine, python, environment,
        )  # fmt: skip


@pytest.mark.parametrize("paper", PAPERS)
@pytest.mark.parametrize("profile", TRAININGS)
def test_the_commands_of_a_dry_run(rules, repository, monkeypatch, tmp_path, profile, paper):
    """Of each job how many GPUs it gets, that it uses all of them, and the engine, interpreter and
    environment that it runs with; eight GPUs are here, and so are all environments.

    A profile's ``fsdp`` reaches the recipes that can be sharded, and no other.
    """
    monkeypatch.setenv(gpus.PRETENDED, "8")
    pythons = {"core": sys.executable}
    for name in ("vllm", "comet"):
        pythons[name] = str(tmp_path / f"python-{name}")
        Path(pythons[name]).touch()
        monkeypatch.setenv(f"REVOCAB_{name.upper()}_PYTHON", pythons[name])
    gpu, processes = TRAININGS[profile]
    seen = set()
    with under(repository, profile, paper) as workflow:
        plan = workflow.globals["PLAN"]
        for job in workflow.dag.jobs:
            name, rule = job_name(job), job.rule.name
            if not job.shellcmd:
                continue
            engine = ENGINES[paper].get(rule)
            own = "vllm" if engine == "vllm" else "comet" if rule == "score_comet" else "core"
            run_by = (engine, pythons[own], f"{own}.yaml")
            seen.add(name)
            if rule not in with_gpu(rules):
                assert Started.of(job) == Started(0, 0, [], False, 1, *run_by), name
                continue
            if rule == "adapt_model":
                settings = plan.step(rule, run=job.wildcards.run).job
                fsdp = profile != "default" and settings.can_be_sharded
                starts = FEWER.get((profile, settings.batch_size), processes)
                expected = Started(gpu, starts[1] if starts else 1, starts, fsdp, 1, *run_by)
            else:
                count = DIVIDED.get(name, 1)
                expected = Started(count, count, [], False, count, *run_by)
            if profile == "slurm":  # which gives a job its GPUs itself
                expected = replace(expected, taken=0)
            assert Started.of(job) == expected, name
    assert {name.partition(":")[0] for name in seen} >= {*ENGINES[paper]}
    if paper == "lep":
        calibrated = [run for run in plan.trained if run.endswith(("-saiga", "-self"))]
        assert len(calibrated) >= 8 and {f"adapt_model:{run}" for run in calibrated} <= seen
    assert {name for name in DIVIDED if paper == ("lep" if "own" in name else "bilingual")} <= seen


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
    with under(repository, "default", "lep", overlay) as workflow:
        found = {job.rule.name: Started.of(job) for job in workflow.dag.jobs if job.shellcmd}
    for rule, engine in zip(("answer_prompts", "judge_answers"), engines, strict=True):
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
    with under(repository, profile, "one-gpu") as workflow:
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
