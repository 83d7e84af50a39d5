"""What ``revocab run`` adds to the words for Snakemake."""

from __future__ import annotations

import pytest

from revocab.workflow.run import quiet


@pytest.mark.parametrize("words", [[], ["--cores", "2"], ["--configfile", "a.yaml", "--", "x.csv"]])
def test_reasons_are_left_out_of_a_run(words):
    assert quiet(words) == ["--quiet=reason"]


@pytest.mark.parametrize(
    "words", [["-n"], ["--cores", "2", "--dry-run"], ["--quiet", "all"], ["--quiet=rules"], ["-p"]]
)
def test_whoever_asks_sees_them(words):
    assert quiet(words) == []
