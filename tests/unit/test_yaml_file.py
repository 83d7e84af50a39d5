"""Keys that stand twice in a YAML file are refused, in place of the first being dropped unsaid."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from revocab import yaml_file
from revocab.errors import RevocabError
from revocab.evaluation.multiple_choice.tasks import read_yaml
from revocab.experiment import read


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
    file.write_text(Path("config/demos/demo.yaml").read_text(encoding="utf-8") + "\nseed: 3\n")
    with pytest.raises(RevocabError, match=r"seed: is on line .* and again on line"):
        read(file)
    file.write_text("name: one\nname: two\n")
    with pytest.raises(RevocabError, match="name: is on line 1 and again on line 2"):
        read_yaml(file)
