"""The demo's world: grammar by hand-checked tables, and what the generated files promise."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from revocab.demoworld import FAMILIES
from revocab.demoworld.build import WorldOptions, write_world
from revocab.demoworld.grammar import Italian, definite_article, noun
from revocab.demoworld.names import people, towns
from revocab.demoworld.stories import build
from revocab.evaluation.generation.kinds.instructions import passes
from revocab.io import read_jsonl, sha256

ITEMS = 120


@pytest.mark.parametrize(
    ("word", "gender", "the", "a"),
    [
        *((word, "m", "il", "un") for word in ("forno", "sasso")),
        *((word, "m", "lo", "uno") for word in ("studio", "zaino", "gnomo", "pneumatico")),
        *((word, "m", "lo", "uno") for word in ("psicologo", "yogurt")),
        *((word, "m", "l'", "un") for word in ("albero", "orologio")),
        *((word, "f", "la", "una") for word in ("casa", "scuola")),
        *((word, "f", "l'", "un'") for word in ("ape", "isola")),
    ],
)
def test_singular_articles(word, gender, the, a):
    assert definite_article(word, gender) == the
    assert Italian(word, gender).a == (a + word if a[-1] == "'" else f"{a} {word}")


@pytest.mark.parametrize(
    ("noun", "di", "a", "in_"),
    [
        (Italian("forno", "m"), "del forno", "al forno", "nel forno"),
        (Italian("zaino", "m"), "dello zaino", "allo zaino", "nello zaino"),
        (Italian("albero", "m"), "dell'albero", "all'albero", "nell'albero"),
        (Italian("casa", "f"), "della casa", "alla casa", "nella casa"),
    ],
)
def test_articulated_prepositions(noun, di, a, in_):
    assert (noun.del_, noun.al, noun.nel) == (di, a, in_)


def test_noun_phrases():
    osteria = Italian("osteria", "f")
    assert (osteria.the, osteria.a, osteria.nel) == ("l'osteria", "un'osteria", "nell'osteria")
    entry = noun("chiave_inglese f = wrench")
    assert (entry.it.The, entry.en.a) == ("La chiave inglese", "a wrench")
    assert noun("ago m = apple").en.A == "An apple"


def test_names_are_distinct_and_those_of_the_test_side_nobody_elses():
    assert people(1) == people(1) != people(2)
    assert len({person.name for person in people(1)}) == len(people(1))
    assert len(set(towns(1))) == len(towns(1))
    train, test = ({person.name for person in build(17).side(test)} for test in (False, True))
    assert train and test and not train & test


def generate(folder: Path, repository: Path) -> Path:
    sizes = ["--documents", "600", "--parallel", "80", "--questions", "80", "--items", str(ITEMS),
             "--conversations", "160"]  # fmt: skip
    command = [sys.executable, "-m", "revocab", "build_demoworld", "--seed", "17"]
    subprocess.run([*command, *sizes, "--out", folder], check=True)
    return folder


@pytest.fixture(scope="module")
def world(tmp_path_factory, repository) -> Path:
    return generate(tmp_path_factory.mktemp("world") / "a", repository)


def rows(world: Path, name: str) -> list[dict]:
    return list(read_jsonl(world / f"{name}.jsonl.gz"))


def test_two_processes_write_the_same_bytes(world, tmp_path, repository):
    again = generate(tmp_path / "b", repository)
    files = sorted(path.name for path in world.iterdir())
    assert files == sorted(path.name for path in again.iterdir())
    assert all(sha256(world / name) == sha256(again / name) for name in files)


@pytest.mark.parametrize("language", ["it", "en"])
@pytest.mark.parametrize("family", FAMILIES)
def test_items_are_well_formed_and_new(world, family, language):
    items = rows(world, f"{family}.{language}")
    assert len(items) == ITEMS
    text = "\n".join(row["text"] for row in rows(world, f"documents.{language}"))
    for row in items:
        assert len(set(row["choices"])) == len(row["choices"])
        assert 0 <= row["answer"] < len(row["choices"])
        assert (row.get("question") or row["context"]) not in text
    assert len({json.dumps(row, sort_keys=True) for row in items}) == ITEMS


def test_blind_baselines_are_near_chance(world):
    baselines = json.loads((world / "baselines.json").read_text())
    assert len(baselines) == 12
    for name, one in baselines.items():
        for baseline in ("longest", "shortest", "majority_position"):
            assert abs(one[baseline] - one["chance"]) <= 0.06, (name, baseline, one)


@pytest.mark.parametrize("language", ["it", "en"])
def test_answers_stand_in_their_passages_and_texts_have_no_holes(world, language):
    train, test = (rows(world, f"questions.{language}.{part}") for part in ("train", "test"))
    assert all(row["answers"][0] in row["context"] for row in train + test)
    assert not {row["context"] for row in train} & {row["context"] for row in test}
    for row in rows(world, f"documents.{language}"):
        assert not set("{}_|") & set(row["text"]), row["text"]
        assert "  " not in row["text"] and " ." not in row["text"]


def test_parallel_sides_differ_and_parts_do_not_meet(world):
    train, test = rows(world, "parallel.train"), rows(world, "parallel.test")
    assert all(row["it"] != row["en"] for row in train + test)
    assert not {row["it"] for row in train} & {row["it"] for row in test}


@pytest.mark.parametrize("language", ["it", "en"])
def test_conversations_are_new_and_fulfil_what_their_rules_check(world, language):
    train, test = (rows(world, f"conversations.{language}.{part}") for part in ("train", "test"))
    assert (len(train), len(test)) == (120, 40)
    kinds = {row["kind"] for row in train}
    assert len(kinds) == 7 and kinds == {row["kind"] for row in test}
    for row in train + test:
        roles = [one["role"] for one in row["messages"]]
        assert roles == ["user", "assistant"] * (len(roles) // 2)
        assert passes(row["messages"][-1]["content"], row["checks"]), row
        assert not set("{}_|") & set("".join(one["content"] for one in row["messages"]))
    assert {len(row["messages"]) for row in train} == {2, 4}
    assert {len(row["messages"]) for row in test} == {2}
    seen = {row["messages"][0]["content"] for row in train}
    own = [row for row in test if row["kind"] in ("question", "copy", "sentences", "refusal")]
    assert own and not {row["messages"][0]["content"] for row in own} & seen
    wrong = [
        passes(other["messages"][-1]["content"], row["checks"])
        for row in test
        for other in test
        if other["kind"] != row["kind"]
    ]
    assert sum(wrong) / len(wrong) < 0.15  # what says anything at all is told apart


def test_a_world_without_conversations_has_no_such_files(tmp_path):
    options = WorldOptions(documents=10, parallel=20, questions=20, items=4)
    write_world(tmp_path / "world", options)
    assert not list((tmp_path / "world").glob("conversations*"))
