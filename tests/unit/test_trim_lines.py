"""Trimmed models on 10,000 real lines: mapped ids, decoded text, and logits bit for bit."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch
from construction_toys import edited
from six_languages import LANGUAGES, lines_of_six_languages
from sound_models import SOUND, WITH_TABLES, write_sound
from toy_folders import load

from revocab.io import read_json
from revocab.product.trim import trim
from revocab.vocabulary.building.constructions.train import train_tokenizer
from revocab.vocabulary.tokenizers.alphabets import frequent_characters
from revocab.vocabulary.tokenizers.load import load_tokenizer

pytestmark = [pytest.mark.long, pytest.mark.shared_data]

#: Lines whose logits are compared, and tokens of each.
LINES, TOKENS = 60, 64
UNTIED = replace(SOUND["llama-2"], dtype="bfloat16")
MODELS = {
    "real ▁, untied": ("mistral", UNTIED),
    "real ▁, tied": ("mistral", replace(UNTIED, tied=True)),
    "byte-level, tied": ("byte-level", replace(UNTIED, tied=True)),
    "like Gemma's, per layer": ("gemma", WITH_TABLES["gemma-3n"]),
    "like Gemma's, per layer, untied": ("gemma", WITH_TABLES["gemma-3n-untied"]),
}


@pytest.fixture(scope="module")
def lines(shared_folder):
    return lines_of_six_languages(shared_folder)


@pytest.fixture(scope="module")
def tokenizers(tmp_path_factory, shared_folder, lines):
    """A real one, and two trained on the lines; Gemma's has no space before a text."""
    made = {"mistral": load_tokenizer(shared_folder / "tokenizers/mistral-7b-v0.1")}
    made["byte-level"] = train_tokenizer([lines], "byte_level", 6000)
    pieces = train_tokenizer([lines], "byte_fallback", 6000, frequent_characters(lines, 300))
    pieces.save_pretrained(folder := tmp_path_factory.mktemp("gemma"))
    state = json.loads(load_tokenizer(folder).backend_tokenizer.to_str())
    decoder = {"type": "Sequence", "decoders": state["decoder"]["decoders"][:3]}
    replaced = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    gemma = edited(load_tokenizer(folder), folder / "g", normalizer=replaced, decoder=decoder)
    return made | {"gemma": load_tokenizer(gemma)}


@pytest.mark.parametrize("name", MODELS)
def test_lines_of_kept_tokens_have_their_ids_and_logits_and_all_decode_as_before(
    tokenizers, lines, tmp_path, name
):
    cut, sound = MODELS[name]
    source = write_sound(sound, tmp_path / "m", tokenizers[cut])
    places = {"it": LANGUAGES.index("ita"), "en": LANGUAGES.index("eng")}
    for language, place in places.items():
        (tmp_path / f"{language}.txt").write_text("\n".join(lines[place :: len(LANGUAGES)]))
    texts = [f"{language}={tmp_path}/{language}.txt" for language in places]
    trim([str(source), *texts, "--coverage", "0.9999", "--out", str(tmp_path / "o")])
    base, made = load_tokenizer(source), load_tokenizer(tmp_path / "o")
    kept = read_json(tmp_path / "o/kept_ids.json")
    new = {old: number for number, old in enumerate(kept)}
    befores, afters = base(lines).input_ids, made(lines).input_ids
    whole = []
    for before, after in zip(befores, afters, strict=True):
        assert made.decode(after) == base.decode(before)
        if new.keys() >= {*before}:
            assert after == [new[number] for number in before]
            whole.append((before, after))
    assert len(lines) == 10_000 and LINES < len(whole) < 10_000
    before, after = load(source), load(tmp_path / "o")
    for old, now in whole[:LINES]:
        with torch.no_grad():
            expected = before(torch.tensor([old[:TOKENS]])).logits[..., kept]
            assert torch.equal(after(torch.tensor([now[:TOKENS]])).logits, expected)
