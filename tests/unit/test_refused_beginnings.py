"""What `adapt`, `compare` and `new` refuse: in one line each, and nothing is written."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from refusals import problems
from toy_models import SOURCE_WORDS, build_model, build_tokenizer

from revocab import __main__ as entry
from revocab.io import read_json, write_json
from revocab.product import adapt

#: How each verb is called; ``MODEL`` is a folder below, and flags follow.
CALLS = {
    "adapt": ["adapt", "MODEL", "--out", "o"],
    "compare": ["compare", "MODEL", "MODEL", "--device", "cpu", "--out", "o"],
    "new": ["new", "o/n.yaml", "--model", "MODEL", "--vocabulary", "1500"],
}
#: Texts that no verb takes, by what follows ``--text``, and what is said of them.
TEXTS = {
    "": "--text: ",
    "it=empty.txt": "empty.txt: no text in it",
    "it=no-files": "no-files: no file of a supported format in this folder",
    "it=gone.txt": "gone.txt: no such file",
    "it=one.txt": "one.txt: one document of 7,000 bytes in a single line or row",
    "it=few.txt": {
        "adapt": "--text: 18 bytes in all, but 64 new tokens need 32,000",
        "compare": "few.txt: 18 characters in the first 200,000 bytes (--limit-bytes)",
        "new": "--vocabulary 1500: 1,211 new tokens need at least 60,550 bytes of text",
    },
    "it=binary.txt": "binary.txt, line 2: not UTF-8",
    "it=nul.txt": "nul.txt: holds NUL characters",
    "it=surrogate.jsonl": "surrogate.jsonl: a lone surrogate at character 1 is not text",
    "it=binary.jsonl": "binary.jsonl, line 1: not UTF-8",
    "it=binary.parquet": "binary.parquet: not a readable parquet file",
    "it=binary.txt.gz": "binary.txt.gz: broken gzip file",
    "it=image.png": "image.png: allowed are .jsonl, .txt",
    "it=rows.jsonl": "rows.jsonl: a row without text under 'text' (it has: content)",
    "it.txt": "--text 'it.txt': expected NAME=VALUE; write --text it=it.txt",
    "it=": "--text 'it=': expected NAME=VALUE",
    "klingon=it.txt": "--text klingon=…: not a language code",
    "Italian=it.txt": "write --text it=FILE",
    "it=it.txt it=en.txt": "--text: 'it' is given twice",
    "it=it.txt en=it.txt": "it.txt (it) and it.txt (en): contain the same text",
    "it=texts/it.txt en=texts": "texts/it.txt (it) and texts (en): contain the same text",
}
#: Folders in place of a model.
MODELS = {
    "nothing": "nothing: ",
    "gone": ": no ",
    "it.txt": "it.txt: ",
    "a/b/c": "a/b/c: no ",
    "short": "short: its context has 16 tokens, but a row of text needs at least 32",
    "no-weights": "no-weights: no safetensors weights",
    "no-tokenizer": "no-tokenizer: no tokenizer could be loaded",
    "cut": "cut/config.json: not valid JSON",
    "listed": "listed/config.json: not a JSON object",
    "unheard-of": "unheard-of: the model could not be loaded",
}
#: Other flags of a verb, which come after a model and a text that are right.
FLAGS = {
    "adapt --keep it=en.txt": "--keep it=…: is also a language of --text",
    "adapt --keep en=it.txt": "it.txt (it) and it.txt (en): contain the same text",
    "adapt --keep en=gone.txt": "gone.txt: no such file",
    "adapt --vocabulary 200": "--vocabulary 200: the model has 289 tokens; give more",
    "adapt --vocabulary 900000": "or at most 2346",
    "adapt --tokens 0": "--tokens: ",
    "adapt --minutes 0": "--minutes: ",
    "adapt --method fvtt": "did you mean 'fvt'?",
    "adapt --method sava": "--helper MODEL",
    "adapt --way sideways": "--way: ",
    "adapt --demo": "give either MODEL, a folder or Hub id, or --demo",
    "adapt --out en.txt": "en.txt: already exists",
    "adapt --out short": "short: already exists",
    "adapt --out en.txt/o": "en.txt/o: en.txt",
    "compare --out short": "short: its .revocab.json says 'untrained model'",
    "compare --out en.txt": "en.txt: a file",
    "compare --limit-bytes 0": "--limit-bytes: ",
    "new --vocabulary 200": "--vocabulary 200: the model has 289 tokens; give more",
    "new --vocabulary many": "--vocabulary: ",
    "new --method fvtt": "fvtt",
}
#: Whole calls.
WHOLE = {
    "adapt --text it=it.txt --out o": "give either MODEL, a folder or Hub id, or --demo",
    "adapt --demo --vocabulary 5 --out o": "--vocabulary 5: the model has 2,048 tokens",
    "adapt --demo --text it=it.txt --keep en=few.txt --out o": "2,048 tokens of a stand-in need",
    "compare toy --text it=it.txt": "NEW: ",
    "compare toy toy toy --text it=it.txt": "no flag takes the words ['toy']",
    "new few.txt --model toy --text it=it.txt --vocabulary 1500": "a name that ends in .yaml",
    "new mine.yaml --model toy --text it=it.txt --vocabulary 1500": "mine.yaml: already exists",
    "new n.yaml --task --model toy": "--model: not for a prompt",
    "new mine.yaml --task": "mine.yaml: already exists",
}


def calls() -> dict[str, tuple[list[str], str]]:
    """Return all calls with what they are told, by how they read."""
    listed = []
    for verb, words in CALLS.items():
        for text, told in TEXTS.items():
            given = ["--text", *text.split()] if text else []
            named = ["toy" if word == "MODEL" else word for word in words]
            listed.append(([*named, *given], told if isinstance(told, str) else told[verb]))
        for model, told in MODELS.items():
            named = [model if word == "MODEL" else word for word in words]
            listed.append(([*named, "--text", "it=it.txt"], told))
    for line, told in FLAGS.items():
        verb, *flags = line.split()
        named = ["toy" if word == "MODEL" else word for word in CALLS[verb]]
        # An output or vocabulary of its own in place of the usual one.
        if flags[0] in named:
            place = named.index(flags[0])
            named[place : place + 2] = []
        listed.append(([*named, "--text", "it=it.txt", *flags], told))
    listed += [(line.split(), told) for line, told in WHOLE.items()]
    return {" ".join(words): (words, told) for words, told in listed}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("refused")
    build_model(build_tokenizer(SOURCE_WORDS, 30, folder / "tokenizer"), folder / "toy")
    for name in ("short", "no-weights", "no-tokenizer", "cut", "listed", "unheard-of"):
        shutil.copytree(folder / "toy", folder / name)
    config = read_json(folder / "toy/config.json")
    write_json(folder / "short/config.json", {**config, "max_position_embeddings": 16})
    write_json(folder / "unheard-of/config.json", {**config, "model_type": "unheard-of"})
    write_json(folder / "listed/config.json", [])
    (folder / "cut/config.json").write_text('{"model_type":')
    (folder / "no-weights/model.safetensors").unlink()
    for file in (folder / "no-tokenizer").glob("token*"):
        file.unlink()
    for name in ("nothing", "no-files", "texts"):
        (folder / name).mkdir()
    it, en = (
        "\n\n".join(f"{said} {number}" for number in range(4000))
        for said in ("il gatto dorme a casa", "the cat sleeps at home")
    )
    texts = {
        "it.txt": it, "en.txt": en, "few.txt": "uno due\n\ntre quattro\n", "empty.txt": "",
        "one.txt": "parola " * 1000, "nul.txt": "a\0b\n\nc",
        "rows.jsonl": '{"content": "a"}\n', "mine.yaml": "mine",
        "surrogate.jsonl": '{"text": "a\\ud800"}\n',
    }  # fmt: skip
    for name, content in texts.items():
        (folder / name).write_text(content, encoding="utf-8")
    (folder / "texts/it.txt").write_text(it, encoding="utf-8")
    binary = {
        "binary.txt": bytes(range(256)) * 4, "binary.jsonl": b"\xff\xfe\x00",
        "image.png": b"\x89PNG", "binary.parquet": b"PAR1 and no more", "binary.txt.gz": b"no gzip",
    }  # fmt: skip
    for name, content in binary.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture(autouse=True)
def nothing_runs(monkeypatch, folder) -> Iterator[None]:
    """No run begins, nobody is asked, and the device is not timed."""

    def begun(*_: object) -> None:
        raise AssertionError("a run began")

    monkeypatch.setattr(adapt, "run", begun)
    monkeypatch.setattr(adapt, "training_speed", lambda *_: 1000.0)
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    monkeypatch.chdir(folder)
    yield
    shutil.rmtree("o", ignore_errors=True)


def state(folder: Path) -> dict[str, int]:
    return {str(path): path.lstat().st_mtime_ns for path in folder.rglob("*")}


@pytest.mark.parametrize("case", calls())
def test_a_beginning_that_cannot_end_well_is_refused_in_a_line(case, folder, capsys):
    words, told = calls()[case]
    before = state(folder)
    with pytest.raises(SystemExit) as ended:
        entry.main(words)
    said = capsys.readouterr()
    assert ended.value.code in (1, 2) and not said.out
    (line,) = (line for line in said.err.splitlines() if not line.startswith("[transformers]"))
    assert line.startswith("error: ") and told in line and len(line) < 700, line
    assert state(folder) == before, "something was written"


def test_a_model_that_does_not_come_first_is_told_where_it_belongs(capsys):
    with pytest.raises(SystemExit):
        entry.main(["adapt", "--text", "it=it.txt", "toy"])
    assert "MODEL comes first: revocab adapt MODEL" in capsys.readouterr().err
    assert not os.path.lexists("o")


def test_a_language_without_words_for_prompts_is_named_with_those_that_have_them(repository):
    file = repository / "tests/experiments/small.yaml"
    values = yaml.safe_load(file.read_text(encoding="utf-8"))
    tasks = values["evaluation"]["generation"]["tasks"]
    tasks["squad_it"]["direction"] = ["xh"]
    (line,) = problems(values)
    assert "languages/xh.yaml lacks the words answer, context, question" in line, line
    assert "languages that have all that this prompt needs: " in line
