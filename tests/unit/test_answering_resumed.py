"""Answering and judging that were killed: they go on, and end with the same bytes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from evaluation_toys import write_model
from jobs import job_of
from safetensors.torch import load_file, save_file
from waiting import wait_until

from revocab.__main__ import main
from revocab.corpora.answers.answer import BATCHES, judge_folder, recorded
from revocab.corpora.answers.judges import llm
from revocab.corpora.answers.options import JudgeJob
from revocab.errors import RevocabError
from revocab.evaluation.inference.engines.transformers import TransformersGenerator
from revocab.evaluation.options import AnswerHardware
from revocab.evaluation.records import Records
from revocab.io import write_jsonl
from revocab.training.chat.template import find_template

CHATML = find_template("chatml").read_text(encoding="utf-8")
ROWS = 6 * BATCHES


#: The command line, slow enough to be killed between two batches.
SLOW = """
import sys, time
from revocab.__main__ import main
from revocab.corpora.answers.judges import llm
from revocab.evaluation.inference.engines.transformers import TransformersGenerator

def slow(method):
    def later(*arguments):
        time.sleep(0.05)
        return method(*arguments)
    return later

llm.grade = lambda answer: 3
TransformersGenerator._generate_batch = slow(TransformersGenerator._generate_batch)
main(sys.argv[1:])
"""


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    """Give this process and those that it starts one thread, so that both round alike."""
    import torch

    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """A chat model, and conversations, answered ones."""
    folder = tmp_path_factory.mktemp("given")
    write_model(folder / "chat", context_length=512, chat_template=CHATML)
    rows = [
        {
            "id": f"c{n}",
            "messages": [
                {"role": "user", "content": f"Chi vende il pane {'e il gatto' * (n % 3)} {n}?"},
                {"role": "assistant", "content": "nessuno" * (1 + n % 5)},
                {"role": "user", "content": "e poi?"},
                {"role": "assistant", "content": "la città"},
            ],
        }
        for n in range(ROWS)
    ]
    write_jsonl(folder / "rows.jsonl", rows)
    return folder


def words_of(verb, given):
    """Return the words of a verb without ``--out``."""
    rows, machine = str(given / "rows.jsonl"), ["--device", "cpu", "--batch-size", "1"]
    model = ["--model", str(given / "chat")]
    if verb == "answer":
        return [
            "answer", *model, "--files", rows, "--engine", "transformers",
            "--max-new-tokens", "8", "--context-length", "512", *machine,
        ]  # fmt: skip
    return [
        "judge", "llm", *model, "--conversations", rows, "--engine", "transformers",
        "--threshold", "1", "--context-length", "512", *machine,
    ]  # fmt: skip


def records(out):
    return sorted(out.with_name(f".{out.name}.part").glob("records/*.json"))


def content(out):
    return {one.relative_to(out): one.read_bytes() for one in out.rglob("*") if one.is_file()}


@pytest.mark.long
@pytest.mark.parametrize("verb", ["answer", "judge"])
def test_a_killed_process_is_gone_on_with_and_gives_the_same_bytes(
    verb, given, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(llm, "grade", lambda answer: 3)  # pico weights write no numbers
    main([*words_of(verb, given), "--out", str(tmp_path / "whole")])
    assert not records(tmp_path / "whole")
    out = tmp_path / "killed"
    command = [sys.executable, "-c", SLOW, *words_of(verb, given), "--out", str(out)]
    process = subprocess.Popen(command)
    wait_until(lambda: bool(records(out)), process)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not out.exists()
    kept = {one: one.stat().st_mtime_ns for one in records(out)}
    assert 0 < len(kept) < ROWS // BATCHES
    capsys.readouterr()
    main([*words_of(verb, given), "--out", str(out)])
    assert f"{len(kept) * BATCHES} of {ROWS} prompts were" in capsys.readouterr().err
    assert content(out) == content(tmp_path / "whole")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["killed", "whole"]


def test_pieces_are_whole_batches_and_recorded_under_what_made_them(tmp_path):
    made = []

    def doubled(prompts):
        made.append([len(one) for one in prompts])
        return [2 * len(one) for one in prompts]

    prompts = [[7] * length for length in [3, 1, *range(4, 4 + 2 * BATCHES)]]
    made_from = Records(tmp_path), {"model": "a"}, 2
    wanted = [2 * len(one) for one in prompts]
    assert recorded(*made_from, prompts, doubled) == wanted
    longest = 2 * BATCHES + 3
    assert made == [[*range(longest, 3, -1)], [3, 1]]
    assert recorded(*made_from, prompts, doubled) == wanted
    assert len(made) == 2
    recorded(Records(tmp_path), {"model": "b"}, 2, prompts[:1], doubled)
    assert made[2:] == [[3]]


def test_a_judge_without_a_tensor_is_one_error_before_any_work(given, tmp_path):
    model = tmp_path / "model"
    write_model(model, context_length=512, chat_template=CHATML)
    tensors = load_file(model / "model.safetensors")
    del tensors["model.layers.1.mlp.up_proj.weight"]
    save_file(tensors, model / "model.safetensors", metadata={"format": "pt"})
    job = job_of(JudgeJob, kind="llm", engine="transformers")
    with pytest.raises(RevocabError, match=r"layers\.1\.mlp\.up_proj\.weight") as caught:
        judge_folder(
            given / "rows.jsonl", model, job, AnswerHardware(device="cpu"), tmp_path / "out"
        )
    assert len(caught.value.problems) == 1
    assert [one.name for one in tmp_path.iterdir()] == ["model"]


def test_another_threshold_needs_no_new_grades(given, tmp_path, monkeypatch):
    machine, out = AnswerHardware(device="cpu"), tmp_path / "out"
    monkeypatch.setattr(llm, "grade", lambda answer: 3)

    def judge(threshold):
        option = {"engine": "transformers", "threshold": threshold, "context_length": 512}
        job = job_of(JudgeJob, kind="llm", **option)
        judge_folder(given / "rows.jsonl", given / "chat", job, machine, out)

    with pytest.raises(RevocabError, match="keeps none of"):
        judge(4)
    assert records(out)
    monkeypatch.delattr(TransformersGenerator, "generate")
    judge(3)
    assert [one.name for one in tmp_path.iterdir()] == ["out"]
