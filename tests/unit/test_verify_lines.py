"""Every construction gives 10,000 lines of six languages the same ids wherever it is loaded."""

from __future__ import annotations

from pathlib import Path

import pytest
from chat_toys import SPECIAL
from construction_toys import build_trained, change, mixture
from jobs import job_of
from six_languages import lines_of_six_languages

from revocab.product.verify.verify import VerifyOptions, verified_model
from revocab.vocabulary.building.construction import TokenizerJob, build_from_folders

pytestmark = [pytest.mark.long, pytest.mark.shared_data]

RUNTIMES = ["tokenizers", "transformers", "transformers4", "vllm"]
WAYS = {"extend": {"add": 300}, "replace": {"share": 0.02}, "optimise": {"keep": 0.97}}
BASES = ("mistral", "llama")
TRAINED = {
    "▁ bpe": ("byte_fallback", {}),
    "▁ unigram": ("byte_fallback", {"model": "unigram"}),
    "byte-level bpe": ("byte_level", {}),
}
CASES = [
    *((way, base) for base in BASES for way in (*WAYS, "adopt")),
    *(("train", name) for name in TRAINED),
]


@pytest.fixture(scope="module")
def text(tmp_path_factory, shared_folder) -> Path:
    path = tmp_path_factory.mktemp("text") / "lines.txt"
    path.write_text("\n".join(lines_of_six_languages(shared_folder)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def bases(bases, shared_folder) -> dict[str, Path]:
    """The real tokenizer of Mistral, and a byte-level one in Llama 3's shape."""
    return {"mistral": shared_folder / "tokenizers/mistral-7b-v0.1", "llama": bases["llama"]}


def build(way: str, name: str, bases: dict[str, Path], corpora: dict[str, Path], out: Path) -> None:
    if way == "train":
        alphabet, options = TRAINED[name]
        build_trained(mixture(corpora, it=0.5, el=0.5), alphabet, 700, out, **options)
    elif way == "adopt":
        places = {"base": bases[name], "template": Path("chatml")}
        job = job_of(TokenizerJob, construction="adopt", tokens=[*SPECIAL[2:4]])
        build_from_folders(job, {}, places, out)
    else:
        mixtures = {"corpora": mixture(corpora, it=0.5, el=0.5)}
        if way != "extend":
            mixtures["count_corpora"] = mixture(corpora, el=0.5, en=0.5)
        change(way, bases[name], mixtures, out, **WAYS[way])


@pytest.mark.parametrize(("way", "name"), CASES)
def test_lines_and_golden_texts_are_equal(
    way, name, bases, corpora, text, tmp_path, monkeypatch, real_transformers4, vllm_interpreter
):
    monkeypatch.setenv("REVOCAB_VLLM_PYTHON", vllm_interpreter)
    build(way, name, bases, corpora, tmp_path / "out")
    options = VerifyOptions(runtime=RUNTIMES, text=[text])
    results = verified_model(str(tmp_path / "out"), options).results
    assert len(results) == 1 + 2 + 2 + 1 and min(r.texts for r in results) > 10_060
    assert {result.state for result in results} == {"equal"}, results
