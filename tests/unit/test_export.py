"""Exports without their programs: what a GGUF and a tokenizer.model hold, and what is refused."""

from __future__ import annotations

import shutil
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest
from construction_toys import ENGLISH, ITALIAN, edited
from gguf import GGUFReader, dequantize
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file
from toy_folders import with_settings
from toy_models import SOURCE_WORDS, build_model, build_tokenizer
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.utils import sentencepiece_model_pb2_new as sentencepiece_model

from revocab import __main__ as entry
from revocab.errors import RevocabError
from revocab.io import read_json, write_json
from revocab.models.token_rows import TOKEN_ROWS
from revocab.product.export.cutters import by_score, ids_here
from revocab.product.export.export import export
from revocab.product.export.vocabulary import Vocabulary
from revocab.vocabulary.building.constructions.train import train_tokenizer
from revocab.vocabulary.building.training_text import batched
from revocab.vocabulary.tokenizers.alphabets import GPT2_WORDS, frequent_characters
from revocab.vocabulary.tokenizers.load import load_tokenizer, write_tokenizer

#: Relative error of each type.
LOSSES = {"f32": 0.0, "f16": 1e-3, "bf16": 8e-3, "q8_0": 2e-2}


@pytest.fixture(scope="module")
def bases(tmp_path_factory) -> Path:
    """Models with a trained tokenizer of each alphabet."""
    folder = tmp_path_factory.mktemp("bases")
    texts = [*ENGLISH, *ITALIAN]
    spaced = [*texts, *(f"a{' ' * n}b" for n in range(9) for _ in range(9))]
    letters = frequent_characters(texts, 80)
    for name, some, alphabet, size in (
        ("byte_fallback", texts, "byte_fallback", 700),
        ("spaced", spaced, "byte_fallback", 700),
        ("byte_level", spaced, "byte_level", 600),
    ):
        made = train_tokenizer(batched(some), alphabet, size, letters)
        write_tokenizer(made, folder / f"{name}-tokenizer")
        build_model(folder / f"{name}-tokenizer", folder / name)
    edited(load_tokenizer(folder / "spaced"), folder / "without", pre_tokenizer=None)
    return folder


def tensors(file: Path) -> dict[str, np.ndarray]:
    return {one.name: dequantize(one.data, one.tensor_type) for one in GGUFReader(file).tensors}


def value(file: Path, key: str):
    return GGUFReader(file).fields[key].contents()


def problem(*words: str | Path) -> str:
    with pytest.raises(RevocabError) as caught:
        export([str(word) for word in words])
    return "\n".join(caught.value.problems)


@pytest.mark.parametrize("outtype", LOSSES)
def test_every_tensor_is_there_with_its_values(toys, tmp_path, outtype):
    export([str(toys / "untied"), "--to", "gguf", str(tmp_path / "o"), "--outtype", outtype])
    there, here = tensors(tmp_path / "o/model.gguf"), load_file(toys / "untied/model.safetensors")
    assert len(there) == len(here)
    turned = here["model.layers.1.self_attn.k_proj.weight"]  # two heads of eight dimensions
    pairs = turned.reshape(2, 2, 4, -1).swapaxes(1, 2).reshape(turned.shape)
    for name, wanted in (
        ("token_embd.weight", here["model.embed_tokens.weight"]),
        ("output.weight", here["lm_head.weight"]),
        ("blk.0.ffn_down.weight", here["model.layers.0.mlp.down_proj.weight"]),
        ("blk.1.attn_k.weight", pairs),
        ("output_norm.weight", here["model.norm.weight"]),
    ):
        difference = np.abs(there[name] - wanted).max()
        assert difference <= LOSSES[outtype] * np.abs(wanted).max(), name


def test_the_same_model_gives_the_same_bytes_in_shards_too(toys, tmp_path):
    model = AutoModelForCausalLM.from_pretrained(toys / "untied")
    # The folder's name is the model's.
    shutil.copytree(toys / "untied", tmp_path / "untied")
    (tmp_path / "untied/model.safetensors").unlink()
    model.save_pretrained(tmp_path / "untied", max_shard_size="20KB")
    assert len([*(tmp_path / "untied").glob("*.safetensors")]) > 2
    for name, root in (("a", toys), ("b", toys), ("c", tmp_path)):
        export([str(root / "untied"), "--to", "gguf", str(tmp_path / name)])
    files = [(tmp_path / name / "model.gguf").read_bytes() for name in "abc"]
    assert files[0] == files[1] == files[2]


def test_a_tied_model_has_one_matrix_and_rows_of_padding_are_cut(toys, tmp_path):
    model = AutoModelForCausalLM.from_pretrained(toys / "tied")
    tokens = len(model.get_input_embeddings().weight)
    model.resize_token_embeddings(tokens + 11)
    shutil.copytree(toys / "tied", tmp_path / "padded")
    model.save_pretrained(tmp_path / "padded")
    for name, known in (("said", {TOKEN_ROWS: tokens}), ("unsaid", {})):
        folder = with_settings(tmp_path / "padded", tmp_path / name, **known)
        export([str(folder), "--to", "gguf", str(tmp_path / f"{name}-o")])
        there = tensors(tmp_path / f"{name}-o/model.gguf")
        assert "output.weight" not in there
        assert len(there["token_embd.weight"]) == tokens
        assert len(value(tmp_path / f"{name}-o/model.gguf", "tokenizer.ggml.tokens")) == tokens


def test_what_a_gguf_says_of_its_tokens(bases, tmp_path):
    folder = with_settings(bases / "byte_fallback", tmp_path / "m")
    write_json(folder / "generation_config.json", {"eos_token_id": [2, 5]})
    (folder / "chat_template.jinja").write_text("{{ messages[0].content }}")
    export([str(folder), "--to", "gguf", str(tmp_path / "o")])
    file = tmp_path / "o/model.gguf"
    assert value(file, "tokenizer.ggml.model") == "llama"
    assert value(file, "tokenizer.ggml.add_bos_token") is True
    assert value(file, "tokenizer.ggml.add_eos_token") is False
    assert value(file, "tokenizer.ggml.eos_token_id") == 2
    assert value(file, "tokenizer.ggml.eot_token_id") == 5
    assert value(file, "tokenizer.chat_template") == "{{ messages[0].content }}"
    kinds = value(file, "tokenizer.ggml.token_type")
    assert kinds[:3] == [2, 3, 3] and kinds.count(6) == 256
    stops = (tmp_path / "o/Modelfile").read_text().splitlines()
    assert stops[:2] == ["FROM ./model.gguf", 'PARAMETER stop "</s>"'] and len(stops) == 3


SOME_TEXT = st.lists(
    st.sampled_from(sorted({word for text in ENGLISH + ITALIAN for word in text.split()}))
    | st.characters(exclude_categories=["Cs"], exclude_characters="▁\x10")
    | st.sampled_from([" ", "\n", "\t", " 12", "日本", "e\u0301", "👩\u200d👧", "<0x0A>", "  a"]),
    max_size=12,
).map("".join)


@pytest.fixture(scope="module")
def by_name(bases):
    read = {name: Vocabulary.read(bases / name) for name in ("byte_fallback", "spaced", "without")}
    return {name: (vocabulary, by_score(vocabulary)) for name, vocabulary in read.items()}


@settings(max_examples=200)
@given(text=SOME_TEXT)
def test_scores_cut_as_merges_do(by_name, text):
    """But for several spaces before a character, where a splitter keeps one of them for it."""
    for name, (vocabulary, cutter) in by_name.items():
        assert bool(cutter.notes) == (name == "spaced")
        if not cutter.notes or "  " not in f" {text}":  # a space is put before every text
            assert cutter.cut([text], {}) == ids_here(vocabulary, [text])


def test_a_tokenizer_model_has_the_schema_of_sentencepiece(bases, tmp_path):
    export([str(bases / "byte_fallback"), "--to", "sentencepiece", str(tmp_path / "o")])
    model = sentencepiece_model.ModelProto()
    model.ParseFromString((tmp_path / "o/tokenizer.model").read_bytes())
    vocabulary = Vocabulary.read(bases / "byte_fallback")
    assert [piece.piece for piece in model.pieces] == vocabulary.tokens
    assert [piece.score for piece in model.pieces] == by_score(vocabulary).scores
    spec = model.trainer_spec
    assert (spec.unk_id, spec.bos_id, spec.eos_id, spec.pad_id) == (0, 1, 2, -1)
    assert spec.model_type == 2 and spec.byte_fallback and spec.eos_piece == "</s>"
    assert model.normalizer_spec.add_dummy_prefix
    assert not model.normalizer_spec.remove_extra_whitespaces
    assert "byte-level" in problem(bases / "byte_level", "--to", "sentencepiece", tmp_path / "none")


def replaced(old: dict[str, str], new: str) -> dict[str, object]:
    return {"type": "Replace", "pattern": old, "content": new}


@pytest.mark.parametrize(
    ("normaliser", "is_written"),
    [
        ({"type": "NFC"}, True),
        ({"type": "NFD"}, False),
        ({"type": "NFKC"}, False),
        ({"type": "NFKD"}, False),
        ({"type": "Lowercase"}, False),
        ({"type": "StripAccents"}, False),
        ({"type": "Strip", "strip_left": True, "strip_right": True}, False),
        (replaced({"String": "~"}, "-"), False),  # which no line of ours has
        (replaced({"Regex": "q+"}, "k"), False),
        (replaced({"String": "\x10"}, "\x100"), True),
        ({"type": "Sequence", "normalizers": []}, True),
        ({"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "NFD"}]}, False),
    ],
    ids=str,
)
def test_text_that_people_write_is_never_left_out(bases, tmp_path, normaliser, is_written):
    """llama.cpp rewrites no text; what hardly anybody writes is said, but not of a user's lines."""
    tokenizer = load_tokenizer(bases / "byte_level")
    shutil.copytree(bases / "byte_level", tmp_path / "m")
    edited(tokenizer, tmp_path / "m", normalizer=normaliser)
    words = (tmp_path / "m", "--to", "gguf", tmp_path / "o")
    if is_written:
        export([str(word) for word in words])
        (tmp_path / "lines.txt").write_text("perche\u0301 \x10")
        if normaliser["type"] != "Sequence":
            assert "on 1 of" in problem(
                *words[:-1], tmp_path / "p", "--lines", tmp_path / "lines.txt"
            )
    else:
        said = problem(*words)
        assert "does not have its normaliser" in said
        assert "Regex" in str(normaliser) or "on 0 of" not in said.split(" lines")[0]


def split_by(model: Path, folder: Path, pattern: str, behavior: str, invert: bool = False) -> Path:
    """Copy a byte-level model with a splitter of one pattern."""
    shutil.copytree(model, folder)
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert}
    level = dict(add_prefix_space=False, trim_offsets=True, use_regex=False, type="ByteLevel")
    steps = {"type": "Sequence", "pretokenizers": [split, level]}
    return edited(load_tokenizer(model), folder, pre_tokenizer=steps)


@pytest.mark.parametrize(
    ("pattern", "is_written"), [(GPT2_WORDS, True), (r"\p{L}+|\s+", False)], ids=["all", "letters"]
)
def test_a_splitter_that_removes_nothing_isolates(bases, tmp_path, pattern, is_written):
    """``Removed`` with ``invert`` drops what the pattern does not match."""
    folder = split_by(bases / "byte_level", tmp_path / "m", pattern, "Removed", invert=True)
    words = (folder, "--to", "gguf", tmp_path / "o")
    if is_written:
        assert "the same in llama.cpp's 'trillion'" in export([str(word) for word in words])
    else:
        assert "does not have its splitter" in problem(*words)


METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
#: Pre-tokenizer, normaliser, whether bytes spell rare characters, why it is refused if it is.
UNIGRAMS = {
    "always": (METASPACE, None, False, ""),
    "bytes": (METASPACE, None, True, ""),
    "first": ({**METASPACE, "prepend_scheme": "first"}, None, False, ""),
    "never": ({**METASPACE, "prepend_scheme": "never"}, None, False, ""),
    "nfc": (METASPACE, {"type": "NFC"}, False, ""),
    "nfkc": (METASPACE, {"type": "NFKC"}, False, "normaliser: NFKC"),
    "words": (
        {"type": "Sequence", "pretokenizers": [
            METASPACE, {"type": "Punctuation", "behavior": "Isolated"}]},
        None, False, "splitter: <Metaspace> then <Punctuation>",
    ),
}  # fmt: skip


def unigram(bases: Path, folder: Path, split, normaliser, has_bytes: bool) -> Path:
    """Write a model whose Unigram vocabulary joins letters as far as it can."""
    words = sorted({f"▁{word}"[:at] for text in ENGLISH for word in text.split() for at in (4, 9)})[
        ::9
    ]
    letters = sorted({letter for text in ENGLISH for letter in text if letter != " "} | {"▁"})
    pieces = [["<unk>", 0.0], ["<s>", 0.0], ["</s>", 0.0]]
    pieces += [[f"<0x{byte:02X}>", -20.0] for byte in range(256)] if has_bytes else []
    pieces += [
        [piece, -5.0 - at / 100] for at, piece in enumerate(dict.fromkeys([*words, *letters]))
    ]
    shutil.copytree(bases / "byte_fallback", folder)
    state = read_json(folder / "tokenizer.json")
    state |= {"pre_tokenizer": split, "normalizer": normaliser, "post_processor": None}
    state["decoder"] = METASPACE
    state["model"] = {"type": "Unigram", "unk_id": 0, "vocab": pieces, "byte_fallback": has_bytes}
    write_json(folder / "tokenizer.json", state)
    return folder


@pytest.mark.parametrize("name", UNIGRAMS)
def test_unigram_is_written_in_its_own_format(bases, tmp_path, name):
    *how, reason = UNIGRAMS[name]
    folder = unigram(bases, tmp_path / "m", *how)
    words = (folder, "--to", "sentencepiece", tmp_path / "o")
    assert "a Unigram vocabulary" in problem(folder, "--to", "gguf", tmp_path / "none")
    if reason:
        said = problem(*words)
        assert reason in said and "llama.cpp" not in said
        return
    assert "the same in SentencePiece's" in export([str(word) for word in words])
    model = sentencepiece_model.ModelProto()
    model.ParseFromString((tmp_path / "o/tokenizer.model").read_bytes())
    vocabulary = Vocabulary.read(folder, ("Unigram",))
    assert [piece.piece for piece in model.pieces] == vocabulary.tokens
    scores = [vocabulary.plain.scores[token] for token in vocabulary.tokens]
    assert [piece.score for piece in model.pieces] == pytest.approx(scores)
    assert model.trainer_spec.model_type == 1
    assert model.trainer_spec.byte_fallback == (name == "bytes")
    assert model.normalizer_spec.add_dummy_prefix == (name != "never")


#: Trains a tokenizer with the library's own normaliser, writes it as transformers' converters do,
#: and exports all folders.
WITH_LIBRARY = """
    import base64, json, sys
    import sentencepiece
    from revocab.__main__ import main
    from revocab.vocabulary.tokenizers.file_ids import new_piece_model
    text, *folders = sys.argv[1:]
    sentencepiece.SentencePieceTrainer.train(
        input=text, model_prefix=text, vocab_size=400, hard_vocab_limit=False, minloglevel=2)
    model = new_piece_model()
    model.ParseFromString(open(text + ".model", "rb").read())
    table = base64.b64encode(model.normalizer_spec.precompiled_charsmap).decode()
    file = next(folder for folder in folders if folder.endswith("trained")) + "/tokenizer.json"
    state = json.load(open(file))
    state["model"]["vocab"] = [[piece.piece, piece.score] for piece in model.pieces]
    state["normalizer"] = {"type": "Sequence", "normalizers": [
        {"type": "Precompiled", "precompiled_charsmap": table},
        {"type": "Strip", "strip_left": False, "strip_right": True},
        {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "▁"}]}
    json.dump(state, open(file, "w"))
    for folder in folders:
        main(["export", folder, "--to", "sentencepiece", folder + "-o"])
"""


def test_the_library_reads_it_with_the_same_ids(bases, vllm_interpreter, call, tmp_path):
    """In the environment of vLLM, which has the sentencepiece library."""
    for name, (*how, reason) in UNIGRAMS.items():
        if not reason:
            unigram(bases, tmp_path / name, *how)
    shutil.copytree(bases / "byte_fallback", tmp_path / "bpe")
    shutil.copytree(tmp_path / "always", tmp_path / "trained")  # whose tokenizer is the library's
    folders = sorted(tmp_path.iterdir())
    (tmp_path / "all.py").write_text(dedent(WITH_LIBRARY))
    (tmp_path / "text.txt").write_text("\n".join([*ENGLISH, *ITALIAN]))
    done = call(vllm_interpreter, tmp_path / "all.py", tmp_path / "text.txt", *folders)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.count("the same in SentencePiece's 'library") == len(folders)


def test_what_llama_cpp_cannot_cut_is_refused_by_name_or_said(bases, tmp_path):
    split_by(bases / "byte_level", tmp_path / "m", r"\p{L}+|\s+", "Isolated")
    said = problem(tmp_path / "m", "--to", "gguf", tmp_path / "o")
    assert r"llama.cpp does not have its splitter: \p{L}+|\s+" in said and "%) lines" in said
    assert not (tmp_path / "o").exists()
    said = problem(bases / "spaced", "--to", "gguf", tmp_path / "o")
    assert "several spaces before a character that joins no space; so with" in said
    (tmp_path / "lines.txt").write_text("il gatto\n" * 900)
    told = export([str(tmp_path / "m"), "--to", "gguf", str(tmp_path / "o"), "--approximate",
                   "--lines", str(tmp_path / "lines.txt")])  # fmt: skip
    assert "tokens NOT the same" in told
    share = value(tmp_path / "o/model.gguf", "revocab.tokens_differ_on")
    assert share in told and int(share.split(" of ")[1].split()[0].replace(",", "")) > 900


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"model_type": "mamba"}, "model_type 'mamba'; only these are exported: gemma, gemma2, "),
        ({"hidden_act": "gelu"}, "hidden_act: gelu; llama.cpp's llama computes only silu"),
        ({"rope_parameters": {"rope_type": "yarn", "factor": 2.0, "rope_theta": 1e4}}, "'yarn'"),
        ({"num_hidden_layers": 3}, "are missing: model.layers.2."),
    ],
)
def test_a_model_that_is_computed_otherwise_is_refused(toys, tmp_path, change, named):
    folder = with_settings(toys / "untied", tmp_path / "m", **change)
    assert named in problem(folder, "--to", "gguf", tmp_path / "o")
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_values_that_half_precision_has_not_are_refused(toys, tmp_path):
    model = AutoModelForCausalLM.from_pretrained(toys / "untied")
    model.get_output_embeddings().weight.data[0, 0] = 1e6
    shutil.copytree(toys / "untied", tmp_path / "m")
    model.save_pretrained(tmp_path / "m")
    said = problem(tmp_path / "m", "--to", "gguf", tmp_path / "o", "--outtype", "f16")
    assert said == "output.weight: holds 1e+06, which float16 does not; give --outtype bf16"
    assert not (tmp_path / "o").exists()


def test_an_adapter_and_a_vocabulary_of_another_model_are_refused(toys, tmp_path):
    (tmp_path / "lora").mkdir()
    write_json(tmp_path / "lora/adapter_config.json", {"peft_type": "LORA"})
    assert "a LoRA adapter" in problem(tmp_path / "lora", "--to", "gguf", tmp_path / "o")
    large = build_tokenizer([*SOURCE_WORDS, "abcdefgh", "zzzzzz"], 60, tmp_path / "large")
    shutil.copytree(toys / "untied", tmp_path / "m")
    shutil.copytree(large, tmp_path / "m", dirs_exist_ok=True)
    assert "tokens without a row" in problem(tmp_path / "m", "--to", "gguf", tmp_path / "o")


def test_a_full_disk_is_one_line_and_leaves_nothing(toys, tmp_path, full_disk, capsys):
    with full_disk(20_000), pytest.raises(SystemExit) as ended:
        entry.main(["export", str(toys / "untied"), "--to", "gguf", str(tmp_path / "o")])
    said = capsys.readouterr().err
    assert ended.value.code == 1 and "no partial output was kept" in said.splitlines()[-1], said
    assert "Traceback" not in said and not [*tmp_path.iterdir()]


@pytest.mark.parametrize("kind", ["qwen2", "qwen3", "gemma", "gemma2", "gemma3_text"])
def test_every_architecture_has_its_tensors_and_its_shape(bases, tmp_path, kind):
    shape = read_json(bases / "byte_level/config.json")
    keys = ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers",
            "num_attention_heads", "num_key_value_heads")  # fmt: skip
    sizes = {key: shape[key] for key in keys}
    sizes["vocab_size"] += 8  # the classes of some families add tokens of their own
    config = AutoConfig.for_model(kind, **sizes, head_dim=16, query_pre_attn_scalar=16)
    model = AutoModelForCausalLM.from_config(config)
    model.save_pretrained(tmp_path / "m")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(bases / "byte_level" / name, tmp_path / "m")
    export([str(tmp_path / "m"), "--to", "gguf", str(tmp_path / "o")])
    assert len(tensors(tmp_path / "o/model.gguf")) == len(
        load_file(tmp_path / "m/model.safetensors")
    )
    name = kind.removesuffix("_text")
    assert value(tmp_path / "o/model.gguf", "general.architecture") == name
    assert value(tmp_path / "o/model.gguf", f"{name}.attention.key_length") in (16, 8)
