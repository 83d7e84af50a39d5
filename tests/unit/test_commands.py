"""Commands and their jobs: names, help, defaults in one place, and what both ways to call make."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest
from pydantic import BaseModel

from revocab import __main__ as entry
from revocab.closed import Job, plain
from revocab.command_line import leaves
from revocab.errors import RevocabError
from revocab.verb import command_line, read
from revocab.verbs import find, places

NAMES = sorted(places())


def inside(annotation: Any) -> set[Any]:
    """Return every type in an annotation, those of models within included."""
    found, waiting = set(), [annotation]
    while waiting:
        one = waiting.pop()
        if get_origin(one) is not None:
            waiting += get_args(one)
        elif isinstance(one, type) and one not in found:
            found.add(one)
            if issubclass(one, BaseModel):
                waiting += [field.annotation for field in one.model_fields.values()]
    return found


@pytest.mark.parametrize("name", NAMES)
def test_options_hold_no_path_and_inputs_hold_paths_only(name):
    verb = find(name)
    for options in verb.kinds.values() or [verb.options]:
        assert issubclass(options, Job)
        assert Path not in inside(options)
    inputs = verb.model.model_fields.get("inputs")
    for key, field in plain(inputs.annotation).model_fields.items() if inputs else ():
        assert Path in inside(field.annotation), key
    assert not [key for key, field in verb.machine.items() if Path in inside(field.annotation)]
    for kind in verb.kinds or [""]:  # a flag has one meaning
        keys = [leaf.key for leaf in leaves(command_line(verb, name, kind).model)]
        assert len(keys) == len({*keys}), kind


# Both ways to call -------------------------------------------------------------------------------


FILES = ("--models", "0=a b/,x", "--tasks", "t=1.yaml", "--batch-size", "3", "--out", "s.csv")


def rule_words(words: Sequence[str] = FILES, **job: Any) -> list[str]:
    return [*words, "--options", json.dumps(job), "--job", "score_multiple_choice r"]


def test_a_rule_and_a_person_ask_for_the_same():
    scoring = find("score_multiple_choice")
    of_rule = read(scoring, "score", rule_words(run="r", limit=5))
    by_hand = read(scoring, "score", [*FILES, "--run", "r", "--limit", "5"])
    assert of_rule.job == "score_multiple_choice--r" and by_hand.job == ""
    arguments = by_hand.arguments
    assert arguments == of_rule.arguments
    assert arguments.models == {0: Path("a b/,x")} and arguments.options.shots == 0
    assert arguments.out == Path("s.csv")


@pytest.mark.parametrize(
    ("words", "problems"),
    [
        (
            rule_words(["--models", "x=m", "--out", "s.csv"], run="r"),
            ["--models.x: ", "--tasks: required"],
        ),
        (rule_words(run="r", shot=1), ["options.shot: unknown key"]),
        (rule_words([*FILES, "--run", "r"]), ["Unknown option: --run"]),
        (rule_words(FILES[:-2], run="r"), ["--out: required"]),
        ([*FILES, "--options", '{"run": ', "--job", "x"], ["options: "]),
    ],
)
def test_what_is_wrong_with_a_rules_call_is_said(words, problems):
    with pytest.raises(RevocabError) as caught:
        read(find("score_multiple_choice"), "score", words)
    for problem in problems:
        assert any(line.startswith(problem) for line in caught.value.problems), caught.value


# The command itself ------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"], ["help"]])
def test_the_first_page_shows_four_groups_of_at_most_seven_verbs(words, capsys):
    entry.main(words)
    shown = re.findall(r"^(\S.*):$|^  (\S+) ", capsys.readouterr().out, re.MULTILINE)
    assert [group for group, _ in shown if group] == ["start", "ship", "step by step", "experiment"]
    verbs = [verb for _, verb in shown if verb]
    assert verbs == [verb for group in entry.GROUPS.values() for verb in group]
    assert {*verbs} <= {*entry.BEGUN, *entry.VERBS, *entry.PLANNED} and len({*verbs}) == len(verbs)
    assert max(map(len, entry.GROUPS.values())) <= 7


def test_help_imports_no_library_that_takes_seconds(repository):
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "revocab", "--help"],
        capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(repository / "src")},
    )  # fmt: skip
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "revocab" in imported
    assert not imported & {"torch", "transformers", "pandas", "datasets", "snakemake"}
