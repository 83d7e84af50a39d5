"""Sums of differences: what is added to what, what is kept from the body, and why."""

from __future__ import annotations

import pytest
import torch
from change_toys import changed, logits, tensors_of, write_architecture
from safetensors.torch import load_file
from toy_folders import adapt, cast, restore, shard, with_settings
from toy_models import SOURCE_WORDS, TARGET_WORDS, build_model, build_tokenizer

from revocab.errors import RevocabError
from revocab.io import read_json
from revocab.models.change import ChangeJob
from revocab.models.changed_model import change_model
from revocab.models.folder import INDEX, ModelFolder
from revocab.models.weights import files
from revocab.progress import spoken

EMBEDDING, HEAD = "model.embed_tokens.weight", "lm_head.weight"
NORM = "model.norm.weight"


@pytest.fixture(scope="module")
def family(tmp_path_factory):
    """A base model, what instructions made of it, and a body that went on from the base."""
    root = tmp_path_factory.mktemp("family")
    tokenizer = build_tokenizer(SOURCE_WORDS, 30, root / "tokenizer")
    for seed, name in enumerate(("base", "instruct", "body"), 1):
        build_model(tokenizer, root / name, seed=seed)
    return root


def add(family, out, *terms, body="body", **others):
    """Write the body with terms (model, minus, weight) added."""
    keys = ("model", "minus", "weight")
    given = [dict(zip(keys, term, strict=False)) for term in terms]
    named = {term[key]: family / term[key] for term in given for key in keys[:2] if term.get(key)}
    return changed("sum", family / body, out, {**named, **others}, add=given)


# By hand. ----------------------------------------------------------------------------------------


def test_the_difference_of_two_models_is_added(family, tmp_path):
    out = add(family, tmp_path / "out", ("instruct", "base", 0.5))
    base, instruct, body = (tensors_of(family / name) for name in ("base", "instruct", "body"))
    received = tensors_of(out)
    assert received.keys() == body.keys()
    for name, tensor in body.items():
        assert torch.equal(received[name], tensor + 0.5 * (instruct[name] - base[name])), name
    manifest = read_json(out / "manifest.json")
    assert manifest["changed_tensors"] == len(body) and manifest["kept_tensors"] == {}
    assert manifest["options"] == {"add": [{"model": "instruct", "minus": "base", "weight": 0.5}]}
    assert manifest["others"].keys() == {"instruct", "base"}


def test_without_minus_the_body_is_taken_away_and_weights_may_be_negative(family, tmp_path):
    terms = [("instruct",), ("base", None, -2.0)]
    received = tensors_of(add(family, tmp_path / "out", *terms))
    base, instruct, body = (tensors_of(family / name) for name in ("base", "instruct", "body"))
    for name, tensor in body.items():
        expected = tensor + 1.0 * (instruct[name] - tensor)
        expected = expected + -2.0 * (base[name] - tensor)
        assert torch.equal(received[name], expected), name


def test_what_was_added_to_the_base_itself_is_the_instruct_model(family, tmp_path):
    out = add(family, tmp_path / "out", ("instruct", "base"), body="base")
    for name, tensor in tensors_of(family / "instruct").items():
        assert torch.allclose(tensors_of(out)[name], tensor, atol=1e-7)
    assert torch.allclose(logits(out), logits(family / "instruct"), atol=1e-5)


def test_the_sum_is_rounded_once(family, tmp_path):
    """Two terms of 2⁻⁸ make 1 the next number of bfloat16; one at a time they are lost."""

    def norm(value):
        return lambda tensors: {**tensors, NORM: torch.full((32,), value, dtype=torch.bfloat16)}

    for name, value in (("body", 1.0), ("base", 0.0), ("instruct", 2.0**-8)):
        cast(family / name, tmp_path / name, torch.bfloat16, norm(value))
    terms = [("instruct", "base")] * 2
    received = tensors_of(add(tmp_path, tmp_path / "out", *terms))
    assert {tensor.dtype for tensor in received.values()} == {torch.bfloat16}
    assert received[NORM].tolist() == [1 + 2.0**-7] * 32


def test_terms_in_another_dtype_are_widened_first(family, tmp_path):
    for name, dtype in (("body", torch.float16), ("base", torch.bfloat16)):
        cast(family / name, tmp_path / name, dtype)
    out = add(tmp_path, tmp_path / "out", ("instruct", "base"), instruct=family / "instruct")
    received = tensors_of(out)
    base, body = tensors_of(tmp_path / "base"), tensors_of(tmp_path / "body")
    for name, tensor in tensors_of(family / "instruct").items():
        expected = (body[name].float() + (tensor - base[name].float())).half()
        assert torch.equal(received[name], expected), name


def test_blocks_of_rows_change_no_byte(family, tmp_path, monkeypatch):
    whole = add(family, tmp_path / "whole", ("instruct", "base", 0.3))
    monkeypatch.setattr(files, "BLOCK_BYTES", 24)
    parts = add(family, tmp_path / "parts", ("instruct", "base", 0.3))
    for file in whole.iterdir():
        assert file.read_bytes() == (parts / file.name).read_bytes(), file.name


# Layouts. ----------------------------------------------------------------------------------------


def test_shards_are_those_of_the_body(family, tmp_path):
    body = shard(family / "body", tmp_path / "body")
    out = changed(
        "sum", body, tmp_path / "out", {"other": family / "instruct"}, add=[{"model": "other"}]
    )
    one_file = add(family, tmp_path / "one", ("instruct",))
    received, expected = tensors_of(out), tensors_of(one_file)
    assert all(torch.equal(received[name], expected[name]) for name in expected)
    assert ModelFolder(out).tensors == ModelFolder(body).tensors
    assert read_json(out / INDEX)["metadata"] == read_json(body / INDEX)["metadata"]
    assert read_json(out / "config.json") == read_json(body / "config.json")


@pytest.mark.parametrize("stored", [False, True])
def test_a_tied_head_stays_tied(toys, tmp_path, stored):
    tokenizer = toys / "source-tokenizer"
    other = build_model(tokenizer, tmp_path / "other", seed=9, tied=True, family="llama")
    body = toys / "tied"
    if stored:
        copy = lambda tensors: {**tensors, HEAD: tensors[EMBEDDING].clone()}  # noqa: E731
        body = restore(body, tmp_path / "stored", copy)
    out = changed("sum", body, tmp_path / "out", {"other": other}, add=[{"model": "other"}])
    received = tensors_of(out)
    one, two = tensors_of(toys / "tied")[EMBEDDING], tensors_of(other)[EMBEDDING]
    assert torch.equal(received[EMBEDDING], one + (two - one))
    assert (HEAD in received) == stored
    assert torch.equal(received.get(HEAD, received[EMBEDDING]), received[EMBEDDING])
    logits(out)


def test_a_scalar_and_integers(family, tmp_path):
    """A tensor without dimensions is added up; whole numbers are kept."""
    extra = {"scale": torch.tensor(3.0), "count": torch.tensor([4])}
    for name, factor in (("body", 1), ("base", 2), ("instruct", 5)):
        changes = {key: value * factor for key, value in extra.items()}
        restore(family / name, tmp_path / name, lambda tensors, changes=changes: tensors | changes)
    with pytest.MonkeyPatch.context() as patch:  # no architecture has these
        patch.setattr("revocab.models.changed_model.check_model", lambda folder: None)
        out = add(tmp_path, tmp_path / "out", ("instruct", "base"))
    assert tensors_of(out)["scale"] == 3 + 15 - 6 and tensors_of(out)["count"] == 4
    assert read_json(out / "manifest.json")["kept_tensors"] == {"count": "stored as I64"}


def test_buffers_of_old_checkpoints_may_be_in_some(family, tmp_path):
    name = "model.layers.0.self_attn.rotary_emb.inv_freq"
    buffer = {name: torch.ones(4)}
    body = restore(family / "body", tmp_path / "body", lambda tensors: tensors | buffer)
    others = {name: family / name for name in ("instruct", "base")}
    terms = [{"model": "instruct", "minus": "base"}]
    out = changed("sum", body, tmp_path / "out", others, add=terms)
    assert torch.equal(tensors_of(out)[name], torch.ones(4))


# What is kept from the body. ---------------------------------------------------------------------


def test_an_instruct_difference_on_a_fully_adapted_body(toys, family, tmp_path, capsys):
    """The new vocabulary's matrices have other rows: they stay, and are named and counted."""
    body = adapt(toys, tmp_path / "body", family / "body")
    job = ChangeJob(change="sum", option={"add": [{"model": "instruct", "minus": "base"}]})
    others = {name: family / name for name in ("instruct", "base")}
    change_model(job, body, others, tmp_path / "out", spoken())
    said = capsys.readouterr().err
    old, received = tensors_of(body), tensors_of(tmp_path / "out")
    base, instruct = tensors_of(family / "base"), tensors_of(family / "instruct")
    for name, tensor in old.items():
        due = tensor if name in (EMBEDDING, HEAD) else tensor + (instruct[name] - base[name])
        assert torch.equal(received[name], due), name
    rows, columns = old[HEAD].shape
    why = f"{rows} × {columns} here, 289 × 32 in 'instruct'"
    kept = read_json(tmp_path / "out" / "manifest.json")["kept_tensors"]
    assert kept == {EMBEDDING: why, HEAD: why}
    for text in (said, (tmp_path / "out" / "README.md").read_text()):
        assert f"{len(old) - 2} of {len(old)} tensors changed" in text
        assert f"2 tensors kept from the model: {HEAD} ({why}), {EMBEDDING} ({why})" in text
    for name in ("tokenizer.json", "generation_config.json"):
        assert (tmp_path / "out" / name).read_bytes() == (body / name).read_bytes()


def test_rows_of_other_tokens_are_not_added_up(toys, family, tmp_path):
    """A replaced vocabulary has as many rows as before, for other tokens."""
    tokenizer = build_tokenizer(TARGET_WORDS, 30, tmp_path / "tokenizer")
    body = build_model(tokenizer, tmp_path / "body", seed=7)
    assert ModelFolder(body).tensors[HEAD][1] == ModelFolder(family / "base").tensors[HEAD][1]
    others = {name: family / name for name in ("instruct", "base")}
    terms = [{"model": "instruct", "minus": "base"}]
    out = changed("sum", body, tmp_path / "out", others, add=terms)
    old, received = tensors_of(body), tensors_of(out)
    assert {name for name in old if torch.equal(old[name], received[name])} == {
        # Norms are all one in models that nobody trained.
        *(name for name in old if "norm" in name),
        EMBEDDING,
        HEAD,
    }
    kept = read_json(out / "manifest.json")["kept_tensors"]
    assert kept.keys() == {EMBEDDING, HEAD}
    assert "of 289 ids stand for different tokens in 'instruct'" in kept[HEAD]


# What is refused. --------------------------------------------------------------------------------


def refuse(match, *arguments, **keys):
    with pytest.raises(RevocabError, match=match) as caught:
        add(*arguments, **keys)
    return caught.value.problems


def test_models_with_other_blocks_are_refused(family, tmp_path):
    grown = changed("blocks", family / "body", tmp_path / "grown", share=0.5)
    said = (
        r"instruct: cannot be combined with .*grown: 9 tensors are in only one of them \(model\.lay"
    )
    with pytest.raises(RevocabError, match=said):
        changed(
            "sum", grown, tmp_path / "out", {"instruct": family / "instruct"},
            add=[{"model": "instruct"}],
        )  # fmt: skip
    assert not (tmp_path / "out").exists()


def test_tied_and_untied_heads_do_not_mix(toys, family, tmp_path):
    tied = build_model(toys / "source-tokenizer", tmp_path / "tied", tied=True)
    refuse(
        "the LM head and the embedding are one matrix here, and two there",
        *(family, tmp_path / "out", ("tied", "base")), tied=tied,
    )  # fmt: skip


def test_models_of_other_sizes_are_refused(toys, family, tmp_path):
    small = build_model(
        toys / "source-tokenizer", tmp_path / "small", hidden_size=16, intermediate_size=24
    )
    refuse("no tensor has the same shape", family, tmp_path / "out", ("small",), small=small)
    assert not (tmp_path / "out").exists()


def test_another_architecture_is_refused(toys, family, tmp_path):
    other = write_architecture(
        toys / "source-tokenizer", tmp_path / "qwen", "qwen2", num_hidden_layers=2
    )
    refuse(r"6 tensors are in only one .*q_proj\.bias", family, tmp_path / "out", ("q",), q=other)


def test_a_sum_too_large_for_its_dtype_leaves_nothing(family, tmp_path):
    for name in ("body", "base", "instruct"):
        cast(family / name, tmp_path / name, torch.float16)
    (tmp_path / "out").mkdir()
    said = refuse(
        r"the sum is too large for torch\.float16",
        *(tmp_path, tmp_path / "out" / "x", ("instruct", "base", 1e6)),
    )
    assert len(said) == 1 and not any((tmp_path / "out").iterdir())


def test_quantised_models_are_refused(family, tmp_path):
    settings = {"quantization_config": {"quant_method": "awq"}}
    source = with_settings(family / "instruct", tmp_path / "q", **settings)
    refuse("q: its weights are quantised", family, tmp_path / "out", ("q", "base"), q=source)


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({}, "option.add: required and not given"),
        ({"add": []}, "option.add: expected 1 or more"),
        ({"add": [{"model": "instruct", "minsu": "base"}]}, "unknown key .*did you mean 'minus'"),
        ({"add": [{"minus": "base"}]}, r"option\.add\.0\.model: required and not given"),
        ({"add": [{"model": "base", "minus": "base"}]}, "both 'base', which adds nothing"),
        ({"add": [{"model": "base", "weight": float("nan")}]}, r"add\.0\.weight: .*finite"),
        ({"add": [{"model": "other"}]}, "'other' is not given; add --others other=FOLDER"),
        ({"add": [{"model": "base"}]}, "--others instruct: no option of change 'sum' names it"),
    ],
)
def test_wrong_options_are_named(family, tmp_path, option, said):
    others = {name: family / name for name in ("instruct", "base")}
    with pytest.raises(RevocabError, match=said):
        changed("sum", family / "body", tmp_path / "out", others, **option)
    assert not (tmp_path / "out").exists()


def test_the_inputs_are_as_they_were(family, tmp_path):
    """Blocks of a file are computed with, never in place."""
    before = {name: load_file(family / name / "model.safetensors") for name in ("body", "instruct")}
    add(family, tmp_path / "out", ("instruct",), ("base",))
    for name, tensors in before.items():
        after = load_file(family / name / "model.safetensors")
        assert all(torch.equal(after[name], tensors[name]) for name in tensors)
