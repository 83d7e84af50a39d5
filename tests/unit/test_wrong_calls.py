"""Calls of careless and hostile users: a line each that names what is wrong, and no traceback.

Numbers are derived from the flags, so that those of a new verb are tried without a line here.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal, get_origin

import pytest
from pydantic.fields import FieldInfo
from wrong_call_inputs import write_inputs
from wrong_calls import WRONG_CALLS

from revocab import __main__ as entry
from revocab import io
from revocab.cli import legible
from revocab.closed import plain
from revocab.command_line import flag_of
from revocab.errors import RevocabError
from revocab.verb import command_line
from revocab.verbs import find, places
from revocab.workflow.plan import plan

VERBS = {name: find(name) for name in places()}
VERBS |= {verb: entry.verb_of(verb) for verb in entry.BEGUN} | {"plan": plan}
#: How each verb, of each kind, is called.
LINES = {
    f"{name} {kind}".strip(): command_line(verb, f"revocab {name}", kind)
    for name, verb in VERBS.items()
    for kind in verb.kinds or [""]
}
#: Every flag of every verb.
FLAGS: dict[tuple[str, str], FieldInfo] = {
    (name, key): leaf.field for name, line in LINES.items() for key, leaf in line.known.items()
}
#: What no flag of a type takes, which its own limits may decide. Those of other types are looked at
#: when a command runs: paths, text that may have lines, options of a method or kind.
WRONG: dict[Any, tuple[str, ...]] = {
    int: (str(10**30),), float: ("nan", "1e30"), bool: ("maybe",),
    Literal: ("no such choice",), dict: ("x",), str: ("two\nlines",),
}  # fmt: skip


#: And what their type alone decides: each flag is given one of them.
UNREADABLE = {int: ("x", "1.5", "true"), float: ("x", "inf", "-inf")}


def kind_of(field: FieldInfo) -> Any:
    """Return the type of a flag; None for text that may be any."""
    kind = plain(field.annotation)
    patterned = "pattern=" in repr((field.annotation, field.metadata))
    return None if kind is str and not patterned else get_origin(kind) or kind


CHECKED = [flag for flag, field in FLAGS.items() if kind_of(field) in WRONG]


#: What holds its folder while it works, and goes on with it when it is called again.
RESUMED = ("train", "generate")


def refusals(name: str, *words: str) -> list[str]:
    with pytest.raises(RevocabError) as caught:
        LINES[name].read(words)
    return caught.value.problems


@pytest.mark.parametrize(("number", "verb", "key"), [(n, *flag) for n, flag in enumerate(CHECKED)])
def test_a_wrong_value_is_refused_by_its_flag(number, verb, key):
    kind = kind_of(FLAGS[verb, key])
    unreadable = UNREADABLE.get(kind, ())
    for value in (*WRONG[kind], *unreadable[number % 3 :][:1]):
        problems = refusals(verb, f"{flag_of(key)}={value}")
        assert any(flag_of(key) in problem for problem in problems), (value, problems)


@pytest.mark.parametrize("name", LINES)
def test_what_a_verb_needs_is_named_where_nothing_is_given(name):
    line = LINES[name]
    needed = [key for key, leaf in line.known.items() if leaf.field.is_required()]
    if needed := [key for key in needed if "." not in key]:
        flags = {key.upper() if key in line.positional else flag_of(key) for key in needed}
        named = {problem.partition(": ")[0] for problem in refusals(name)}
        assert flags <= named


def test_every_verb_has_a_call_that_is_refused():
    assert len(CHECKED) > 250 and {kind_of(field) for field in FLAGS.values()} >= WRONG.keys()
    listed = {call.split()[0] for call, _ in WRONG_CALLS}
    verbs = {*entry.VERBS, *entry.BEGUN, *entry.PLANNED}
    assert verbs <= listed, verbs - listed


@pytest.fixture(scope="module")
def folder(tmp_path_factory, repository) -> Path:
    folder = tmp_path_factory.mktemp("wrong")
    write_inputs(folder, repository)
    return folder


@pytest.mark.parametrize(("call", "named"), WRONG_CALLS)
def test_a_wrong_call_is_one_line_that_names_it(folder, tmp_path, monkeypatch, capsys, call, named):
    words = [in_folder(word, folder) for word in shlex.split(call)]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(io, "LONGEST_LINE", 3 * 10**5)
    with pytest.raises(SystemExit) as ended:
        entry.main(words)
    said = capsys.readouterr().err
    assert ended.value.code in (1, 2) and named in said and "Traceback" not in said, said
    (told,) = (line for line in said.splitlines() if line.startswith("error: "))
    assert len(told) < 1200
    left = {path.name for path in tmp_path.iterdir()}
    assert left <= ({"o"} if words[0] in RESUMED else set()), [*tmp_path.rglob("*")]


def in_folder(word: str, folder: Path) -> str:
    """Return a word with paths in place of what stands in braces, if the folder has it."""

    def place(name: re.Match[str]) -> str:
        return str(folder / name[1]) if (folder / name[1]).exists() else name[0]

    return re.sub(r"\{([\w.-]+)\}", place, word)


def test_an_interrupted_call_is_one_line(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", "import signal\nfrom revocab.cli import run\n"
         "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a parent may ignore it
         "run(lambda: print('now', flush=True) or input())"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout.readline() == "now\n"
        process.send_signal(2)
        said = process.stderr.read()
    assert process.returncode == 130
    assert said == "error: interrupted; no partial output was kept\n"


@pytest.mark.parametrize("words", [["help", "steps"], ["pack", "--help"], ["plan", "--help"]])
def test_a_reader_that_has_seen_enough_is_no_error(words):
    with subprocess.Popen(
        [sys.executable, "-u", "-m", "revocab", *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode in (0, 1, 141)  # 1 is of the library that prints help


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("CUDA out of memory. Tried to allocate 2.50 GiB.", True),
        ("CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported", True),
        ("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", True),
        ("CUDA error: device-side assert triggered", False),
    ],
)
def test_memory_that_ran_out_on_a_device_is_one_line(capsys, text, known):
    with pytest.raises(SystemExit if known else RuntimeError), legible():
        raise RuntimeError(text)
    assert len(capsys.readouterr().err.splitlines()) == known
