"""Every command line that README and docs print: read by the program that it calls.

Names of files may be made up; flags, choices, targets, experiments and profiles may not. What of
them is run is in ``test_quickstart.py`` and ``test_adapt.py``.
"""

from __future__ import annotations

import argparse
import re
import runpy
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from itertools import filterfalse, pairwise
from pathlib import Path

import pytest
from printed import Printed, pages, printed

from revocab import __main__ as entry
from revocab import experiment
from revocab.command_line import flag_of
from revocab.verb import command_line, read
from revocab.verbs import places
from revocab.workflow import plan as bill_plan
from revocab.workflow import run

REPOSITORY = Path(__file__).resolve().parents[2]
PRINTED = list(printed(REPOSITORY))
#: Names that stand for a file or folder of the reader's, and one that is here.
STANDS_FOR = {
    "FILE": "config/demos/demo.yaml",
    "FILE.yaml": "config/demos/demo.yaml",
    "my.yaml": "config/demos/demo.yaml",
    "mine.yaml": "config/demos/demo.yaml",
    "starts.yaml": "config/demos/demo.yaml",
    "adapt.yaml": "config/demos/demo.yaml",
    "FOLDER": "profiles/slurm",
}
#: Without its own reading of the command line; and one for every verb and rule.
UNREAD = ("comet_checkpoint.py",)
MENTIONED = ("VERB", "help")


class Accepted(Exception):
    """A command line was read to its end."""


@pytest.fixture(autouse=True)
def in_checkout(monkeypatch):
    monkeypatch.chdir(REPOSITORY)


def of(program: str) -> list[Printed]:
    return [line for line in PRINTED if line.program == program]


def revocab(*groups: object) -> list[Printed]:
    """Return the lines of verbs in the groups; without any, of commands."""
    known = {verb for group in groups for verb in group}
    others = {*entry.BEGUN, *entry.PLANNED, *MENTIONED} - known if not groups else set()
    return [
        line
        for line in of("revocab")
        if (line.words[0] in known if groups else line.words[0] not in others)
    ]


def test_lines_are_found_on_every_page_that_has_a_block_of_them():
    seen = {line.page for line in PRINTED}
    for page in pages(REPOSITORY):
        text = page.read_text(encoding="utf-8")
        if "\nrevocab " in text or "\nsnakemake " in text or "\nmake " in text:
            assert str(page.relative_to(REPOSITORY)) in seen, page
    assert len(PRINTED) > 150 and {line.program for line in PRINTED} == {
        "revocab", "snakemake", "make", "python",
    }  # fmt: skip


def test_every_verb_that_is_named_anywhere_is_there():
    """Also in the program's own messages, templates, profiles and the papers' pages."""
    verbs = {*entry.BEGUN, *entry.PLANNED, *entry.VERBS, *places(), "help"}
    endings = {".py", ".md", ".yaml", ".smk", ".j2", ".csv", ""}
    named = {
        (verb, str(file.relative_to(REPOSITORY)))
        for folder in ("src", "config", "docs", "profiles", "scripts", "workflow")
        for file in (REPOSITORY / folder).rglob("*")
        if file.is_file() and file.suffix in endings
        for verb in re.findall(r"[`'\"]revocab ([a-z_]+)\b", file.read_text(encoding="utf-8"))
    }
    assert len(named) > 40 and [where for where in named if where[0] not in verbs] == []


@pytest.mark.parametrize("line", [*revocab(), *revocab(entry.BEGUN)], ids=str)
def test_the_flags_of_a_verb_are_its_own(line):
    name, *words = line.words
    verb = entry.verb_of(name)
    kind = words[0] if verb.kinds and words and words[0] in verb.kinds else ""
    if line.is_part or not words:
        if verb.kinds and words and not words[0].startswith("--") and not kind:
            return  # a kind of one's own
        known = {flag_of(key) for key in command_line(verb, name, kind).known}
        assert {word for word in words if word.startswith("--")} <= known
    else:
        assert read(verb, name, words).arguments


@pytest.mark.parametrize("line", revocab(entry.PLANNED), ids=str)
def test_a_command_on_an_experiment_is_read_as_far_as_the_experiment(line, monkeypatch):
    verb, *words = line.words
    if not words:
        return
    words = entry.with_experiment([STANDS_FOR.get(word, word) for word in words])
    if verb == "plan":
        assert bill_plan.plan(words)
    else:
        started: list[list[str]] = []

        def start(words: list[str], *_: object, **__: object) -> None:
            """Start nothing, neither as this process nor as a child of it."""
            started.append(words)
            raise Accepted

        def become(program: str, words: list[str]) -> None:
            assert [program, *words[:3]] == [sys.executable, sys.executable, "-m", "snakemake"]
            start(words[3:])

        monkeypatch.setattr("os.execv", become)
        monkeypatch.setattr("revocab.workflow.supervise.supervise", start)
        monkeypatch.setattr("revocab.workflow.check_hub.check_hub", start)
        with pytest.raises(Accepted):
            run.run(words)
        (rest,) = started
        if "--check" in words:
            return
        check_snakemake(rest)


def reads_shared(line: Printed) -> bool:
    return any("../shared" in word for word in line.words)


@pytest.mark.shared_data
@pytest.mark.parametrize("line", filter(reads_shared, of("snakemake")), ids=str)
def test_snakemake_takes_the_flags_and_the_text_is_there(line, shared_folder):
    root = f"data_root={shared_folder}"
    check_snakemake([root if "../shared" in word else word for word in line.words])


@pytest.mark.parametrize("line", filterfalse(reads_shared, of("snakemake")), ids=str)
def test_snakemake_takes_the_flags_and_the_experiment_is_valid(line):
    check_snakemake([STANDS_FOR.get(word, word) for word in line.words])


def check_snakemake(words: list[str]) -> None:
    from snakemake.cli import get_argument_parser

    # Without a value for --profile: it would be read and merged by the parser.
    given = get_argument_parser().parse_args(without(words, "--profile"))
    for file in after(words, "--profile"):
        assert (REPOSITORY / file / "config.yaml").is_file(), file
    files = tuple(map(str, given.configfile or ["config/demos/demo.yaml"]))
    assert experiment_of(*files, **dict(word.split("=", 1) for word in given.config or []))


def after(words: list[str], flag: str) -> list[str]:
    return [word for before, word in pairwise(words) if before == flag]


def without(words: list[str], flag: str) -> list[str]:
    place = words.index(flag) if flag in words else len(words)
    return [*words[:place], *words[place + 2 :]]


@cache
def experiment_of(*files: str, **keys: str) -> experiment.Experiment:
    return experiment.read(*files, **keys)


@pytest.mark.parametrize("line", sorted({line.words: line for line in of("make")}), ids=" ".join)
def test_make_has_the_target(line):
    done = subprocess.run(["make", "-n", *line], capture_output=True, text=True, check=False)
    # One without BASE says that it needs it.
    assert not done.returncode or (line == ("same-bytes",) and "BASE=<commit>" in done.stderr)


@pytest.mark.parametrize("line", of("python"), ids=str)
def test_a_script_takes_the_flags(line, monkeypatch):
    script, *words = line.words
    if script == "-m":
        assert find_spec(words[0].partition(".")[0])
        return
    assert (REPOSITORY / script).is_file()
    if Path(script).name in UNREAD:
        return
    parse = argparse.ArgumentParser.parse_args

    def accepted(parser: argparse.ArgumentParser, *_: object, **__: object) -> None:
        assert parse(parser, words)
        raise Accepted

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", accepted)
    monkeypatch.setattr("sys.path", [str(Path(script).parent), *sys.path])
    with pytest.raises(Accepted):
        runpy.run_path(script, run_name="__main__")
