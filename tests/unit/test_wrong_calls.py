"""Calls of careless and hostile users: a line each that names what is wrong, and no traceback.

Numbers are derived from the flags, so that those of a new verb are tried without a line here.
"""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from toy_models import SOURCE_WORDS, build_model, build_tokenizer

from revocab import __main__ as entry
from revocab import io
from revocab.adapting.adapt import AdaptOptions
from revocab.adapting.compare import CompareOptions
from revocab.closed import plain
from revocab.command import of_flags, read
from revocab.errors import RevocabError
from revocab.flags import flag_of, leaves, values_of

COMMANDS = {
    name: import_module(f"revocab.commands.{name}").COMMAND for name in entry.command_files()
}
BEGUN = {"adapt": AdaptOptions, "compare": CompareOptions}
WRONG = {int: ("x", "1.5", "true", str(10**30)), float: ("x", "nan", "inf", "-inf", "1e30")}
#: Every number that a flag takes, with its type.
NUMBERS = {
    (name, key): plain(field.annotation)
    for name, models in (
        *(
            (name, [*command.parts.values(), command.shorthand])
            for name, command in COMMANDS.items()
        ),
        *((name, [model]) for name, model in BEGUN.items()),
    )
    for model in models
    for key, field in leaves(model)
    if plain(field.annotation) in (int, float)
}


def refusals(verb: str, *words: str) -> list[str]:
    with pytest.raises(RevocabError) as caught:
        if verb in COMMANDS:
            read(COMMANDS[verb], f"revocab {verb}", words)
        else:
            options = BEGUN[verb]
            of_flags(options, values_of([options], f"revocab {verb}", "", words))
    return caught.value.problems


@pytest.mark.parametrize(("verb", "key"), NUMBERS)
def test_a_wrong_number_is_refused_by_its_flag(verb, key):
    for value in WRONG[NUMBERS[verb, key]]:
        problems = refusals(verb, f"{flag_of(key)}={value}")
        named = [problem for problem in problems if problem.startswith(f"{flag_of(key)}: ")]
        assert named, (value, problems)


def test_every_verb_has_a_call_that_is_refused():
    assert len(NUMBERS) > 100
    listed = {row[0][0] for row in WRONG_CALLS.values()}
    verbs = {*entry.VERBS, *entry.BEGUN, *entry.PLANNED}
    assert verbs <= listed, verbs - listed


#: By what is wrong: the words, and what the message must name. ``{…}`` is a file of the fixture.
WRONG_CALLS: dict[str, tuple[list[str], str]] = {
    "an option that is no YAML": (
        ["init", "--source", "{toy}", "--target-tokenizer", "{toy}", "--method", "fvt",
         "--option", "x=[1", "--out", "o"], "'[1', line 2: not valid YAML"),
    "a device that is not here": (
        ["init", "--source", "{toy}", "--target-tokenizer", "{toy}", "--method", "fvt",
         "--device", "cuda:7", "--out", "o"], "--device cuda:7: not available here"),
    "a method that there is not": (
        ["init", "--source", "{toy}", "--target-tokenizer", "{toy}", "--method", "fvtt",
         "--out", "o"], "fvtt"),
    "a name that is too long": (
        ["init", "--source", "{toy}", "--target-tokenizer", "{toy}", "--method", "fvt",
         "--out", "y" * 300], "File name too long"),
    "a model without a tokenizer": (
        ["init", "--source", "{bare}", "--target-tokenizer", "{toy}", "--method", "fvt",
         "--out", "o"], "bare"),
    "a change that there is not": (
        ["change", "--model", "{toy}", "--change", "shrink", "--out", "o"], "shrink"),
    "a vocabulary that is too large": (
        ["tokenizer", "--construction", "train", "--option", "alphabet=byte_level",
         f"vocabulary_size={10**11}", "corpora={it: 1.0}", "--corpora", "it={corpus}",
         "--out", "o"], "vocabulary_size = 100000000000: give at most 10,000,000"),
    "no tokenizer": (
        ["intersect", "--source", "{bare}", "--target", "{toy}", "--out", "o"], "bare"),
    "no tokenizer to measure": (
        ["fertility", "--tokenizers", "a={bare}", "--corpora", "it={corpus}", "--out", "o"],
        "bare: no tokenizer could be loaded"),
    "a corpus that is none": (
        ["fertility", "--tokenizers", "a={toy}", "--corpora", "it={toy}", "--out", "o"],
        "toy: holds no corpus, but untrained model; give a folder that revocab prepare wrote"),
    "JSON that is nested too deep": (
        ["prepare", "--corpus", "it", "--language", "it", "--files", "{deep.jsonl}", "--out", "o"],
        "deep.jsonl, line 1: not valid JSON (nested too deep)"),
    "a number of 10,000 digits": (
        ["prepare", "--corpus", "it", "--language", "it", "--files", "{digits.jsonl}",
         "--out", "o"], "digits.jsonl, line 2: not valid JSON"),
    "a line that is too long": (
        ["prepare", "--corpus", "it", "--language", "it", "--files", "{line.jsonl.gz}",
         "--out", "o"], "line.jsonl.gz, line 1: is longer than"),
    "a gzip file that is cut": (
        ["prepare", "--corpus", "it", "--language", "it", "--files", "{cut.jsonl.gz}",
         "--out", "o"], "cut.jsonl.gz: broken gzip file"),
    "a folder that holds itself": (
        ["prepare", "--corpus", "it", "--language", "it", "--files", "{loop}", "--out", "o"],
        "loop: no file of a supported format"),
    "no length": (
        ["pack", "--tokenizer", "{toy}", "--corpora", "it={corpus}", "--sequence-length", "16",
         "--seed", "1", "--out", "o"], "--rows: required and not given (steps times batch size"),
    "too little text": (
        ["pack", "--tokenizer", "{toy}", "--corpora", "it={corpus}", "--sequence-length", "16",
         "--seed", "1", "--rows", "100000", "--out", "o"], "corpus it: ends after"),
    "a corpus in place of packed rows": (
        ["train", "--model", "{toy}", "--packed", "{corpus}", "--heldout", "{corpus}",
         "--seed", "1", "--steps", "2", "--batch-size", "2", "--learning-rate", "0.1",
         "--checkpoint-every", "2", "--out", "o"],
        "corpus: holds no packed tokens, but corpus; give a folder that revocab pack wrote"),
    "a task file that is none": (
        ["task", "--task", "t_it", "--templates", "{corpus}", "--template", "none",
         "--language", "it", "--data", "{digits.jsonl}", "--out", "t.yaml"], "none"),
    "a model without its step": (
        ["score", "--models", "{toy}", "--run", "r", "--tasks", "t.yaml", "--out", "o"],
        "expected STEP="),
    "prompts that are none": (
        ["generate", "--models", "0={toy}", "--prompts", "p={digits.jsonl}", "--run", "r",
         "--out", "o"], "digits.jsonl"),
    "answers without prompts": (["answer", "--out", "o"], "required and not given"),
    "a judge of nothing": (["judge", "--out", "o"], "required and not given"),
    "a report on nothing": (
        ["report", "--results", "{corpus}", "--out", "o.html"], "experiment.json: no such file"),
    "no text": (["adapt", "{toy}", "--out", "o"], "--text: no text"),
    "a text that is empty": (
        ["adapt", "{toy}", "--text", "it={empty.txt}", "--out", "o"], "empty.txt: no text in it"),
    "a language that is none": (
        ["adapt", "{toy}", "--text", "klingon={line.jsonl.gz}", "--out", "o"],
        "klingon=…: not a language code"),
    "neither a folder nor an id": (
        ["adapt", "nowhere", "--text", "it={few.txt}", "--out", "o"], "nowhere: no folder with"),
    "a text that is too small": (
        ["adapt", "{toy}", "--text", "it={few.txt}", "--out", "o"], "64 new tokens need 32,000"),
    "a device of another make": (
        ["compare", "{toy}", "{toy}", "--text", "it={few.txt}", "--device", "tpu"],
        "--device tpu: not available here"),
    "one model": (["compare", "{toy}", "--text", "it={few.txt}"], "give two models"),
    "a file that is there": (["new", "{few.txt}"], "few.txt"),
    "a file that is not there": (["run", "none.yaml"], "none.yaml: no such file"),
    "a folder as a file": (["run", "--configfile", "{corpus}"], "corpus: cannot be read as a file"),
    "a job that there is not": (["job", "pack_token", "--configfile", "{small}"], "pack_token"),
    "a status of nothing": (["status", "--configfile", "none.yaml"], "none.yaml: no such file"),
    "a run that there is not": (["preflight", "r", "--configfile", "{small}"], "'r'"),
    "a verb that there is not": (["inti"], "did you mean 'init'?"),
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory, repository) -> Path:
    folder = tmp_path_factory.mktemp("wrong")
    build_model(build_tokenizer(SOURCE_WORDS, 30, folder / "tokenizer"), folder / "toy")
    (folder / "bare").mkdir()
    for name in ("config.json", "model.safetensors"):
        os.link(folder / "toy" / name, folder / "bare" / name)
    (folder / "few.txt").write_text("uno due\n\ntre quattro\n")
    (folder / "empty.txt").write_text("")
    (folder / "deep.jsonl").write_text('{"text": ' + "[" * 10**5 + "]" * 10**5 + "}\n")
    (folder / "digits.jsonl").write_text('{"text": "a"}\n{"text": "b", "n": ' + "1" * 10**4 + "}\n")
    with gzip.open(folder / "line.jsonl.gz", "wt") as handle:
        handle.write('{"text": "' + "a" * 3 * 10**5 + '"}\n')
    whole = (folder / "line.jsonl.gz").read_bytes()
    (folder / "cut.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    (folder / "loop").mkdir()
    (folder / "loop/loop").symlink_to(".")
    (folder / "small").symlink_to(repository / "tests/experiments/small.yaml")
    entry.main(
        ["prepare", "--corpus", "it", "--language", "it", "--files", str(folder / "few.txt"),
         "--out", str(folder / "corpus")]
    )  # fmt: skip
    return folder


@pytest.mark.parametrize("case", WRONG_CALLS)
def test_a_wrong_call_is_one_line_that_names_it(folder, tmp_path, monkeypatch, capsys, case):
    words, named = WRONG_CALLS[case]
    words = [in_folder(word, folder) for word in words]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(io, "LONGEST_LINE", 3 * 10**5)
    with pytest.raises(SystemExit) as ended:
        entry.main(words)
    said = capsys.readouterr().err
    assert ended.value.code == 1 and named in said and "Traceback" not in said, said
    (told,) = (line for line in said.splitlines() if line.startswith("error: "))
    assert len(told) < 1200
    assert not any(tmp_path.iterdir()), [*tmp_path.rglob("*")]


def in_folder(word: str, folder: Path) -> str:
    """Return a word with the path of what stands in braces, if a file of the folder does."""
    before, brace, rest = word.partition("{")
    name = rest.removesuffix("}")
    return f"{before}{folder / name}" if brace and (folder / name).exists() else word


def test_an_interrupted_call_is_one_line(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", "from revocab.cli import run\nrun(lambda: print('now', flush=True)"
         " or input())"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout.readline() == "now\n"
        process.send_signal(2)
        said = process.stderr.read()
    assert process.returncode == 130
    assert said == "error: interrupted; no partial output was kept\n"
