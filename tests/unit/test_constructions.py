"""Extend, replace and optimise: what every result promises, over every family of base."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from functools import cached_property

import pytest
from construction_toys import ENGLISH, FAMILIES, GREEK, ITALIAN, change, mixture
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from revocab.corpora.read import texts
from revocab.io import read_json, sha256
from revocab.vocabulary.building.editable import EditableVocabulary
from revocab.vocabulary.tokenizers.load import load_tokenizer

ADDED = 40
WAYS = {"extend": {"add": ADDED}, "replace": {"share": 0.1}, "optimise": {"keep": 0.85}}
#: (construction, family, donor or None)
CASES = [(way, family, None) for way in WAYS for family in FAMILIES] + [
    ("extend", "byte_fallback", "byte_level"),
    ("extend", "byte_level", "byte_fallback"),
    ("extend", "unigram", "byte_level"),
    ("replace", "mistral", "byte_level"),
]


class Case:
    """One built tokenizer beside its base."""

    def __init__(self, way, base, folder, manifest):
        self.way, self.folder, self.manifest = way, folder, manifest
        self.base, self.made = load_tokenizer(base), load_tokenizer(folder)
        self.changes = read_json(folder / "changes.json")
        self.added = {one["id"]: one["token"] for one in self.changes["added"]}
        self.dropped = {one["token"]: one["id"] for one in self.changes["dropped"]}
        self.base_ids, self.ids = self.base.get_vocab(), self.made.get_vocab()

    @cached_property
    def expansion(self):
        """What the base makes of the text of each new token."""
        model = self.base.backend_tokenizer.model
        return {
            number: [one.value for one in model.tokenize(token)]
            for number, token in self.added.items()
        }

    def tokens(self, text):
        return self.base.tokenize(text), self.made.tokenize(text)


@pytest.fixture(scope="module")
def donors(tmp_path_factory, corpora):
    from construction_toys import build_trained

    folder = tmp_path_factory.mktemp("donors")
    for alphabet in ("byte_fallback", "byte_level"):
        build_trained(mixture(corpora, el=1.0), alphabet, 900, folder / alphabet)
    return folder


@pytest.fixture(scope="module")
def cases(tmp_path_factory, corpora, bases, donors):
    folder = tmp_path_factory.mktemp("built")
    made = {}
    for way, family, donor in CASES:
        mixtures = {"corpora": mixture(corpora, el=1.0)}
        if way != "extend":
            mixtures["count_corpora"] = mixture(corpora, el=0.5, en=0.5)
        out = folder / f"{way}-{family}-{donor}"
        donor_folder = donors / donor if donor else None
        manifest = change(way, bases[family], mixtures, out, donor_folder, **WAYS[way])
        made[way, family, donor] = Case(way, bases[family], out, manifest)
    return made


@pytest.fixture(params=CASES, ids=lambda case: "-".join(map(str, case)))
def case(request, cases):
    return cases[request.param]


PIECES = ["  ", "\n", "\t", "▁", "\x10", "e\u0301", "👩\u200d👧", "日本", "Привет", "مرحبا", "Ġ"]
PIECES += ["<0x0A>", "\x00", "\u00a0", "\ufeff", " 12", "\u0301", "😀"]
NASTY = st.sampled_from(PIECES)
WORDS = st.sampled_from(sorted({w for t in ENGLISH + ITALIAN + GREEK for w in t.split()}))
ANY_TEXT = st.lists(
    st.characters(exclude_categories=["Cs"]) | NASTY | WORDS | WORDS.map(" {}".format), max_size=12
).map("".join)
some = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


@some
@given(text=ANY_TEXT)
def test_any_text_comes_back_and_untouched_text_is_encoded_as_before(case, text):
    assert case.made.decode(case.made(text).input_ids, skip_special_tokens=True) == text
    before, after = case.tokens(text)
    if case.dropped.keys() & set(before):
        return
    if not set(case.added.values()) & set(after):
        assert after == before
    if case.made.backend_tokenizer.model.__class__.__name__ == "BPE":
        # Even where new merges apply, they only join what the base gives.
        joined = [case.expansion.get(case.ids[token], [token]) for token in after]
        assert [token for part in joined for token in part] == before


def test_every_new_token_is_what_its_own_text_gives(case):
    assert len(case.added) == (ADDED if case.way == "extend" else len(case.dropped))
    model = case.made.backend_tokenizer.model
    vocabulary = EditableVocabulary.read(case.made)
    for number, token in case.added.items():
        assert [one.id for one in model.tokenize(token)] == [number]
        try:
            text = vocabulary.text(token).decode()
        except UnicodeDecodeError:
            continue  # part of a character has no text of its own
        if vocabulary.style == "byte_level":
            assert case.made(text, add_special_tokens=False).input_ids == [number]
        elif text.startswith(" "):
            assert case.made(text[1:], add_special_tokens=False).input_ids == [number]


def test_uses_are_those_of_the_whole_corpus(case, corpora):
    counts = dict.fromkeys(case.added, 0)
    for text in texts(corpora["el"]):
        for number in case.made(text).input_ids:
            if number in counts:
                counts[number] += 1
    assert counts == {one["id"]: one["uses"] for one in case.changes["added"]}
    assert case.manifest["added_unused"] == sum(count == 0 for count in counts.values())
    assert sum(counts.values()) > 200


def test_ids_sizes_and_what_stays(case):
    base, made = case.base_ids, case.ids
    assert sorted(made.values()) == list(range(len(made)))
    kept = [token for token in sorted(base, key=base.get) if token not in case.dropped]
    if case.way == "extend":
        assert len(made) == len(base) + ADDED and not case.dropped
        assert min(case.added) == len(base)
    else:
        assert len(made) == len(base)
    if case.way == "optimise":
        assert [made[token] for token in kept] == list(range(len(kept)))
        assert not case.manifest["ids_kept"]
    else:
        assert all(made[token] == base[token] for token in kept)
        assert case.manifest["ids_kept"]
    if case.way == "replace":
        assert sorted(case.added) == sorted(case.dropped.values())
        assert list(case.added) == sorted(case.added)
    assert not EditableVocabulary.read(case.base).protected & case.dropped.keys()
    assert not case.dropped.keys() & made.keys()
    for role in ("bos", "eos", "unk", "pad"):
        before = getattr(case.base, f"{role}_token")
        assert getattr(case.made, f"{role}_token") == before
        if before is not None:
            assert getattr(case.made, f"{role}_token_id") == made[before]
    start = case.made("x").input_ids[0]
    assert start == case.made.bos_token_id


def test_kept_tokens_stay_reachable(case):
    before, after = (one.backend_tokenizer.model.tokenize for one in (case.base, case.made))
    reachable = [
        token
        for token in case.base_ids
        if token not in case.dropped and [one.value for one in before(token)] == [token]
    ]
    assert len(reachable) > 250
    lost = [one for one in reachable if [piece.value for piece in after(one)] != [one]]
    assert not lost


def test_least_frequent_go_first(cases):
    made = cases["replace", "byte_level", None]
    uses = [one["uses"] for one in made.changes["dropped"]]
    view = EditableVocabulary.read(made.base)
    # A token that others are made of waits for them; apart from that, the order is by use.
    parents = {one for token in made.base_ids for one in view.parents(token) or ()}
    leaves = [one["uses"] for one in made.changes["dropped"] if one["token"] not in parents]
    assert leaves == sorted(leaves) and max(uses) < 100


def test_new_characters_get_tokens(cases):
    made = cases["extend", "byte_fallback", None]
    letters = [token for token in made.added.values() if len(token) == 1]
    assert 0 < len(letters) == made.manifest["added_characters"] <= ADDED // 8
    assert "è" in letters


def test_new_tokens_are_words_or_punctuation(cases):
    learned = cases["extend", "byte_level", None].changes["added"]
    spelt = [one["text"].removeprefix(" ") for one in learned]
    assert all(one.isalpha() or not any(map(str.isalnum, one)) for one in spelt if "\\" not in one)
    assert {" è", " il"} <= {one["text"] for one in learned}


def test_more_tokens_make_text_shorter(cases):
    for (way, *_), made in cases.items():
        before, after = (sum(map(len, one(ITALIAN).input_ids)) for one in (made.base, made.made))
        assert after < (0.9 if way == "extend" else 0.95) * before


@pytest.mark.parametrize("keep", [330, 600])
def test_shrinking_alone(tmp_path, corpora, bases, keep):
    mixtures = {"corpora": mixture(corpora, it=1.0)}
    manifest = change(
        "optimise", bases["byte_level"], mixtures, tmp_path / "s", size="kept", keep=keep
    )
    numbers = [manifest[name] for name in ("vocabulary_size", "added", "dropped")]
    assert numbers == [keep, 0, 600 - keep]


def test_the_lowest_ids_are_kept(tmp_path, corpora, bases):
    """Special tokens and bytes come first here, then merges in the order of training."""
    mixtures = {"corpora": mixture(corpora, it=1.0)}
    options = {"size": "kept", "keep": 330, "keep_by": "id"}
    change("optimise", bases["byte_level"], mixtures, tmp_path / "s", **options)
    before = load_tokenizer(bases["byte_level"]).get_vocab()
    lowest = {token: number for token, number in before.items() if number < 330}
    assert load_tokenizer(tmp_path / "s").get_vocab() == lowest


@pytest.mark.parametrize("family", ["byte_fallback", "unigram"])
def test_everything_a_donor_has(family, tmp_path, corpora, bases, donors):
    mixtures = {"corpora": mixture(corpora, el=1.0)}
    out = tmp_path / "all"
    made = change("extend", bases[family], mixtures, out, donors / "byte_fallback", add="all")
    added = [token["token"] for token in read_json(out / "changes.json")["added"]]
    assert made["added"] == len(added) == len({*added}) > 100
    wanted = set(load_tokenizer(donors / "byte_fallback").get_vocab())
    have = load_tokenizer(out).get_vocab()
    words = {token for token in wanted if token.strip("▁").isalpha()}
    assert len(words - have.keys()) <= 0.02 * len(words)
    some, donor = {"add": "all", "donor_top": 100}, donors / "byte_fallback"
    top = change("extend", bases[family], mixtures, tmp_path / "top", donor, **some)
    assert 0 < top["added"] < made["added"]


AGAIN = """
import sys
from pathlib import Path
from test_constructions import build_some
build_some(*map(Path, sys.argv[1:]))
"""


def build_some(corpus, mistral, unigram, out):
    from construction_toys import build_trained

    text = mixture({"el": corpus}, el=1.0)
    change("extend", mistral, {"corpora": text}, out / "extend", add=40)
    change("optimise", unigram, {"corpora": text}, out / "optimise", keep=0.85)
    for alphabet, model in (("byte_fallback", "unigram"), ("byte_level", "bpe")):
        build_trained(text, alphabet, 600, out / model, model=model)


@pytest.mark.long
def test_processes_give_the_same_bytes(tmp_path, corpora, bases):
    paths = (corpora["el"], bases["mistral"], bases["unigram"])
    build_some(*paths, tmp_path / "here")
    settings = {"PYTHONHASHSEED": "2", "RAYON_NUM_THREADS": "2"}
    arguments = [*paths, tmp_path / "there"]
    subprocess.run(
        [sys.executable, "-c", AGAIN, *map(str, arguments)],
        env={**os.environ, **settings, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=True,
    )
    sums = [
        {str(path.relative_to(out)): sha256(path) for path in out.rglob("*.json")}
        for out in (tmp_path / "here", tmp_path / "there")
    ]
    assert sums[0] == sums[1] and len(sums[0]) == 18


@pytest.mark.long
@pytest.mark.shared_data
def test_real_mistral_grows_by_italian(tmp_path, shared_folder):
    from revocab.corpora.prepare import CorpusJob, prepare
    from revocab.vocabulary.fertility import fertility_of_folders

    folder = shared_folder / "data" / "corpora" / "it"
    for name, size in (("europarl", 800_000), ("wikineural", 150_000)):
        options = CorpusJob(corpus=name, language="it", limit_bytes=size)
        prepare([folder / f"{name}.jsonl.gz"], options, tmp_path / name)
    base = shared_folder / "tokenizers" / "mistral-7b-v0.1"
    mixtures = {"corpora": mixture({"it": tmp_path / "europarl"}, it=1.0)}
    change("extend", base, mixtures, tmp_path / "grown", add=600)
    before, after = load_tokenizer(base), load_tokenizer(tmp_path / "grown")

    folders = {"before": base, "after": tmp_path / "grown"}
    fertility_of_folders(folders, {"it": tmp_path / "wikineural"}, tmp_path / "fertility")
    with (tmp_path / "fertility/fertility.csv").open() as handle:
        fertility = [float(row["fertility_corpus"]) for row in csv.DictReader(handle)]
    assert 1.7 < fertility[0] < 2.1
    assert fertility[1] < 0.97 * fertility[0]
    added = {one["token"]: one["id"] for one in read_json(tmp_path / "grown/changes.json")["added"]}
    assert {"▁perché", "▁europea", "▁Commissione"} <= added.keys()
    assert after("perché", add_special_tokens=False).input_ids == [added["▁perché"]]
    english = "The children are looking for a book, aren't they?  Yes!\n"
    assert after(english).input_ids == before(english).input_ids
