"""From an experiment to its jobs: every rule of every shipped experiment, without Snakemake."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
import yaml

from revocab.closed import Job
from revocab.command import Command, read
from revocab.config import read as read_experiment
from revocab.config import validate
from revocab.config.reads import READ
from revocab.errors import RevocabError
from revocab.plan import Plan, Step
from revocab.plan.evaluation import comet_models, timed_runs
from revocab.plan.plan import steps
from revocab.plan.show import show_job

REPOSITORY = Path(__file__).resolve().parents[2]
SHIPPED = [
    ("config/demo.yaml",),
    *[
        ("config/demo.yaml", f"config/overlays/{name}.yaml")
        for name in ("evaluation-extra", "constructions", "stage-mixtures")
    ],
    ("config/paper.yaml",),
    *[
        ("config/paper.yaml", f"config/overlays/{name}.yaml")
        for name in (
            "pico-paper", "without-comet", "tasks-gosal", "tasks-itabench", "tasks-vocadt",
            "itabench-first", "flores-200", "sava-released",
        )
    ],
    ("config/one-gpu.yaml",),
    ("tests/experiments/small.yaml",),
    ("tests/experiments/small.yaml", "tests/experiments/helper.yaml"),
]  # fmt: skip


def plan_of(*files: str, **values: str) -> Plan:
    """Return the plan of an experiment file with overlays."""
    return Plan(read_experiment(*(REPOSITORY / file for file in files), **values))


def wildcards(plan: Plan) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield every rule with the wildcards of its jobs."""
    experiment, evaluation = plan.experiment, plan.experiment.evaluation
    once = ["measure_fertility", "count_parameters", "write_experiment", "collect_scores"]
    once += ["make_tables", "make_figures", "check_artefacts", "build_report"]
    once += ["build_demoworld"] * bool(experiment.world) + ["measure_scale"] * bool(
        experiment.scale
    )
    runs, models = [plan.runs[name] for name in plan.trained], experiment.models
    scored = [run.id for run in plan.evaluated()]
    significance = [one.group for one in experiment.tables.values() if one.kind == "significance"]
    names = {
        **{rule: [{}] for rule in once},
        "prepare_corpus": [{"corpus": one} for one in experiment.corpora],
        "build_tokenizer": [{"tokenizer": one} for one in experiment.tokenizers],
        "intersect_vocabularies": [{"source": a, "target": b} for a, b in plan.intersections],
        "fetch_model": [{"model": one} for one in plan.fetched],
        "change_model": [{"model": one} for one in plan.changed],
        "build_stand_in": [{"model": one} for one in plan.stand_ins],
        "pretrain_stand_in": [{"model": one} for one in plan.stand_ins],
        "train_auxiliary": [{"target": run.target} for run in runs if run.auxiliary],
        "init_embeddings": [{"run": run.id} for run in runs],
        "adapt_model": [{"run": run.id} for run in runs],
        "pack_tokens": [
            *[{"tokenizer": r.target, "mixture": r.mixture, "recipe": r.recipe} for r in runs],
            *[
                {"tokenizer": models[one].tokenizer, "mixture": models[one].pretrain.mixture,
                 "recipe": models[one].pretrain.recipe}
                for one in plan.stand_ins
            ],
        ],
        "pack_heldout": [{"tokenizer": run.target, "length": "128"} for run in runs],
        "build_task": [{"task": one} for one in evaluation.multiple_choice.tasks],
        "score_multiple_choice": [{"run": one} for one in scored],
        "build_prompts": [{"task": one} for one in evaluation.generation.tasks],
        "generate_text": [{"run": one} for one in scored],
        "score_comet": [{"run": one} for one in scored if comet_models(plan, plan.runs[one])],
        "measure_efficiency": [{"run": run.id} for run in timed_runs(plan)],
        "measure_similarity": [{"group": one} for one, of in experiment.runs.items() if of.target],
        "compare_runs": [{"group": one} for one in significance],
        "write_settings": [{"part": one} for one in READ],
    }  # fmt: skip
    assert set(names) <= set(steps())
    for rule, cases in names.items():
        for one in cases:
            yield rule, one


def command(step: Step) -> Command:
    return import_module(f"revocab.commands.{step.command}").COMMAND


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch):
    monkeypatch.chdir(REPOSITORY)


def check(plan: Plan) -> set[str]:
    """Check every job of an experiment; return the rules that have some."""
    seen, written = set(), {}
    for rule, given in wildcards(plan):
        step = plan.step(rule, **given)
        what, place = command(step), f"{rule} {given}"
        assert type(step.job) is what.job, place
        asked = read(what, rule, step.arguments())
        assert asked.job == step.job and asked.out == Path(step.out), place
        canonical = step.job.canonical()
        assert type(step.job).model_validate_json(canonical) == step.job, place
        assert type(step.job).model_validate_json(canonical).canonical() == canonical, place
        assert json.loads(canonical).keys() == type(step.job).model_fields.keys(), place
        if step.command != "write_experiment":  # the record of the whole file
            assert not [one for one in texts(json.loads(canonical)) if one[:1] in "/~"], place
        folder = what.writes == "folder"
        assert folder != bool(Path(step.out).suffix in (".csv", ".json", ".jsonl", ".yaml",
                                                        ".parquet", ".html")), place  # fmt: skip
        assert step.out.startswith((plan.paths.results, plan.paths.resources)), place
        assert written.setdefault(step.out, step) == step, f"{place} and another job"
        for files in step.files().values():
            assert files == list(dict.fromkeys(files)), place
        seen.add(rule)
    return seen


def texts(value) -> Iterator[str]:
    """Yield every text in a JSON value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from texts([key, one])
    elif isinstance(value, list):
        for one in value:
            yield from texts(one)


@pytest.mark.parametrize(
    "files", SHIPPED, ids=lambda names: "+".join(Path(one).stem for one in names)
)
def test_every_job_of_a_shipped_experiment(files):
    seen = check(plan_of(*files))
    assert len(seen) >= 18
    if files == ("tests/experiments/small.yaml",):
        rest = {"change_model", "fetch_model", "score_comet", "measure_heldout"}
        assert set(steps()) - seen == rest


@pytest.mark.shared_data
@pytest.mark.parametrize("overlays", [(), ("config/overlays/tasks-local.yaml",)])
def test_every_job_on_the_data_folder(shared_folder, overlays):
    """Its inputs lie anywhere, and no job says where."""
    check(plan_of("config/local-data.yaml", *overlays, data_root=str(shared_folder)))


def test_every_file_is_planned():
    files = {*REPOSITORY.glob("config/*.yaml"), *REPOSITORY.glob("config/overlays/*.yaml")}
    planned = {Path(one).stem for names in SHIPPED for one in names}
    planned |= {"local-data", "tasks-local", "flores-files"}  # they read a data folder
    assert {file.stem for file in files} == planned - {"small", "helper"}


def test_rules_and_functions_have_the_same_names():
    files = [*REPOSITORY.glob("workflow/rules/*.smk")]
    text = "\n".join(file.read_text() for file in files)
    rules = {
        *re.findall(r"^rule (\w+):", text, re.M),
        *re.findall(r"^use rule \w+ as (\w+)", text, re.M),
    }
    assert rules - {"write_argument"} == set(steps())


def test_equal_experiments_have_equal_jobs_and_the_plan_reads_no_result(tmp_path):
    first, second = plan_of("config/demo.yaml"), plan_of("config/demo.yaml")
    for rule, given in wildcards(first):
        assert first.step(rule, **given).arguments() == second.step(rule, **given).arguments()


def test_labels_and_titles_are_in_no_job():
    values = {"title": "Another"}
    plain, other = plan_of("config/demo.yaml"), plan_of("config/demo.yaml", **values)
    for group in other.experiment.runs.values():
        object.__setattr__(group, "label", "Another")
    for rule, given in wildcards(plain):
        if not rule.startswith("write_"):
            assert plain.step(rule, **given) == other.step(rule, **given), rule


# Null options ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "key",
    [
        "runs.mistral.methods.sava.anchors",
        "runs.mistral.methods.sava.helper",
        "runs.mistral.methods.sava.seed",
        "tokenizers.target.train.limit_bytes",
        "tokenizers.target.train.digits",
        "corpora.world-it.limit_documents",
        "recipes.train.warmup_share",
        "recipes.train.stages",
        "evaluation.generation.comet_model",
        "evaluation.generation.tasks.flores_en_it.pool_limit",
        "evaluation.multiple_choice.tasks.hellaswag_it.shots",
        "auxiliary.limit_bytes",
        "fertility.limit_documents",
        "scale.methods.sava.anchors",
    ],
)
def test_a_null_is_the_default(key):
    """``anchors: null`` is no option of the text 'None'."""
    values = yaml.safe_load((REPOSITORY / "tests/experiments/small.yaml").read_text())
    plain = Plan(validate(values))
    *parents, last = key.split(".")
    place = values
    for parent in parents:
        place = place[parent]
    assert last not in place
    place[last] = None
    changed = Plan(validate(values))
    for rule, given in wildcards(plain):
        if rule.startswith("write_"):
            continue
        assert changed.step(rule, **given) == plain.step(rule, **given), rule
        assert "None" not in " ".join(changed.step(rule, **given).arguments())


# revocab job -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ("count_parameters",),
        ("adapt_model", "run=mistral-sava"),
        ("intersect_vocabularies", "source=source", "target=target"),
        ("pack_tokens", "tokenizer=target", "mixture=bilingual", "recipe=train"),
        ("pack_heldout", "tokenizer=target", "length=128"),
        ("write_settings", "part=scores"),
    ],
)
def test_a_printed_job_can_be_pasted(words):
    shown = show_job([*words, "--configfile", "tests/experiments/small.yaml"])
    python, script, *arguments = shlex.split(shown)
    assert python == "python" and (REPOSITORY / script).is_file()
    what = import_module(f"revocab.commands.{Path(script).stem}").COMMAND
    asked = read(what, script, arguments)
    step = plan_of("tests/experiments/small.yaml").step(
        words[0], **dict(one.split("=") for one in words[1:])
    )
    assert (asked.job, asked.out) == (step.job, Path(step.out))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["adapt_modl"], "rule 'adapt_modl': not known"),
        (["adapt_model"], "'adapt_model' with nothing"),
        (["adapt_model", "run=nope"], "'adapt_model' with run=nope"),
        (["adapt_model", "model=mistral"], "'adapt_model' with model=mistral"),
        (["adapt_model", "mistral-sava"], "'mistral-sava': expected NAME=VALUE"),
        (["measure_efficiency", "run=nope"], "'measure_efficiency' with run=nope"),
        (["fetch_model", "model=mistral"], "'fetch_model' with model=mistral"),
        (["build_stand_in", "model=none"], "'build_stand_in' with model=none"),
        (["change_model", "model=mistral"], "'change_model' with model=mistral"),
        (["score_comet", "run=mistral-sava"], "'score_comet' with run=mistral-sava"),
        (["pack_heldout", "tokenizer=target", "length=x"], "'pack_heldout' with"),
        (["write_settings", "part=nothing"], "'write_settings' with part=nothing"),
        (["prepare_corpus", "corpus=nope"], "'prepare_corpus' with corpus=nope"),
        (["build_tokenizer", "tokenizer=nope"], "'build_tokenizer' with tokenizer=nope"),
        (["intersect_vocabularies", "source=a", "target=b"], "'intersect_vocabularies' with"),
        (["init_embeddings", "run=mistral-base"], "'init_embeddings' with run=mistral-base"),
    ],
)
def test_a_job_that_there_is_not_is_one_clear_line(words, said):
    with pytest.raises(RevocabError) as caught:
        show_job([*words, "--configfile", "tests/experiments/small.yaml"])
    (line,) = caught.value.problems
    assert said in line and "Traceback" not in line


def test_a_missing_file_and_a_wrong_flag_are_one_clear_line():
    for words in (
        ["adapt_model", "--configfile", "no.yaml"],
        ["adapt_model", "--confgfile", "x"],
        [],
    ):
        with pytest.raises(RevocabError) as caught:
            show_job(words)
        assert len(caught.value.problems) == 1


def test_a_job_is_closed():
    class Own(Job):
        names: dict[str, int] = {}  # noqa: RUF012
        number: float = 1e-3

    assert Own().canonical() == '{"names":{},"number":0.001}'
    assert Own(names={"b": 1, "a": 2}).canonical() == '{"names":{"b":1,"a":2},"number":0.001}'
    with pytest.raises(ValueError, match="frozen"):
        Own().number = 2
