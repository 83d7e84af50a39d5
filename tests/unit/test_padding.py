"""Rows of padding: every method adds them, and no text ever holds one."""

from __future__ import annotations

import shutil

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from jobs import job_of
from safetensors.torch import load_file, save_file
from toy_folders import adapt, initialise, load, shard

from revocab.errors import RevocabError
from revocab.initialise.method import methods
from revocab.initialise.options import ChosenMethod
from revocab.initialise.rows.source_weights import SourceWeights, read_source_weights
from revocab.io import read_json, write_json
from revocab.models.folder import ModelFolder
from revocab.models.load import check_model, load_causal_lm
from revocab.models.token_rows import TOKEN_ROWS, filled, padded_rows, without_padding

MULTIPLE = 64
MATRICES = ("model.embed_tokens.weight", "lm_head.weight")


def test_padding_up_to_a_multiple_is_the_mean_of_the_tokens_rows():
    wanted = {(1, 64): 64, (64, 64): 64, (65, 64): 128, (65, None): 65}
    assert {sizes: padded_rows(*sizes) for sizes in wanted} == wanted
    matrix_VD = torch.tensor([[1.0, 2.0], [3.0, -4.0], [90.0, 90.0]])
    wanted_PD = torch.tensor([[1.0, 2.0], [3.0, -4.0], [2.0, -1.0], [2.0, -1.0]])
    assert filled(matrix_VD, 2, 4).equal(wanted_PD)
    assert filled(matrix_VD, 2).equal(wanted_PD[:3])
    assert filled(matrix_VD, 3).equal(matrix_VD)


@given(
    arrays("float64", (5, 3), elements=st.floats(-10, 10)),
    arrays("float64", 3, elements=st.floats(-10, 10)),
)
def test_padding_is_never_likeliest_and_at_most_one_by_the_tokens(matrix_VD, hidden_D):
    """Whatever the hidden state: for programs that know nothing of padding."""
    logits_P = filled(torch.from_numpy(matrix_VD), 5, 8) @ torch.from_numpy(hidden_D)
    assert logits_P[5:].max() <= logits_P[:5].max() + 1e-9
    shares_P = logits_P.softmax(0)
    assert (shares_P[5:] <= shares_P[:5].sum() / 5 + 1e-9).all()


def test_every_method_that_makes_rows_has_the_option():
    for name, method in methods().items():
        assert ("pad_to" in method.options.model_fields) != method.keeps_vocabulary, name
    with pytest.raises(RevocabError, match="pad_to: unknown key"):
        job_of(ChosenMethod, method="lapt", pad_to=64)
    with pytest.raises(RevocabError, match=r"pad_to: .*greater than or equal to 1"):
        job_of(ChosenMethod, method="sava", pad_to=0)


@pytest.mark.parametrize(
    ("source", "method"),
    [("untied", "random"), ("untied", "sava"), ("untied", "lep"), ("tied", "fvt")],
)
def test_padding_changes_no_other_row(toys, tmp_path, source, method):
    """Whatever the method: rows are added behind its own. Evaluation sees no others."""
    quick = {"solver": "lstsq"} if method == "sava" else {}
    plain = adapt(toys, tmp_path / "plain", source, method, options=quick)
    options = {**quick, "pad_to": MULTIPLE}
    out = adapt(toys, tmp_path / "padded", source, method, options=options)
    before, after = (load_file(folder / "model.safetensors") for folder in (plain, out))
    tokens = len(before[MATRICES[0]])
    for name, tensor in before.items():
        if name in MATRICES:
            assert len(after[name]) == padded_rows(tokens, MULTIPLE) > tokens
            assert after[name].equal(filled(tensor, tokens, len(after[name])))
        else:
            assert after[name].equal(tensor), name
    config = read_json(out / "config.json")
    assert (config["vocab_size"], config[TOKEN_ROWS]) == (len(after[MATRICES[0]]), tokens)
    ids = torch.arange(tokens)[None]
    ours, theirs = (load_causal_lm(folder, dtype="float32") for folder in (out, plain))
    assert ours(ids).logits.equal(theirs(ids).logits)
    made = read_json(out / "manifest.json")["options"]
    assert made.pop("pad_to") == MULTIPLE
    assert made == read_json(plain / "manifest.json")["options"]


@pytest.fixture
def planted(toys, tmp_path):
    """A padded model whose padding has by far the largest logits: a mask must hold them back."""
    out = adapt(toys, tmp_path / "planted", "untied", "vocadt", options={"pad_to": MULTIPLE})
    tensors = load_file(out / "model.safetensors")
    tokens = read_json(out / "config.json")[TOKEN_ROWS]
    head_PD = tensors["lm_head.weight"]
    head_PD[tokens::2], head_PD[tokens + 1 :: 2] = 1e4, -1e4  # one of them, whatever the state
    save_file(tensors, out / "model.safetensors", {"format": "pt"})
    return out


def test_transformers_alone_writes_no_padding(planted):
    """Sampling and greedy, with the folder's own settings; without them it writes nothing else."""
    model, tokens = load(planted), read_json(planted / "config.json")[TOKEN_ROWS]
    start = torch.zeros(4, 1, dtype=torch.int64)

    def written(sample):
        torch.manual_seed(0)
        return model.generate(start, max_new_tokens=20, do_sample=sample, eos_token_id=None)

    assert all((written(sample) < tokens).all() for sample in (True, False))
    model.generation_config.suppress_tokens = None
    assert all((written(sample)[:, 1:] >= tokens).all() for sample in (True, False))


def test_evaluation_sees_no_padding(planted, toys, tmp_path):
    plain = adapt(toys, tmp_path / "plain", "untied", "vocadt")
    ids = torch.arange(12)[None]
    wanted = load_causal_lm(plain, dtype="float32")(ids).logits
    assert load_causal_lm(planted, dtype="float32")(ids).logits.equal(wanted)
    with without_padding(planted) as read:
        check_model(read)
        assert load(read)(ids).logits.equal(wanted)
        assert TOKEN_ROWS not in read_json(read / "config.json")
    assert not read.exists()
    with without_padding(plain) as read:
        assert read == plain


def test_shards_without_padding_are_linked(toys, tmp_path):
    source = shard(toys / "untied", tmp_path / "sharded")
    target = toys / "target-tokenizer"
    out = tmp_path / "out"
    initialise(source, out, "fvt", {"pad_to": MULTIPLE}, target_tokenizer=target)
    model = ModelFolder(out)
    total = sum(len(load_file(out / file)) for file in model.files)
    assert len(model.tensors) == total
    check_model(out)
    with without_padding(out) as read:
        links = {file: (read / file).is_symlink() for file in model.files}
        held = {model.tensors[name][0] for name in MATRICES}
        assert links == {file: file not in held for file in model.files}
        assert load(read)(torch.arange(5)[None]).logits.isfinite().all()


def test_a_padded_source_is_one_without_padding(toys, tmp_path):
    """What was padded for the old vocabulary is forgotten, and is no setting that was dropped."""
    first = adapt(toys, tmp_path / "first", "untied", "fvt", options={"pad_to": MULTIPLE})
    tokenizer = toys / "source-tokenizer"

    def back(source, name):
        out = tmp_path / name
        initialise(source, out, "fvt", target_tokenizer=tokenizer)
        return out

    plain = back(adapt(toys, tmp_path / "plain", "untied", "fvt"), "back-plain")
    ours = back(first, "back")
    for file in ("model.safetensors", "config.json", "generation_config.json", "diagnostics.json"):
        assert (ours / file).read_bytes() == (plain / file).read_bytes(), file
    assert read_json(ours / "manifest.json")["dropped_settings"] == []


def test_a_padded_helper_and_donor_lend_rows_of_tokens(toys, tmp_path):
    padded_one = adapt(toys, tmp_path / "padded", "untied", "fvt", options={"pad_to": MULTIPLE})
    plain = adapt(toys, tmp_path / "plain", "untied", "fvt")
    target = toys / "target-tokenizer"
    for name, keys in {
        "imported": lambda folder: {"helper": folder},
        "lep": lambda folder: {"adapted": folder, "base": toys / "untied"},
    }.items():
        found = []
        for number, folder in enumerate((padded_one, plain)):
            out = tmp_path / f"{name}-{number}"
            initialise(toys / "untied", out, name, target_tokenizer=target, **keys(folder))
            found.append((out / "model.safetensors").read_bytes())
        assert found[0] == found[1], name


def test_adapters_have_empty_rows_for_padding(toys, tmp_path):
    out = adapt(toys, tmp_path / "out", "untied", "vocadt", options={"pad_to": MULTIPLE})
    plain = adapt(toys, tmp_path / "plain", "untied", "vocadt")
    ours, theirs = read_source_weights(out), read_source_weights(plain)
    tokens = len(theirs["input"])
    for which, weights in ours.items():
        assert len(weights) == padded_rows(tokens, MULTIPLE)
        dense_PV = weights.dense(slice(0, len(weights)))
        assert dense_PV[:tokens].equal(theirs[which].dense(slice(0, tokens)))
        assert not dense_PV[tokens:].any()
        source_VD = torch.rand(weights.source_rows, 3)
        made_PD = weights.combine(source_VD, slice(0, len(weights)))
        assert made_PD[:tokens].equal(theirs[which].combine(source_VD, slice(0, tokens)))
        assert not made_PD[tokens:].any()
    assert SourceWeights.of([{0: 1.0}], 2).padded(1).starts_N.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (0, r"unpadded_vocab_size: 0; .*: it is a number from 1 to vocab_size, 320"),
        (321, r"unpadded_vocab_size: 321; .*: it is a number from 1 to vocab_size, 320"),
        ("x", r"unpadded_vocab_size: 'x'; .*: it is a number"),
        (303, r"unpadded_vocab_size: 303, but .* has 304 tokens.*: set it to 304"),
    ],
)
def test_a_wrong_number_of_token_rows_is_refused(toys, tmp_path, value, told):
    """Also a token that somebody added: it would have a row of padding, and never be written."""
    out = adapt(toys, tmp_path / "out", "tied", "fvt", options={"pad_to": MULTIPLE})
    copy = shutil.copytree(out, tmp_path / "copy")
    write_json(copy / "config.json", {**read_json(out / "config.json"), TOKEN_ROWS: value})
    with pytest.raises(RevocabError, match=told):
        check_model(copy)
    check_model(out)
