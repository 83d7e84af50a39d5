"""Scoring of many checkpoints: the table, shared contexts, resuming, errors."""

from __future__ import annotations

import csv
import random
from types import SimpleNamespace

import pytest
import torch
import yaml
from evaluation_toys import IT_ROWS, write_model, write_task

from revocab.errors import RevocabError
from revocab.evaluation.inference import shared_contexts
from revocab.evaluation.inference.shared_contexts import SharedContext, segment_mask
from revocab.evaluation.multiple_choice import harness, scoring
from revocab.evaluation.multiple_choice.scoring import Scorer, score_checkpoints
from revocab.evaluation.options import Scoring
from revocab.io import read_json, read_jsonl, write_json

XCOPA = [
    {"id": f"{i}", "context": "Piove.", "question": kind, "choices": ["Corre.", "È qui."],
     "answer": 1}
    for i, kind in enumerate(("cause", "effect", "cause"))
]  # fmt: skip


@pytest.fixture(scope="module")
def workplace(tmp_path_factory, repository):
    """Two checkpoints and two tasks."""
    folder = tmp_path_factory.mktemp("scoring")
    for step in (0, 5):
        write_model(folder / f"step-{step:06d}", seed=step)
    tasks = [
        write_task(folder, repository, "arc_easy_it", IT_ROWS, "arc_easy_it"),
        write_task(folder, repository, "xcopa_it", XCOPA, "xcopa_it"),
    ]
    models = {step: folder / f"step-{step:06d}" for step in (5, 0)}
    return folder, models, tasks


def read(path):
    with path.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def test_table(workplace, tmp_path, capsys):
    _, models, tasks = workplace
    out = tmp_path / "scores.csv"
    score_checkpoints("mistral-sava", models, tasks, out, Scoring())
    rows = read(out)
    assert list(rows[0]) == list(scoring.COLUMNS)
    assert [(row["step"], row["task"], row["metric"]) for row in rows] == [
        (step, task, metric)
        for step in ("0", "5")
        for task in ("arc_easy_it", "xcopa_it")
        for metric in ("acc", "acc_norm")
    ]
    known = ("run", "items", "limit", "task_version", "cut_prompts")
    assert {tuple(row[name] for name in known) for row in rows} == {
        ("mistral-sava", items, "", "1.0", "0") for items in ("12", "3")
    }
    assert "mistral-sava step 5: 2 tasks" in capsys.readouterr().err
    first = out.read_bytes()
    score_checkpoints("mistral-sava", models, tasks, out, Scoring())
    assert out.read_bytes() == first
    items = tmp_path / "scores_items.jsonl.gz"
    assert sorted(tmp_path.iterdir()) == [tmp_path / ".scores.csv.records", out, items]
    for row, kept in zip(rows, read_jsonl(items), strict=True):
        assert [row[name] for name in ("step", "task", "metric")] == [
            str(kept[name]) for name in ("step", "task", "metric")
        ]
        assert sum(kept["values"]) / len(kept["values"]) == pytest.approx(float(row["value"]))
        assert float(row["low"]) <= float(row["value"]) <= float(row["high"])
        assert row["data_revision"].startswith("sha256:")
    assert len({row["config_hash"] for row in rows}) == 2


def test_another_limit_is_scored_anew_and_recorded(workplace, tmp_path):
    _, models, tasks = workplace
    tables = []
    for limit in (2, None):
        out = tmp_path / "s.csv"
        score_checkpoints("r", {5: models[5]}, tasks, out, Scoring(limit=limit))
        tables.append(read(out))
    limited, whole = ({row["config_hash"] for row in rows} for rows in tables)
    assert {(row["items"], row["limit"]) for row in tables[0]} == {("2", "2")}
    assert {row["items"] for row in tables[1]} == {"12", "3"} and whole.isdisjoint(limited)


def test_the_config_hash_does_not_know_paths(workplace, tmp_path, repository):
    _, _, tasks = workplace
    moved = write_task(tmp_path, repository, "arc_easy_it", IT_ROWS, "arc_easy_it")
    hashes = []
    for task in (tasks[0], moved):
        scorer = Scorer([task], Scoring())
        hashes.append(scoring.config_hash(task, scorer.tasks["arc_easy_it"], Scoring()))
    assert hashes[0] == hashes[1]


@pytest.mark.parametrize(
    ("own", "options", "counted"),
    [
        (3, {"shots": 1}, 3),
        (None, {"shots": 2}, 2),
        (None, {"shots": 3, "most_shots": 5}, 3),
        (None, {"shots": 3, "most_shots": 2}, 2),
        (3, {"shots": 3, "most_shots": 0}, 0),
    ],
)
def test_shots_are_the_tasks_own_and_other_rows(workplace, tmp_path, own, options, counted):
    """And no more than a run group has."""
    _, _, tasks = workplace
    config = yaml.safe_load(tasks[0].read_text(encoding="utf-8")) | {"task": "own"}
    path = tmp_path / "own.yaml"
    path.write_text(yaml.safe_dump(config | ({"num_fewshot": own} if own else {})))
    (task,) = Scorer([path], Scoring(**options)).tasks["own"]["tasks"].values()
    task.build_all_requests()
    for request in task.instances:
        context = request.args[0]
        assert context.count("Risposta:") == counted + 1
        assert context.count(f"Domanda: {request.doc['question']}\n") == 1


def log_likelihoods(folder, tasks, *, share_contexts, batch_size=5):
    scorer = Scorer(tasks, Scoring(batch_size=batch_size, device="cpu", long_prompts="cut"))
    model = scorer.load(folder)
    model.shares_contexts &= share_contexts
    found = []
    for loaded in scorer.tasks.values():
        for task in loaded["tasks"].values():
            task.build_all_requests()
            found += model.loglikelihood(task.instances)
    return model, found


@pytest.mark.parametrize("context", [256, 40])
def test_shared_contexts_change_nothing_and_too_long_requests_go_the_harness_way(
    tmp_path, workplace, monkeypatch, context
):
    """In batches of so many tokens on a CPU, without such a limit on a GPU."""
    _, _, tasks = workplace
    path = write_model(tmp_path / "model", seed=5, context_length=context)
    plain_model, plain = log_likelihoods(path, tasks, share_contexts=False)
    assert (plain_model.truncated > 0) == (context == 40)
    for tokens, size in ((shared_contexts.CPU_TOKENS, 1), (float("inf"), 64)):
        monkeypatch.setattr(shared_contexts, "CPU_TOKENS", tokens)
        model, shared = log_likelihoods(path, tasks, share_contexts=True, batch_size=size)
        assert model.shares_contexts and not plain_model.shares_contexts
        assert model.truncated == plain_model.truncated < len(plain)
        torch.testing.assert_close(torch.tensor(shared), torch.tensor(plain), rtol=1e-5, atol=1e-4)


def test_too_long_prompts_are_refused_unless_cutting_is_allowed(tmp_path, workplace):
    _, _, tasks = workplace
    model = {0: write_model(tmp_path / "short", context_length=40)}
    out = tmp_path / "s.csv"
    with pytest.raises(RevocabError) as caught:
        score_checkpoints("r", model, tasks, out, Scoring())
    assert "task arc_easy_it: " in str(caught.value)
    assert "longer than the 41 tokens" in str(caught.value)
    assert "long_prompts: cut" in str(caught.value)
    allowed = Scoring(long_prompts="cut")
    score_checkpoints("r", model, tasks, out, allowed)
    assert int(read(out)[0]["cut_prompts"]) > 0


def test_a_sliding_window_is_not_shared(tmp_path, workplace):
    _, _, tasks = workplace
    path = write_model(tmp_path / "window")
    write_json(path / "config.json", {**read_json(path / "config.json"), "sliding_window": 16})
    model, _ = log_likelihoods(path, tasks, share_contexts=True)
    assert not model.shares_contexts


def test_row_layout():
    row = SharedContext([7, 8, 9], [(0, [1]), (1, [2]), (2, [3, 4, 5]), (3, [3, 4, 6])])
    tokens, positions, segments, found = row.layout()
    assert tokens == [7, 8, 9, 3, 4]
    assert positions == [0, 1, 2, 3, 4]
    assert segments == [0, 0, 0, 2, 2]
    assert found == {(): [2], (3, 4): [2, 3, 4]}


def test_segment_mask_by_hand():
    seen = segment_mask(torch.tensor([[0, 0, 1, 2, -1]]), torch.float32)[0, 0] == 0
    assert seen.int().tolist() == [
        [1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [1, 1, 1, 0, 0],
        [1, 1, 0, 1, 0],
        [1, 1, 0, 0, 1],
    ]


def test_a_killed_evaluation_continues(workplace, tmp_path, monkeypatch):
    _, models, tasks = workplace
    whole = tmp_path / "whole.csv"
    score_checkpoints("r", models, tasks, whole, Scoring())
    out, scored = tmp_path / "scores.csv", []
    score = Scorer.score

    def interrupted(self, model, name):
        if len(scored) == 3:
            raise KeyboardInterrupt
        scored.append(name)
        return score(self, model, name)

    monkeypatch.setattr(Scorer, "score", interrupted)
    with pytest.raises(KeyboardInterrupt):
        score_checkpoints("r", models, tasks, out, Scoring())
    assert not out.exists()
    monkeypatch.setattr(Scorer, "score", lambda *a: scored.append(a[2]) or score(*a))
    score_checkpoints("r", models, tasks, out, Scoring())
    assert scored == ["arc_easy_it", "xcopa_it", "arc_easy_it", "xcopa_it"]
    assert out.read_bytes() == whole.read_bytes()
    score_checkpoints("r", models, tasks, out, Scoring())
    assert len(scored) == 4  # all of it is on record


def test_every_bad_argument_is_listed(workplace, tmp_path):
    _, models, tasks = workplace
    given = {0: models[0], 1: tmp_path}, [tasks[0], tasks[0], tmp_path / "absent.yaml"]
    with pytest.raises(RevocabError) as caught:
        score_checkpoints("r", *given, tmp_path / "s.csv", Scoring())
    text = "\n".join(caught.value.problems)
    assert f"{tmp_path}: not a model folder" in text
    assert "absent.yaml: no such file" in text
    assert "'arc_easy_it' is given twice" in text


@pytest.mark.parametrize("near", [[], ["arc_easy"]])
def test_unknown_harness_task_is_named(near):
    manager = SimpleNamespace(task_index=dict.fromkeys(near))
    with pytest.raises(RevocabError) as caught:
        harness.load_task(manager, "t.yaml", {"harness": "arc_eazy"}, 0)
    assert str(caught.value).startswith("t.yaml: ") and "'arc_eazy'" in str(caught.value)
    assert ("'arc_easy'" in str(caught.value)) == bool(near)


def test_unweighted_mean_over_subjects(workplace, tmp_path, repository):
    """Subjects of unlike size count alike, as for ITA-Bench's MMLU."""
    folder, _, _ = workplace
    rows = [{**row, "subject": "ab"[i >= 9]} for i, row in enumerate(IT_ROWS)]
    random.Random(0).shuffle(rows)
    path = write_task(tmp_path, repository, "mmlu_it", rows, "mmlu_it")
    config = yaml.safe_load(path.read_text())
    config["metadata"]["mean_over"] = "subject"
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    parts = [
        write_task(tmp_path, repository, f"p_{part}", chosen, "mmlu_it")
        for part in "ab"
        if (chosen := [row for row in rows if row["subject"] == part])
    ]
    out = tmp_path / "s.csv"
    model = {0: folder / "step-000005"}
    score_checkpoints("r", model, [path, *parts], out, Scoring())
    acc = {row["task"]: row for row in read(out) if row["metric"] == "acc"}
    assert acc["mmlu_it"]["items"] == "12"
    mean = (float(acc["p_a"]["value"]) + float(acc["p_b"]["value"])) / 2
    assert float(acc["mmlu_it"]["value"]) == pytest.approx(mean)
