"""Models made of models: the registry, the experiment file, damaged models, kills."""

from __future__ import annotations

import copy
import subprocess
import sys

import pytest
import yaml
from change_toys import changed, tensors_of
from damaged_models import DAMAGES, damaged
from jobs import job_of
from refusals import problems
from toy_folders import shard

from revocab import __main__ as entry
from revocab.errors import RevocabError
from revocab.experiment import options, validate
from revocab.experiment.layout import Layout
from revocab.marker import read_marker
from revocab.models.change import ChangeJob, change_model
from revocab.models.folder import ModelFolder

BLOCKS = job_of(ChangeJob, change="blocks", share=0.5)


# Models that cannot be used. ---------------------------------------------------------------------


def test_a_damaged_model_and_a_body_without_a_tokenizer_are_refused(toys, tmp_path):
    change, said = DAMAGES["no mlp"]
    wrong = damaged(toys / "untied", tmp_path / "wrong", change)
    bare = shard(toys / "untied", tmp_path / "source")
    (bare / "tokenizer_config.json").unlink()
    for source, problem in ((wrong, said), (bare, "no tokenizer_config.json")):
        with pytest.raises(RevocabError) as caught:
            change_model(BLOCKS, source, tmp_path / "out")
        assert problem in str(caught.value) and not (tmp_path / "out").exists()


# Kills. ------------------------------------------------------------------------------------------

KILLED = """
import os, signal, sys
from pathlib import Path
from revocab.models import change, folder
from revocab.closed import checked
from revocab.models.change import ChangeJob

write_parts, seen = folder.write_parts, []

def killed(out, parts, metadata, advance):
    seen.append(out)
    if len(seen) == 2:
        out.write_bytes(b"half")
        os.kill(os.getpid(), signal.SIGKILL)
    write_parts(out, parts, metadata, advance)

folder.write_parts = killed
job = checked(ChangeJob, sys.argv[1])
change.change_model(job, Path(sys.argv[2]), Path(sys.argv[3]))
"""


@pytest.mark.long
@pytest.mark.parametrize("earlier", [False, True])
def test_a_kill_while_writing_leaves_the_place_as_it_was(toys, tmp_path, earlier):
    source, out = shard(toys / "untied", tmp_path / "source"), tmp_path / "out"
    if earlier:
        changed("blocks", source, out, share=1.0)
    before = tensors_of(out).keys() if earlier else None
    command = [sys.executable, "-c", KILLED, BLOCKS.canonical(), source, out]
    done = subprocess.run(command, check=False, capture_output=True)
    assert done.returncode == -9, done.stderr
    assert out.exists() == earlier
    if earlier:
        assert tensors_of(out).keys() == before
    assert [*tmp_path.glob(".out*")]  # what the killed one left
    change_model(BLOCKS, source, out)
    assert not [*tmp_path.glob(".out*")]
    assert read_marker(out).finished and ModelFolder(out).config["added_blocks"] == [2]


# By hand. ----------------------------------------------------------------------------------------


def test_by_hand_a_change_is_a_verb(toys, tmp_path, capsys):
    words = ["change", "blocks", "--model", toys / "untied", "--share", "0.5"]
    words += ["--out", tmp_path / "out"]
    entry.main([*map(str, words)])
    assert ModelFolder(tmp_path / "out").config["added_blocks"] == [2]
    assert "2 blocks have become 3" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        entry.main([*map(str, words), "--shaer", "3"])
    assert "--shaer. Did you mean --share?" in capsys.readouterr().err


# The experiment file. ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def values(repository):
    return yaml.safe_load((repository / "tests/experiments/small.yaml").read_text())


def with_models(values, **models):
    values = copy.deepcopy(values)
    values["models"] |= {name.replace("_", "-"): model for name, model in models.items()}
    return values


GROWN = {"tokenizer": "source", "blocks": {"model": "mistral", "share": 0.5}}


def test_a_changed_model_is_planned_from_its_model(values):
    values = with_models(values, grown=GROWN, more=grown("grown", 1.0))
    values["runs"]["mistral"]["source"] = "more"
    layout = Layout(experiment := validate(values))
    assert layout.changed == ["grown", "more"] and not layout.fetched
    assert source_of(layout, "more").manifest == "results/small/models/grown/manifest.json"
    job = options.change(experiment, "more")
    assert job == job_of(ChangeJob, change="blocks", share=1.0)
    assert layout.origin("mistral-sava").folder == "results/small/models/more"


def source_of(layout, model):
    """Return the model that another is made of."""
    return layout.referred(layout.experiment.models[model].change()[1].model)


LAST = {"run": "mistral-sava", "step": "last"}


def expanded(step, share=1, tokenizer="target", **run):
    """A model made of a run's checkpoint."""
    model = {**LAST, "step": step, **run}
    return {"laid": {"tokenizer": tokenizer, "blocks": {"model": model, "share": share}}}


def test_a_changed_model_is_planned_from_a_checkpoint(values):
    layout = Layout(validate(with_models(values, **expanded(10))))
    folder = "results/small/runs/mistral-sava"
    source = (f"{folder}/checkpoints/step-000010", f"{folder}/manifest.json")
    assert source_of(layout, "laid") == source


def test_a_run_that_reads_no_helper_is_no_part_of_a_ring(values):
    """The helper of the group is made of one of its runs, which needs none itself."""
    laid = {"tokenizer": "target", "blocks": {"model": {"run": "mistral-fvt"}, "share": 0.5}}
    values = with_models(values, laid=laid)
    values["runs"]["mistral"]["methods"]["fvt"] = {}
    values["runs"]["mistral"]["helper"] = "laid"
    assert Layout(validate(values)).changed == ["laid"]
    laid["blocks"]["model"]["run"] = "mistral-sava"
    values["models"]["laid"] = laid
    (problem,) = problems(values)
    assert "laid from run mistral-sava from laid" in problem


def test_a_run_from_a_model_that_is_made_of_it_is_a_ring(values):
    """Unless it starts from another run: then its group's source model is not read."""
    values = with_models(values, **expanded("last"))
    values["models"]["laid"]["tokenizer"] = "source"
    values["models"]["laid"]["blocks"]["model"]["run"] = "mistral-lapt"
    values["runs"]["mistral"]["methods"]["lapt"] = {}
    values["runs"]["mistral"]["source"] = "laid"
    (line,) = problems(values)
    assert line.startswith("models.laid: made from itself (laid from run mistral-lapt from laid)")
    values["runs"]["other"] = copy.deepcopy(values["runs"]["mistral"]) | {"source": "mistral"}
    values["runs"]["mistral"]["methods"]["lapt"] = {"start": {"run": "other-lapt"}}
    assert Layout(validate(values)).changed == ["laid"]


def grown(model, share=0.5):
    return {"tokenizer": "source", "blocks": {"model": model, "share": share}}


WRONG = {
    "models.laid.blocks.model.run: no run 'mistral-sva'": expanded("last", run="mistral-sva"),
    "models.laid.blocks.model.step: run 'mistral-sava' has no checkpoint 15": expanded(15),
    "models.laid.tokenizer: 'source', but": expanded("last", tokenizer="source"),
    "models.laid.blocks: share 0.3 of 2 blocks is 0.6": expanded("last", share=0.3),
    "models.laid.blocks.model.stp: unknown key": expanded("last", stp=1),
    "models.grown.blocks.model: no model 'mistrl'": {"grown": grown("mistrl")},
    "models.grown: made from itself (grown from grown)": {"grown": grown("grown")},
    "models.grown: made from itself (grown from more from grown)": {
        "grown": grown("more"),
        "more": grown("grown"),
    },
    "models.grown.tokenizer: 'target', but it is made from model 'mistral'": {
        "grown": {**GROWN, "tokenizer": "target"}
    },
    "models.grown.blocks: share 0.3 of 2 blocks is 0.6": {"grown": grown("mistral", 0.3)},
    "models.more.blocks: share 0.5 of 3 blocks is 1.5": {"grown": GROWN, "more": grown("grown")},
    "models.two: exactly one of hub, path, pretrain, ": {"two": {**GROWN, "path": "tests"}},
    "models.grown.blocks.shaer: unknown key": {
        "grown": {"tokenizer": "source", "blocks": {"model": "mistral", "shaer": 1}}
    },
}


@pytest.mark.parametrize(("said", "models"), WRONG.items(), ids=WRONG)
def test_what_cannot_be_is_one_clear_line(values, models, said):
    found = problems(with_models(values, **models))
    assert any(line.startswith(said) for line in found), found
    others = [line for line in found if not line.startswith(said)]
    assert not others or "required and not given" in others[0]


def test_a_context_is_that_of_the_model_that_was_expanded(values):
    values = with_models(values, grown=GROWN)
    values["runs"]["mistral"]["source"] = "grown"
    values["models"]["mistral"]["pretrain"]["context_length"] = 256
    (line,) = problems(values)
    assert line.startswith("models.mistral.pretrain.context_length: 256 tokens, but evaluation")
