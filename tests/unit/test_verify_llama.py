"""A real llama.cpp, asked for tokens, text, logits and continuations."""

from __future__ import annotations

import pytest
import torch
from gguf_files import write_gguf

from revocab.errors import RevocabError
from revocab.models.load import load_causal_lm
from revocab.product.verify import runtimes as llama
from revocab.product.verify.runtimes import ask_llama, llama_folder
from revocab.vocabulary.tokenizers.load import load_tokenizer


def test_what_is_missing_is_said_with_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv(llama.VARIABLE, str(tmp_path / "nowhere"))
    with pytest.raises(RevocabError, match="nowhere: no node-llama-cpp there; run 'make llama'"):
        llama_folder()
    (tmp_path / "here/node_modules/node-llama-cpp").mkdir(parents=True)
    monkeypatch.setenv(llama.VARIABLE, str(tmp_path / "here"))
    monkeypatch.setattr(llama.shutil, "which", lambda name: None)
    with pytest.raises(RevocabError, match="no 'node' on the PATH"):
        llama_folder()


@pytest.mark.parametrize("content", [None, b"not a model", b"GGUF\x03\x00"])
def test_a_broken_file_is_named(real_llama, tmp_path, content):
    file = tmp_path / "model.gguf"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(RevocabError, match=f"{file}: llama.cpp failed: "):
        ask_llama(file, texts=["text"])


def test_ids_text_logits_and_continuations_are_those_of_transformers(real_llama, toys, tmp_path):
    file = write_gguf(toys / "untied", tmp_path / "model.gguf", adds_bos=False)
    model = load_causal_lm(toys / "untied", dtype=torch.float32).eval()
    tokenizer = load_tokenizer(toys / "untied")
    texts = ["the cat", "a<s>b", "on the mat and the dog"]
    ids = tokenizer(texts)["input_ids"]
    answer = ask_llama(
        file, texts=texts, decode=ids, logits=[(ids[2], [0, 3])], greedy=[(ids[0], 6)]
    )
    assert (answer.bos, answer.eos, answer.file_type) == (None, None, 0)
    assert answer.texts == ids and answer.framed(ids[0]) == ids[0]
    assert [answer.decoded[0], answer.decoded[2]] == [texts[0], texts[2]]
    with torch.no_grad():
        expected = model(torch.tensor([ids[2]])).logits[0, [0, 3]]
        written = model.generate(
            torch.tensor([ids[0]]), do_sample=False, max_new_tokens=6, min_new_tokens=6
        )
    assert torch.allclose(torch.tensor(answer.logits[0]), expected, atol=1e-4)
    made = answer.greedy[0]
    assert 1 <= len(made) <= 6 and made == written[0].tolist()[len(ids[0]) :][: len(made)]
    (plain,) = ask_llama(file, texts=["a<s>b"], special=False).texts
    assert 1 not in plain and 1 in answer.texts[1]
