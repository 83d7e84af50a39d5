"""Lists of end tokens in an adapted model: carried over by role and spelling, or named."""

from __future__ import annotations

import shutil

import pytest
from tokenizers import AddedToken
from toy_folders import initialise, load
from toy_models import build_model

from revocab.io import read_json, write_json
from revocab.models.special_ids import Counterparts, with_ids
from revocab.vocabulary.intersection import IntersectionJob, intersect_folders
from revocab.vocabulary.tokenizers.load import load_tokenizer


def extended(folder, out, special=(), plain=(), words=(), **roles):
    """Copy a tokenizer with further ordinary, added and special tokens."""
    from transformers import AutoTokenizer

    shutil.copytree(folder, out)
    state = read_json(out / "tokenizer.json")
    vocabulary = state["model"]["vocab"]
    vocabulary |= {word: len(vocabulary) + at for at, word in enumerate(words)}
    write_json(out / "tokenizer.json", state)
    tokenizer = AutoTokenizer.from_pretrained(out)
    tokenizer.add_tokens([AddedToken(token, special=False) for token in plain])
    specials = [AddedToken(token, special=True) for token in special]
    tokenizer.add_tokens(specials, special_tokens=True)
    for role, token in roles.items():
        setattr(tokenizer, role, token)
    tokenizer.save_pretrained(out)
    return out


@pytest.fixture(scope="module")
def chat(toys, tmp_path_factory):
    """A chat model, and a target tokenizer with some of its special tokens."""
    folder = tmp_path_factory.mktemp("chat")
    source = extended(
        toys / "source-tokenizer",
        folder / "source",
        special=["<|end_of_text|>", "<|eom_id|>", "<|eot_id|>", "<|tool|>", "<|word|>", "<|pad|>"],
        plain=["<stop>", "<half>"],
        pad_token="<|pad|>",
    )
    extended(
        toys / "target-tokenizer",
        folder / "target",
        words=["<|word|>"],
        special=["<|tool|>", "<|im_end|>", "<|filler|>"],
        plain=["<stop>"],
        pad_token="<|filler|>",
    )
    build_model(source, folder / "model")
    return folder


def ids(folder, *spellings):
    vocabulary = load_tokenizer(folder).get_vocab()
    return [vocabulary[spelling] for spelling in spellings]


def adapted(chat, out, generation=None, config=None, **keys):
    source = shutil.copytree(chat / "model", out.parent / f"{out.name}-source")
    for name, changes in (("generation_config.json", generation), ("config.json", config)):
        if changes is not None:
            write_json(source / name, {**read_json(source / name), **changes})
    initialise(source, out, "fvt", target_tokenizer=chat / "target", **keys)
    return out


LISTED = ("<|tool|>", "</s>", "<|eom_id|>", "<|eot_id|>", "<stop>", "<|tool|>", "<|word|>")


def test_every_end_token_with_a_counterpart_is_carried_over(chat, tmp_path, capsys):
    old = [*ids(chat / "source", *LISTED), 9999, -1]
    out = adapted(chat, tmp_path / "out", {"eos_token_id": old, "temperature": 0.5})
    generation = read_json(out / "generation_config.json")
    # The order of the source, each once; <|eot_id|> ends a turn, as <|im_end|> does.
    wanted = ids(chat / "target", "<|tool|>", "</s>", "<|im_end|>", "<stop>")
    assert generation["eos_token_id"] == wanted
    assert generation["temperature"] == 0.5
    assert load(out).generation_config.eos_token_id == wanted

    eom, word = ids(chat / "source", "<|eom_id|>", "<|word|>")
    names = [f"{eom} (<|eom_id|>)", f"{word} (<|word|>)", "9999", "-1"]
    lost = sorted(f"eos_token_id {name}" for name in names)
    assert read_json(out / "provenance.json")["dropped_settings"] == lost
    warning = capsys.readouterr().err
    card = (out / "README.md").read_text()
    assert all(name in warning and f"`{name}`" in card for name in lost)
    assert "warning: settings for tokens of the old vocabulary were dropped" in warning


def test_a_text_token_spelled_alike_is_no_counterpart(chat):
    """``<|word|>`` is special in the source and text in the target; ``<half>`` is only added."""
    source, target = load_tokenizer(chat / "source"), load_tokenizer(chat / "target")
    both = ids(chat / "source", "<|word|>")[0], ids(chat / "target", "<|word|>")[0]
    assert Counterparts(source, target).find(both[0], "eos") is None
    assert Counterparts(target, source).find(both[1], "eos") is None
    assert Counterparts(source, target).find(ids(chat / "source", "<half>")[0], "eos") is None


def test_lists_of_config_json_are_carried_over_too(chat, tmp_path):
    old = ids(chat / "source", "<|eot_id|>", "</s>")
    out = adapted(chat, tmp_path / "out", config={"eos_token_id": old})
    end, turn, pad = ids(chat / "target", "</s>", "<|im_end|>", "<|filler|>")
    config = read_json(out / "config.json")
    assert config["eos_token_id"] == [turn, end]
    assert (config["bos_token_id"], config["pad_token_id"]) == (1, pad)
    # The file that has one id keeps one id.
    assert read_json(out / "generation_config.json")["eos_token_id"] == end
    assert read_json(out / "provenance.json")["dropped_settings"] == []
    assert "dropped" not in (out / "README.md").read_text()


def test_without_generation_settings_those_of_the_config_hold(chat, tmp_path):
    source = shutil.copytree(chat / "model", tmp_path / "source")
    (source / "generation_config.json").unlink()
    old = ids(chat / "source", "<|eot_id|>", "</s>")
    write_json(source / "config.json", read_json(source / "config.json") | {"eos_token_id": old})
    assert load(source).generation_config.eos_token_id == old
    initialise(source, tmp_path / "out", "fvt", target_tokenizer=chat / "target")
    end, turn = ids(chat / "target", "</s>", "<|im_end|>")
    assert load(tmp_path / "out").generation_config.eos_token_id == [turn, end]


def test_a_list_always_has_the_tokenizers_own_end_and_one_id_stays_one(chat, tmp_path):
    (tool,) = ids(chat / "source", "<|tool|>")
    out = adapted(chat, tmp_path / "out", {"eos_token_id": [tool]}, {"eos_token_id": tool})
    tool, end = ids(chat / "target", "<|tool|>", "</s>")
    assert read_json(out / "generation_config.json")["eos_token_id"] == [tool, end]
    assert read_json(out / "config.json")["eos_token_id"] == end


def test_a_carried_end_that_doubles_as_pad_is_no_pad_of_the_config(chat, tmp_path):
    """Transformers would freeze its row."""
    target = extended(chat / "target", tmp_path / "chat" / "target", pad_token="<|im_end|>")
    shutil.copytree(chat / "model", tmp_path / "chat" / "model")
    turn = ids(chat / "source", "<|eot_id|>")
    out = adapted(target.parent, tmp_path / "out", config={"eos_token_id": [2, *turn]})
    (turn,) = ids(target, "<|im_end|>")
    assert read_json(out / "config.json")["eos_token_id"] == [2, turn]
    assert read_json(out / "config.json")["pad_token_id"] is None
    assert read_json(out / "generation_config.json")["pad_token_id"] == turn


def test_roles_come_first_and_may_be_declared(chat, tmp_path):
    source, target = load_tokenizer(chat / "source"), load_tokenizer(chat / "target")
    found = Counterparts(source, target)
    pad, eom, end = ids(chat / "source", "<|pad|>", "<|eom_id|>", "<|end_of_text|>")
    assert found.find(pad, "eos") == ids(chat / "target", "<|filler|>")[0]
    assert found.find(1, "bos") == 1 and found.find(1, "eos") == 1
    assert found.find(2, "eos") == 2
    # Where one token is bos and eos, the setting says which is meant.
    source.bos_token = "</s>"
    assert Counterparts(source, target).find(2, "eos") == 2
    assert Counterparts(source, target).find(2, "bos") == 1

    # A chat token ends a turn, whether or not it is the padding, too.
    source.pad_token = "<|eot_id|>"
    (turn,) = ids(chat / "target", "<|im_end|>")
    (eot,) = ids(chat / "source", "<|eot_id|>")
    assert Counterparts(source, target).find(eot, "eos") == turn
    # One that both have stays itself, also where it is the source's eos.
    source.eos_token = "<|eot_id|>"
    assert Counterparts(source, target).find(eot, "eos") == 2
    target.add_special_tokens({"additional_special_tokens": ["<|eot_id|>"]})
    both = Counterparts(source, target)
    assert both.find(eot, "eos") == target.convert_tokens_to_ids("<|eot_id|>")
    settings = {"eos_token_id": [eot, eot, 2, True, "2", None]}
    kept, lost = with_ids(settings, {"eos_token_id": 2}, both)
    assert kept["eos_token_id"] == [both.find(eot, "eos"), both.find(2, "eos"), 2]
    assert lost == ["eos_token_id True (<s>)", "eos_token_id 2", "eos_token_id None"]

    assert found.find(end, "eos") is None
    roles = {"<|end_of_text|>": "text_end", "<|filler|>": "text_end"}
    job = IntersectionJob(roles=roles)
    intersect_folders(chat / "source", chat / "target", job, tmp_path / "pairs")
    out = adapted(chat, tmp_path / "out", {"eos_token_id": [end, eom]}, pairs=tmp_path / "pairs")
    filler, own = ids(chat / "target", "<|filler|>", "</s>")
    assert read_json(out / "generation_config.json")["eos_token_id"] == [filler, own]
