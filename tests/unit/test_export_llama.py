"""Exports in a real llama.cpp: tokens of every construction, logits, greedy text."""

from __future__ import annotations

import gzip
import json
import shlex
from pathlib import Path

import pytest
from construction_toys import (
    ENGLISH,
    GREEK,
    ITALIAN,
    base_tokenizers,
    build_trained,
    change,
    edited,
    mixture,
    prepared,
)
from jobs import job_of
from printed import printed
from toy_models import build_model

from revocab.io import read_json, write_json
from revocab.product.export.export import export
from revocab.product.verify.runtimes import ask_llama
from revocab.vocabulary.building.construction import TokenizerJob, build_from_folders
from revocab.vocabulary.tokenizers.alphabets import LLAMA_CPP_SPLITTERS
from revocab.vocabulary.tokenizers.identity import golden_texts
from revocab.vocabulary.tokenizers.load import load_tokenizer

FAMILIES = ("byte_fallback", "mistral", "byte_level", "llama")
CHANGES = {"extend": {"add": 40}, "replace": {"share": 0.1}, "optimise": {"keep": 0.85}}
#: Where real text of each language lies in the shared data folder.
LANGUAGES = {
    "it": "corpora/it/wikineural", "en": "corpora/en/wikineural", "ru": "corpora/ru/wikineural",
    "el": "corpora/el/eltec", "sw": "corpora/sw/mafand_globalvoices", "ar": "mc/mmlu_val/ar",
}  # fmt: skip
LINES = 10_000
PROMPTS = sorted({" ".join(text.split()[:4]) for text in ENGLISH + ITALIAN})[:20]


@pytest.fixture(scope="module")
def tokenizers(tmp_path_factory) -> dict[str, Path]:
    """Return a tokenizer of every construction from every base."""
    folder = tmp_path_factory.mktemp("tokenizers")
    corpora = prepared(folder / "corpora")
    bases = base_tokenizers(folder / "bases")
    made = {}

    def place(name: str) -> Path:
        made[name] = folder / name
        return made[name]

    for family in FAMILIES:
        base = bases[family]
        job = job_of(TokenizerJob, construction="adopt", tokens=["<|im_start|>", "<|im_end|>"])
        places = {"base": base, "template": Path("chatml")}
        build_from_folders(job, {}, places, place(f"adopt-{family}"))
        for way, given in CHANGES.items():
            mixtures = {"corpora": mixture(corpora, el=1.0)}
            if way != "extend":
                mixtures["count_corpora"] = mixture(corpora, el=0.5, en=0.5)
            change(way, base, mixtures, place(f"{way}-{family}"), **given)
    for alphabet, digits in (("byte_fallback", "none"), ("byte_level", "individual")):
        for spaces in ("single", "grouped"):
            out = place(f"train-{alphabet}-{digits}-{spaces}")
            build_trained(mixture(corpora, it=1.0), alphabet, 640, out, digits=digits,
                          whitespace=spaces)  # fmt: skip
    return made


def different(tokenizer: Path, gguf: Path, lines: list[str]) -> list[str]:
    """Return the lines that llama.cpp cuts otherwise; special tokens among them."""
    loaded = load_tokenizer(tokenizer)
    answer = ask_llama(gguf, texts=lines)
    wanted = loaded(lines)["input_ids"]
    there = [answer.framed(ids) for ids in answer.texts]
    return [line for line, a, b in zip(lines, there, wanted, strict=True) if a != b]


def real_lines(folder: Path) -> list[str]:
    """Return as many lines of each language of the shared data."""
    lines = []
    for name in LANGUAGES.values():
        own: list[str] = []
        with gzip.open(folder / f"data/{name}.jsonl.gz", "rt", encoding="utf-8") as rows:
            for row in map(json.loads, rows):
                own += (row.get("text") or row["question"]).splitlines()
        lines.append([line[:300] for line in own if line.strip()])
    each = LINES // len(lines)
    chosen = [line for own in lines for line in own[:each]]
    return [*chosen, *lines[0][each : each + LINES - len(chosen)]]


@pytest.mark.long
def test_every_construction_gives_the_same_tokens(real_llama, tokenizers, tmp_path):
    for name, folder in tokenizers.items():
        model = build_model(folder, tmp_path / name)
        export([str(model), "--to", "gguf", str(tmp_path / f"{name}-o")])
        golden = [text for text, _ in golden_texts(load_tokenizer(folder)) if "▁" not in text]
        lines = [*ENGLISH, *ITALIAN, *GREEK, *golden]
        assert not different(model, tmp_path / f"{name}-o/model.gguf", lines), name


def splits(*patterns: str) -> dict[str, object]:
    """Return a byte-level pre-tokenizer that cuts by patterns."""
    plain = {"behavior": "Isolated", "invert": False}
    steps = [{"type": "Split", "pattern": {"Regex": one}, **plain} for one in patterns]
    level = {"type": "ByteLevel", "use_regex": False, "add_prefix_space": False}
    return {"type": "Sequence", "pretokenizers": [*steps, {**level, "trim_offsets": True}]}


@pytest.mark.long
@pytest.mark.parametrize("splitter", LLAMA_CPP_SPLITTERS, ids=lambda splitter: splitter.name)
def test_every_splitter_cuts_there_as_its_patterns_do_here(
    real_llama, tokenizers, tmp_path, splitter
):
    base = load_tokenizer(tokenizers["extend-byte_level"])
    folder = edited(base, tmp_path / "t", pre_tokenizer=splits(*splitter.patterns))
    config = read_json(folder / "tokenizer_config.json")
    config["clean_up_tokenization_spaces"] = splitter.cleans_spaces
    write_json(folder / "tokenizer_config.json", config)
    cuts_the_same(build_model(folder, tmp_path / "m"), tmp_path / "o")
    text = "a != b , c ?"
    ids = load_tokenizer(folder)(text)["input_ids"]
    (decoded,) = ask_llama(tmp_path / "o/model.gguf", decode=[ids]).decoded
    assert decoded == ("a!= b, c?" if splitter.cleans_spaces else text)


@pytest.mark.long
@pytest.mark.parametrize("way", ["llama", "gemma4", "sarvam-moe"])
def test_without_a_space_before_a_text_scores_or_merges_serve(
    real_llama, tokenizers, tmp_path, way
):
    """Merges are written where a token's own text gives two others."""
    base = load_tokenizer(tokenizers["extend-mistral"])
    state = json.loads(base.backend_tokenizer.to_str())
    merges, parts = state["model"]["merges"], {part for m in state["model"]["merges"] for part in m}
    ends = [merge for merge in merges if "".join(merge) not in parts and len("".join(merge)) > 4]
    folder = edited(
        base,
        tmp_path / "t",
        normalizer={"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
        post_processor=None if way == "sarvam-moe" else state["post_processor"],
        model__merges=[m for m in merges if way == "llama" or m != ends[-1]],
    )
    assert f"'{way}'" in cuts_the_same(build_model(folder, tmp_path / "m"), tmp_path / "o")


def cuts_the_same(model: Path, out: Path) -> str:
    """Export a model and compare its tokens; return what the export says."""
    told = export([str(model), "--to", "gguf", str(out)])
    golden = [text for text, _ in golden_texts(load_tokenizer(model))]
    assert not different(model, out / "model.gguf", [*ENGLISH, *ITALIAN, *GREEK, *golden])
    return told


@pytest.mark.long
@pytest.mark.shared_data
@pytest.mark.parametrize("name", ["extend-byte_fallback", "extend-mistral", "replace-byte_level"])
def test_ten_thousand_lines_of_six_languages(real_llama, tokenizers, shared_folder, tmp_path, name):
    lines = real_lines(shared_folder)
    assert len(lines) >= 0.85 * LINES  # Greek and Arabic have fewer
    model = build_model(tokenizers[name], tmp_path / "m")
    export([str(model), "--to", "gguf", str(tmp_path / "o")])
    assert not different(model, tmp_path / "o/model.gguf", lines)


@pytest.mark.long
@pytest.mark.shared_data
def test_the_tokenizer_of_mistral(real_llama, shared_folder, tmp_path):
    model = build_model(shared_folder / "tokenizers/mistral-7b-v0.1", tmp_path / "m")
    export([str(model), "--to", "gguf", str(tmp_path / "o")])
    lines = real_lines(shared_folder)[::10]
    assert not different(model, tmp_path / "o/model.gguf", lines)


@pytest.mark.long
@pytest.mark.parametrize("family", ["llama", "mistral"])
def test_logits_and_greedy_text_are_those_of_transformers(real_llama, tokenizers, tmp_path, family):
    import torch
    from transformers import AutoModelForCausalLM

    folder = build_model(tokenizers["extend-byte_level"], tmp_path / "m", family=family)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    for weight in model.parameters():  # further from uniform than a new model
        if weight.dim() > 1:
            torch.nn.init.normal_(weight, std=0.2, generator=torch.Generator().manual_seed(7))
    model.save_pretrained(folder)
    export([str(folder), "--to", "gguf", str(tmp_path / "o"), "--outtype", "f32"])
    ids = load_tokenizer(folder)(PROMPTS)["input_ids"]
    asked = [(one, [*range(len(one))]) for one in ids[:4]]
    answer = ask_llama(tmp_path / "o/model.gguf", logits=asked, greedy=[(one, 16) for one in ids])
    for one, rows in zip(ids, answer.logits, strict=False):
        with torch.no_grad():
            wanted = model(torch.tensor([one])).logits[0]
        assert (wanted - torch.tensor(rows)).abs().max() < 1e-3
    for one, made in zip(ids, answer.greedy, strict=True):
        prompt = torch.tensor([one])
        with torch.no_grad():
            whole = model.generate(
                prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=16, do_sample=False
            )
        assert whole[0, len(one) :].tolist() == made


@pytest.mark.long
def test_the_commands_of_the_page_run_as_printed(real_llama, tokenizers, repository, tmp_path,
                                                 monkeypatch):  # fmt: skip
    model = build_model(tokenizers["extend-byte_fallback"], tmp_path / "MODEL")
    (tmp_path / "new.txt").write_text("\n".join(ITALIAN[:40]))
    monkeypatch.chdir(tmp_path)
    lines = [line for line in printed(repository) if line.page == "docs/ship.md"]
    # Adapters for PEFT: tests/parity/test_language_adapter.py.
    exports = [line.words[1:] for line in lines if line.words[0] == "export" and line.words[1:]
               and "adapter" not in line.words]  # fmt: skip
    assert len(exports) == 4
    for number, words in enumerate(exports):
        place = {"OUT": f"out{number}", "exported": f"out{number}"}
        mine = [place.get(word, "MODEL" if "/" in word else word) for word in words]
        assert "tokens the same" in export(mine), shlex.join(mine)
    assert read_json(model / "config.json")["model_type"] == "mistral"
    (written,) = ask_llama("out0/model.gguf", greedy=[([1, 300], 8)]).greedy
    assert len(written) == 8 or written[-1] == 2
