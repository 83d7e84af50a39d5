"""The functions for Python programs, and the page that shows them, run as it stands."""

from __future__ import annotations

import inspect
import shutil
import subprocess
import sys

import pytest
import torch
from method_inputs import CHANGING
from safetensors.torch import load_file
from toy_folders import QUICK, adapt

import revocab
from revocab import __main__ as entry
from revocab import api
from revocab.initialise.method import methods
from revocab.io import read_json, sha256, write_json, write_text
from revocab.models.folder import ModelFolder

#: The stable names: what is given without a name, and all keywords. Of methods, what all share.
STABLE = {
    "adapt": (
        "model text",
        "anyway cores demo helper keep method minutes model out text tokens vocabulary way",
    ),
    "check": ("model", "fix json model"),
    "export": ("model out", "approximate base lines model out outtype to"),
    "fertility": (
        "tokenizers corpora out",
        "corpora languages limit_bytes limit_documents out parallel parallel_files split splitter"
        " tokenizers",
    ),
    "init": (
        "method",
        "adapted base device helper helper_pairs identity languages method out pairs quiet seed"
        " source source_tokenizer target_tokenizer vectors",
    ),
    "intersect": (
        "source target out",
        "identity out roles source source_roles target target_roles",
    ),
    "trim": (
        "model text",
        "allow_unknown coverage dry_run head_only keep languages model out picture reasons text"
        " tokens",
    ),
}


@pytest.fixture(scope="module")
def page(repository) -> str:
    return (repository / "docs/quickstart.md").read_text(encoding="utf-8")


def rows(folder, which="input"):
    """Return a matrix of a toy: all its rows are tokens."""
    return ModelFolder(folder).read(ModelFolder(folder).vocabulary_tensors[which])


def hashes(folder):
    """Return the hashes of files, but for the one marker, which knows its folder and time."""
    return {
        str(file.relative_to(folder)): sha256(file)
        for file in folder.rglob("*")
        if file.is_file() and file.name != ".revocab.json"
    }


def by_hand(*words):
    """Run a command line in this process."""
    entry.main([str(word) for word in words])


def test_the_stable_names_and_their_keywords():
    assert {*revocab.__all__} == {*STABLE, "RevocabError", "target_matrix"}
    for name, (positional, keywords) in STABLE.items():
        parameters = inspect.signature(getattr(revocab, name)).parameters
        named = [key for key, each in parameters.items() if each.kind is not each.VAR_KEYWORD]
        assert " ".join(named) == positional, name
        assert " ".join(sorted(api.command_line(name).keywords)) == keywords, name


def test_the_page_runs(toys, page, tmp_path, monkeypatch):
    shutil.copytree(toys / "untied", tmp_path / "mistral-7b")
    shutil.copytree(toys / "helper", tmp_path / "minerva-3b")
    write_text(tmp_path / "italian.txt", "il gatto\nla casa\n")
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    fitting = page.replace("keep=20_000", "keep=280")  # a toy's size
    blocks = [part.partition("```")[0] for part in fitting.split("```python\n")[1:]]
    assert len(blocks) == 5 and fitting != page
    for number, block in enumerate(blocks):
        exec(compile(block, f"docs/quickstart.md, block {number}", "exec"), names)
    assert len(names["tokenizer"]) == len(names["model"].get_input_embeddings().weight)
    assert names["answer"].shape[1] > 5
    found, expected = names["embeddings"], adapt(toys, tmp_path / "fvt")
    assert torch.equal(
        found, load_file(expected / "model.safetensors")["model.embed_tokens.weight"]
    )
    assert names["sizes"].loc["trimmed", "tokens"] == 280 < names["sizes"].loc["as it is", "tokens"]
    shared = names["shared"]
    assert len(shared.target_ids) + len(shared.missing) == len(names["tokenizer"])
    card = (tmp_path / "adapted/README.md").read_text()
    assert "language:\n- it\n" in card and "- Helper model: minerva-3b" in card


def test_importing_loads_nothing_heavy():
    code = "import sys, revocab; assert not {'torch', 'transformers', 'pydantic'} & {*sys.modules}"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("method", ["fvt", "sava"])
def test_init_writes_the_same_bytes_as_its_verb(toys, tmp_path, method):
    inputs = {"source": toys / "untied", "target_tokenizer": toys / "target-tokenizer"}
    options = {"seed": 4, "languages": ["it", "en"], "pad_to": 64, **QUICK.get(method, {})}
    if methods()[method].needs_helper:
        inputs["helper"] = toys / "helper"
    out = revocab.init(method, **inputs, **options, quiet=True, out=tmp_path / "called")
    assert out == tmp_path / "called"
    words = [word for key, value in {**inputs, **options}.items() if key != "languages"
             for word in (f"--{key.replace('_', '-')}", value)]  # fmt: skip
    by_hand("init", method, *words, "--languages", "it", "en", "--quiet", "--out", tmp_path / "out")
    assert hashes(out) == hashes(tmp_path / "out")
    assert len(rows(out)) % 64 == 0
    marker = read_json(out / ".revocab.json")
    assert (marker["command"], marker["job"]["seed"]) == ("init_embeddings", 4)


def test_trim_writes_the_same_bytes_as_its_verb_and_a_dry_run_is_a_frame(toys, tmp_path):
    write_text(tmp_path / "en.txt", "the cat sits\nthe dog runs\n")
    text, options = {"en": tmp_path / "en.txt"}, {"keep": 270}
    sizes = revocab.trim(toys / "untied", text, **options, dry_run=True, out=tmp_path / "called")
    assert not (tmp_path / "called").exists()
    out = revocab.trim(toys / "untied", text, **options, out=tmp_path / "called")
    by_hand("trim", toys / "untied", f"en={tmp_path / 'en.txt'}", "--keep", 270,
            "--out", tmp_path / "out")  # fmt: skip
    assert hashes(out) == hashes(tmp_path / "out")
    before, after = rows(toys / "untied"), rows(out)
    assert sizes.loc[["as it is", "trimmed"], "tokens"].tolist() == [len(before), len(after)]
    width = 2 * before.shape[1] * before.element_size()  # embedding and head
    assert sizes.loc["as it is", "row_bytes"] == len(before) * width
    assert sizes.loc["trimmed", "row_bytes"] == len(after) * width
    assert len(after) == 270 and sizes.loc["as it is", "en"] == 1 > sizes.loc["trimmed", "en"] > 0


def test_export_writes_the_same_bytes_as_its_verb(toys, tmp_path):
    source, out = toys / "untied", tmp_path / "called"
    assert revocab.export(source, out, to="gguf", approximate=True) == out
    by_hand("export", source, tmp_path / "out", "--to", "gguf", "--approximate")
    assert hashes(out) == hashes(tmp_path / "out") and "model.gguf" in hashes(out)


def test_fertility_is_the_table_of_its_verb(bases, corpora, tmp_path):
    tokenizers = {name: bases[name] for name in ("byte_fallback", "byte_level")}
    texts = {"it": corpora["it"]}
    frame = revocab.fertility(tokenizers, texts, limit_documents=3, out=tmp_path / "called")
    words = [f"{name}={folder}" for name, folder in tokenizers.items()]
    by_hand("fertility", "--tokenizers", *words, "--corpora", f"it={corpora['it']}",
            "--limit-documents", 3, "--out", tmp_path / "out")  # fmt: skip
    assert hashes(tmp_path / "called") == hashes(tmp_path / "out")
    assert frame["tokenizer"].tolist() == [*tokenizers] and (frame["documents"] == 3).all()
    assert (frame["fertility_corpus"] - frame["tokens"] / frame["words"]).abs().max() < 1e-6
    assert frame.equals(revocab.fertility(tokenizers, texts, limit_documents=3))


def test_intersect_gives_the_pairs_of_its_verb(toys, tmp_path):
    sides = toys / "untied", toys / "target-tokenizer"
    shared = revocab.intersect(*sides, out=tmp_path / "called")
    by_hand("intersect", "--source", sides[0], "--target", sides[1], "--out", tmp_path / "out")
    assert hashes(tmp_path / "called") == hashes(tmp_path / "out")
    out = adapt(toys, tmp_path / "adapted")
    same = torch.tensor(shared.target_ids), torch.tensor(shared.source_ids)
    assert torch.equal(rows(out)[same[0]], rows(toys / "untied")[same[1]])
    assert len(shared.missing) + len(shared.target_ids) == len(rows(out))
    by_spelling = revocab.intersect(*sides, identity="marker")
    assert len(by_spelling.target_ids) == shared.report["shared_by"]["marker"]


def test_check_returns_what_is_wrong_and_what_is_left_in_a_mended_copy(toys, tmp_path):
    folder = shutil.copytree(toys / "untied", tmp_path / "model")
    config = read_json(folder / "config.json")
    write_json(folder / "config.json", {**config, "dtype": "bfloat16"})
    codes = [finding.code for finding in revocab.check(folder)]
    assert "dtype" in codes
    left = revocab.check(folder, fix=tmp_path / "mended", json=tmp_path / "findings.json")
    assert [finding.code for finding in left] == [code for code in codes if code != "dtype"]
    report = read_json(tmp_path / "findings.json")
    assert [finding["code"] for finding in report["findings"]] == codes
    assert report["mended"]["codes"] == ["dtype"]


def test_all_wrong_keywords_are_named_with_the_nearest(toys, tmp_path):
    with pytest.raises(revocab.RevocabError) as caught:
        revocab.trim(toys / "untied", {"en": "x.txt"}, coverag=1, dry_runs=True, keep="many")
    first, second, third = caught.value.problems
    assert "'coverag'" in first and "did you mean 'coverage'" in first
    assert "'dry_runs'" in second and "did you mean 'dry_run'" in second
    assert third.startswith("revocab.trim: keep: ") and "'many'" in third
    with pytest.raises(revocab.RevocabError, match=r"revocab\.init fvt: source: required"):
        revocab.init("fvt", out=tmp_path / "out")
    with pytest.raises(revocab.RevocabError, match="did you mean 'sava'"):
        revocab.init("sav", source=toys / "untied", out=tmp_path / "out")
    with pytest.raises(revocab.RevocabError, match="no keyword 'solver'"):
        revocab.init("fvt", source=toys / "untied", solver="lstsq", out=tmp_path / "out")
    with pytest.raises(revocab.RevocabError, match="no such folder"):
        revocab.export(tmp_path / "absent", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_words_of_keywords_are_read_as_the_same_values(tmp_path):
    """`adapt` records a command line, which a person may run to go on."""
    line = api.command_line("adapt")
    values = {"text": {"it": tmp_path / "it.txt", "el": tmp_path / "e=l.txt"}, "keep": None,
              "model": "owner/name@main", "tokens": 4096, "minutes": 0.5, "demo": False,
              "anyway": True, "out": tmp_path / "out"}  # fmt: skip
    words = line.words(**values)
    assert words[0] == "owner/name@main" and "--demo" not in words and "--keep" not in words
    assert line.read(words) == line.of(**values)
    line = api.command_line("init", "sava")
    values = {"source": "s", "languages": ["it", "en"], "learning_rate": 0.1 + 0.2, "out": "o"}
    assert line.read(line.words(**values)) == line.of(**values)


@pytest.mark.parametrize("method", [name for name in CHANGING if not methods()[name].needs_donor])
def test_a_matrix_is_that_of_the_adapted_model(toys, tmp_path, method):
    """For every method, from tensors alone; padding after the tokens counts for nothing."""
    out = adapt(toys, tmp_path / "out", method=method)
    for which in ("input", "output"):
        source_VD = rows(toys / "untied", which)
        found = revocab.target_matrix(
            torch.cat([source_VD, torch.full((3, source_VD.shape[1]), 9.0)]),
            method,
            options=QUICK.get(method),
            source_tokenizer=toys / "untied",
            target_tokenizer=str(toys / "target-tokenizer"),
            helper_VD=rows(toys / "helper") if methods()[method].needs_helper else None,
            which=which,
            seed=4,
        )
        assert torch.equal(found, rows(out, which))
