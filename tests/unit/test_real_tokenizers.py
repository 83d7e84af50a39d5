"""Ten real tokenizers, extended and given to a model: nothing that was there changes."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
import torch
from construction_toys import construct
from real_tokenizers import NAMES, real_tokenizer
from toy_folders import initialise, load
from transformers import LlamaConfig, LlamaForCausalLM

from revocab.corpora.prepare import CorpusJob, prepare_corpus
from revocab.models.folder import ModelFolder
from revocab.vocabulary.building.construction import BuildInputs
from revocab.vocabulary.building.training_text import TrainingText
from revocab.vocabulary.tokenizers.load import load_tokenizer, write_tokenizer

ADDED = 24
#: Gemma 3's text models have no row for the last token of their tokenizer.
ROWS = {"gemma3": 262_144}


@pytest.fixture(scope="module")
def greek(tmp_path_factory):
    """A corpus of invented words in a script that English lines do not have."""
    draw = random.Random(5)
    syllables = [a + b for a in "βγδκλμνπρστφχ" for b in ("α", "ε", "ι", "ο", "ου", "ω")]
    words = ["".join(draw.choices(syllables, k=4)) for _ in range(60)]
    rows = [{"text": " ".join(draw.choices(words, k=30))} for _ in range(200)]
    folder = tmp_path_factory.mktemp("corpora") / "el"
    prepare_corpus(rows, {"label": "el"}, CorpusJob(corpus="el", language="el"), folder)
    return folder


def ids_of_file(folder):
    content = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    return content["model"]["vocab"] | {t["content"]: t["id"] for t in content["added_tokens"]}


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_extended_given_to_a_model_saved_and_loaded(name, greek, repository, tmp_path):
    own = real_tokenizer(name)
    source = tmp_path / "source"
    ids = ids_of_file(own)
    rows = ROWS.get(name, max(ids.values()) + 1)
    sizes = {"intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
    config = LlamaConfig(vocab_size=rows, hidden_size=8, tie_word_embeddings=True, **sizes)
    torch.manual_seed(7)
    LlamaForCausalLM(config).save_pretrained(source)
    for file in own.iterdir():
        (source / file.name).write_bytes(file.read_bytes())
    before = load_tokenizer(source)
    inputs = BuildInputs(
        {"corpora": [TrainingText("el", 1.0, greek)]}, {"base": before}, {"base": source}
    )
    manifest = construct("extend", inputs, tmp_path / "extended", add=ADDED)
    assert manifest["ids_kept"]
    extended = tmp_path / "extended"
    out = initialise(source, tmp_path / "out", "fvt", target_tokenizer=extended)

    kept = {token: number for token, number in ids.items() if number < rows}
    assert ids_of_file(out).items() >= kept.items()
    assert np.load(out / "new_rows.npy").tolist() == [*range(rows, rows + ADDED)]
    load(out).save_pretrained(tmp_path / "again")
    after = load_tokenizer(out)
    write_tokenizer(after, tmp_path / "again")
    old_VD, new_VD, again_VD = (
        ModelFolder(folder).matrix("input", rows) for folder in (source, out, tmp_path / "again")
    )
    assert torch.equal(new_VD, old_VD)
    assert torch.equal(again_VD, old_VD)
    again = load_tokenizer(tmp_path / "again")
    for tokenizer in (after, again):
        assert len(tokenizer) == rows + ADDED
        assert tokenizer.get_vocab().items() >= kept.items()
        added = tokenizer.added_tokens_decoder
        for number, token in before.added_tokens_decoder.items():
            assert (str(added[number]), added[number].special) == (str(token), token.special)
        assert tokenizer.all_special_ids == before.all_special_ids
    lines = [
        line
        for page in sorted((repository / "docs").rglob("*.md"))
        for line in page.read_text(encoding="utf-8").splitlines()
        if line.strip()
    ]
    assert len(lines) > 2000
    cut = [tokenizer(lines[:2000])["input_ids"] for tokenizer in (before, after, again)]
    assert cut[0] == cut[1] == cut[2]
