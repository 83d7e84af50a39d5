"""What cannot be built is refused in one line, and nothing is written."""

from __future__ import annotations

import gzip

import pytest
from construction_toys import build_trained, change, construct, mixture
from toy_vocabularies import wordpiece

from revocab.errors import RevocabError
from revocab.io import read_json, write_json
from revocab.vocabulary.building.construction import BuildInputs
from revocab.vocabulary.building.training_text import TrainingText


def refused(message, way, base, mixtures, out, **options):
    with pytest.raises(RevocabError, match=message) as caught:
        change(way, base, mixtures, out, **options)
    assert len(caught.value.problems) == 1
    assert not out.exists() and not list(out.parent.glob(f".{out.name}*"))


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


#: The lines of a corpus, the bytes that its manifest says, and what is said; of training, too.
CORPORA = {
    "empty": (b"", 0, "corpus damaged: no text to train on", True),
    "blank": (b'{"id": "1", "text": " \\n \\t"}\n', 4, "damaged: no words in the text", False),
    "latin": ('{"id": "1", "text": "perché"}\n'.encode("latin-1"), 9, "not UTF-8 .*convert", True),
    "surrogate": (
        b'{"id": "1", "text": "ab \\ud800 c"}\n', 9,
        r"damaged, train document 1: a lone surrogate at character 3 is .* repair", True,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CORPORA)
@pytest.mark.parametrize(
    ("family", "alphabet"), [("unigram", "byte_fallback"), ("byte_level", "byte_level")]
)
def test_a_corpus_without_text(tmp_path, corpora, bases, out, case, family, alphabet):
    lines, size, message, no_training = CORPORA[case]
    (folder := tmp_path / "damaged").mkdir()
    manifest = read_json(corpora["it"] / "manifest.json")
    manifest["train"]["bytes"] = size
    write_json(folder / "manifest.json", manifest)
    (folder / "train.jsonl.gz").write_bytes(gzip.compress(lines))
    text = [TrainingText("damaged", 1.0, folder)]
    refused(message, "extend", bases[family], {"corpora": text}, out, add=5)
    if no_training:
        with pytest.raises(RevocabError, match=message):
            build_trained(text, alphabet, 400, out)
        assert not out.exists()


#: What is said, construction, family of the base, and options.
REFUSED = [
    (r"90000 new tokens were requested, but the corpora give \d+ .*request fewer",
     "extend", "byte_level", {"add": 90000}),
    (r"90000 new tokens were requested, but the corpora give \d+", "extend", "unigram",
     {"add": 90000}),
    (r"7000 new tokens were requested, but the donor has \d+", "extend", "byte_level",
     {"add": 7000, "donor": "byte_fallback"}),
    (r"share = 0.9: 540 of 600 tokens, but only \d+ may go", "replace", "byte_level",
     {"share": 0.9}),
    (r"keep = 30: 30 tokens, but at least \d+ must stay", "optimise", "byte_level", {"keep": 30}),
    ("keep = 9000: the base has 600", "optimise", "llama", {"keep": 9000, "size": 9500}),
    ("size = 400: 450 tokens are kept", "optimise", "llama", {"keep": 0.75, "size": 400}),
    ("size = 600: the base has 600", "extend", "llama", {"size": 600}),
    ("exactly one of add, add_share, size .*received none", "extend", "mistral", {}),
    ("exactly one of .*received add, size", "extend", "mistral", {"add": 1, "size": 9}),
    ("ad: unknown key .*did you mean 'add'", "extend", "mistral", {"add": 3, "ad": 5}),
    ("add: all needs a donor", "extend", "mistral", {"add": "all"}),
    ("donor_top needs a donor", "replace", "mistral", {"share": 0.1, "donor_top": 5}),
    ("parity: bytes .*corpora, received one", "extend", "mistral", {"add": 9, "parity": "bytes"}),
    ("parity: bytes .*donor", "replace", "mistral",
     {"share": 0.1, "parity": "bytes", "donor": "byte_level"}),
    ("keep is a share below 1 or a whole number", "optimise", "mistral", {"keep": 1.5}),
]  # fmt: skip


@pytest.mark.parametrize(("message", "way", "family", "options"), REFUSED)
def test_options_that_cannot_be_met(corpora, bases, out, message, way, family, options):
    if "donor" in options:
        options = {**options, "donor": bases[options["donor"]]}
    refused(message, way, bases[family], {"corpora": mixture(corpora, it=1.0)}, out, **options)


def test_bases_that_cannot_be_changed(tmp_path, corpora, out):
    wordpiece().save_pretrained(tmp_path / "w")
    text = {"corpora": mixture(corpora, it=1.0)}
    message = "a WordPiece vocabulary cannot be changed; allowed are BPE .* and Unigram; substitute"
    refused(message, "extend", tmp_path / "w", text, out, add=5)


def test_constructions_without_a_base(out):
    with pytest.raises(RevocabError, match=r"no construction 'extent' .known: adopt, extend"):
        construct("extent", BuildInputs(), out)
    with pytest.raises(RevocabError, match="exactly one of path, hub"):
        construct("substitute", BuildInputs(), out)
