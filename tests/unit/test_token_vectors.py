"""Vectors by token text from a file: formats, what is found and refused, who uses them."""

from __future__ import annotations

import gzip
import json
import shutil

import pytest
import torch
from helper_toys import VOCABULARY_MATRICES, change_matrices
from method_inputs import make
from safetensors.torch import load_file, save_file
from toy_folders import initialise, shared_pairs
from toy_models import SOURCE_WORDS, TARGET_WORDS, build_model, build_tokenizer
from toy_vocabularies import byte_level, sentencepiece_bpe

from revocab.errors import RevocabError
from revocab.initialise.method import Auxiliary, methods
from revocab.initialise.methods.projection import ProjectionOptions
from revocab.initialise.reading.token_vectors import load_token_vectors, texts_of, vectors_hash
from revocab.initialise.target_matrix import fill
from revocab.io import read_json
from revocab.vocabulary.tokenizers.canonical import CanonicalToken, canonical_vocabulary
from revocab.vocabulary.tokenizers.load import load_tokenizer

#: Of tokens that both toy vocabularies have, of one that only SentencePiece's has, and of a word.
TEXT = "▁cane 1 2\nan 3 4\nA 5 6\n▁nessuno 7 8\nè 9 10\n"


def loaded(path):
    return load_token_vectors(path, byte_level(), sentencepiece_bpe())


def written(folder, text, name="vectors.txt"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def row(matrix, tokenizer, token):
    return matrix[tokenizer.convert_tokens_to_ids(token)].tolist()


def test_tokens_are_found_by_their_text_in_any_spelling():
    cases = [
        ((" cane", "word_start"), ["▁cane", "cane"]),
        (("cane", "continuation"), ["cane"]),
        ((" ", "word_start"), ["▁"]),
    ]
    for (text, kind), expected in cases:
        assert texts_of(CanonicalToken(kind, text.encode(), None, text)) == expected
    assert texts_of(CanonicalToken("byte", b"\xe2", None, "<0xE2>")) == ["<0xE2>"]
    assert texts_of(CanonicalToken("special", b"<s>", "bos", "<s>")) == []


def test_rows_of_both_vocabularies_by_hand(tmp_path):
    found = loaded(written(tmp_path, TEXT))
    target, source = sentencepiece_bpe(), byte_level()
    assert row(found.target_VA, target, "▁cane") == row(found.source_VA, source, "Ġcane") == [1, 2]
    assert row(found.target_VA, target, "an") == row(found.source_VA, source, "an") == [3, 4]
    assert row(found.target_VA, target, "A") == [5, 6]
    # A token that begins with a space has the vector of its text without it, where there is no own.
    assert row(found.source_VA, source, "ĠÃ¨") == row(found.target_VA, target, "è") == [9, 10]
    for token in ("▁c", "<s>", "<0x41>"):
        assert row(found.target_VA, target, token) == [0, 0]
    assert found.target_trained_V is None


@pytest.mark.parametrize("name", ["vectors.txt", "vectors.vec.gz", "vectors.safetensors"])
def test_every_format_says_the_same(tmp_path, name):
    expected = loaded(written(tmp_path, TEXT, "plain.txt"))
    path = tmp_path / name
    if name.endswith(".safetensors"):
        lines = [line.split() for line in TEXT.splitlines()]
        save_file({"rows": torch.tensor([[float(a), float(b)] for _, a, b in lines])}, path)
        texts = [text.replace("▁", " ") for text, *_ in lines]
        path.with_suffix(".json").write_text(json.dumps(texts), encoding="utf-8")
    else:  # with the counts that word2vec writes, and the spaces that fastText leaves
        text = "5 2\n" + TEXT.replace("\n", " \n")
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    found = loaded(path)
    assert torch.equal(found.target_VA, expected.target_VA)
    assert torch.equal(found.source_VA, expected.source_VA)
    assert found.target_VA.dtype == torch.float32
    assert {len(digest) for digest in vectors_hash(path).split()} == {64}


def test_a_vector_may_be_repeated_and_texts_of_no_token_may_be_anything(tmp_path):
    found = loaded(written(tmp_path, "an 1 1\nan 1 1\ngatto 1 x\ngatto nan 2\nper cento 1 2\n"))
    assert row(found.target_VA, sentencepiece_bpe(), "an") == [1, 1]


def test_all_that_is_wrong_is_said_at_once(tmp_path):
    text = "9 2\nan 1 2\nA 1 2 3\nA nan 2\n▁cane 1 two\n▁nessuno 5\nan 3 4\nan 1 2\n"
    with pytest.raises(RevocabError) as caught:
        loaded(written(tmp_path, text))
    said = [problem.partition("vectors.txt, ")[2] for problem in caught.value.problems]
    again = "; write the vectors again"
    assert said == [
        f"line 3: expected a token and 2 numbers, found 3{again}",
        f"line 4: 'A' has a number that is not finite{again}",
        f"line 5: could not convert string to float: 'two'{again}",
        f"line 6: expected a token and 2 numbers, found 1{again}",
        "line 7: another vector for 'an' than in line 2; keep one",
        "line 1: announces 9 vectors, has 7; fetch it again",
    ]


def test_of_many_faults_ten_are_told(tmp_path):
    with pytest.raises(RevocabError) as caught:
        loaded(written(tmp_path, "an 1 2\n" + "an nan 2\n" * 1012))
    assert len(caught.value.problems) == 11
    assert caught.value.problems[-1].endswith("vectors.txt: 1,002 more; write the vectors again")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"an 1 1e999\n", "line 1: 'an' has a number that is not finite"),
        ("a.txt", b"gatto 1 2\n", "for none of the 270 tokens"),
        ("a.txt", b"", "line 1: expected a token and its numbers"),
        ("a.txt", None, "no such file"),
        ("a.txt", b"\x80\x04\x95\xff\xfe", "not UTF-8"),
        ("a.gz", gzip.compress(TEXT.encode())[:-9], "broken gzip"),
    ],
)
def test_what_is_no_file_of_vectors_is_refused(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(RevocabError, match=message):
        loaded(tmp_path / name)


def test_matrices_that_do_not_fit_their_texts_are_refused(tmp_path):
    path = tmp_path / "vectors.safetensors"
    save_file({"rows": torch.ones(2, 3)}, path)
    with pytest.raises(RevocabError, match=r"vectors\.json: no such file"):
        loaded(path)
    path.with_suffix(".json").write_text('["an"]')
    with pytest.raises(RevocabError, match="expected a list of 2 texts"):
        loaded(path)
    path.with_suffix(".json").write_text('["an", "A"]')
    save_file({"rows": torch.tensor([[1.0], [float("inf")]])}, path)
    with pytest.raises(RevocabError, match="row 1: 'A' has a number that is not finite"):
        loaded(path)
    path.with_suffix(".json").write_text('["▁cane", " cane"]')
    save_file({"rows": torch.tensor([[1.0], [2.0]])}, path)
    with pytest.raises(RevocabError, match="row 1: another vector for '▁cane' than in row 0"):
        loaded(path)
    save_file({"rows": torch.ones(2, 3), "more": torch.ones(2, 3)}, path)
    with pytest.raises(RevocabError, match="expected one matrix"):
        loaded(path)
    path.write_bytes(b"nothing")
    with pytest.raises(RevocabError, match="not a safetensors file"):
        loaded(path)


def test_a_model_is_initialised_from_them_and_tokens_without_one_are_counted(tmp_path):
    source = build_tokenizer(SOURCE_WORDS, 30, tmp_path / "source")
    target = build_tokenizer(TARGET_WORDS, 45, tmp_path / "target")
    model = build_model(source, tmp_path / "model", seed=1)
    path = written(tmp_path, "▁the 1 0\n▁cat 0 1\n▁il 2 1\n▁gatto 0 3\n")
    keys = {"target_tokenizer": target, "options": {"auxiliary": "file", "neighbours": 1}}
    keys["figure"] = False
    with pytest.raises(RevocabError, match="--vectors, a file of vectors"):
        initialise(model, tmp_path / "out", "similarity", **keys)
    initialise(model, tmp_path / "out", "similarity", vectors=path, **keys)
    assert read_json(tmp_path / "out/provenance.json")["auxiliary"] == vectors_hash(path)
    notes = read_json(tmp_path / "out/diagnostics.json")["matrices"]["input"]["method"]
    made = read_json(tmp_path / "out/manifest.json")["counts"]
    assert notes["candidates"] == 2  # the source's tokens that have a vector
    known = made["missing"] - notes["tokens_without_auxiliary"]
    assert 1 <= known <= 2


def test_projection_maps_vectors_by_hand():
    """A line through two anchors; a token without a vector has the mean of its pieces."""
    vectors = torch.tensor([[1.0], [0.0], [2.0], [4.0], [0.0]])
    inputs = make(
        [[1.0, 0.0], [0.0, 2.0], [3.0, 4.0]],
        overlap=((0, 2), (1, 1), (2, 0)),
        missing=(3, 4),
        pieces={4: [0, 1]},
        auxiliary=Auxiliary(vectors, torch.ones(3, 1)),
    )
    method = methods()["projection"]
    assert method.needs(ProjectionOptions(auxiliary="file")) == "file"
    matrix = fill(inputs.source_VD, inputs, method, ProjectionOptions(auxiliary="file"))
    # Vector 1 is (3, 4), vector 2 is (1, 0); so vector 4 is (-3, -8).
    assert matrix[:3].tolist() == [[3, 4], [0, 2], [1, 0]]
    assert matrix[3].tolist() == pytest.approx([-3, -8], abs=1e-5)
    assert matrix[4].tolist() == [0.5, 1.0]
    assert inputs.notes["tokens_without_auxiliary"] == 1 and inputs.notes["anchors"] == 2


def test_an_affine_relation_to_a_files_vectors_is_recovered(toys, tmp_path):
    """Source rows are an affine function of the vectors, another for each matrix."""
    tokenizers = [load_tokenizer(toys / f"{side}-tokenizer") for side in ("source", "target")]
    named = [
        (text, token.data)
        for tokenizer in tokenizers
        for token in canonical_vocabulary(tokenizer)
        for text in texts_of(token)[:1]
    ]
    draw = torch.Generator().manual_seed(3)
    # By bytes: a letter may be shared with the token of its byte, whose text is another.
    drawn = {data: torch.randn(6, generator=draw) for _, data in named}
    copied = {*shared_pairs(toys)[0].tolist()}
    target = canonical_vocabulary(tokenizers[1])
    new = [texts_of(token)[0] for n, token in enumerate(target) if n not in copied]
    lacking = max((text for text in new if not text.startswith("▁")), key=len)
    vectors = {text: drawn[data] for text, data in named if text != lacking}
    lines = (f"{text} {' '.join(map(str, row.tolist()))}\n" for text, row in vectors.items())
    path = written(tmp_path, "".join(lines))
    maps = {
        name: (torch.randn(6, 32, generator=draw), torch.randn(32, generator=draw))
        for name in VOCABULARY_MATRICES
    }
    source_texts = [texts_of(token)[:1] for token in canonical_vocabulary(tokenizers[0])]
    known = [(n, texts[0]) for n, texts in enumerate(source_texts) if texts and texts[0] in vectors]

    def related(name, matrix):
        weight, bias = maps[name]
        for number, text in known:
            matrix[number] = vectors[text] @ weight + bias
        return matrix

    source = shutil.copytree(toys / "untied", tmp_path / "source")
    change_matrices(source, related)
    keys = {"target_tokenizer": toys / "target-tokenizer", "vectors": path, "figure": False}
    out = tmp_path / "out"
    initialise(source, out, "projection", {"auxiliary": "file"}, **keys)
    adapted = load_file(out / "model.safetensors")
    for name, (weight, bias) in maps.items():
        for number, token in enumerate(target):
            text = next(iter(texts_of(token)), None)
            if text in vectors:
                expected = vectors[text] @ weight + bias
                assert torch.allclose(adapted[name][number], expected, atol=1e-4), text
    notes = read_json(out / "diagnostics.json")["matrices"]["output"]["method"]
    assert notes["tokens_without_auxiliary"] == 1


def test_vectors_of_no_shared_token_determine_no_map(toys, tmp_path):
    keys = {"target_tokenizer": toys / "target-tokenizer", "figure": False}
    keys["vectors"] = written(tmp_path, "▁il 1 2\n")
    with pytest.raises(RevocabError, match="has none of the tokens that source and target share"):
        initialise(toys / "untied", tmp_path / "out", "projection", {"auxiliary": "file"}, **keys)
