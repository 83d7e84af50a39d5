"""What is kept when code changes: what Snakemake is told, what a person is told and can decide."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from pathlib import Path

import pytest

from revocab.__main__ import main
from revocab.code_identity import identity
from revocab.config import read
from revocab.errors import RevocabError
from revocab.folder_claim import FolderClaim
from revocab.plan import Plan, decide, kept
from revocab.plan.decisions import Accepted, Asked, Decisions
from revocab.plan.kept import LASTING, Kept, lasting_jobs
from revocab.plan.plan import steps

EXPERIMENT = Path(__file__).resolve().parents[1] / "experiments/small.yaml"
FLAGS = ("--configfile", str(EXPERIMENT))
OLD = {"training/loop/trainer.py": "1", "training/loop/loss.py": "1"}
NEW = {"training/loop/trainer.py": "2", "training/loop/loss.py": "1"}
SAVA = Path("results/small/runs/mistral-sava")
ADAPTED = SAVA / "manifest.json"
SCORES = Path("results/small/scores.parquet")


@pytest.fixture
def plan(tmp_path, monkeypatch) -> Plan:
    """The small experiment in a folder of its own, where every rule's code is ``NEW``."""
    tasks = EXPERIMENT.parents[2] / "config"
    (tmp_path / "config").symlink_to(tasks)
    monkeypatch.chdir(tmp_path)
    for module in (kept, decide):
        monkeypatch.setattr(module, "code_now", lambda rule: NEW)
    return Plan(read(EXPERIMENT))


def made(manifest: Path, code: dict[str, str] | None, rule: str = "adapt_model") -> None:
    """Write an output as a job by ``code`` leaves it, and Snakemake's record of it."""
    manifest.parent.mkdir(parents=True, exist_ok=True)
    manifest.write_text("{}")
    if code is not None:
        FolderClaim("training run", {"manifest.json": None}, code=code).write(manifest.parent)
    recorded(manifest, rule, code or OLD)


def recorded(output: Path, rule: str, code: dict[str, str]) -> None:
    folder = Path(".snakemake/metadata")
    name = urlsafe_b64encode(str(output).encode()).decode()
    *parts, last = [name[at : at + 254] for at in range(0, len(name), 254)]
    file = folder.joinpath(*(f"@{part}" for part in parts), last)
    file.parent.mkdir(parents=True, exist_ok=True)
    params = [repr(identity(code)), repr(["--job", "{}"])]
    file.write_text(json.dumps({"rule": rule, "params": params}))


def param(plan, recorded, rule="adapt_model", output=ADAPTED, *, keeps=False):
    given = None if recorded is None else [repr(["--inputs"]), repr(recorded)]
    return Kept(plan, keeps, Decisions.read(plan)).param(rule, output, given)


# --- what Snakemake compares ----------------------------------------------------------------------


def test_every_rule_that_lasts_is_a_rule_and_names_its_outputs(plan):
    assert steps().keys() >= LASTING
    jobs = list(lasting_jobs(plan))
    assert {job.rule for job in jobs} == LASTING - {
        "fetch_model",
        "change_model",
        "answer_prompts",
        "judge_answers",
        "train_auxiliary",
    }
    assert len({job.manifest for job in jobs}) == len(jobs)


def test_what_is_not_there_or_not_recorded_is_made_by_the_code_of_today(plan):
    assert param(plan, identity(OLD)) == identity(NEW)
    made(ADAPTED, OLD)
    assert param(plan, None, keeps=True) == identity(NEW)


@pytest.mark.parametrize("keeps", [True, False])
def test_the_same_code_runs_nothing_again_whatever_is_recorded(plan, keeps):
    """A job that ran for another reason while code was kept has an older record than code."""
    made(ADAPTED, NEW)
    for last in map(identity, (OLD, NEW)):
        assert param(plan, last, keeps=keeps) == last


def test_other_code_trains_again_but_where_it_is_kept(plan):
    made(ADAPTED, OLD)
    assert param(plan, identity(OLD)) == identity(NEW)
    assert param(plan, identity(OLD), keeps=True) == identity(OLD)
    # What is recorded is today's, and what has trained was not (a file changed back meanwhile).
    assert param(plan, identity(NEW)) not in (identity(OLD), identity(NEW))


def test_a_folder_that_does_not_say_what_made_it_is_older(plan):
    made(ADAPTED, {})
    assert param(plan, identity(OLD)) == identity(NEW)
    made(ADAPTED, OLD)
    (SAVA / ".revocab.json").unlink()  # nobody but Snakemake knows
    assert param(plan, identity(NEW)) == identity(NEW)


def test_what_does_not_last_is_made_again_in_any_case(plan):
    SCORES.parent.mkdir(parents=True)
    SCORES.touch()
    for keeps in (True, False):
        told = param(plan, identity(OLD), "collect_scores", SCORES, keeps=keeps)
        assert told == identity(NEW)


# --- what a person is told ------------------------------------------------------------------------


def report(plan, keeps=True):
    return Kept(plan, keeps, Decisions.read(plan)).report(["--configfile", "a b.yaml"])


def test_a_report_names_runs_files_and_both_commands(plan):
    assert report(plan) == ""
    made(ADAPTED, OLD)
    made(Path("results/small/runs/mistral-instruct/manifest.json"), OLD)
    made(Path("results/small/models/helper/manifest.json"), NEW)
    flags = "--configfile 'a b.yaml'"
    assert report(plan).splitlines()[1:] == [
        "  adapt_model mistral-sava, mistral-instruct: training/loop/trainer.py",
        f"to make them again: revocab rerun mistral-sava mistral-instruct {flags}",
        f"to accept them as made by the current code: revocab accept {flags}",
    ]
    assert report(plan, keeps=False) == ""


def test_what_many_runs_share_is_made_again_by_all(plan):
    made(Path("resources/small/corpora/world-it/manifest.json"), OLD)
    assert "  prepare_corpus world-it: training/loop/trainer.py\n" in report(plan)
    assert "revocab rerun --all --configfile" in report(plan)


def test_a_run_with_other_options_is_not_told(plan):
    """It trains again whatever its code is."""
    made(ADAPTED, OLD)
    job = plan.step("adapt_model", run="mistral-sava").job.model_dump(mode="json")
    for options, told in ((job, True), ({**job, "learning_rate": 1.0}, False)):
        asked = {"command": "train_model", "job": options}
        (SAVA / "job.json").write_text(json.dumps(asked))
        assert ("mistral-sava" in report(plan)) is told


# --- what a person decides ------------------------------------------------------------------------


def test_accepted_code_runs_nothing_again_and_is_not_told(plan):
    made(ADAPTED, OLD)
    SCORES.touch()
    recorded(SCORES, "collect_scores", OLD)
    assert decide.accept(FLAGS).splitlines()[1:3] == [
        "  adapt_model (1): training/loop/trainer.py",
        "  collect_scores (1)",
    ]
    entries = Decisions.read(plan).accepted
    assert [(one.rule, one.code, one.older, one.changed) for one in entries] == [
        ("adapt_model", identity(NEW), (identity(OLD),), ("training/loop/trainer.py",)),
        ("collect_scores", identity(NEW), (identity(OLD),), ()),
    ]
    assert report(plan) == ""
    assert param(plan, identity(OLD)) == identity(OLD)
    assert param(plan, identity(OLD), "collect_scores", SCORES) == identity(OLD)
    assert "nothing to accept" in decide.accept(FLAGS)
    # Another rule's code of the same hash, and code of another day, are not accepted.
    assert param(plan, identity(OLD), "make_tables", SCORES) == identity(NEW)
    made(ADAPTED, {"training/loop/loss.py": "3"})
    assert param(plan, identity(OLD)) == identity(NEW)


def test_rules_are_accepted_one_by_one(plan):
    made(ADAPTED, OLD)
    SCORES.touch()
    recorded(SCORES, "collect_scores", OLD)
    decide.accept(["collect_scores", *FLAGS])
    assert {one.rule for one in Decisions.read(plan).accepted} == {"collect_scores"}
    with pytest.raises(RevocabError, match="did you mean 'adapt_model'"):
        decide.accept(["adapt_modell", *FLAGS])


def test_what_is_equal_to_equal_code_is_equal(plan):
    entries = [
        Accepted(rule="a", code="2", older=("1",)),
        Accepted(rule="a", code="3", older=("2",)),
    ]
    decisions = Decisions(accepted=tuple(entries))
    assert decisions.equal("a", "1", "3") and decisions.equal("a", "3", "1")
    assert not decisions.equal("a", "1", "4") and not decisions.equal("b", "1", "3")
    assert decisions.equal("b", "1", "1")


def test_a_run_that_is_asked_for_is_made_again_once(plan):
    made(ADAPTED, OLD)
    assert "mistral-sava" in decide.rerun(["mistral-sava", *FLAGS])
    assert param(plan, identity(OLD), keeps=True) == identity(NEW)
    assert report(plan) == ""
    made(ADAPTED, NEW)
    assert param(plan, identity(NEW), keeps=True) == identity(NEW)
    assert "nothing to make again" in decide.rerun(["--all", *FLAGS])
    # What is fulfilled is dropped when something else is decided.
    made(Path("results/small/runs/mistral-instruct/manifest.json"), OLD)
    decide.rerun(["mistral-instruct", *FLAGS])
    assert [Path(one.output).parent.name for one in Decisions.read(plan).rerun] == [
        "mistral-instruct"
    ]


def test_a_request_of_code_that_is_back_asks_for_nothing(plan, monkeypatch):
    """Else the run would train again at every start."""
    made(ADAPTED, OLD)
    decide.rerun(["--all", *FLAGS])
    monkeypatch.setattr(kept, "code_now", lambda rule: OLD)
    assert param(plan, identity(OLD)) == identity(OLD)


def test_asking_again_changes_nothing_and_accepting_takes_it_back(plan):
    made(ADAPTED, OLD)
    decide.rerun(["--all", *FLAGS])
    decide.rerun(["mistral-sava", *FLAGS])
    asked = Asked(output=str(ADAPTED), made_by=identity(OLD))
    assert Decisions.read(plan).rerun == (asked,)
    decide.accept(FLAGS)
    assert Decisions.read(plan).rerun == ()
    assert param(plan, identity(OLD), keeps=True) == identity(OLD)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "give the runs to make again, or --all"),
        (["mistral-sava", "--all"], "give the runs to make again, or --all"),
        (["mistral-savva"], "did you mean 'mistral-sava'"),
        (["mistral-instruct"], "mistral-instruct: does not exist yet"),
        (["helper"], "helper: was made by the current code; .* --forcerun results/small/mod"),
        (
            ["mistral-sava"],
            "Snakemake has no record .* snakemake --forcerun results/small/runs/mis",
        ),
    ],
)
def test_what_cannot_be_made_again_says_what_to_do(plan, words, said):
    made(ADAPTED, OLD)
    next(Path(".snakemake/metadata").iterdir()).unlink()
    made(Path("results/small/models/helper/manifest.json"), NEW, "pretrain_stand_in")
    with pytest.raises(RevocabError, match=said):
        decide.rerun([*words, *FLAGS])
    assert not Decisions.file(plan).exists()


def test_a_record_under_a_long_name_is_found(plan):
    long = Path("results/small") / "/".join(["a" * 100] * 3) / "manifest.json"
    made(long, OLD)
    made(Path("results/other/manifest.json"), OLD)
    assert [one.output for one in decide.recorded_outputs(plan)] == [long]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not valid JSON"),
        ('{"accept": []}', "accept: unknown key .allowed: accepted, rerun"),
        ('{"accepted": [{"rule": "adapt_model", "code": "1"}]}', "accepted.0.older: required"),
        ('{"accepted": [{"rule": "train", "code": "1", "older": []}]}', "no rule 'train'"),
        ('{"rerun": [{"output": 1, "made_by": "1"}]}', "rerun.0.output: .* received 1"),
    ],
)
def test_damaged_and_stale_decisions_are_errors(plan, text, said):
    Decisions.file(plan).parent.mkdir(parents=True)
    Decisions.file(plan).write_text(text)
    for use in (lambda: Decisions.read(plan), lambda: decide.accept(FLAGS)):
        with pytest.raises(RevocabError, match=f"results/small/code.json: .*{said}") as raised:
            use()
        assert all("restore the file, or remove it" in one for one in raised.value.problems)
    assert Decisions.file(plan).read_text() == text


def test_the_command_lists_and_runs_both(plan, capsys):
    main(["--help"])
    assert {"rerun", "accept"} <= {
        line.split()[0] for line in capsys.readouterr().out.split("\n") if line
    }
    made(ADAPTED, OLD)
    main(["accept", *FLAGS])
    assert "accepted as made by the current code" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["rerun", "nothing", *FLAGS])
    assert "no run or pretrained model 'nothing'" in capsys.readouterr().err
