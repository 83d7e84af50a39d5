"""Keys that stand twice in a YAML file are refused, in place of the first being dropped unsaid."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from revocab import yaml_file
from revocab.config import read
from revocab.config.load import read_values
from revocab.errors import RevocabError
from revocab.evaluation.multiple_choice.tasks import read_yaml
from revocab.workflow.run import run


def test_the_key_and_both_lines_are_named():
    text = "runs:\n  a: {x: 1, x: 2}\n  b: [{y: 1}, {y: 2}]\n  a: {x: 3}\n"
    assert [problem.split(", which")[0] for problem in yaml_file.parse(text)[1]] == [
        "runs.a.x: is on line 2 and again on line 2",
        "runs.a: is on line 2 and again on line 4",
    ]


def test_aliases_are_no_repetition_and_end():
    merged = "a: &one {x: 1}\nb: *one\nc: {<<: *one, x: 2}\n"
    assert yaml_file.parse(merged) == ({"a": {"x": 1}, "b": {"x": 1}, "c": {"x": 2}}, [])
    assert len(yaml_file.parse("a: &one {x: 1, x: 2}\nb: *one\n")[1]) == 1
    assert yaml_file.parse("") == (None, [])


@given(
    st.recursive(
        st.none() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=20,
    )
)
def test_what_yaml_writes_repeats_nothing(value):
    text = yaml.safe_dump(value)
    assert yaml_file.parse(text) == (yaml.safe_load(text), [])


def test_an_experiment_and_a_task_are_refused(tmp_path):
    file = tmp_path / "experiment.yaml"
    file.write_text(Path("config/demo.yaml").read_text(encoding="utf-8") + "\nseed: 3\n")
    with pytest.raises(RevocabError, match=r"seed: is on line .* and again on line"):
        read(file)
    file.write_text("name: one\nname: two\n")
    with pytest.raises(RevocabError, match="name: is on line 1 and again on line 2"):
        read_yaml(file)


BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n" for old, new in pairwise("abcdefgh")
)
NO_EXPERIMENTS = {
    "a colon in a text": (b"a: 1\ntitle: b: c\n", 'line 2: .*a text with ": " needs quotes'),
    "a tab": (b"a:\n\t- b\n", "line 2: .*indent with spaces"),
    "a star": (b"a: *x\n", r"line 1: .*begins with \* needs quotes"),
    "an open bracket": (b"a: [1, 2\nb: 3\n", "line 2: not valid YAML"),
    "UTF-16": ("a: 1".encode("utf-16"), "not UTF-8 text .byte 0.; save it as UTF-8"),
    "Latin-1": ("a: è\n".encode("latin-1"), "not UTF-8 text .byte 3"),
    "a list": (b"- a\n", "expected a mapping of keys, received list"),
    "nothing": (b"", "expected a mapping of keys, received NoneType"),
    "control characters": (b"a: \x01\n", "not valid YAML .*control characters"),
    "brackets": (b"a: " + b"[" * 10**5, "line 1: .*more than 100 levels"),
    "dashes": (b"- " * 10**5, "line 1: .*more than 100 levels"),
    "aliases of aliases": (BOMB.encode(), "line 5: .*more than 100,000 values"),
    "a number of many digits": (b"a: {b: " + b"1" * 20_000 + b"}\n", r"line 1: .*a\.b cannot be"),
    "a day that is none": (b"a:\n  b: 2024-02-31\n", r"line 2: .*a\.b cannot be read \(day"),
    "many values": (b"a: [" + b"1, " * 10**5 + b"]\n", "line 1: .*more than 100,000 values"),
    "a long text": (b"a: " + b"x" * 2 * 10**6 + b"\n", ".*longer than 2,000,000 characters"),
    "an alias in itself": (b"a: &a [*a]\n", "line 1: .*for themselves"),
}


@pytest.mark.parametrize("case", NO_EXPERIMENTS)
def test_what_is_no_experiment_is_said_by_file_and_line(tmp_path, case):
    content, said = NO_EXPERIMENTS[case]
    file = tmp_path / "mine.yaml"
    file.write_bytes(content)
    with pytest.raises(RevocabError, match=r"mine\.yaml(, |: )" + said) as raised:
        read_values(file)
    assert len(raised.value.problems) == 1 and len(raised.value.problems[0].splitlines()) <= 2
    with pytest.raises(RevocabError) as refused:
        run(["--configfile", str(file), "-n"])
    assert refused.value.problems == raised.value.problems


def test_a_file_that_is_none_is_said_with_the_others(tmp_path):
    with pytest.raises(RevocabError) as raised:
        run(["--configfile", str(tmp_path / "none.yaml"), str(tmp_path), "-n"])
    ends = [problem.removeprefix(str(tmp_path)) for problem in raised.value.problems]
    assert ends == ["/none.yaml: no such file", ": cannot be read as a file (Is a directory)"]
