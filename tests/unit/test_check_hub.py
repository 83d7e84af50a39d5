"""``revocab run --check``: what an experiment takes from the Hub, asked for before it runs."""

from __future__ import annotations

import shutil
from types import SimpleNamespace

import hub_content
import pytest

from revocab.errors import RevocabError
from revocab.experiment import Experiment, read
from revocab.experiment.layout import Layout
from revocab.hub import cached_commit, resolve
from revocab.workflow.check_hub import check_hub, needed
from revocab.workflow.plan import machine_problems

#: Places that are refused, and a word of why.
PLACES = {
    "corpora.gated.source.hub": "gated",
    "corpora.gone.source.hub": "does not exist",
    "corpora.split.source.hub": "validation",
    "corpora.field.source.hub": "body",
    "corpora.revision.source.hub": "no such revision",
    "models.closed.hub": "gated",
}


@pytest.fixture
def root(tmp_path):
    """A data set and a model."""
    root = tmp_path / "hub"
    rows = [{"text": f"Il gatto numero {number}."} for number in range(4)]
    hub_content.data_set(root / "datasets/sound/data/main", {"default": {"train": rows}})
    folder = root / "models/sound/model/main"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text('{"model_type": "llama"}')
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


@pytest.fixture
def refusing(hub, monkeypatch):
    """What the Hub says of a repository: not there, gated, or without the revision."""
    from huggingface_hub import HfApi, errors

    def refused(_, name: str, *, revision: str | None, repo_type: str):
        response = SimpleNamespace(headers={}, request=None)
        if name.startswith("nobody/"):
            raise errors.RepositoryNotFoundError("no", response=response)
        if name.startswith(("gated/", "closed/")):
            raise errors.GatedRepoError("no", response=response)
        raise errors.RevisionNotFoundError("no", response=response)

    monkeypatch.setattr(HfApi, "repo_info", refused)
    monkeypatch.setattr(
        "revocab.hub.cached_commit",
        lambda name, revision, kind: None if revision else cached_commit(name, revision, kind),
    )


def test_all_that_is_not_there_is_said_at_once(refusing):
    with pytest.raises(RevocabError) as caught:
        check_hub(Layout(Experiment(**experiment(sound=False))))
    assert len(caught.value.problems) == len(PLACES)
    for place, word in PLACES.items():
        (line,) = (line for line in caught.value.problems if line.startswith(place))
        assert word in line


def test_a_sound_experiment_passes_from_the_cache_alone(hub):
    layout = Layout(Experiment(**experiment(sound=True)))
    check_hub(layout)
    for folder in hub.iterdir():
        shutil.rmtree(folder)
    resolve.cache_clear()
    with pytest.raises(RevocabError) as caught:
        check_hub(layout)
    said = str(caught.value)
    assert "sound/data" in said and "sound/model" in said


@pytest.mark.parametrize(
    ("paper", "places"),
    [
        ("sava", ["tokenizers.llama.hub", "evaluation.generation.comet_model"]),
        ("vocadt", ["evaluation.multiple_choice.tasks.xnli_en.harness"]),
        ("bilingual", ["evaluation.multiple_choice.tasks.exams_ar.harness"]),
        ("lep", ["evaluation.multiple_choice.tasks.daru_rummlu.template"]),
    ],
)
def test_every_paper_lists_all_that_it_takes(repository, monkeypatch, paper, places):
    monkeypatch.chdir(repository)
    entries = list(needed(read(f"config/{paper}.yaml")))
    assert {*places} <= {entry.key for entry in entries}
    asked = [(entry.kind, entry.repository, entry.revision, entry.data) for entry in entries]
    assert len(asked) > 10


def test_a_training_that_is_too_large_for_the_gpus_here_is_named(repository, monkeypatch):
    import torch

    layout = Layout(read(repository / "config/demos/demo.yaml"))
    assert not machine_problems(layout)[1]  # no GPU: nothing is known
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    for memory, trainings in ((10**6, len(layout.trained) + len(layout.stand_ins)), (10**10, 0)):
        device = SimpleNamespace(total_memory=memory)
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _, device=device: device)
        lines = machine_problems(layout)[1]
        assert len(lines) == trainings and all(" of which 2 have " in line for line in lines)
