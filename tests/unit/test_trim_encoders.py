"""Trimmed encoders and sequence-to-sequence models: the same states, and logits of what stays."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from sound_models import SHAPE, TEXT, byte_level, unigram
from toy_folders import adapt
from transformers import AutoConfig, PreTrainedTokenizerFast

from revocab.errors import RevocabError
from revocab.io import read_json, write_json
from revocab.models.folder import ModelFolder
from revocab.models.shape import load_config, own_class
from revocab.product import inputs
from revocab.product.check.kind import look_at
from revocab.product.trim import trim
from revocab.vocabulary.building.editable import EditableVocabulary
from revocab.vocabulary.tokenizers.load import load_tokenizer

BERT = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
XLM_R = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
T5 = ("<pad>", "</s>", "<unk>")


def wordpiece(special: tuple[str, ...]) -> Any:
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    backend = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer()
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(
        vocab_size=160, special_tokens=[*special], show_progress=False
    )
    backend.train_from_iterator([TEXT] * 3, trainer)
    return backend


LAYERS = {"encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "d_model": 32,
          "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48}  # fmt: skip
TEXT_TO_TEXT = {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4}
#: Class, model type, tokenizer and its special tokens, settings, what is cut.
FIELD: dict[str, tuple[str, str, Any, tuple[str, ...], dict[str, Any], int]] = {
    "BERT": ("BertForMaskedLM", "bert", wordpiece, BERT, SHAPE, 2),
    "DistilBERT": ("DistilBertForMaskedLM", "distilbert", wordpiece, BERT,
                   {"dim": 32, "hidden_dim": 48, "n_layers": 2, "n_heads": 4}, 2),
    "BERT, embeddings of sentences": ("BertModel", "bert", wordpiece, BERT, SHAPE, 1),
    "XLM-R": ("XLMRobertaForMaskedLM", "xlm-roberta", unigram, XLM_R, SHAPE, 2),
    "XLM-R, embeddings of sentences": ("XLMRobertaModel", "xlm-roberta", unigram, XLM_R, SHAPE, 1),
    "ModernBERT": ("ModernBertForMaskedLM", "modernbert", byte_level, BERT, SHAPE, 2),
    "T5": ("T5ForConditionalGeneration", "t5", unigram, T5, TEXT_TO_TEXT, 1),
    "mT5": ("MT5ForConditionalGeneration", "mt5", unigram, T5, TEXT_TO_TEXT, 2),
    "mT5, encoder": ("MT5EncoderModel", "mt5", unigram, T5, TEXT_TO_TEXT, 1),
    "NLLB": ("M2M100ForConditionalGeneration", "m2m_100", unigram, XLM_R, LAYERS, 1),
    "mBART": ("MBartForConditionalGeneration", "mbart", unigram, XLM_R, LAYERS, 2),
}  # fmt: skip
#: One with each tokenizer, head and way to share rows is tried in every run of the tests.
ALWAYS = ("BERT", "XLM-R, embeddings of sentences", "mT5", "mBART")
EACH = [pytest.param(name, marks=[] if name in ALWAYS else pytest.mark.long) for name in FIELD]


def rewritten(file, change):
    tensors = load_file(file)
    change(tensors)
    save_file(tensors, file, metadata={"format": "pt"})


def write_base(name, out):
    kind, model_type, cut, special, shape, _ = FIELD[name]
    roles = {"pad_token": special[1] if special is XLM_R else special[0]}
    roles |= {"mask_token": special[-1]} if "mask" in special[-1].lower() else {}
    roles |= {"unk_token": next((t for t in special if "unk" in t.lower()), None)}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=cut(special), **roles)
    config = AutoConfig.for_model(
        model_type, **shape, vocab_size=len(tokenizer), pad_token_id=tokenizer.pad_token_id,
        bos_token_id=0, eos_token_id=2, decoder_start_token_id=2,
    )  # fmt: skip
    torch.manual_seed(2)
    model = getattr(transformers, kind)(config)
    with torch.no_grad():  # biases, too, which begin with zeros
        for tensor in {id(t): t for t in model.state_dict().values()}.values():
            if tensor.is_floating_point():
                tensor.add_(0.05 * torch.randn_like(tensor))
    model.save_pretrained(out)
    if kind.endswith("Model"):
        (out / "1_Pooling").mkdir()
        write_json(out / "1_Pooling/config.json", {"pooling_mode_mean_tokens": True})
    if name == "mT5":  # as it is published: with a head of its own
        head = {"lm_head.weight": torch.randn(len(tokenizer), 32)}
        rewritten(out / "model.safetensors", lambda tensors: tensors.update(head))
        config = read_json(out / "config.json")
        write_json(out / "config.json", {**config, "tie_word_embeddings": False})
    tokenizer.save_pretrained(out)
    return out


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    file = tmp_path_factory.mktemp("text") / "en.txt"
    words = TEXT.split()
    file.write_text("".join(f"{' '.join(words[n : n + 3])}\n" for n in range(0, 12, 3)))
    return file


@pytest.fixture(scope="module", params=EACH)
def trimmed(request, text, tmp_path_factory):
    folder = tmp_path_factory.mktemp("field")
    source = write_base(request.param, folder / "source")
    keep = len(load_tokenizer(source)) - 12
    trim([str(source), f"en={text}", "--keep", str(keep), "--allow-unknown",
          "--out", str(folder / "out")])  # fmt: skip
    return request.param, source, folder / "out"


def loaded(folder):
    return own_class(load_config(folder)).from_pretrained(folder).eval()


def test_states_are_the_same_and_logits_those_of_what_stays(trimmed):
    name, source, out = trimmed
    before, after = loaded(source), loaded(out)
    assert type(after).__name__ == FIELD[name][0]
    kept = torch.tensor(read_json(out / "kept_ids.json"))
    assert len(load_tokenizer(out)) == len(kept) == after.config.vocab_size
    assert len(kept) == before.config.vocab_size - 12
    assert len(read_json(out / "manifest.json")["tensors"]) == FIELD[name][-1]
    new = torch.arange(len(kept))[torch.randperm(len(kept), generator=torch.manual_seed(3))][:24]
    new = new[None][:, new != after.config.pad_token_id]
    with torch.no_grad():
        given = ({"input_ids": ids} for ids in (kept[new], new))
        if before.config.is_encoder_decoder and "Encoder" not in FIELD[name][0]:
            given = ({**ids, "decoder_input_ids": ids["input_ids"].flip(1)} for ids in given)
        expected, received = (
            model(**ids, output_hidden_states=True)
            for model, ids in zip((before, after), given, strict=True)
        )
    for key in ("hidden_states", "encoder_hidden_states", "decoder_hidden_states"):
        for old_state, state in zip(expected.get(key) or (), received.get(key) or (), strict=True):
            assert torch.equal(state, old_state)
    assert ("logits" in expected) == ("For" in FIELD[name][0])
    if "logits" in expected:
        torch.testing.assert_close(received.logits, expected.logits[..., kept], rtol=0, atol=1e-5)
    for file in source.glob("1_Pooling/*"):
        assert (out / "1_Pooling" / file.name).read_bytes() == file.read_bytes()
    assert not [finding for finding in look_at(out) if finding.severity == "error"]


def test_text_of_tokens_that_stay_has_them(trimmed, text):
    _, source, out = trimmed
    kept = read_json(out / "kept_ids.json")
    before, after = load_tokenizer(source), load_tokenizer(out)
    whole = 0
    for word in TEXT.split():
        ids, old = (each(word, add_special_tokens=False).input_ids for each in (after, before))
        assert after.decode(ids) == before.decode(old)
        if {*old} <= {*kept}:
            assert [kept[number] for number in ids] == old
            whole += 1
    assert whole > 10


def test_a_new_vocabulary_is_refused(trimmed, toys, tmp_path):
    with pytest.raises(RevocabError, match=r"does not continue text|no causal language model"):
        adapt(toys, tmp_path / "out", source=trimmed[1])
    assert not (tmp_path / "out").exists()
    with pytest.raises(RevocabError, match=r"does not continue text|no causal language model"):
        inputs.look_at(str(trimmed[1]))  # `adapt`, before any work


def test_the_pooler_of_a_first_training_is_kept_or_absent(tmp_path, text):
    """Published models of masked tokens have it, and embeddings of sentences often do not."""
    whole = write_base("BERT, embeddings of sentences", tmp_path / "whole")
    masked = write_base("BERT", tmp_path / "masked")
    pooler = {"bert.pooler.dense.weight": torch.ones(32, 32),
              "cls.seq_relationship.weight": torch.ones(2, 32)}  # fmt: skip
    rewritten(masked / "model.safetensors", lambda own: own.update(pooler))
    rewritten(whole / "model.safetensors", lambda own: [own.pop(f"pooler.dense.{end}")
                                                        for end in ("weight", "bias")])  # fmt: skip
    for source in (whole, masked):
        tensors = ModelFolder(source).tensors
        out = tmp_path / f"{source.name}-out"
        trim([str(source), f"en={text}", "--keep", "100", "--allow-unknown", "--out", str(out)])
        assert ModelFolder(out).tensors.keys() == tensors.keys()


PIECES = st.text("ab", min_size=2, max_size=4)


@settings(max_examples=60)
@given(
    pieces=st.dictionaries(PIECES | PIECES.map("##{}".format), st.booleans(), min_size=3),
    words=st.lists(st.text("ab", min_size=1, max_size=9), min_size=1, max_size=6),
)
def test_words_of_pieces_that_stay_are_cut_as_before(pieces, words):
    tokens = ["[UNK]", "a", "b", "##a", "##b", *pieces]
    state = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
        "normalizer": None, "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": None,
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": {t: n for n, t in enumerate(tokens)}},
    }  # fmt: skip
    from tokenizers import Tokenizer

    base = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(state)), unk_token="[UNK]"
    )
    vocabulary = EditableVocabulary.read(base, trimming=True)
    assert {"a", "b", "##a", "##b", "[UNK]"} <= vocabulary.protected
    gone = {token for token, goes in pieces.items() if goes}
    after = vocabulary.without(gone).renumbered().backend
    for word in words:
        before = base.tokenize(word)
        if not gone & {*before}:
            assert after.encode(word).tokens == before
        assert "".join(after.encode(word).tokens).replace("##", "") == word
