"""Tokenizer folders of every family through loading, intersection and its report; broken ones."""

from __future__ import annotations

import json
import shutil

import pytest
from planted_faults import BASES
from sound_models import write_sound
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from toy_vocabularies import sentencepiece_bpe, wrap
from transformers import AutoTokenizer

from revocab.errors import RevocabError
from revocab.initialise.reading.vocabularies import SourceSpelling
from revocab.io import read_json, write_json
from revocab.vocabulary.building.constructions.train import train_tokenizer
from revocab.vocabulary.building.editable import EditableVocabulary
from revocab.vocabulary.building.training_text import batched
from revocab.vocabulary.intersection import IntersectionJob, intersect_folders
from revocab.vocabulary.tokenizers.canonical import canonical_vocabulary
from revocab.vocabulary.tokenizers.load import load_tokenizer, write_tokenizer

TEXTS = [
    "La città è più bella di sera, perché c'è il mare. Anche la virtù è bella.",
    "I bambini giocano nel parco; i nonni li guardano. Quanto costa? Costa 125 euro.",
] * 6


def unigram_tokenizer():
    """A trained SentencePiece-style Unigram with byte fallback."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=110, special_tokens=["<unk>", "<s>"], unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    content = json.loads(tokenizer.to_str())
    content["model"]["vocab"] += [[f"<0x{byte:02X}>", -20.0] for byte in range(256)]
    content["model"]["byte_fallback"] = True
    tokenizer = Tokenizer.from_str(json.dumps(content))
    tokenizer.decoder = decoders.Sequence(
        [decoders.ByteFallback(), decoders.Metaspace(), decoders.Fuse()]
    )
    return wrap(tokenizer, ["<unk>", "<s>"], unk_token="<unk>", bos_token="<s>")


def wordpiece_tokenizer():
    """A trained WordPiece vocabulary, cased, as BERT's."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(
        vocab_size=110, special_tokens=specials, show_progress=False
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.decoder = decoders.WordPiece()
    names = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
    return wrap(tokenizer, specials, **{f"{role}_token": text for role, text in names.items()})


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("tokenizers")
    made = {
        "unigram": unigram_tokenizer(),
        "wordpiece": wordpiece_tokenizer(),
        "byte_level": train_tokenizer(batched(TEXTS), "byte_level", 330),
        "byte_fallback": train_tokenizer(
            batched(TEXTS), "byte_fallback", 340, list("▁abcdeghilmnoprstuvàèéù.,")
        ),
    }
    for name, tokenizer in made.items():
        write_tokenizer(tokenizer, root / name)
    return root


@pytest.mark.parametrize("source", ["unigram", "wordpiece"])
@pytest.mark.parametrize("target", ["byte_level", "byte_fallback", "unigram", "wordpiece"])
def test_unigram_and_wordpiece_end_to_end(folders, tmp_path, source, target):
    """Folder to report: the overlap is what equal bytes in the same place say, in both orders."""
    sides = [load_tokenizer(folders / name) for name in (source, target)]
    vocabularies = [canonical_vocabulary(one) for one in sides]
    keys = [{token.identity for token in one} - {None} for one in vocabularies]
    forth = intersect_folders(
        folders / source, folders / target, IntersectionJob(), tmp_path / "forth"
    )
    back = intersect_folders(
        folders / target, folders / source, IntersectionJob(), tmp_path / "back"
    )
    for found, own in ((forth, vocabularies[1]), (back, vocabularies[0])):
        shared = {own[number].identity for number in found.target_ids}
        assert shared == keys[0] & keys[1]
    assert ("bytes", "à".encode()) in keys[0]
    assert forth.report["overlap"] > 20
    # Every missing token can be spelt, or stands for the unknown token.
    missing = [vocabularies[1][number] for number in forth.missing]
    spelling = SourceSpelling(sides[0])
    assert all(spelling.own_pieces(token) or spelling.unspelt for token in missing)
    page = (tmp_path / "forth" / "report.md").read_text(encoding="utf-8")
    assert f"# Tokens of {target} that {source} holds" in page
    assert f"Overlap {forth.report['overlap']:,} of" in page


def test_declared_roles_make_a_pair(folders, tmp_path):
    sides = {"source": "byte_level", "target": "byte_fallback"}
    specials = {"source": "<|tool|>", "target": "[T=1]"}
    for side, name in sides.items():
        tokenizer = load_tokenizer(folders / name)
        tokenizer.add_special_tokens({"extra_special_tokens": [specials[side]]})
        write_tokenizer(tokenizer, tmp_path / side)
    roles = {f"{side}_roles": {specials[side]: "tool"} for side in sides}
    either = {"roles": dict.fromkeys(specials.values(), "tool")}
    jobs = {
        name: IntersectionJob(**declared)
        for name, declared in (("declared", roles), ("either", either), ("plain", {}))
    }
    declared, for_either, plain = (
        intersect_folders(tmp_path / "source", tmp_path / "target", job, tmp_path / name).report
        for name, job in jobs.items()
    )
    assert declared["overlap"] == for_either["overlap"] == plain["overlap"] + 1
    assert declared["unreachable"]["target"]["reasons"]["utf8"] == 13
    # "a" is a piece and a byte token of the target; the source has one token for both.
    assert declared["shared_source_rows"] > 0
    page = (tmp_path / "declared" / "report.md").read_text(encoding="utf-8")
    assert "<code>&lt;&#124;tool&#124;&gt;</code>" in page


def test_roles_of_tokens_that_are_not_there(folders, tmp_path):
    pair = (folders / "byte_level", folders / "byte_fallback")
    with pytest.raises(RevocabError, match="neither vocabulary has a token '<x>'"):
        intersect_folders(*pair, IntersectionJob(roles={"<x>": "tool"}), tmp_path / "out")
    with pytest.raises(RevocabError, match="has no token '<unk>'"):
        job = IntersectionJob(source_roles={"<unk>": "unk"})
        intersect_folders(*pair, job, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("make", "change", "message"),
    [
        (sentencepiece_bpe, lambda model: model["vocab"].update({"A": 268}),
         r"ids with two tokens: 268 \('▁cane', 'A'\)"),
        (sentencepiece_bpe, lambda model: model["merges"].append(["▁cane", "zz"]),
         "2 tokens that merges name are not in the vocabulary: 'zz', '▁canezz'"),
        (sentencepiece_bpe, lambda model: model["merges"].append("▁can A"), "vocabulary: '▁canA'"),
        (unigram_tokenizer, lambda model: model["vocab"].append(model["vocab"][5]),
         "pieces listed twice"),
        (sentencepiece_bpe, None, "no 'model' in it"),
        # The last id only: a smaller vocabulary, and a sound one.
        (sentencepiece_bpe, lambda model: model["vocab"].pop("A"), None),
    ],
)  # fmt: skip
def test_broken_vocabularies(tmp_path, make, change, message):
    write_tokenizer(make(), tmp_path)
    content = read_json(tmp_path / "tokenizer.json")
    if change is None:
        content = {}
    else:
        change(content["model"])
    write_json(tmp_path / "tokenizer.json", content)
    if message is None:
        load_tokenizer(tmp_path)
        return
    with pytest.raises(RevocabError, match=message) as caught:
        load_tokenizer(tmp_path)
    assert str(tmp_path) in str(caught.value)


LINES = ["In 1959 there were 620003 cats.\n\n  def f(x):\n    return x", "", " ", "  two",
         "a\u00a0▁b", "<s>x</s>", "cafe\u0301 DON'T", "日本 ✨\t0"]  # fmt: skip
NUMBERS = {"type": "Split", "pattern": {"Regex": r"\p{N}"}, "behavior": "Isolated", "invert": False}


@pytest.mark.parametrize("tell", [True, False])
@pytest.mark.parametrize(
    ("base", "named", "model_type", "differs"),
    [
        ("chat", "GPT2Tokenizer", None, True),
        ("chat", "Qwen2Tokenizer", None, True),
        ("chat", None, "qwen2", True),
        ("chat", None, "gpt2", True),
        ("chat", "CodeThatNobodyHas", None, False),
        ("chat", "PreTrainedTokenizerFast", "qwen2", True),
        ("pieces", "LlamaTokenizer", None, True),
        ("pieces", "GemmaTokenizer", None, True),
        ("pieces", "PreTrainedTokenizerFast", "llama", False),
    ],
)
def test_what_tokenizer_json_says_counts(tmp_path, capfd, base, named, model_type, differs, tell):
    """In every class that builds its own pipeline; and what is written is read so elsewhere."""
    source, folder = write_sound(BASES[base], tmp_path / "model"), tmp_path / "tokenizer"
    folder.mkdir()
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(source / name, folder / name)
    settings = {"tokenizer_class": named, "bos_token": None, "eos_token": "<|eot_id|>"}
    content = read_json(folder / "tokenizer.json")
    if base == "chat":
        steps = [NUMBERS, content["pre_tokenizer"]]
        content["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": steps}
    else:
        settings |= {"bos_token": "<s>", "eos_token": "</s>"}
    write_json(folder / "tokenizer.json", content)
    write_json(folder / "tokenizer_config.json", {k: v for k, v in settings.items() if v})
    if model_type:
        write_json(folder / "config.json", {"model_type": model_type})
    capfd.readouterr()
    plain = Tokenizer.from_file(str(folder / "tokenizer.json"))
    loaded = load_tokenizer(folder, tell=tell)
    load_tokenizer(folder)
    said = capfd.readouterr().err
    assert said.count("AutoTokenizer") == (1 if differs else 0), said
    expected = [plain.encode(line).ids for line in LINES]
    assert loaded.get_vocab() == plain.get_vocab()
    assert loaded.eos_token == settings["eos_token"]
    write_tokenizer(loaded, tmp_path / "written")
    written = AutoTokenizer.from_pretrained(tmp_path / "written")
    assert written.model_input_names == loaded.model_input_names
    edited = EditableVocabulary.read(loaded).tokenizer()
    for tokenizer in (loaded, written, edited, load_tokenizer(tmp_path / "written")):
        assert [tokenizer(line)["input_ids"] for line in LINES] == expected
        assert [*map(tokenizer.decode, expected)] == [
            plain.decode(ids, skip_special_tokens=False) for ids in expected
        ]


def test_roles_that_only_a_class_has_are_its_own(tmp_path):
    """As in GPT-2's folder; a default that the file lacks is no token, one that is said is."""
    source = write_sound(BASES["chat"], tmp_path / "model")
    write_json(source / "config.json", {"model_type": "gpt2"})
    write_json(source / "tokenizer_config.json", {"model_max_length": 64})
    tokenizer = load_tokenizer(source)
    assert tokenizer.eos_token == tokenizer.bos_token == "<|endoftext|>"
    assert tokenizer.model_input_names == ["input_ids", "attention_mask"]
    size = len(tokenizer)
    write_json(
        source / "tokenizer_config.json", {"tokenizer_class": "LlamaTokenizer", "pad_token": "[P]"}
    )
    tokenizer = load_tokenizer(source)
    assert (len(tokenizer), tokenizer.pad_token_id) == (size + 1, size)
    assert tokenizer.eos_token is None


def test_a_folder_that_says_so_is_read_as_its_file_says(tmp_path):
    """Beside a config.json of Qwen2, AutoTokenizer would cut words as Qwen2 does."""
    folder = write_sound(BASES["chat"], tmp_path / "model")
    config = read_json(folder / "config.json")
    write_json(folder / "config.json", {**config, "model_type": "qwen2"})
    text = "12345 cafe\u0301"
    ids = Tokenizer.from_file(str(folder / "tokenizer.json")).encode(text).ids
    assert load_tokenizer(folder).encode(text, add_special_tokens=False) == ids
    assert type(load_tokenizer(folder)).__name__ == "TokenizersBackend"
