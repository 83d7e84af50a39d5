"""Folders in, folders out: adapted models reload, change nothing else, and keep their layout."""

from __future__ import annotations

import shutil

import pytest
import torch
from method_inputs import CHANGING
from safetensors.torch import load_file, save_file
from toy_folders import (
    adapt,
    assert_equal_logits,
    cast,
    initialise,
    load,
    padded,
    restore,
    shard,
    shared_pairs,
    with_settings,
)

from revocab.errors import RevocabError
from revocab.initialise.method import methods
from revocab.initialise.rows.source_weights import NEW_ROWS, read_new_rows
from revocab.io import read_json, write_json
from revocab.models.fetch import FetchJob, fetch_model
from revocab.models.folder import INDEX, ModelFolder
from revocab.models.load import load_causal_lm
from revocab.models.weights import read_header, replaced_parts, write_parts


@pytest.mark.parametrize(
    ("source", "method"),
    [
        *(("untied", method) for method in CHANGING),
        ("tied", "fvt"),
        ("tied", "sava"),
        ("tied", "lep"),
    ],
)
def test_every_method_gives_a_model_that_works(toys, tmp_path, source, method):
    """Reloads, equal logits on copied tokens, one row a token, and generation ends at eos."""
    from transformers import AutoTokenizer

    out = adapt(toys, tmp_path / "out", source, method)
    model, tokenizer = load(out), AutoTokenizer.from_pretrained(out)
    if methods()[method].copies_overlap:
        assert_equal_logits(toys, toys / source, out, model)
    assert len(tokenizer) == model.config.vocab_size == len(model.get_input_embeddings().weight)
    assert len(model.get_output_embeddings().weight) == len(tokenizer)
    prompt = tokenizer("il gatto", return_tensors="pt").input_ids
    wanted = [*prompt[0].tolist(), 7, 8, tokenizer.eos_token_id]

    def answer(received, scores):  # the model's own scores, but for the token that is to come
        scores[:, wanted[received.shape[1]]] = 1e9
        return scores

    written = model.generate(prompt, max_new_tokens=9, do_sample=False, logits_processor=[answer])
    assert written[0].tolist() == wanted


@pytest.mark.parametrize("source", ["untied", "tied"])
def test_only_the_vocabulary_changes(toys, tmp_path, source):
    from transformers import AutoTokenizer

    out = adapt(toys, tmp_path / "out", source, "sava")
    before = load_file(toys / source / "model.safetensors")
    after = load_file(out / "model.safetensors")
    assert before.keys() == after.keys()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    expected = {"model.embed_tokens.weight", "lm_head.weight"}
    assert changed == (expected if source == "untied" else {"model.embed_tokens.weight"})

    tokenizer = AutoTokenizer.from_pretrained(out)
    model = load(out)
    rows = len(model.get_input_embeddings().weight)
    assert rows == len(tokenizer) == model.config.vocab_size
    assert model.config.tie_word_embeddings == (source == "tied")
    for config in (model.config, model.generation_config):
        assert config.bos_token_id == tokenizer.bos_token_id
        assert config.eos_token_id == tokenizer.eos_token_id
        assert config.pad_token_id == tokenizer.pad_token_id
    target = (toys / "target-tokenizer" / "tokenizer.json").read_bytes()
    assert (out / "tokenizer.json").read_bytes() == target


def test_same_inputs_same_bytes(toys, tmp_path):
    first, second = (
        adapt(toys, tmp_path / name, method="sava", options={"steps": 50}, figure=True)
        for name in ("a", "b")
    )
    for file in first.iterdir():
        assert file.read_bytes() == (second / file.name).read_bytes(), file.name
    assert str(tmp_path) not in (first / "manifest.json").read_text()


# Layouts of the source. --------------------------------------------------------------------------


def test_shards_are_rewritten_or_linked(toys, tmp_path):
    source = shard(toys / "untied", tmp_path / "sharded")
    initialise(source, tmp_path / "out", "fvt", target_tokenizer=toys / "target-tokenizer", seed=4)
    adapt(toys, tmp_path / "whole")
    expected = load(tmp_path / "whole").state_dict()
    received = load(tmp_path / "out").state_dict()
    assert all(torch.equal(expected[name], received[name]) for name in expected)
    model = ModelFolder(tmp_path / "out")
    index = read_json(tmp_path / "out" / INDEX)
    stored = {name: model.read(name) for name in model.tensors}
    assert index["metadata"]["total_size"] == sum(
        tensor.numel() * tensor.element_size() for tensor in stored.values()
    )
    changed = {model.tensors[name][0] for name in model.vocabulary_tensors.values()}
    for file in model.files:
        same = (tmp_path / "out" / file).samefile(source / file)
        assert same == (file not in changed)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_shards_keep_the_stored_dtype(toys, tmp_path, dtype):
    """New rows are computed in float32 from the stored ones, and rounded once."""
    named = str(dtype).removeprefix("torch.")
    cut = cast(toys / "untied", tmp_path / "cut", dtype)
    narrow = with_settings(cut, tmp_path / "narrow", dtype=named)
    wide = cast(narrow, tmp_path / "wide", torch.float32)
    source = shard(narrow, tmp_path / "sharded")
    out = adapt(toys, tmp_path / "out", source, "sava", options={"solver": "lstsq"})
    exact = adapt(toys, tmp_path / "exact", wide, "sava", options={"solver": "lstsq"})
    model, expected = ModelFolder(out), load_file(exact / "model.safetensors")
    stored = {name: model.read(name) for name in model.tensors}
    assert {tensor.dtype for tensor in stored.values()} == {dtype}
    for name, rows in stored.items():
        assert torch.equal(rows, expected[name].to(dtype)), name
    assert read_json(out / "config.json")["dtype"] == named
    assert load(out).dtype == dtype


def test_padding_rows_are_cut_and_count_for_nothing(toys, tmp_path):
    rows = restore(toys / "untied", tmp_path / "rows", lambda tensors: padded(tensors, 13))
    size = read_json(rows / "config.json")["vocab_size"] + 13
    source = with_settings(rows, tmp_path / "padded", vocab_size=size)
    for method in ("mean", "sava"):
        out = adapt(toys, tmp_path / f"out-{method}", source, method)
        plain = adapt(toys, tmp_path / f"plain-{method}", "untied", method)
        weights = [load_file(folder / "model.safetensors") for folder in (out, plain)]
        assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[1])
        assert read_json(out / "config.json")["vocab_size"] == len(weights[0]["lm_head.weight"])


def test_fewer_rows_than_tokens_are_refused(toys, tmp_path):
    source = restore(toys / "untied", tmp_path / "short", lambda tensors: padded(tensors, -2))
    with pytest.raises(RevocabError, match="do not belong together"):
        adapt(toys, tmp_path / "out", source)
    assert not (tmp_path / "out").exists()


def test_other_architectures_are_found_by_their_modules(toys, tmp_path):
    from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel

    tokens = len(AutoTokenizer.from_pretrained(toys / "source-tokenizer"))
    config = GPT2Config(vocab_size=tokens, n_positions=64, n_embd=32, n_layer=1, n_head=2)
    source = tmp_path / "gpt2"
    GPT2LMHeadModel(config).save_pretrained(source)
    for file in (toys / "source-tokenizer").iterdir():
        shutil.copyfile(file, source / file.name)
    out = adapt(toys, tmp_path / "out", source)
    assert_equal_logits(toys, source, out)


def test_special_ids_of_the_old_vocabulary_do_not_survive(toys, tmp_path):
    source = shutil.copytree(toys / "untied", tmp_path / "source")
    write_json(
        source / "generation_config.json",
        {"eos_token_id": [290, 291], "bad_words_ids": [[288]], "temperature": 0.5},
    )
    out = adapt(toys, tmp_path / "out", source)
    generation = read_json(out / "generation_config.json")
    assert generation["eos_token_id"] == [2]
    assert generation["temperature"] == 0.5
    assert "bad_words_ids" not in generation
    dropped = read_json(out / "provenance.json")["dropped_settings"]
    assert dropped == ["bad_words_ids", "eos_token_id 290", "eos_token_id 291"]


# Wrong inputs. -----------------------------------------------------------------------------------


def test_pickled_weights_are_refused(toys, tmp_path):
    source = shutil.copytree(toys / "untied", tmp_path / "pickled")
    (source / "model.safetensors").rename(source / "pytorch_model.bin")
    for read in (
        lambda: adapt(toys, tmp_path / "out", source),
        lambda: load_causal_lm(source, dtype="float32"),
        lambda: fetch_model(tmp_path / "F" / "snapshot", FetchJob(), source),
    ):
        with pytest.raises(RevocabError, match="pickles"):
            read()


def test_settings_must_be_objects(toys, tmp_path):
    for name in ("config.json", "generation_config.json"):
        source = restore(toys / "untied", tmp_path / name, lambda tensors: tensors)
        write_json(source / name, [1])
        with pytest.raises(RevocabError, match=f"{name}: not a JSON object"):
            adapt(toys, tmp_path / "out", source)
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("model_type", "stored", "words"),
    [
        ("t5", ["shared.weight"], "no causal language model of model_type 't5'"),
        ("nosuch", ["wte.weight"], "does not recognize this architecture"),
        ("gpt2", ["h.0.weight"], "0 stored tensors match 'transformer.wte.weight'"),
        ("gpt2", ["wte.weight", "transformer.wte.weight"], "2 stored tensors match"),
    ],
)
def test_names_that_no_architecture_explains_are_one_problem(tmp_path, model_type, stored, words):
    tensors = {name: torch.ones(4, 12) for name in stored}
    save_file(tensors, tmp_path / "model.safetensors", metadata={"format": "pt"})
    write_json(tmp_path / "config.json", {"model_type": model_type, "n_embd": 12, "vocab_size": 4})
    with pytest.raises(RevocabError) as caught:
        _ = ModelFolder(tmp_path).vocabulary_names
    (problem,) = caught.value.problems
    assert problem.startswith(f"{tmp_path}: ") and words in problem and "\n" not in problem


# Keeping, fetching, rewriting. -------------------------------------------------------------------


def test_lapt_is_the_source_with_its_tokenizer(toys, tmp_path):
    initialise(toys / "untied", tmp_path / "out", "lapt", seed=1)
    for name in ("model.safetensors", "config.json", "tokenizer.json"):
        assert (tmp_path / "out" / name).read_bytes() == (toys / "untied" / name).read_bytes()
    assert read_json(tmp_path / "out" / "manifest.json")["method"] == "lapt"


def test_fetch_copies_a_local_folder(toys, tmp_path):
    snapshot = tmp_path / "model" / "snapshot"
    fetch_model(snapshot, FetchJob(), toys / "untied")
    assert (snapshot / "model.safetensors").samefile(toys / "untied" / "model.safetensors")
    assert not (snapshot / "manifest.json").exists()
    manifest = read_json(tmp_path / "model" / "manifest.json")
    assert manifest["files"].keys() == {"model.safetensors"}
    load(snapshot)


def test_replaced_tensors_leave_the_others_alone(tmp_path):
    tensors = {
        "a": torch.arange(6, dtype=torch.float32).reshape(2, 3),
        "b": torch.ones(3, dtype=torch.bfloat16),
        "c": torch.tensor([1, 2, 3]),
    }
    save_file(tensors, tmp_path / "in.safetensors", {"format": "pt"})
    new = torch.zeros(5, dtype=torch.bfloat16)
    parts = replaced_parts(tmp_path / "in.safetensors", {"b": new, "c": None})
    write_parts(tmp_path / "out.safetensors", parts)
    received = load_file(tmp_path / "out.safetensors")
    assert received.keys() == {"a", "b"}
    assert torch.equal(received["a"], tensors["a"])
    assert torch.equal(received["b"], new)


def test_true_headers_of_every_dtype_are_read(tmp_path):
    names = ("float64", "float32", "bfloat16", "float16", "int64", "uint8", "bool", "float8_e4m3fn")
    tensors = {name: torch.zeros(3, 2).to(getattr(torch, name)) for name in names}
    tensors |= {"empty": torch.zeros(0, 4), "scalar": torch.tensor(1.0)}
    save_file(tensors, tmp_path / "a.safetensors", {"format": "pt"})
    header, start = read_header(tmp_path / "a.safetensors")
    assert header.keys() == {*tensors, "__metadata__"}
    assert start % 8 == 0


# What is written beside the model, and said. -----------------------------------------------------


@pytest.mark.parametrize("method", ["fvt", "lapt"])
def test_the_folder_says_which_rows_are_new(toys, tmp_path, method):
    out = adapt(toys, tmp_path / "out", method=method)
    if method == "lapt":
        assert not (out / NEW_ROWS).exists()
        return
    counts = read_json(out / "provenance.json")["counts"]
    assert counts["overlap"] + counts["missing"] == counts["target_tokens"]
    described = read_json(out / "diagnostics.json")["matrices"]
    for statistics in (described["input"], described["output"]):
        assert statistics["norm_copied"]["rows"] == counts["overlap"]
        assert statistics["norm_new"]["rows"] == counts["missing"]
    new_V = read_new_rows(out, counts["target_tokens"])
    assert int(new_V.sum()) == counts["missing"]
    assert not new_V[shared_pairs(toys)[0]].any()


def test_what_a_method_lacks_is_said_at_once_and_before_anything_is_read(toys, tmp_path):
    said = []
    with pytest.raises(RevocabError) as caught:
        initialise(toys / "untied", tmp_path / "out", "sava", say=said.append)
    assert [problem.split()[3] for problem in caught.value.problems] == [
        "--target-tokenizer,", "--helper,",
    ]  # fmt: skip
    assert said == []
    with pytest.raises(RevocabError, match=r"savaa"):
        initialise(toys / "untied", tmp_path / "out", "savaa")
    absent = {name: tmp_path / name for name in ("source", "target_tokenizer", "helper", "pairs")}
    with pytest.raises(RevocabError) as caught:
        initialise(absent.pop("source"), tmp_path / "out", "sava", say=said.append, **absent)
    flags = ("--source", "--target-tokenizer", "--pairs", "--helper")
    assert [problem.split(": ")[0] for problem in caught.value.problems] == [*flags]
    assert said == []


def test_a_device_that_is_not_there_is_refused(toys, tmp_path):
    with pytest.raises(RevocabError, match="--device cuda:97: not available"):
        adapt(toys, tmp_path / "out", device="cuda:97")


def test_only_vocabulary_tensors_are_read(toys, tmp_path, monkeypatch):
    source = shard(toys / "untied", tmp_path / "sharded")
    read, plain = set(), ModelFolder.read

    def watched(self, name):
        read.add((self.path, name))
        return plain(self, name)

    monkeypatch.setattr(ModelFolder, "read", watched)
    adapt(toys, tmp_path / "out", source, "sava")
    assert read == {
        (source, "model.embed_tokens.weight"),
        (source, "lm_head.weight"),
        (toys / "helper", "model.embed_tokens.weight"),
    }
