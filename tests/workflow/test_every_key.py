"""Every key of an experiment, changed alone, plans the jobs that it feeds and no others."""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Iterator
from typing import Annotated, Any, Union, get_args, get_origin

import pytest
from changed_jobs import Jobs, fed
from every_key_cases import CASES, WITHOUT_A_CASE
from planning import changed
from pydantic import BaseModel

from revocab.config.schema import Experiment
from revocab.config.schema.runs import NamedMethod, RunMethod
from revocab.initialise.method import methods
from revocab.plan.plan import rules

#: Planned whenever anything in the file changes: the record of it, which the report reads.
RECORD = ["write_experiment"]


def members(annotation: Any) -> list[Any]:
    """Return the types that an annotation allows, None aside."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return members(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return [one for part in get_args(annotation) for one in members(part)]
    return [] if annotation is type(None) else [annotation]


def is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def schema_keys(annotation: Any, prefix: str = "") -> Iterator[str]:
    """Yield every key of the schema; ``*`` is an id or a place in a list.

    Kinds of generation tasks feed the same rules: what they share is one key.
    """
    for kind in members(annotation):
        if is_model(kind):
            for name, field in kind.model_fields.items():
                yield from schema_keys(field.annotation, f"{prefix}.{name}".lstrip("."))
        elif get_origin(kind) is dict:
            yield from schema_keys(get_args(kind)[1], f"{prefix}.*")
        elif get_origin(kind) is list and any(map(is_model, members(get_args(kind)[0]))):
            yield from schema_keys(get_args(kind)[0], f"{prefix}.*")
        else:
            yield prefix


def pattern(key: str) -> re.Pattern[str]:
    """Return what a changed key matches of a schema key."""
    return re.compile(re.escape(key).replace(r"\*", r"[^.\[]+"))


def is_option_of_a_method(key: str) -> bool:
    """All options of all methods stand in one job's text, so that one case is enough for them."""
    options = {name for method in methods().values() for name in method.options.model_fields}
    place, _, name = key.rpartition("methods.*.")
    own = RunMethod.model_fields if place.startswith("runs") else NamedMethod.model_fields
    return bool(place) and name.partition(".")[0] in options - own.keys()


def test_every_key_of_the_schema_is_a_case():
    """But options of methods, and keys of tables and figures, which make the report again."""
    keys = {
        key
        for key in schema_keys(Experiment)
        if not key.startswith(("tables", "figures")) and not is_option_of_a_method(key)
    }
    covered = {next(iter(changes)) for changes, _ in CASES}
    missing = {key for key in keys if not any(pattern(key).fullmatch(one) for one in covered)}
    assert missing == set(WITHOUT_A_CASE)


def test_nothing_changed_plans_nothing(finished):
    assert finished.plan().needed == set()


@pytest.fixture(scope="module")
def jobs_before(finished) -> Jobs:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(finished.folder)
        return Jobs.of(finished.values)


def case_name(case: Any) -> str:
    """Return the key and the value that a case changes."""
    return "=".join(map(str, next(iter(case[0].items()))))


@pytest.mark.parametrize(("changes", "jobs"), CASES, ids=map(case_name, CASES))
def test_a_changed_key_plans_what_it_feeds(finished, jobs_before, monkeypatch, changes, jobs):
    monkeypatch.setenv("REVOCAB_VLLM_PYTHON", sys.executable)
    monkeypatch.chdir(finished.folder)
    values = changed(finished.values, changes)
    assert values != finished.values
    now = Jobs.of(values)
    expected = fed(now.users, [*jobs, *RECORD])
    assert now.run_again(jobs_before) == expected


def own_cases() -> dict[str, Any]:
    """Return, by rule, the case that names the fewest jobs beside its own."""
    cases = sorted(CASES, key=lambda case: len(case[1]), reverse=True)
    return {job.partition(":")[0]: case for case in cases for job in case[1]}


@pytest.mark.parametrize(("rule", "case"), own_cases().items(), ids=own_cases())
def test_snakemake_plans_the_same(finished, monkeypatch, rule, case):
    """Once for every rule: what decides its result is an input or a param that is recorded."""
    changes, jobs = case
    monkeypatch.setenv("REVOCAB_VLLM_PYTHON", sys.executable)
    plan = finished.plan(changes)
    assert rule in plan.rules()
    assert plan.needed == plan.fed([*jobs, *RECORD])


def test_the_plan_knows_the_jobs_that_snakemake_runs(finished, jobs_before):
    users = finished.plan().users
    assert {job: users[job] for job in users if job != "all"} == jobs_before.users


def test_every_rule_has_a_case():
    """But those that nothing decides beside what they read, and those of the file itself."""
    without = {"build_report", "check_artefacts", "collect_scores", "make_tables", "make_figures"}
    assert rules().keys() - own_cases() - without == {"write_experiment"}


PAGE = {
    *("write_experiment", "collect_scores", "compare_runs"),
    *("make_tables", "make_figures", "check_artefacts", "build_report"),
}
SCORING = {"score_multiple_choice", "generate_text", "score_comet", "measure_efficiency"}
TRAINING = {"adapt_model", "measure_similarity", *SCORING, *PAGE}
#: What is made of trained runs, and what begins with them.
BUILT_ON = {
    *("init_embeddings", "change_model", "measure_heldout"),
    *("answer_prompts", "judge_answers", "prepare_corpus", "measure_fertility"),
}
COMET = {f"evaluation.generation.{key}": None for key in ("comet_model", "xcomet_model")}


@pytest.mark.parametrize(
    ("changes", "rules"),
    [
        (
            {"mixtures.adaptation": {"it": 0.6, "en": 0.4}},
            {"pack_tokens", *TRAINING, *BUILT_ON},
        ),
        ({"recipes.adapt.learning_rate": 0.1}, {*TRAINING, *BUILT_ON} - {"change_model"}),
        ({"title": "Another"}, PAGE),
        ({"scale.hidden_size": 64}, {"measure_scale", *PAGE}),
        ({"tables.choices.title": "Another"}, PAGE),
        ({"figures.scores.title": "Another"}, PAGE),
        ({"fertility.splitter": "unicode"}, {"measure_fertility", *PAGE}),
        ({"evaluation.significance.resamples": 500}, {"compare_runs", *PAGE}),
        ({"evaluation.efficiency.repeats": 5}, {"measure_efficiency", *PAGE}),
        ({"runs.main.label": "Another"}, PAGE),
        ({"evaluation.generation.comet_model": "o/other"}, {"score_comet", *PAGE}),
        (COMET, PAGE),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_the_rules_that_a_change_plans(finished, changes, rules):
    """By name, whatever the rules say of one another."""
    assert finished.plan(changes).rules() == rules


def test_a_learning_rate_trains_the_runs_that_use_it(finished):
    """The recipe of one group of runs, and what begins with them; no other group is trained."""
    plan = finished.plan({"recipes.adapt.learning_rate": 0.1})
    models = {job for job in plan.jobs if job.startswith(("adapt_", "pretrain_", "init_", "pack_"))}
    mine = {job for job in models if job.startswith("adapt_model:main-")}
    begun = {"init_embeddings:main-again", "init_embeddings:main-carried"}
    assert plan.needed & models == mine | begun
    assert mine and any(job.startswith("adapt_model:second-") for job in models - mine)


def test_another_id_is_another_experiment(finished):
    plan = finished.plan({"experiment": "another"})
    assert plan.needed == set(plan.jobs)


MACHINES = {
    "threads": {"overwrite_threads": {"adapt_model": 8, "build_tokenizer": 4}, "cores": 16},
    "training": {
        "default_resources": {
            "micro_batch": 2, "fsdp": 1, "activation_checkpointing": 1, "compile": 1,
            "tensorboard": 1, "peak_flops": 10**15, "watts": 700, "carbon_intensity": 300,
            "state_minutes": 5, "stop_at_rise": 2,
        },
        "overwrite_resources": {"adapt_model": {"gpu": 4}, "pretrain_stand_in": {"gpu": 4}},
    },
    "launcher": {
        "overwrite_resources": {"adapt_model": {"accelerate": "fsdp-one-node", "gpu": 8}}
    },
    "nodes": {"overwrite_resources": {"adapt_model": {"nodes": 2, "gpu": 4}}},
    "shards": {"default_resources": {"shard_bytes": 1000}},
}  # fmt: skip


@pytest.mark.parametrize("machine", MACHINES)
def test_another_machine_plans_nothing(finished, machine):
    assert finished.plan(**MACHINES[machine]).needed == set()


def test_a_moved_environment_plans_nothing(finished, monkeypatch, tmp_path):
    interpreter = tmp_path / "bin" / "python"
    interpreter.parent.mkdir()
    interpreter.touch()
    monkeypatch.setattr(sys, "executable", str(interpreter))
    monkeypatch.setenv("REVOCAB_COMET_PYTHON", str(interpreter))
    plan = finished.plan()
    assert plan.needed == set()
    assert str(interpreter) in plan.jobs["collect_scores"].shellcmd
    assert str(interpreter) in plan.jobs["score_comet:main-sava"].shellcmd
