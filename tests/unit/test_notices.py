"""What is said of things that go on otherwise than asked, or that ended from outside."""

from __future__ import annotations

import csv
import errno
import os
import signal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from toy_folders import initialise

from revocab.cli import legible
from revocab.corpora import word_splitters
from revocab.errors import RevocabError, ending
from revocab.io import write_csv
from revocab.models.parameters import Architecture, model_config, parameter_names
from revocab.report.results.folder import read_csv
from revocab.report.results.scores import Scores
from revocab.training.machine.engine import training_arguments
from revocab.training.run import Settings, TrainingRun


def test_how_a_process_ended_is_said():
    assert ending(3) == "exit status 3"
    assert ending(-signal.SIGTERM) == "SIGTERM"
    assert ending(-signal.SIGKILL) == "SIGKILL, as where memory runs out"


def end(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_is_killed_is_told_by_its_signal(monkeypatch):
    monkeypatch.setattr(word_splitters, "PARALLEL_CHARACTERS", 0)
    monkeypatch.setattr(word_splitters, "_split", end)
    with pytest.raises(RevocabError, match=r"a process ended \(SIGKILL.*\); use fewer cores"):
        word_splitters.start_splitting(["uno", "due"], "it", "unicode", processes=2)()


def test_fewer_anchors_than_asked_for_are_told(toys, tmp_path, capsys):
    initialise(
        toys / "untied", tmp_path / "out", "sava", {"anchors": 1000},
        target_tokenizer=toys / "target-tokenizer", helper=toys / "helper",
    )  # fmt: skip
    said = capsys.readouterr().err
    assert "anchors: 1,000 asked for, " in said and "input matrix" in said


def test_fsdp_of_one_process_is_told(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    settings = Settings(steps=1, batch_size=1, learning_rate=0.1, checkpoint_every=1, seed=1)
    folders = dict.fromkeys(("model", "packed", "heldout", "out"), tmp_path)
    training_arguments(TrainingRun(**folders, settings=settings, fsdp=True), 1, tmp_path)
    assert capsys.readouterr().err == "--fsdp: nothing is sharded in one process; start several\n"


@pytest.mark.parametrize("rest", ["3,4.5", "3,4.5,1,1\n"])
def test_a_table_that_is_cut_is_told_by_its_line(tmp_path, rest):
    file = tmp_path / "losses.csv"
    file.write_text(f"step,loss,rate\n1,2,3\n{rest}")
    with pytest.raises(RevocabError, match=r"losses\.csv, line 3: not the 3 columns"):
        read_csv(file)


#: Labels, and what stands in a CSV file for them.
LABELS = {
    "=1+1": "'=1+1", "+x": "'+x", "-x": "'-x", "@x": "'@x", "\tx": "'\tx", "'=x": "''=x",
    "''@x": "'''@x", "-1+2": "'-1+2", "-": "'-", "-0.5": "-0.5", "+5": "+5", "-1e-5": "-1e-5",
    "'x": "'x", "x": "x", "": "", "–": "–", "'-5": "''-5", "a=b": "a=b",
}  # fmt: skip


def test_spreadsheets_compute_no_label_and_numbers_stay_numbers(tmp_path):
    rows = [{"label": label, "value": -0.5} for label in LABELS]
    write_csv(tmp_path / "a.csv", ("label", "value"), rows)
    with (tmp_path / "a.csv").open(newline="") as handle:
        stored = [*csv.reader(handle)][1:]
    assert stored == [[cell, "-0.5"] for cell in LABELS.values()]
    assert [row["label"] for row in read_csv(tmp_path / "a.csv")] == [*LABELS]


def test_a_parquet_file_that_is_cut_or_lacks_a_column_is_one_line(tmp_path):
    file = tmp_path / "scores.parquet"
    pq.write_table(pa.table({"run": ["a"] * 1000}), file)
    with pytest.raises(RevocabError, match=r"scores\.parquet: has no column experiment, source"):
        Scores.read(file)
    whole = file.read_bytes()
    for content in (whole[:-20], whole[: len(whole) // 2], b"", b"PAR1", b"x" * 100):
        file.write_bytes(content)
        with pytest.raises(RevocabError, match=r"scores\.parquet: not a readable parquet file"):
            Scores.read(file)
    with pytest.raises(RevocabError, match="no such file"):
        Scores.read(tmp_path / "none.parquet")


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(), OSError(errno.ENOMEM, "Cannot allocate memory"),
        ImportError("libtorch.so: failed to map segment from shared object"),
        ImportError("libx.so: cannot open shared object file: Cannot allocate memory"),
        RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 8 bytes"),
        RuntimeError("can't start new thread"),
    ],
)  # fmt: skip
def test_a_lack_of_memory_is_one_line(capsys, error):
    for raised in (error, RuntimeError("a library could not be imported")):
        with pytest.raises(SystemExit) as ended, legible():
            raise raised from (None if raised is error else error)
        assert ended.value.code == 1
        assert capsys.readouterr().err.startswith("error: memory ran out")


def test_an_error_of_another_kind_is_told_as_it_is():
    with pytest.raises(RuntimeError, match="a fault"), legible():
        raise RuntimeError("a fault of ours")


@pytest.mark.parametrize("family", ["mistral", "llama"])
@pytest.mark.parametrize("tied", [True, False])
def test_the_names_of_parameters_are_those_of_the_model(family, tied):
    import torch
    from transformers import AutoModelForCausalLM

    shape = {"hidden_size": 16, "intermediate_size": 16, "layers": 2, "heads": 2, "kv_heads": 1}
    architecture = Architecture(family=family, tied=tied, **shape)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(model_config(architecture, 10))
        model.tie_weights()
    named = {name for name, _ in model.named_parameters()}
    assert {*parameter_names(architecture)} == named
