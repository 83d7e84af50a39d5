"""Items made by rule from held-out text: balanced, deterministic, from no other text."""

from __future__ import annotations

import copy
import random
from collections import Counter
from pathlib import Path

import pytest
import yaml
from fake_results import fake_results
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import problems

from revocab.commands.build_probe import COMMAND
from revocab.config import validate
from revocab.corpora.prepare import CorpusJob, prepare_corpus
from revocab.errors import RevocabError
from revocab.evaluation.multiple_choice.families import families
from revocab.evaluation.probes.build import ProbeJob, build_items, write_probe
from revocab.evaluation.probes.kind import ITEMS, Item, ProbeOptions, probe_kinds
from revocab.evaluation.probes.kinds import agreement, next_word, repeated_name, word_order
from revocab.io import read_json, read_jsonl, write_jsonl
from revocab.plan import Plan
from revocab.report.claims.above_chance import chance
from revocab.report.results import Results

NUMBERS = ("one", "two", "six", "ten")
BEGINNINGS, ENDS = ("Ba", "Le", "Mo", "Ru"), ("dor", "nik", "sta", "vel")
NAMES = tuple(begin + end for begin in BEGINNINGS for end in ENDS)
WORDS = ("house", "garden", "river", "mountain", "street", "bread")


def text(draw: random.Random, sentences: int = 40) -> str:
    """Return sentences that every kind finds items in, no two of which are the same."""
    parts = []
    for _ in range(sentences):
        first, second = draw.sample(NAMES, 2)
        word, other = draw.sample(WORDS, 2)
        verb = draw.choice(("is", "is", "is", "are"))  # not balanced, as in real text
        number = draw.choice(("one", "two", "six", "ten", "ten", "ten"))
        parts.append(
            f"Then {draw.random()} the friend of {first} said that the {word} {verb} near {second} "
            f"and {number} of the old {other} fell."
        )
    return " ".join(parts)


def documents(count: int = 6, seed: int = 1) -> list[str]:
    draw = random.Random(seed)
    return [text(draw) for _ in range(count)]


def job(kind: str, number: int = 24, **given) -> ProbeJob:
    return ProbeJob(kind=kind, number=number, language="en", seed=3, **given)


def rounds(module, texts: list[str], language: str = "en") -> list:
    return [one for rounds in module.rounds(texts, language, random.Random(1)) for one in rounds]


# Kinds, by hand ----------------------------------------------------------------------------------


def test_words_of_one_frequency_are_each_others_choices():
    places = [f"{place} b c d e" for place in "klmnopqr"]
    lines = [f"{place} {word} end." for word in NUMBERS for place in places]
    lines += ["k b c d e Rome end."] * 3  # a name is no choice, nor what ends a sentence
    found = rounds(next_word, ["\n".join(lines)])
    assert len(found) == len(places)
    for one in found:
        assert sorted(item.right for item in one) == sorted(NUMBERS)
        for item in one:
            assert sorted((item.right, *item.wrong)) == sorted(NUMBERS)
            assert item.context in places


def test_a_word_needs_words_before_it():
    assert rounds(next_word, ["\n".join(f"a b c d {word} end." for word in NUMBERS * 3)]) == []


def test_neighbours_are_exchanged():
    ((item,),) = rounds(word_order, ["We saw it quite well there."])
    assert item == Item("We saw it", "quite well there.", ("well quite there.",))


def test_nothing_is_exchanged_with_a_name_or_with_punctuation():
    assert rounds(word_order, ["We saw it quite, well, Tom.", "We saw it Tom quite."]) == []
    ((item,),) = rounds(word_order, ["We saw it very very small there."])
    assert item == Item("We saw it very", "very small there.", ("small very there.",))


def test_each_word_of_a_pair_is_right_equally_often():
    sentences = ["The cat is very old.", "The dog is very young.", "My hens are very old."]
    found = rounds(agreement, ["\n".join(sentences)])
    assert len(found) == 1
    first, second = found[0]
    assert (first.context[:3], first.right[:2], first.wrong[0][:3]) == ("The", "is", "are")
    assert second == Item("My hens", "are very old.", ("is very old.",))


def test_a_language_without_pairs_is_an_error():
    with pytest.raises(RevocabError, match=r"kind: 'agreement' has no words in 'ko' \(languages"):
        build_items(job("agreement").model_copy(update={"language": "ko"}), documents())


def test_names_are_capitals_inside_a_sentence_that_stand_small_nowhere():
    words = "He met Ada. Then Ben saw the Old house, and Ada, old Ben-Gal, (Cleo) and McCoy."
    assert repeated_name.names([words.split()]) == {"Ada", "Ben", "Cleo"}


def test_a_name_is_chosen_among_those_named_once():
    passage = "So Ada and Ben met Cleo and Dora, but Emil and Emil saw only"
    known = {"Ada", "Ben", "Cleo", "Dora", "Emil"}
    words = [*passage.split(), "Ben,"]
    cores = [repeated_name.core(word) for word in words]
    place, item = repeated_name.item(words, cores, len(words) - 1, known, random.Random(1))
    assert (place, item.context, item.right) == (1, passage, "Ben")
    assert sorted(item.wrong) == ["Ada", "Cleo", "Dora"]
    again = [*passage.split(), "Emil"]  # named twice before: more than the others
    cores = [repeated_name.core(word) for word in again]
    assert repeated_name.item(again, cores, len(again) - 1, known, random.Random(1)) is None


def test_the_name_named_last_is_right_no_more_often_than_another():
    for one in rounds(repeated_name, documents()):
        places = []
        for item in one:
            words = [repeated_name.core(word) for word in item.context.split()]
            named = sorted((item.right, *item.wrong), key=words.index)
            assert all(words.count(name) == 1 for name in named)
            places.append(named.index(item.right))
        assert places == [0, 1, 2, 3]


# Every kind ---------------------------------------------------------------------------------------


def test_every_kind_is_a_family_of_its_chance():
    for name, kind in probe_kinds().items():
        assert families()[name].choices == kind.choices


@pytest.mark.parametrize("kind", list(probe_kinds()))
@settings(max_examples=8)
@given(seed=st.integers(0, 999), rounds=st.integers(1, 6))
def test_items(kind, seed, rounds):
    texts = documents(seed=seed)
    wanted = rounds * 4
    rows = build_items(ProbeJob(kind=kind, number=wanted, language="en", seed=seed), texts)
    choices = probe_kinds()[kind].choices
    assert [row["id"] for row in rows] == [str(number) for number in range(wanted)]
    whole = " ".join(texts)
    for row in rows:
        assert len(set(row["choices"])) == len(row["choices"]) == choices
        right = row["choices"][row["answer"]]
        assert f"{row['context']} {right}" in whole  # the real text
    positions = Counter(row["answer"] for row in rows)
    assert set(positions.values()) == {wanted // choices}


@pytest.mark.parametrize("kind", ["next_word", "agreement"])
def test_no_liking_for_a_word_is_worth_anything(kind):
    """Whatever one prefers, long, short or frequent words: right as often as by chance."""
    rows = build_items(job(kind, 48), documents())
    words = sorted({choice.split()[0] for row in rows for choice in row["choices"]})
    for seed in range(20):
        liking = {word: random.Random(f"{seed}{word}").random() for word in words}
        hits = [
            max(row["choices"], key=lambda choice: liking[choice.split()[0]])
            == row["choices"][row["answer"]]
            for row in rows
        ]
        assert sum(hits) / len(rows) == 1 / len(rows[0]["choices"])


@pytest.mark.parametrize("kind", list(probe_kinds()))
def test_the_seed_alone_decides(kind):
    texts = documents()
    assert build_items(job(kind), texts) == build_items(job(kind), texts)
    other = job(kind).model_copy(update={"seed": 4})
    assert build_items(other, texts) != build_items(job(kind), texts)


def test_too_few_items_is_an_error():
    with pytest.raises(RevocabError) as caught:
        build_items(job("word_order", 9), ["We saw it quite well there."])
    (problem,) = caught.value.problems
    assert "9 items wanted, and 1 held-out documents (27 bytes) give 1" in problem


def test_a_number_that_is_no_whole_rounds():
    kind = probe_kinds()["next_word"]
    (found,) = kind.problems(ProbeOptions(kind="next_word", number=10), "en")
    assert found.endswith("not a multiple of 4, the items of a round of 'next_word'; choose 8")
    (found,) = kind.problems(ProbeOptions(kind="next_word", number=3), "en")
    assert found.endswith("choose 4")


# The command --------------------------------------------------------------------------------------


@pytest.fixture
def corpus(tmp_path) -> Path:
    rows = [{"text": one} for one in documents(12)]
    options = CorpusJob(corpus="en", language="en", heldout_bytes=8_000)
    prepare_corpus(rows, {"label": "made up"}, options, tmp_path / "en")
    return tmp_path / "en"


def test_items_are_of_held_out_documents_alone(corpus, tmp_path):
    write_probe(job("word_order"), {"en": corpus}, tmp_path / "probe")
    train = " ".join(row["text"] for row in read_jsonl(corpus / "train.jsonl.gz"))
    held = " ".join(row["text"] for row in read_jsonl(corpus / "heldout.jsonl.gz"))
    for row in read_jsonl(tmp_path / "probe" / ITEMS):
        sentence = f"{row['context']} {row['choices'][row['answer']]}"
        assert sentence in held and sentence not in train
    baselines = read_json(tmp_path / "probe" / "baselines.json")
    assert (baselines["items"], baselines["chance"]) == (24, 0.5)


def test_the_same_job_gives_the_same_bytes(corpus, tmp_path):
    inputs = COMMAND.inputs(corpora={"en": corpus})
    for name in ("first", "second"):
        COMMAND.run(inputs, job("next_word"), COMMAND.machine(), tmp_path / name)
    first, second = ((tmp_path / name / ITEMS).read_bytes() for name in ("first", "second"))
    assert first == second


# In an experiment ---------------------------------------------------------------------------------


TASK = {
    "family": "next_word",
    "language": "it",
    "template": "completion",
    "probe": {"kind": "next_word", "number": 20, "corpora": ["world-it"]},
}


def small(repository: Path, monkeypatch, **changes) -> dict:
    """Return the small experiment with a probe, and changes to it or its task."""
    monkeypatch.chdir(repository)
    values = yaml.safe_load(Path("tests/experiments/small.yaml").read_text(encoding="utf-8"))
    task = copy.deepcopy(TASK)
    values["evaluation"]["multiple_choice"]["tasks"]["next_word_it"] = task
    for key, value in changes.items():
        (task["probe"] if key in task["probe"] else task)[key] = copy.deepcopy(value)
    return values


KEY = "evaluation.multiple_choice.tasks.next_word_it"


def test_what_a_probe_reads(repository, monkeypatch):
    plan = Plan(validate(small(repository, monkeypatch)))
    step = plan.step("build_probe", task="next_word_it")
    assert step.files() == {"corpora": ["resources/small/corpora/world-it/heldout.jsonl.gz"]}
    assert plan.step("build_task", task="next_word_it").files()["data"] == [f"{step.out}/{ITEMS}"]
    assert f"{step.out}/baselines.json" in plan.step("check_artefacts").also


def test_no_training_reads_what_a_probe_is_made_of(repository, monkeypatch):
    values = small(repository, monkeypatch)
    values["evaluation"]["heldout"] = ["world-en"]
    plan = Plan(validate(values))
    packed = plan.step("pack_tokens", tokenizer="target", mixture="bilingual", recipe="train")
    assert [Path(one.path).name for one in packed.inputs["heldout"]] == ["world-en", "world-it"]


def test_a_corpus_that_holds_out_nothing_or_another_language(repository, monkeypatch):
    values = small(repository, monkeypatch, corpora=["world-it", "world-en"])
    del values["corpora"]["world-it"]["heldout_bytes"]
    assert [line for line in problems(values) if ".probe." in line] == [
        f"{KEY}.probe.corpora: 'world-it' holds out no text; give corpora.world-it.heldout_bytes",
        f"{KEY}.probe.corpora: 'world-en' is in 'en', the task in 'it'; name a corpus in its "
        "language",
    ]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"corpora": ["world-ti"]}, "probe.corpora: no corpus 'world-ti' (known: chat"),
        ({"kind": "next-word"}, "probe.kind: no kind of probe 'next-word' (known: agreement"),
        ({"number": 21}, "probe.number: 21 is not a multiple of 4"),
        ({"data": {"world": "boolq.it"}}, ": probe makes the rows of a template; leave out data"),
    ],
)
def test_a_wrong_probe(repository, monkeypatch, changes, problem):
    (found,) = problems(small(repository, monkeypatch, **changes))
    assert found.startswith(f"{KEY}.{problem}".replace(".:", ":"))


def test_chance_is_that_of_the_items(tmp_path):
    """Where the items are not on this machine, the family says how many choices they have."""
    root = fake_results(tmp_path / "results" / "demo")
    results = Results(root)
    tasks = results.experiment.evaluation.multiple_choice.tasks
    tasks["next_word_it"] = type(tasks["arc_easy_it"]).model_validate(TASK)
    assert chance(results, "next_word_it") == 0.25
    rows = [{"choices": ["a", "b"]}, {"choices": ["a", "b", "c", "d"]}]
    write_jsonl(results.resources / "probes" / "next_word_it" / ITEMS, rows)
    assert chance(results, "next_word_it") == 0.375
