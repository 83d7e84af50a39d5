"""Small model folders, and what the tests of adapted folders do with them."""

from __future__ import annotations

import shutil

import torch
from jobs import job_of
from safetensors.torch import load_file, save_file

from revocab.initialise.adapted_model import initialise_model
from revocab.initialise.method import methods
from revocab.initialise.options import InitInputs, InitJob, find_method
from revocab.io import read_json, write_json
from revocab.models.folder import INDEX

#: Options of methods that take longer by default than the rest of a toy.
QUICK = {"sava": {"solver": "lstsq"}}


def initialise(source, out, method, options=None, *, figure=False, **keys):
    """Initialise a model from inputs, settings of the job and the rest, each by its name.

    ``figure``: takes longer than the rest of a toy. ``options``: default is :data:`QUICK`.
    """
    inputs, job = (
        {key: keys.pop(key) for key in list(keys) if key in model.model_fields}
        for model in (InitInputs, InitJob)
    )
    options = QUICK.get(method, {}) if options is None else options
    job = job_of(InitJob, method=method, **options, **job)
    if find_method(method).keeps_vocabulary:
        inputs.pop("target_tokenizer", None)
    initialise_model(InitInputs(source=source, **inputs), job, out, figure=figure, **keys)
    return out


def adapt(toys, out, source="untied", method="fvt", **keys):
    helper = toys / "helper" if methods()[method].needs_helper else None
    if methods()[method].needs_donor:
        keys |= {"adapted": adapted(toys, out.parent / "adapted", source), "base": toys / source}
    keys = {"target_tokenizer": toys / "target-tokenizer", "helper": helper, "seed": 4, **keys}
    return initialise(toys / source, out, method, **keys)


def adapted(toys, out, source):
    return out if out.exists() else adapt(toys, out, source)


def load(folder):
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(folder).eval()


def shared_pairs(toys):
    from revocab.vocabulary.intersection import intersect
    from revocab.vocabulary.tokenizers.load import load_tokenizer

    found = intersect(
        load_tokenizer(toys / "source-tokenizer"), load_tokenizer(toys / "target-tokenizer")
    )
    return torch.tensor(found.target_ids.copy()), torch.tensor(found.source_ids.copy())


def assert_equal_logits(toys, source, out, model=None):
    """Text of copied tokens only: equal logits for copied tokens."""
    target_ids, source_ids = shared_pairs(toys)
    chosen = torch.randperm(len(target_ids), generator=torch.Generator().manual_seed(0))[:24]
    with torch.no_grad():
        expected = load(source)(source_ids[chosen][None]).logits[..., source_ids]
        received = (model or load(out))(target_ids[chosen][None]).logits[..., target_ids]
    assert torch.allclose(received.float(), expected.float(), atol=1e-6)


def shard(source, out):
    shutil.copytree(source, out)
    tensors = load_file(out / "model.safetensors")
    (out / "model.safetensors").unlink()
    names = sorted(tensors)
    weight_map = {}
    for number in range(3):
        file = f"model-{number + 1:05d}-of-00003.safetensors"
        part = {name: tensors[name] for name in names[number::3]}
        save_file(part, out / file, {"format": "pt"})
        weight_map |= dict.fromkeys(part, file)
    size = sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
    write_json(out / INDEX, {"metadata": {"total_size": size}, "weight_map": weight_map})
    return out


def restore(source, out, change):
    """Copy a one-file model folder with its tensors passed through ``change``."""
    shutil.copytree(source, out)
    save_file(change(load_file(out / "model.safetensors")), out / "model.safetensors")
    return out


def cast(source, out, dtype, change=lambda tensors: tensors):
    """Copy a one-file model folder in another dtype, its tensors then passed through ``change``."""

    def converted(tensors):
        return change({name: tensor.to(dtype) for name, tensor in tensors.items()})

    return restore(source, out, converted)


def with_settings(source, out, **settings):
    shutil.copytree(source, out)
    write_json(out / "config.json", {**read_json(out / "config.json"), **settings})
    return out


def padded(tensors, rows):
    changed = dict(tensors)
    for name in ("model.embed_tokens.weight", "lm_head.weight"):
        matrix = tensors[name]
        extra = torch.full((max(rows, 0), matrix.shape[1]), 1e6)
        changed[name] = torch.cat([matrix, extra]) if rows > 0 else matrix[:rows].clone()
    return changed
