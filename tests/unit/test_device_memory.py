"""A device whose memory runs out: one line that names the key which helps, from every command."""

from __future__ import annotations

from importlib import import_module

import pytest
import torch
from evaluation_toys import IT_ROWS, write_model, write_task

from revocab.closed import Job
from revocab.device_memory import explained
from revocab.errors import RevocabError
from revocab.evaluation.generation import comet
from revocab.evaluation.generation.comet import placed
from revocab.evaluation.generation.prompts import prompt_row
from revocab.evaluation.inference.engines.transformers import (
    TimedTransformers,
    TransformersGenerator,
)
from revocab.evaluation.inference.shared_contexts import SharedContextLM
from revocab.evaluation.multiple_choice import harness
from revocab.evaluation.options import (
    CometHardware,
    ScoringHardware,
)
from revocab.io import write_jsonl

#: As torch says it on a GPU.
FULL = (
    "CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of 23.68 GiB of"
    " which 1.19 GiB is free. Including non-PyTorch memory, this process has 22.48 GiB memory in"
    " use. Of the allocated memory 20.00 GiB is allocated by PyTorch."
)


def full(*_, **__):
    raise torch.OutOfMemoryError(FULL)


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported", True),
        ("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", True),
        ("CUDA error: device-side assert triggered", False),
    ],
)
def test_libraries_beside_torch_say_it_in_their_own_words(text, known):
    expected = RevocabError if known else RuntimeError
    with pytest.raises(expected) as caught, explained("r", Job(), ScoringHardware()):
        raise RuntimeError(text)
    assert isinstance(caught.value, RevocabError) is known


class FullComet:
    """unbabel-comet's model, as far as it is asked."""

    def predict(self, samples, **_):
        full()


@pytest.fixture(scope="module")
def given(tmp_path_factory, repository):
    """A model, a task, prompts, their outputs and text, by the flags that name them."""
    folder = tmp_path_factory.mktemp("given")
    harness.quiet()
    model = write_model(folder / "model", context_length=256)
    task = write_task(folder, repository, "arc_easy_it", IT_ROWS, "arc_easy_it")
    row = prompt_row("translation", ["en", "it"], {"id": "0", "en": "a", "it": "b"}, [])
    write_jsonl(folder / "prompts.jsonl", [row])
    made = {"id": "0", "output": "il pane", "references": ["b"]}
    write_jsonl(folder / "generation/step-000000/t.jsonl", [made])
    write_jsonl(folder / "text.jsonl", [{"text": "il fornaio vende il pane " * 9}] * 9)
    (folder / "comet.ckpt").touch()
    efficiency = "--step 0 --corpus c --language it --prompts 2 --prompt-characters 40"
    prompts = f"--prompts t={folder}/prompts.jsonl"
    return {
        "score_multiple_choice": f"--models 0={model} --tasks {task}",
        "generate_text": f"--models 0={model} {prompts} --engine transformers --max-new-tokens 8",
        "measure_efficiency": f"--model {model} --text {folder}/text.jsonl {efficiency}",
        "score_comet": f"--generation {folder}/generation {prompts} --models"
        f" comet22={folder}/comet.ckpt",
    }


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("score_multiple_choice", "{score_multiple_choice: {batch_size: 32}}"),
        ("generate_text", "{generate_text: {batch_size: 16}}"),
        ("score_comet", "{score_comet: {batch_size: 8}}"),
        ("measure_efficiency", "lower batch_size of evaluation.efficiency"),
    ],
)
def test_a_planted_lack_of_memory_is_one_line(given, tmp_path, monkeypatch, capsys, name, said):
    from revocab.cli import call, legible

    monkeypatch.setattr(SharedContextLM, "_model_call", full)
    monkeypatch.setattr(SharedContextLM, "_score", full)
    monkeypatch.setattr(TransformersGenerator, "_generate_batch", full)
    monkeypatch.setattr(TimedTransformers, "run", full)
    monkeypatch.setattr(comet, "comet_version", lambda: "2.2.7")
    usual = comet.Comet
    monkeypatch.setattr(comet, "Comet", lambda *words: usual(*words, _model=FullComet()))
    words = [*given[name].split(), "--run", "r", "--out", str(tmp_path / "out")]
    with pytest.raises(SystemExit) as caught, legible():
        call(import_module(f"revocab.commands.{name}").COMMAND, words, name)
    errors = [line for line in capsys.readouterr().err.splitlines() if "error" in line]
    assert caught.value.code == 1 and len(errors) == 1
    assert errors[0].startswith("error: out of memory on the device") and said in errors[0]


def test_comet_runs_where_the_profile_says(monkeypatch):
    monkeypatch.setattr(comet, "choose_device", str)  # no such GPU here
    assert placed("cpu") == {"gpus": 0} and placed("cuda") == {"gpus": 1}
    assert placed("cuda:2") == {"gpus": 1, "devices": [2]}
    seen = {}

    class Model:
        def predict(self, samples, **named):
            seen.update(named)
            return type("Found", (), {"scores": [0.5]})()

    one = comet.Comet("x.ckpt", CometHardware(device="cuda:1", batch_size=4), _model=Model())
    assert one.score([{"src": "a", "mt": "b", "ref": "c"}]) == [0.5]
    assert (seen["batch_size"], seen["gpus"], seen["devices"]) == (4, 1, [1])
