"""What commands by hand end with, and the lengths of trainings that stand for rows."""

from __future__ import annotations

import json
import re

import pytest

from revocab import __main__ as entry
from revocab.errors import RevocabError
from revocab.io import read_json
from revocab.verb import read
from revocab.verbs.training import pack_tokens

GIVEN = ["--tokenizer", "t", "--corpora", "a=a", "--seed", "1", "--out", "o"]


def rows_of(words: str) -> int:
    return read(pack_tokens, "revocab pack", [*GIVEN, *words.split()]).arguments.options.rows


@pytest.mark.parametrize(
    ("words", "rows"),
    [
        ("--sequence-length 32 --rows 7", 7),
        ("--sequence-length 32 --steps 10 --batch-size 4", 40),
        # 1,000 tokens are 31.25 rows, and 7.8 steps of 4 rows.
        ("--sequence-length 32 --tokens 1000", 32),
        ("--sequence-length 32 --tokens 1025 --batch-size 4", 36),
        ("--sequence-length 32 --recipe sava --steps 2 --batch-size 3", 6),
    ],
)
def test_the_length_of_a_training_stands_for_its_rows(words, rows):
    assert rows_of(words) == rows


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--steps 10", "--rows: give --steps and --batch-size, or --tokens, or --rows"),
        ("--batch-size 10", "--rows: give --steps"),
        ("--steps 2 --tokens 64 --batch-size 2", "--rows: give --steps"),
        ("--rows 3 --steps 2 --batch-size 4", "--rows: is steps times batch size; give it, or"),
        ("--steps 0 --batch-size 4", "--steps: "),
        ("--tokens 100", "--sequence-length: required and not given"),
    ],
)
def test_lengths_that_say_no_rows_are_refused(words, said):
    with pytest.raises(RevocabError) as caught:
        rows_of(words if "tokens 100" in words else f"--sequence-length 32 {words}")
    assert caught.value.problems[0].startswith(said)


def test_prepare_ends_with_two_lines_by_hand_and_with_none_in_a_job(tmp_path, capsys):
    (tmp_path / "a.txt").write_text("Uno.\nDue.\nUno.\n")
    out = tmp_path / "out"
    entry.main(
        ["prepare", "--files", str(tmp_path / "a.txt"), "--corpus", "a", "--language", "it",
         "--out", str(out)]
    )  # fmt: skip
    line, following = capsys.readouterr().out.splitlines()
    assert line == (
        f"{out}: 2 documents (8 bytes) to train on, 0 documents (0 bytes) held out;"
        " left out: 0 empty, 1 duplicate"
    )
    assert following.startswith(f"next: --corpora a={out} of revocab fertility, tokenizer or pack")
    job = json.dumps(read_json(out / ".revocab.json")["job"])
    entry.main(
        ["prepare", "--files", str(tmp_path / "a.txt"), "--out", str(tmp_path / "other"),
         "--options", job, "--job", "prepare_corpus a"]
    )  # fmt: skip
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "words",
    [
        "fertility --tokenizers a=IN/t1 b=IN/t2 --corpora c=IN/c1 d=IN/c2",
        "intersect --source IN/t1 --target IN/t2",
        "tokenizer extend --base IN/t1 --donor IN/t2 --corpora c=IN/c1 --add 9",
        "pack --tokenizer t --corpora c=IN/c1 d=IN/c2 --shares c=0.5 d=0.5 --sequence-length 8"
        " --rows 2 --seed 1",
    ],
)
def test_all_inputs_that_are_not_there_are_named_at_once(words, tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        entry.main([*words.replace("IN", str(tmp_path)).split(), "--out", str(tmp_path / "out")])
    assert ended.value.code == 1
    lines = capsys.readouterr().err.splitlines()
    named = [tmp_path / name for name in re.findall(r"IN/(\w+)", words)]
    assert [sum(f"{name}: " in line for line in lines) for name in named] == [1] * len(named)
    assert not (tmp_path / "out").exists()
