"""Export of sharded weights: files, index, tied matrices, refusals, and one tensor at a time."""

from __future__ import annotations

import weakref

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

from revocab.errors import RevocabError
from revocab.io import read_json
from revocab.models.folder import ModelFolder
from revocab.models.load import check_model, load_causal_lm
from revocab.training.checkpoints import export_sharded, sharded_weights

IDS = torch.tensor([[1, 2, 3, 4]])


@pytest.fixture(params=["untied", "tied"])
def source(request, toys):
    return toys / request.param


def exported(model, source, out, **options):
    export_sharded(sharded_weights(model), torch.float32, source, out, writes=True, **options)
    return out


@pytest.mark.parametrize("files", [1, 2, "many"])
def test_the_folder_loads_to_the_same_model(source, tmp_path, files):
    model = AutoModelForCausalLM.from_pretrained(source)
    size = sum(4 * parameter.numel() for parameter in model.parameters())
    file_bytes = {1: size, 2: size - 1, "many": 4000}[files]
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.25)
    out = exported(model, source, tmp_path / "out", file_bytes=file_bytes)
    check_model(out)
    again = load_causal_lm(out, dtype="float32")
    assert torch.equal(again(IDS).logits, model(IDS).logits)
    sizes = [file.stat().st_size for file in out.glob("*.safetensors")]
    assert len(sizes) == files or (files == "many" and len(sizes) > 2)
    assert set(ModelFolder(out).tensors) == set(ModelFolder(source).tensors)
    if len(sizes) > 1:
        index = read_json(out / "model.safetensors.index.json")
        held = {name: file.name for file in out.glob("*.safetensors") for name in load_file(file)}
        assert index["weight_map"] == held


def test_a_process_that_does_not_write_gathers_the_same_and_writes_nothing(source, tmp_path):
    model = AutoModelForCausalLM.from_pretrained(source)
    weights = sharded_weights(model)
    export_sharded(weights, torch.float32, source, tmp_path / "out", writes=False)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("value", "dtype", "reason"),
    [
        (float("nan"), torch.float32, "training diverged"),
        (1e30, torch.float16, "too large for torch.float16"),
    ],
)
def test_weights_that_are_not_finite_are_named_and_not_written(
    source, tmp_path, value, dtype, reason
):
    model = AutoModelForCausalLM.from_pretrained(source)
    with torch.no_grad():
        model.model.norm.weight[1] = value
    with pytest.raises(RevocabError) as caught:
        export_sharded(sharded_weights(model), dtype, source, tmp_path / "out", writes=True)
    (line,) = caught.value.problems
    assert "not finite: model.norm.weight" in line and reason in line
    assert not (tmp_path / "out").exists()


class Shard:
    """Stands in for a tensor that is sharded: whole only when asked, and only one at a time."""

    def __init__(self, tensor, alive):
        self.tensor, self.shape, self.dtype = tensor, tensor.shape, tensor.dtype
        self.alive = alive

    def is_floating_point(self):
        return True

    def to_local(self):
        return self.tensor[:1]

    def full_tensor(self):
        assert not [one for one in self.alive if one() is not None]
        whole = self.tensor.clone()
        self.alive.append(weakref.ref(whole))
        return whole


def test_one_whole_tensor_is_there_at_a_time(source, tmp_path):
    alive: list[weakref.ref] = []
    tensors = load_file(source / "model.safetensors")
    weights = {name: Shard(one, alive) for name, one in tensors.items()}
    export_sharded(weights, torch.float32, source, tmp_path / "out", writes=True)
    assert len(alive) == len(weights)
    ours, theirs = (load_file(one / "model.safetensors") for one in (tmp_path / "out", source))
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
