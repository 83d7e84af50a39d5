"""``revocab run --check``: what an experiment takes from the Hub, asked for before it runs."""

from __future__ import annotations

from types import SimpleNamespace

import hub_content
import hub_server
import pytest
import yaml

from revocab.config import read
from revocab.plan import Plan
from revocab.workflow import check_hub

PLACES = {
    "corpora.gated.source.hub": "gated",
    "corpora.gone.source.hub": "does not exist",
    "corpora.split.source.hub": "validation",
    "corpora.field.source.hub": "body",
    "corpora.revision.source.hub": "no such revision",
    "models.closed.hub": "gated",
}

FILL = """
from datasets import load_dataset
from huggingface_hub import snapshot_download
snapshot_download("sound/model")
load_dataset("sound/data")
"""


@pytest.fixture
def root(tmp_path):
    """A Hub with a sound data set, a gated one, and two models, one of them gated."""
    root = tmp_path / "hub"
    rows = [{"text": f"Il gatto numero {number}."} for number in range(4)]
    for name in ("sound/data", "gated/data"):
        hub_content.data_set(root / "datasets" / name / "main", {"default": {"train": rows}})
    for name in ("sound/model", "closed/model"):
        folder = root / "models" / name / "main"
        folder.mkdir(parents=True)
        (folder / "config.json").write_text('{"model_type": "llama"}')
    hub_content.gate(root, ["datasets/gated/data", "models/closed/model"])
    return root


def experiment(sound: bool) -> dict:
    corpora = {"sound": {"id": "sound/data"}}
    models = {"sound": "sound/model"}
    if not sound:
        corpora |= {
            "gated": {"id": "gated/data"},
            "gone": {"id": "nobody/data"},
            "split": {"id": "sound/data", "split": "validation"},
            "field": {"id": "sound/data", "fields": {"text": "body"}},
            "revision": {"id": "sound/data", "revision": "f" * 40},
        }
        models |= {"closed": "closed/model"}
    return {
        "experiment": "checked",
        "title": "Checked",
        "seed": 1,
        "corpora": {
            name: {"language": "it", "source": {"hub": hub}} for name, hub in corpora.items()
        },
        "tokenizers": {"sound": {"hub": "sound/model"}},
        "models": {name: {"tokenizer": "sound", "hub": hub} for name, hub in models.items()},
    }


def test_all_that_is_not_there_is_said_at_once(hub, tmp_path):
    file = tmp_path / "experiment.yaml"
    file.write_text(yaml.safe_dump(experiment(sound=False)))
    command = ["-m", "revocab", "run", file, "--check"]
    done = hub_server.run_against(hub, tmp_path / "hf", command)
    assert done.returncode == 1, done.stderr
    lines = [line for line in done.stderr.splitlines() if ".hub:" in line]
    assert len(lines) == len(PLACES), done.stderr
    for place, word in PLACES.items():
        (line,) = (line for line in lines if place in line)
        assert word in line
    assert "datasets/gated/data" in done.stderr  # the page where its terms are accepted


def test_a_sound_experiment_passes_and_then_passes_from_the_cache_alone(hub, tmp_path, monkeypatch):
    file = tmp_path / "experiment.yaml"
    file.write_text(yaml.safe_dump(experiment(sound=True)))
    command = ["-m", "revocab", "run", file, "--check"]
    done = hub_server.run_against(hub, tmp_path / "hf", command)
    assert done.returncode == 0, done.stderr
    assert hub_server.run_against(hub, tmp_path / "hf", ["-c", FILL]).returncode == 0
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    done = hub_server.run_against(hub, tmp_path / "hf", command)
    assert done.returncode == 0, done.stderr
    done = hub_server.run_against(hub, tmp_path / "empty", command)
    assert done.returncode == 1 and "sound/data" in done.stderr and "sound/model" in done.stderr


def test_a_repository_that_was_renamed_is_told(monkeypatch):
    from huggingface_hub import HfApi

    class Renamed:
        id = "inception42/jais-adapted-7b"

    monkeypatch.setattr(HfApi, "repo_info", lambda *_, **__: Renamed())
    entry = check_hub.Needed("models.jais.hub", "model", "inceptionai/jais-adapted-7b", None)
    (notice,) = check_hub.renamed_to(entry)
    assert "models.jais.hub" in notice and Renamed.id in notice


@pytest.mark.parametrize(
    ("paper", "places"),
    [
        ("paper", ["tokenizers.llama.hub", "evaluation.generation.comet_model"]),
        ("vocadt", ["evaluation.multiple_choice.tasks.xnli_en.harness"]),
        ("bilingual", ["evaluation.multiple_choice.tasks.exams_ar.harness"]),
        ("lep", ["evaluation.multiple_choice.tasks.daru_rummlu.template"]),
    ],
)
def test_every_paper_lists_all_that_it_takes(repository, monkeypatch, paper, places):
    monkeypatch.chdir(repository)
    entries = list(check_hub.needed(read(f"config/{paper}.yaml")))
    assert {*places} <= {entry.key for entry in entries}
    asked = [(entry.kind, entry.repository, entry.revision, entry.data) for entry in entries]
    assert len(asked) > 10


def test_a_training_that_is_too_large_for_the_gpus_here_is_named(repository, monkeypatch):
    import torch

    plan = Plan(read(repository / "config/demo.yaml"))
    assert not check_hub.machine_problems(plan)[1]  # no GPU: nothing is known
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    for memory, trainings in ((10**6, len(plan.trained) + len(plan.stand_ins)), (10**10, 0)):
        device = SimpleNamespace(total_memory=memory)
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _, device=device: device)
        lines = check_hub.machine_problems(plan)[1]
        assert len(lines) == trainings and all(" of which 2 have " in line for line in lines)
