"""Settings and tokenizers from strangers: numbers that take the machine, code to fetch, escapes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from toy_folders import adapt, initialise

from revocab.errors import RevocabError
from revocab.io import read_json, write_json
from revocab.models.folder import ModelFolder
from revocab.models.load import _kernels, load_causal_lm
from revocab.models.shape import load_shape
from revocab.product.check.kind import look_at

HEAD = "lm_head.weight"


# Settings and tokenizers that take the machine, or end in the middle. ----------------------------


def set_keys(name, **values):
    """Set keys of a JSON file, as a careless program writes them: with NaN."""
    return lambda folder: (folder / name).write_text(
        json.dumps({**read_json(folder / name), **values})
    )


def edit_tokenizer(change):
    def changed(folder):
        content = read_json(folder / "tokenizer.json")
        change(content["model"]["vocab"], content)
        write_json(folder / "tokenizer.json", content)

    return changed


def scale(name, factor):
    def scaled(folder):
        tensors = load_file(folder / "model.safetensors")
        tensors[name] = tensors[name] * factor
        save_file(tensors, folder / "model.safetensors", {"format": "pt"})

    return scaled


def add_token(number):
    return lambda _, content: content["added_tokens"].append(
        {**content["added_tokens"][0], "content": "<far>", "id": number}
    )


CONFIG, TOKENS = "config.json", "tokenizer.json"
#: What is done to a sound folder, and what the line that refuses it names.
TAKES_ALL = {
    "layers": (set_keys(CONFIG, num_hidden_layers=10**9), "num_hidden_layers is 1000000000"),
    "layers, not a whole number": (set_keys(CONFIG, num_hidden_layers=1e9), "1000000000.0"),
    "layers of another name": (set_keys(CONFIG, n_layer=10**9), "n_layer is"),
    "layers of a part": (set_keys(CONFIG, text_config={"num_layers": 10**9}), "text_config: num_l"),
    "heads": (set_keys(CONFIG, num_attention_heads=10**15), "num_attention_heads is"),
    "experts": (set_keys(CONFIG, num_local_experts=10**9), "num_local_experts is"),
    "width": (set_keys(CONFIG, hidden_size=10**12), "hidden_size is 1000000000000"),
    "rows": (set_keys(CONFIG, vocab_size=10**15), "vocab_size is"),
    "positions": (set_keys(CONFIG, max_position_embeddings=10**18), "max_position_embeddings is"),
    "NaN": (set_keys(CONFIG, rms_norm_eps=float("nan")), "NaN is no finite number"),
    "infinity": (set_keys(CONFIG, rope_theta=float("inf")), "Infinity is no finite number"),
    "NaN in a file beside it": (
        set_keys("generation_config.json", temperature=float("nan")), "NaN is no finite number",
    ),
    "an id": (edit_tokenizer(lambda vocab, _: vocab.update(far=2**32 - 1)), "4,294,967,295 ('fa"),
    "an id of an added token": (edit_tokenizer(add_token(2**32 - 1)), "4,294,967,295 ('<far>')"),
    "no token": (
        edit_tokenizer(lambda vocab, content: content.update(
            added_tokens=[], model={**content["model"], "vocab": {}, "merges": []})),
        "has no token",
    ),
    "no token but special ones": (
        edit_tokenizer(lambda vocab, content: content["model"].update(vocab={}, merges=[])),
        "no tokenizer could be loaded",
    ),
    "a template that is a number": (
        set_keys("tokenizer_config.json", chat_template=5), "chat_template is 5",
    ),
    "a length that is text": (
        set_keys("tokenizer_config.json", model_max_length="x"), "no tokenizer could be loaded",
    ),
    "huge weights": (scale("model.embed_tokens.weight", 1e30), "embed_tokens.weight has values up"),
    "huge weights of the head": (scale(HEAD, 1e20), "lm_head.weight has values up to"),
}  # fmt: skip


@pytest.mark.parametrize("case", TAKES_ALL)
def test_what_would_take_the_machine_is_one_line(toys, tmp_path, case):
    change, named = TAKES_ALL[case]
    source = shutil.copytree(toys / "untied", tmp_path / "source")
    if not (source / "generation_config.json").exists():
        write_json(source / "generation_config.json", {})
    change(source)
    with pytest.raises(RevocabError) as refused:
        initialise(source, tmp_path / "out", "fvt", target_tokenizer=toys / "target-tokenizer")
    assert named in str(refused.value) and "\n" not in str(refused.value)
    assert not (tmp_path / "out").exists()
    try:
        found = look_at(source)  # says so, or what else it can of such a folder
    except RevocabError as error:
        assert named in str(error)
    else:
        if case.startswith("huge"):
            return
        assert {finding.severity for finding in found} & {"error", "warning"}, found


def test_names_of_strangers_move_no_cursor():
    error = RevocabError(["a\x1b[31mb\x9b2J", "c\nd\u202e"])
    shown = error.render()
    assert shown.count("\n") == 2 and shown.endswith("c d\\u202e")
    assert "a\\x1b[31mb\\x9b2J" in shown and "\x1b" not in shown


# Code that transformers would fetch. --------------------------------------------------------------

KERNEL = "somebody/kernel@main:layer"


@pytest.mark.parametrize(
    "keys",
    [
        {"_attn_implementation": KERNEL},
        {"attn_implementation": KERNEL},
        {"_attn_implementation": "flash_attention_3"},
        {"attn_implementation": {"": KERNEL, "text_config": KERNEL}},
        {"_attn_implementation_internal": KERNEL},
        {"_experts_implementation": KERNEL},
        {"experts_implementation": "sonicmoe"},
        {"use_kernels": True, "allow_all_kernels": True, "kernel_config": {"RMSNorm": KERNEL}},
        {"auto_map": {"AutoModelForCausalLM": "modeling.Own", "AutoConfig": "modeling.Config"}},
    ],
)
def test_no_key_names_code_to_compute_with(toys, tmp_path, monkeypatch, keys):
    """Nothing is fetched or run, and the model computes what it did."""
    from transformers.integrations import hub_kernels

    def fetched(*_, **__):
        pytest.fail("a kernel was fetched")

    for name in ("get_kernel", "load_and_register_attn_kernel", "lazy_load_kernel"):
        monkeypatch.setattr(hub_kernels, name, fetched)
    source = Path(shutil.copytree(toys / "untied", tmp_path / "source"))
    (source / "modeling.py").write_text("raise SystemExit('code of the model was run')")
    write_json(source / "config.json", {**read_json(source / "config.json"), **keys})
    ids = torch.arange(5)[None]
    with torch.no_grad():
        expected, *received = (
            load_causal_lm(folder, dtype="float32")(ids).logits
            for folder in (toys / "untied", source, adapt(toys, tmp_path / "out", source))
        )
    assert torch.equal(received[0], expected) and received[1].isfinite().all()
    assert load_shape(source).config._attn_implementation in ("sdpa", "eager")


@pytest.mark.parametrize("installed", [True, False])
def test_quantisation_that_fetches_kernels_is_refused(toys, tmp_path, monkeypatch, installed):
    source = Path(shutil.copytree(toys / "untied", tmp_path / "source"))
    quantised = {"quantization_config": {"quant_method": "mxfp4"}}
    write_json(source / "config.json", {**read_json(source / "config.json"), **quantised})
    monkeypatch.setattr(
        "transformers.utils.import_utils.is_kernels_available", lambda *_: installed
    )
    found = [one.code for one in _kernels(ModelFolder(source))]
    assert found == ["fetched-kernels"] * installed
    if installed:
        with pytest.raises(RevocabError, match="quant_method 'mxfp4'"):
            load_causal_lm(source, dtype="float32")
