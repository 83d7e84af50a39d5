"""Flags made from models: every kind of field, and what is said of words that do not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import Field

from revocab.closed import Closed, Job
from revocab.errors import RevocabError
from revocab.verb import Verb, read


class Place(Closed):
    """A part."""

    id: str
    split: str = "train"
    fields: dict[str, str] = Field(default_factory=dict)


class Layer(Closed):
    """One of several."""

    name: str
    rate: float = 0.5


class Inputs(Closed):
    """Paths."""

    folders: dict[int, Path] = Field(default_factory=dict, description="folders, by step")
    files: list[Path] = Field(default_factory=list, description="50% of them")


class Everything(Job):
    """A field of every kind."""

    count: int = Field(ge=1, description="how many")
    rate: float = 0.25
    some: bool = False
    all_of_it: bool = True
    maybe: bool | None = None
    kind: Literal["one", "two"] = "one"
    name: str | None = None
    words: list[str] = Field(default=["a"])
    numbers: list[int] = Field(default_factory=list)
    pair: tuple[str, ...] = ()
    shares: dict[str, float] = Field(default_factory=dict)
    roles: dict[str, str] = Field(default_factory=dict)
    lists: dict[str, list[float]] = Field(default_factory=dict)
    options: dict[str, Any] = Field(default_factory=dict)
    place: Place | None = None
    layers: list[Layer] | None = None
    by_name: dict[str, Layer] = Field(default_factory=dict)


def do_something(
    *, inputs: Inputs, options: Everything, out: Path, threads: int | None = None
) -> None:
    """Do nothing."""


TRY = Verb(do_something, out="where to")


def call(*words: str):
    return read(TRY, "revocab try", ["--count", "1", "--out", "o", *words]).arguments


def problems(*words: str) -> list[str]:
    with pytest.raises(RevocabError) as caught:
        read(TRY, "revocab try", list(words))
    return caught.value.problems


@pytest.mark.parametrize(
    ("words", "key", "value"),
    [
        ("--count 3", "count", 3),
        ("--count=3", "count", 3),
        ("--rate 1e-3", "rate", 0.001),
        ("--rate -0", "rate", 0.0),
        ("", "rate", 0.25),
        ("--some", "some", True),
        ("", "some", False),
        ("--no-all-of-it", "all_of_it", False),
        ("--maybe", "maybe", True),
        ("--no-maybe", "maybe", False),
        ("", "maybe", None),
        ("--kind two", "kind", "two"),
        ("--name 12", "name", "12"),
        ("--name null", "name", "null"),
        ("--words b c", "words", ["b", "c"]),
        ("--words b --words c", "words", ["b", "c"]),
        ("", "words", ["a"]),
        ("--numbers 1 2", "numbers", [1, 2]),
        ("--pair x y", "pair", ("x", "y")),
        ("--shares it=0.5 en=.5", "shares", {"it": 0.5, "en": 0.5}),
        ("--roles <s>=start a=b=end", "roles", {"<s>": "start", "a=b": "end"}),
        ("--lists it=[0.9,0.5] en=[0.1,0.5]", "lists", {"it": [0.9, 0.5], "en": [0.1, 0.5]}),
        (
            "--options a=1 b=x c=true d=null e=1e-3 f=[1,2] g={x:1}",
            "options",
            {"a": 1, "b": "x", "c": True, "d": None, "e": "1e-3", "f": [1, 2], "g": {"x:1": None}},
        ),
        ("--place.id o/d", "place", Place(id="o/d")),
        (
            "--place.id o/d --place.split test --place.fields it=a.b en=c",
            "place",
            Place(id="o/d", split="test", fields={"it": "a.b", "en": "c"}),
        ),
        ("", "place", None),
        ('--layers {"name":"a"} {"name":"b","rate":1}', "layers",
         [Layer(name="a"), Layer(name="b", rate=1)]),
        ('--by-name x={"name":"a=b"}', "by_name", {"x": Layer(name="a=b")}),
    ],
)  # fmt: skip
def test_a_flag_of_every_kind(words, key, value):
    assert getattr(call(*words.split()).options, key) == value


@pytest.mark.parametrize(
    "path",
    ["a b/c,d=e.jsonl", "-f.txt", "è/città", "a'b\"c$HOME", "x=y/z", "{a}", "[1, 2]", "null"],
)
def test_paths_survive_as_they_are(path):
    asked = call(f"--files={path}", "--files", "plain", "--folders", f"3={path}")
    assert asked.inputs.files == [Path(path), Path("plain")]
    assert asked.inputs.folders == {3: Path(path)}


def test_a_value_may_hold_commas_and_spaces():
    assert call("--name", "a, b = c").options.name == "a, b = c"
    assert call("--words", "a, b", "c=d").options.words == ["a, b", "c=d"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--cuont 1", ["Unknown option: --cuont. Did you mean --count?"]),
        ("--a 1 --b 2", ["Unknown option: --a"]),
        ("stray", ["no flag takes the words ['stray']"]),
        ("--name", ["Parameter --name requires an argument"]),
        ("--shares it", ["--shares 'it': expected NAME=VALUE"]),
        ("--folders m", ["--folders 'm': expected STEP=VALUE; write --folders 0=m"]),
        ("--shares it= en", ["--shares 'it=': expected NAME=VALUE", "--shares 'en'"]),
        ("--layers {", ["'{': not valid JSON"]),
    ],
)
def test_words_that_cannot_be_read(words, said):
    found = problems(*words.split())
    assert len(found) == len(said)
    for problem, start in zip(found, said, strict=True):
        assert problem.startswith(start)


def test_every_wrong_value_is_said_at_once():
    words = "--count 0 --rate x --numbers 1 b --shares it=x --folders last=f --place.split test"
    found = problems(*words.split(), "--layers", '{"rate": 1, "nam": "b"}')
    places = {
        "--count: ",
        "--rate: ",
        "--numbers.1: ",
        "--shares.it: ",
        "--place.id: ",
        "--layers.0.name: ",
        "--layers.0.nam: ",
        "--out: ",
        "--folders.last: ",
    }
    assert {f"{line.partition(': ')[0]}: " for line in found} == places and len(found) == len(
        places
    )


@pytest.mark.parametrize("words", [[], ["--help"], ["--count", "3", "-h"]])
def test_help_names_every_flag_and_ends(words, capsys):
    with pytest.raises(SystemExit) as ended:
        read(TRY, "revocab try", words)
    page = capsys.readouterr().out
    assert ended.value.code == 0 and "where to" in page
    for flag in ("--count N", "--some --no-some", "--shares NAME=X", "--place.id", "--threads"):
        assert flag in page
