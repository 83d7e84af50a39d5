"""The small experiment: the real DAG, from nothing to the report, then nothing to do."""

from __future__ import annotations

import json
import re

import pandas as pd
import pytest
import yaml
from planning import all_jobs
from run_snakemake import succeed

from revocab.io import read_json
from revocab.report.results import Results
from revocab.report.results.heldout_losses import heldout_curve

EXPERIMENT = "tests/experiments/small.yaml"
#: Rules that need a Hub or an environment of their own (test_hub_paper.py runs them), or are run
#: elsewhere (test_model_changes.py, test_building_runs.py); ``job`` is what rules are made of.
ELSEWHERE = {
    "answer_prompts",
    "change_model",
    "count_parameters",
    "drop_checkpoints",
    "fetch_model",
    "judge_answers",
    "measure_heldout",
    "measure_scale",
    "score_comet",
    "train_auxiliary",
    "job",
}


@pytest.fixture(scope="module")
def values(repository) -> dict:
    return yaml.safe_load((repository / EXPERIMENT).read_text())


def test_every_rule_takes_part_in_few_jobs(repository):
    files = [repository / "Snakefile", *(repository / "workflow/rules").glob("*.smk")]
    text = "\n".join(file.read_text() for file in files)
    rules = {*re.findall(r"^(?:rule|checkpoint) (\w+):", text, re.M)}
    rules |= {*re.findall(r"^use rule \w+ as (\w+) ", text, re.M)}
    assert len(rules) > 25
    jobs = all_jobs(repository, EXPERIMENT)
    assert jobs.keys() == rules - ELSEWHERE
    assert sum(jobs.values()) - jobs["all"] <= 41


def test_the_whole_dag_runs_and_every_table_and_figure_is_there(small, values):
    assert read_json(small / "checks.json")["problems"] == 0
    for table in values["tables"]:
        for ending in ("csv", "md", "tex"):
            assert (small / f"tables/{table}.{ending}").stat().st_size > 0
        assert len(pd.read_csv(small / f"tables/{table}.csv")) >= 1
    for figure in values["figures"]:
        for ending in ("svg", "png"):
            assert (small / f"figures/{figure}.{ending}").stat().st_size > 0


def test_the_report_stands_alone_and_has_every_title(small, values):
    report = (small / "report.html").read_text()
    assert 'src="http' not in report and "@import" not in report
    for part in ("tables", "figures"):
        for entry in values[part].values():
            assert entry["title"] in report


def test_scores_are_complete(small, values):
    scores = pd.read_parquet(small / "scores.parquet")
    runs = json.loads((small / "experiment.json").read_text())["runs"]
    assert [run["evaluate"] for run in runs] == [True, True, False]
    for run in runs:
        mine = scores[(scores["run"] == run["id"]) & (scores["metric"] == "acc")]
        steps = run["steps"][1:] if run["trains"] else run["steps"]
        assert set(mine["step"]) == (set(steps) if run["evaluate"] else set())
        if run["evaluate"]:
            assert set(mine["task"]) == values["evaluation"]["multiple_choice"]["tasks"].keys()
            assert mine["value"].between(0, 1).all()


def test_runs_are_compared_item_by_item(small, values):
    compared = pd.read_csv(small / "significance/mistral/significance.csv")
    assert compared["p_holm"].between(0, 1).all()
    assert set(compared["task"]) >= values["evaluation"]["generation"]["tasks"].keys()
    assert set(compared["task"]) >= values["evaluation"]["multiple_choice"]["tasks"].keys()


def test_cost_is_measured_for_the_base_and_an_adapted_model(small):
    found = [read_json(path) for path in sorted(small.glob("efficiency/[!.]*.json"))]
    assert len(found) == 2 and len({one["characters"] for one in found}) == 1
    for one in found:
        assert one["prompt_characters_per_second"] > 0 and one["seconds_per_token"] > 0
    base, adapted = sorted(found, key=lambda one: one["characters_per_token"])
    assert adapted["step"] == 20 and base["step"] == 0


def test_the_target_tokenizer_needs_fewer_tokens_for_italian(small):
    table = pd.read_csv(small / "fertility/fertility.csv").set_index(["tokenizer", "corpus"])
    fertility = table["fertility"]
    assert fertility["target", "world-it"] < 0.8 * fertility["source", "world-it"]


def test_an_adapted_model_loads_and_has_the_target_vocabulary(small):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = small / "runs/mistral-sava/checkpoints/step-000020"
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder)
    rows = model.get_input_embeddings().weight.shape[0]
    assert rows == model.get_output_embeddings().weight.shape[0]
    assert rows == len(tokenizer) == model.config.vocab_size
    assert model.generation_config.eos_token_id == tokenizer.eos_token_id


def test_a_run_tuned_on_answers_ends_with_a_lower_loss_on_them_and_its_template(small):
    results = Results(small)
    rows, _ = results.heldout(results.run("mistral-instruct"))
    loss = {(row["corpus"], row["step"]): row["loss"] for row in rows}
    assert {corpus for corpus, _ in loss} == {"world-it", "world-en", "chat"}
    assert loss["chat", 20] < loss["chat", 0]
    packed = read_json(small / "packed/source--chat--answers/manifest.json")
    assert packed["loss"] == "answers"
    folder = small / "runs/mistral-instruct/checkpoints/step-000020"
    assert (folder / "chat_template.jinja").read_text() == packed["chat_template"]


def test_averages_of_held_out_text_leave_answers_out(small):
    results = Results(small)
    run = results.run("mistral-instruct")
    found = {row["corpus"]: row for row in results.heldout(run)[0] if row["step"] == 20}
    assert heldout_curve(results, run, "en")[20] == found["world-en"]["bits_per_byte"]


def test_a_second_call_has_nothing_to_do(small, repository):
    said = succeed(repository, "--cores", "2", "--configfile", EXPERIMENT)
    assert "Nothing to be done" in said


@pytest.mark.long
def test_what_only_shows_the_dag_needs_no_cores(small, repository, tmp_path):
    experiment = ("--configfile", EXPERIMENT)
    assert "digraph snakemake_dag" in succeed(repository, "--dag", *experiment)
    succeed(repository, "--report", tmp_path / "report.html", *experiment)
    assert "adapt_model" in (tmp_path / "report.html").read_text()


def test_logs_hold_no_traceback(small):
    logs = list((small / "logs").rglob("*.log"))
    assert len(logs) >= 39
    for log in logs:
        assert "Traceback" not in log.read_text(), log
