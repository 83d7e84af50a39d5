"""An extension lengthens no text; where a repaired splitter or Unigram does, it is counted."""

from __future__ import annotations

import json
import math
import random
import unicodedata
from itertools import pairwise

import pytest
from construction_toys import ENGLISH, FAMILIES, ITALIAN, build_trained, change, mixture
from hypothesis import given, settings
from hypothesis import strategies as st
from splitter_toys import HINDI, HINDI_TEXTS, MARKED_TEXT, gpt2_like, like_gpt2
from tokenizers import Tokenizer, models, pre_tokenizers

from revocab.corpora.prepare import CorpusJob, prepare_corpus
from revocab.corpora.read import texts
from revocab.errors import RevocabError
from revocab.io import read_json
from revocab.vocabulary.building.constructions.extend import compare_lines, with_marks_joined
from revocab.vocabulary.building.expansion import MARGIN, new_scores
from revocab.vocabulary.tokenizers.alphabets import repair_splitter, to_byte_level
from revocab.vocabulary.tokenizers.load import load_tokenizer

CUTS_AT_MARKS = ("byte_level", "llama", "gpt2")
EVERY = (*FAMILIES, "gpt2")
#: Family of the base, donor, whether marks are joined.
CASES = [
    *((family, None, False) for family in EVERY),
    *((family, None, True) for family in CUTS_AT_MARKS),
    ("byte_level", "donor", False), ("mistral", "donor", False), ("byte_level", "donor", True),
]  # fmt: skip


@pytest.fixture(scope="module")
def corpora(tmp_path_factory, corpora):
    folder = tmp_path_factory.mktemp("corpora")
    rows = [{"text": text} for text in HINDI_TEXTS]
    prepare_corpus(rows, {"label": "hi"}, CorpusJob(corpus="hi", language="hi"), folder / "hi")
    return {**corpora, "hi": folder / "hi"}


@pytest.fixture(scope="module")
def bases(tmp_path_factory, bases, corpora):
    folder = tmp_path_factory.mktemp("more-bases")
    gpt2 = like_gpt2(load_tokenizer(bases["byte_level"]), folder / "gpt2")
    build_trained(mixture(corpora, hi=0.5, el=0.5), "byte_fallback", 700, folder / "donor")
    return {**bases, "gpt2": gpt2, "donor": folder / "donor"}


@pytest.fixture(scope="module")
def joined(bases):
    """Bases with a repaired splitter, and nothing added."""
    return {name: with_marks_joined(load_tokenizer(bases[name]))[0] for name in CUTS_AT_MARKS}


@pytest.fixture(scope="module")
def built(tmp_path_factory, corpora, bases):
    """Base, result and manifest by case."""
    folder = tmp_path_factory.mktemp("built")

    def build(number, family, donor, joining):
        options = {"join_marks": True} if joining else {}
        mixtures = {"corpora": mixture(corpora, el=0.3, hi=0.7)}
        named = bases[donor] if donor else None
        change("extend", bases[family], mixtures, folder / str(number), named, add=60, **options)
        base = load_tokenizer(bases[family])
        return (
            base,
            load_tokenizer(folder / str(number)),
            read_json(folder / str(number) / "manifest.json"),
        )

    return {case: build(number, *case) for number, case in enumerate(CASES)}


def lengths(tokenizers, text):
    return [len(one(text, add_special_tokens=False).input_ids) for one in tokenizers]


WORDS = st.sampled_from(sorted({w for t in (*ENGLISH, *HINDI_TEXTS) for w in t.split()}))
ANY_TEXT = st.lists(MARKED_TEXT | WORDS | WORDS.map(" {}".format), max_size=8).map("".join)


@settings(max_examples=40)
@given(text=ANY_TEXT)
@pytest.mark.parametrize("case", [case for case in CASES if case[0] != "unigram"], ids=str)
def test_no_text_grows(built, joined, case, text):
    """Nor with a repaired splitter: over what that alone makes of the text."""
    base, made, _ = built[case]
    if case[2]:
        base = joined[case[0]]
    before, after = lengths([base, made], text)
    assert after <= before


@settings(max_examples=40)
@given(text=ANY_TEXT)
@pytest.mark.parametrize("family", CUTS_AT_MARKS)
def test_text_without_marks_is_cut_as_before_and_never_grows(built, joined, family, text):
    base, made, _ = built[family, None, True]
    plain = "".join(one for one in text if unicodedata.category(one)[0] != "M")
    assert joined[family](plain).input_ids == base(plain).input_ids
    before, after = lengths([base, made], plain)
    assert after <= before


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_manifest_says_what_becomes_of_the_lines(built, joined, corpora, case):
    base, made, manifest = built[case]
    family, _, joining = case
    if not joining and family != "unigram":
        assert not {"lines", "expressions"} & manifest.keys()
        assert "join_marks" not in manifest["options"]
        return
    named = {"marks_joined": joined[family]} if joining else {}
    for corpus, counted in manifest["lines"].items():
        lines = [line for text in texts(corpora[corpus]) for line in text.splitlines() if line]
        assert counted["lines"] == len(lines)
        before = [base(line, add_special_tokens=False).input_ids for line in lines]
        assert counted["tokens"] == sum(map(len, before))
        for name, tokenizer in {**named, "extended": made}.items():
            after = [tokenizer(line, add_special_tokens=False).input_ids for line in lines]
            more = [len(b) - len(a) for a, b in zip(before, after, strict=True)]
            assert counted[name] == {
                "tokens": sum(map(len, after)),
                "changed": sum(a != b for a, b in zip(before, after, strict=True)),
                "longer": sum(one > 0 for one in more),
                "most": max(0, *more),
                "most_share": max(
                    0, *(one / len(ids) for one, ids in zip(more, before, strict=True))
                ),
            }
    if joining:
        assert manifest["options"]["join_marks"] is True
        (expression,) = manifest["expressions"]
        assert r"\p{M}" in expression["after"] and r"\p{M}" not in expression["before"]
        # Italian and Greek have no marks here.
        assert manifest["lines"]["el"]["marks_joined"]["changed"] == 0
        assert manifest["lines"]["hi"]["extended"]["tokens"] < manifest["lines"]["hi"]["tokens"]


@pytest.mark.parametrize("family", CUTS_AT_MARKS)
def test_new_tokens_have_letters_with_their_marks(built, family):
    base, made, _ = built[family, None, True]
    without = built[family, None, False][1]
    known = base.get_vocab()
    for tokenizer, expected in ((made, True), (without, False)):
        new = [tokenizer.decode([number]) for token, number in tokenizer.get_vocab().items()
               if token not in known]  # fmt: skip
        assert any(one.isalpha() and unicodedata.category(two)[0] == "M"
                   for text in new for one, two in pairwise(text)) is expected  # fmt: skip
    assert made.decode(made(HINDI, add_special_tokens=False).input_ids) == HINDI
    assert all(made.get_vocab()[token] == number for token, number in known.items())


def test_lines_that_grow_are_counted(tmp_path):
    """A base with a token for an exclamation mark and an accent, which a repaired splitter cuts
    apart: !́ is two tokens then, and !́!́ four.
    """
    pieces = [*sorted(pre_tokenizers.ByteLevel.alphabet())]
    accent = [to_byte_level(bytes([byte])) for byte in "\u0301".encode()]
    merges = [("!", accent[0]), ("!" + accent[0], accent[1])]
    vocabulary = {one: n for n, one in enumerate([*pieces, *map("".join, merges)])}
    tokenizer = gpt2_like()
    tokenizer.model = models.BPE(vocabulary, merges)
    joined = repaired(tokenizer)
    counted = compare_lines(tokenizer, {"joined": joined}, ["ab\n!\u0301\n\n!\u0301!\u0301", "a"])
    # ! and two bytes, twice; the splitter alone is repaired, so the base's merges do not apply.
    expected = {"tokens": 2 + 3 + 6 + 1, "changed": 2, "longer": 2, "most": 4, "most_share": 2.0}
    assert counted == {"lines": 4, "tokens": 2 + 1 + 2 + 1, "joined": expected}


def repaired(backend):
    state = json.loads(backend.to_str())
    return Tokenizer.from_str(
        json.dumps({**state, "pre_tokenizer": repair_splitter(backend).splitter})
    )


#: By construction and model: how many of 2,000 random strings grow at most, and by how many tokens
#: one does (docs/tokenizers.md).
GROWTH = {
    ("extend", "byte_level"): (0, 0), ("extend", "unigram"): (20, 2),
    ("replace", "byte_level"): (600, 12), ("replace", "unigram"): (400, 16),
    ("optimise", "byte_level"): (700, 12), ("optimise", "unigram"): (400, 16),
}  # fmt: skip
OPTIONS = {"extend": {"add": 40}, "replace": {"share": 0.1}, "optimise": {"keep": 0.85}}


@pytest.mark.parametrize(("way", "family"), GROWTH)
def test_by_how_much_text_grows(corpora, bases, tmp_path, way, family):
    draw = random.Random(1)
    words = sorted({word for text in (*ENGLISH, *ITALIAN) for word in text.split()})
    letters = sorted(set("".join((*ENGLISH, *ITALIAN))))
    parts = (lambda: draw.choice(letters), lambda: draw.choice(words),
             lambda: f" {draw.choice(words)}", lambda: chr(draw.randrange(32, 0x3000)))  # fmt: skip
    strings = ["".join(draw.choice(parts)() for _ in range(draw.randrange(1, 14)))
               for _ in range(2000)]  # fmt: skip
    mixtures = {"corpora": mixture(corpora, el=1.0)}
    if way != "extend":
        mixtures["count_corpora"] = mixture(corpora, el=0.5, en=0.5)
    change(way, bases[family], mixtures, tmp_path / "made", **OPTIONS[way])
    before, after = (load_tokenizer(one)(strings, add_special_tokens=False).input_ids
                     for one in (bases[family], tmp_path / "made"))  # fmt: skip
    more = [len(new) - len(old) for old, new in zip(before, after, strict=True)]
    longer, most = sum(one > 0 for one in more), max(more)
    print(way, family, longer, most)
    assert longer <= GROWTH[way, family][0] and most <= GROWTH[way, family][1]
    assert longer or way == "extend"


@pytest.mark.parametrize(
    ("family", "named"),
    [
        *((family, "cuts no word at a mark") for family in ("byte_fallback", "mistral", "unigram")),
        ("prefixed", "add_prefix_space: true"),
    ],
)
def test_a_base_whose_splitter_is_not_repaired_is_refused(bases, corpora, tmp_path, family, named):
    base = bases.get(family)
    if base is None:
        base = like_gpt2(load_tokenizer(bases["byte_level"]), tmp_path / "b", add_prefix_space=True)
    mixtures = {"corpora": mixture(corpora, hi=1.0)}
    with pytest.raises(RevocabError, match=f"option join_marks = True: base.*{named}"):
        change("extend", base, mixtures, tmp_path / "out", add=5, join_marks=True)
    assert not (tmp_path / "out").exists()


def test_scores_of_new_pieces_by_hand():
    """Of 100 tokens: "ab" frequent, "ba" rare, "é" and "aé" unknown at 10 below the lowest."""
    scores, uses = {"a": -1.0, "b": -2.0}, {"ab": 50, "ba": 1, "é": 2, "aé": 1}
    found = new_scores(scores, uses, 100, ["aé", "ba", "ab"])
    assert found["ab"] == pytest.approx(math.log(0.5))
    assert found["ba"] == -2.0  # its path, -3, and its frequency are below the lowest
    assert found["aé"] == -2.0
    # Known from then on: "éa" is cut as "é" and "a", by their scores.
    found = new_scores(scores, uses, 100, ["éa", "é"])
    assert found == {"é": -2.0, "éa": -2.0}
    found = new_scores({"a": -0.01, "b": -9.0}, {}, 100, ["aa"])
    assert found == {"aa": pytest.approx(-0.02 + MARGIN)}
