"""A real llama.cpp, asked for tokens, text, logits and continuations."""

from __future__ import annotations

import pytest

from revocab.errors import RevocabError
from revocab.verify import llama
from revocab.verify.llama import ask_llama, llama_folder


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
