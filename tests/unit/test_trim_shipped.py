"""A trimmed model through check and verify, in a real llama.cpp and in a real vLLM."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sound_models import SHAPE, SOUND, WITH_TABLES, write_sound

from revocab.product.check.kind import look_at
from revocab.product.export.export import export
from revocab.product.trim import trim
from revocab.product.verify.verify import VerifyOptions, verified_model
from revocab.vocabulary.tokenizers.load import load_tokenizer

#: Heads as wide as vLLM has them on a CPU.
WIDE = {**SHAPE, "hidden_size": 64, "num_attention_heads": 2, "num_key_value_heads": 1,
        "head_dim": 32}  # fmt: skip
MODELS = {
    "untied ▁": replace(SOUND["llama-2"], shape=WIDE),
    "tied byte-level": replace(SOUND["llama-3-instruct"], shape=WIDE),
    **{name: WITH_TABLES[name] for name in ("gemma-3n", "gemma-3n-untied")},
}
LINES = "the cat sat on the mat\nil gatto è sulla casa, perché Мир 世界\n\n  due  spazi\n12 345\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a trimmed model by its name, each made once."""
    root, done = tmp_path_factory.mktemp("shipped"), {}
    (root / "en.txt").write_text("the cat sat on the mat\n\nand the dog ran to the house\n")
    (root / "lines.txt").write_text(LINES, encoding="utf-8")

    def make(name):
        if name not in done:
            source, out = root / f"{len(done)}", root / f"{len(done)}-trimmed"
            keep = len(load_tokenizer(write_sound(MODELS[name], source))) - 20
            trim([str(source), f"en={root}/en.txt", "--keep", str(keep), "--out", str(out)])
            done[name] = out
        return done[name]

    return make


def verified(folder, *runtimes, **options):
    text = [folder.parent / "lines.txt"]
    return verified_model(
        str(folder), VerifyOptions(runtime=[*runtimes], text=text, **options)
    ).results


@pytest.mark.parametrize("name", MODELS)
def test_check_and_verify_find_nothing_wrong(made, name):
    assert not [finding for finding in look_at(made(name)) if finding.severity == "error"]
    results = verified(made(name), "tokenizers", "transformers")
    assert [result.state for result in results] == ["equal"] * 3, results


@pytest.mark.parametrize("name", ["untied ▁", "tied byte-level"])
def test_llama_cpp_gives_the_same_tokens_and_logits(real_llama, made, tmp_path, name):
    """Spaces that the toys' decoders leave and llama.cpp takes off are so before and after."""
    same_text = []
    for folder in (made(name).with_name(made(name).name.removesuffix("-trimmed")), made(name)):
        export([str(folder), "--to", "gguf", str(tmp_path / folder.name)])
        (result,) = verified(folder, "llama.cpp", gguf=tmp_path / folder.name / "model.gguf")
        assert result.same_ids == result.texts and 0 < result.logits < result.allowed, result
        same_text.append((result.texts, result.same_text))
    assert same_text[0] == same_text[1]


def test_vllm_gives_the_same_tokens_and_logits(vllm_interpreter, made, monkeypatch):
    monkeypatch.setenv("REVOCAB_VLLM_PYTHON", vllm_interpreter)
    (result,) = verified(made("untied ▁"), "vllm")
    assert result.state == "equal" and 0 < result.logits < result.allowed, result
