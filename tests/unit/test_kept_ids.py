"""Ids and rows of tokens that a library would move, or that a model has no row for."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from construction_toys import ITALIAN, construct, mixture, prepared
from toy_folders import initialise
from transformers import LlamaConfig, LlamaForCausalLM

from revocab import __main__ as entry
from revocab.errors import RevocabError
from revocab.models.folder import ModelFolder
from revocab.vocabulary.building.construction import BuildInputs
from revocab.vocabulary.building.constructions.train import train_tokenizer
from revocab.vocabulary.building.training_text import batched
from revocab.vocabulary.tokenizers.file_ids import TokenizerFiles, changed_files
from revocab.vocabulary.tokenizers.load import load_tokenizer, write_tokenizer

SIZE = 300
#: Added tokens by id, of a vocabulary of 300; whether special; rows of the model; ids left out.
SHAPES = {
    "behind free ids": ({304: ("<|late|>", True), 330: ("<|pad|>", True)}, 331, ()),
    "text behind free ids": ({309: ("<think>", False)}, 320, ()),
    "a special one without a row": ({300: ("<image>", True)}, 300, (300,)),
    "after a gap without a row": ({301: ("<|a|>", True), 310: ("<image>", True)}, 302, (310,)),
    "reserved ones": ({300 + n: (f"<|reserved_{n}|>", True) for n in range(9)}, 320, ()),
}


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    return prepared(tmp_path_factory.mktemp("corpora"))


def tokenizer_folder(folder, added, **config):
    """Write a byte-level vocabulary of 300, and added tokens that are not in the model's."""
    write_tokenizer(train_tokenizer(batched(ITALIAN), "byte_level", SIZE), folder)
    file = folder / "tokenizer.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    content["added_tokens"] += [
        {"id": number, "content": text, **flags, "special": special}
        for number, (text, special) in added.items()
    ]
    file.write_text(json.dumps(content), encoding="utf-8")
    settings = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    (folder / "tokenizer_config.json").write_text(json.dumps(settings | config), encoding="utf-8")
    return folder


def model_folder(folder, added, rows, **config):
    sizes = {"intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
    torch.manual_seed(1)
    LlamaForCausalLM(LlamaConfig(vocab_size=rows, hidden_size=8, **sizes)).save_pretrained(folder)
    return tokenizer_folder(folder, added, **config)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_verb_keeps_ids_and_rows(shape, corpora, tmp_path, capsys):
    added, rows, left_out = SHAPES[shape]
    source = model_folder(tmp_path / "source", added, rows)
    base = load_tokenizer(source)
    kept = {text: number for number, (text, _) in added.items() if number not in left_out}
    said = capsys.readouterr().err
    assert all(f"{number} {added[number][0]}" in said for number in left_out)
    tokens = max([SIZE - 1, *kept.values()]) + 1
    assert len(base) == tokens and base.get_vocab().items() >= kept.items()

    inputs = BuildInputs({"corpora": mixture(corpora, it=1.0)}, {"base": base}, {"base": source})
    assert construct("extend", inputs, tmp_path / "extended", add=12)["ids_kept"]
    out = initialise(source, tmp_path / "out", "fvt", target_tokenizer=tmp_path / "extended")
    assert load_tokenizer(out).get_vocab().items() >= base.get_vocab().items()
    assert np.load(out / "new_rows.npy").tolist() == [*range(tokens, tokens + 12)]
    again = initialise(source, tmp_path / "again", "mean", target_tokenizer=source)
    assert np.load(again / "new_rows.npy").tolist() == []
    # Any program that reads the file numbers the tokens as the rows are.
    assert not TokenizerFiles.read(again).moved and not TokenizerFiles.read(again).free
    text = tmp_path / "it.txt"
    text.write_text("\n".join(ITALIAN), encoding="utf-8")
    words = ["trim", str(source), f"it={text}", "--keep", "290", "--out", str(tmp_path / "trim")]
    entry.main(words)
    ids_K = json.loads((tmp_path / "trim/kept_ids.json").read_text(encoding="utf-8"))
    trimmed = load_tokenizer(tmp_path / "trim").get_vocab()
    assert {text: ids_K[trimmed[text]] for text in kept} == kept
    for which in ("input", "output"):
        old_VD = ModelFolder(source).matrix(which, tokens)
        for folder in (out, again):
            assert torch.equal(ModelFolder(folder).matrix(which, tokens), old_VD)
        own_KD = ModelFolder(tmp_path / "trim").matrix(which, 290)
        assert torch.equal(own_KD, old_VD[torch.tensor(ids_K)])


@pytest.mark.parametrize(
    ("added", "config", "named"),
    [
        ({310: ("e", False)}, {}, "'e' has id 310"),  # the vocabulary has it
        ({40: ("<|a|>", True)}, {}, "'<|a|>' has id 40"),  # another token's
        ({305: ("<|a|>", True), 306: ("<|b|>", True), 999_999: ("<|c|>", True)}, {}, "999999"),
    ],
)
def test_ids_that_cannot_be_kept_are_refused(added, config, named, tmp_path):
    with pytest.raises(RevocabError, match=r"tokenizer\.json") as caught:
        load_tokenizer(tokenizer_folder(tmp_path / "source", added, **config))
    assert named in str(caught.value)


@pytest.mark.parametrize(
    ("added", "config", "left_out"),
    [
        ({300: ("word", False)}, {}, {}),  # text holds it
        ({300: ("<a>", True), 301: ("word", False)}, {}, {}),
        ({300: ("<a>", True)}, {"eos_token": "<a>"}, {}),  # answers end with it
        ({}, {"pad_token": "<p>"}, {"<p>": 300}),
        ({300: ("<a>", True)}, {"mask_token": "<a>", "pad_token": "<p>"}, {"<a>": 300, "<p>": 301}),
    ],
)
def test_only_what_no_text_holds_is_left_out(added, config, left_out, tmp_path):
    folder = model_folder(tmp_path / "source", added, SIZE, **config)
    assert changed_files(folder)[1] == left_out
    refused = TokenizerFiles.read(folder).beyond[1]
    assert (refused == {}) == bool(left_out)
    if left_out:
        tokenizer = load_tokenizer(folder)
        assert len(tokenizer) == SIZE and not left_out.keys() & tokenizer.get_vocab().keys()
        assert max(tokenizer.all_special_ids) < SIZE


def test_files_of_a_folder_follow_its_tokenizer(tmp_path, capsys):
    """Named templates travel, files of the old vocabulary do not, the body's own do."""
    source = model_folder(tmp_path / "source", {}, SIZE)
    target = tokenizer_folder(tmp_path / "target", {300: ("<|new|>", True)})
    for folder, name in ((source, "old"), (target, "rag")):
        (folder / "additional_chat_templates").mkdir()
        (folder / f"additional_chat_templates/{name}.jinja").write_text(name)
        (folder / "chat_template.jinja").write_text("{{ messages }}")
    for name in ("merges.txt", "spiece.model", "params.json", "preprocessor_config.json", "A.md"):
        (source / name).write_text("{}")
    out = initialise(source, tmp_path / "out", "fvt", target_tokenizer=target)
    names = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    assert names >= {"additional_chat_templates/rag.jinja", "preprocessor_config.json", "A.md"}
    left_out = {"additional_chat_templates/old.jinja", "merges.txt", "spiece.model", "params.json"}
    assert not left_out & names
    said = capsys.readouterr().err
    assert all(name in said for name in left_out)
    assert load_tokenizer(out).chat_template.keys() == {"default", "rag"}
