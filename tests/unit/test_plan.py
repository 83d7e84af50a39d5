"""From an experiment to its jobs: every rule of every shipped experiment, without Snakemake."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from bilingual_files import make_files
from parallel_files import make_pairs
from planned_jobs import possible_jobs
from real_files import make_real
from revocab.plan import Plan, Step
from revocab.plan.plan import rules

from revocab.closed import Job
from revocab.command import Command, read
from revocab.config import read as read_experiment

REPOSITORY = Path(__file__).resolve().parents[2]
SHIPPED = [
    ("config/demos/demo.yaml",),
    *[
        ("config/demos/demo.yaml", f"config/overlays/{name}.yaml")
        for name in ("evaluation-extra", "constructions", "stage-mixtures")
    ],
    ("config/sava.yaml",),
    *[
        ("config/sava.yaml", f"config/overlays/{name}.yaml")
        for name in (
            "pico-sava", "without-comet", "tasks-gosal", "tasks-itabench", "tasks-vocadt",
            "itabench-first", "flores-200", "sava-released", "sava-seeds",
        )
    ],
    ("config/lep.yaml",),
    *[
        ("config/lep.yaml", f"config/overlays/{name}.yaml")
        for name in ("lep-released", "lep-rates", "lep-seeds", "pico-lep")
    ],
    ("config/vocadt.yaml",),
    *[
        ("config/vocadt.yaml", f"config/overlays/{name}.yaml")
        for name in ("vocadt-released", "vocadt-seeds", "pico-vocadt")
    ],
    ("config/bilingual.yaml",),
    ("config/bilingual.yaml", "config/overlays/pico-bilingual.yaml"),
    ("config/bilingual.yaml", "config/overlays/bilingual-seeds.yaml"),
    ("config/demos/one-gpu.yaml",),
    ("config/demos/bilingual.yaml",),
    ("config/demos/lep.yaml",),
    ("config/demos/vocadt.yaml",),
    ("tests/experiments/small.yaml",),
    ("tests/experiments/small.yaml", "tests/experiments/helper.yaml"),
]  # fmt: skip


def plan_of(*files: str, **values: str) -> Plan:
    """Return the plan of an experiment file with overlays."""
    return Plan(read_experiment(*(REPOSITORY / file for file in files), **values))


def command(step: Step) -> Command:
    return import_module(f"revocab.commands.{step.command}").COMMAND


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch):
    monkeypatch.chdir(REPOSITORY)


def check(plan: Plan) -> set[str]:
    """Check every job of an experiment; return the rules that have some."""
    seen, written = set(), {}
    for rule, given in possible_jobs(plan):
        step = plan.step(rule, **given)
        what, place = command(step), f"{rule} {given}"
        assert type(step.job) is what.job, place
        asked = read(what, rule, step.arguments())
        assert asked.job == step.job and asked.out == Path(step.out), place
        canonical = step.job.canonical()
        assert type(step.job).model_validate_json(canonical) == step.job, place
        assert type(step.job).model_validate_json(canonical).canonical() == canonical, place
        assert json.loads(canonical).keys() == written_keys(step.job), place
        if step.command != "write_experiment":  # the record of the whole file
            paths = [text for text in texts(json.loads(canonical)) if text.startswith(("/", "~"))]
            assert not paths, place
        folder = what.writes == "folder"
        assert folder != bool(Path(step.out).suffix in (".csv", ".json", ".jsonl", ".yaml",
                                                        ".parquet", ".html")), place  # fmt: skip
        assert step.out.startswith((plan.paths.results, plan.paths.resources)), place
        assert written.setdefault(step.out, step) == step, f"{place} and another job"
        for files in step.files().values():
            assert files == list(dict.fromkeys(files)), place
        seen.add(rule)
    return seen


def written_keys(job: Job) -> set[str]:
    """Return the keys of a job that its text has: all, but for those left out at their default."""
    return {
        name
        for name, field in type(job).model_fields.items()
        if field.exclude_if is None or not field.exclude_if(getattr(job, name))
    }


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
    assert len(seen) >= 14
    if files == ("tests/experiments/small.yaml",):
        rest = {"change_model", "fetch_model", "score_comet", "measure_heldout"}
        rest |= {"count_parameters", "measure_scale", "train_auxiliary"}
        rest |= {"answer_prompts", "judge_answers", "drop_checkpoints"}
        assert set(rules()) - seen == rest


@pytest.mark.parametrize(
    "files",
    [*SHIPPED, ("tests/experiments/small.yaml", "tests/experiments/runs.yaml")],
    ids=lambda names: "+".join(Path(one).stem for one in names),
)
def test_every_job_has_a_reader(files):
    """The page is made from every job that the file allows, but for what it shows nothing of, and
    from no other.
    """
    plan = plan_of(*files)
    used = {job.step.out for job in plan.needed_jobs().values()}
    allowed = {plan.step(rule, **given).out: (rule, *given.values())
               for rule, given in possible_jobs(plan)}  # fmt: skip
    assert used <= allowed.keys()
    unread = {job for out, job in allowed.items() if out not in used}
    if files[-1] == "config/overlays/pico-vocadt.yaml":  # languages of a table without a run
        unread = {job for job in unread if not job[1].startswith("alma_")}
    assert unread == set()


@pytest.mark.shared_data
@pytest.mark.parametrize(
    "files",
    [
        ("config/demos/local-data.yaml",),
        ("config/demos/local-data.yaml", "config/overlays/tasks-local.yaml"),
        ("config/demos/bilingual-local.yaml",),
        ("config/demos/vocadt-local.yaml",),
    ],
)
def test_every_job_on_the_data_folder(shared_folder, files):
    """Its inputs lie anywhere, and no job says where."""
    check(plan_of(*files, data_root=str(shared_folder)))


@pytest.mark.parametrize(
    ("files", "make"),
    [
        (("config/bilingual.yaml", "config/overlays/bilingual-own.yaml"), make_files),
        (
            ("config/vocadt.yaml", "config/overlays/nllb-files.yaml"),
            make_pairs,
        ),
        (("config/demos/real.yaml",), make_real),
    ],
    ids=["bilingual-own", "nllb-files", "real"],
)
def test_every_job_with_files_of_a_user(tmp_path, files, make):
    """What a user brings: conversations, pairs, or models and texts."""
    plan = plan_of(*files, data_root=str(make(tmp_path / "given")))
    assert len(check(plan)) >= 17
    used = {job.step.out for job in plan.needed_jobs().values()}
    jobs = [(rule, plan.step(rule, **given)) for rule, given in possible_jobs(plan)]
    unread = {rule for rule, step in jobs if step.out not in used}
    assert unread == set()


def test_equal_experiments_have_equal_jobs_and_the_plan_reads_no_result(tmp_path):
    first, second = plan_of("config/demos/demo.yaml"), plan_of("config/demos/demo.yaml")
    for rule, given in possible_jobs(first):
        assert first.step(rule, **given).arguments() == second.step(rule, **given).arguments()


def test_labels_and_titles_are_in_no_job():
    values = {"title": "Another"}
    plain, other = plan_of("config/demos/demo.yaml"), plan_of("config/demos/demo.yaml", **values)
    for group in other.experiment.runs.values():
        object.__setattr__(group, "label", "Another")
    for rule, given in possible_jobs(plain):
        if not rule.startswith("write_"):
            assert plain.step(rule, **given) == other.step(rule, **given), rule
