"""One small vocabulary of every family, built by hand."""

from __future__ import annotations

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def numbered(tokens):
    return {token: number for number, token in enumerate(tokens)}


def wrap(tokenizer, specials, **names):
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in specials])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)


def sentencepiece_bpe(*more):
    """Mistral's shape: <unk> <s> </s>, bytes, then pieces, with a marker in the normaliser."""
    pieces = ["▁", "c", "a", "n", "e", "è", "▁c", "an", "▁can", "▁cane", "A", *more]
    merges = [("▁", "c"), ("a", "n"), ("▁c", "an"), ("▁can", "e")]
    model = models.BPE(
        numbered(["<unk>", "<s>", "</s>", *BYTES, *pieces]),
        merges,
        unk_token="<unk>",
        byte_fallback=True,
        fuse_unk=True,
    )
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback()])
    names = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
    return wrap(tokenizer, ["<unk>", "<s>", "</s>"], **names)


def unigram(*more):
    """SentencePiece Unigram with Metaspace, as T5 or XLM-R; ``more`` are (piece, score)."""
    pieces = [("<unk>", 0.0), ("<s>", 0.0), ("▁cane", -2.0), ("cane", -3.0), ("▁", -4.0)]
    pieces += [(character, -5.0) for character in "acneè"]
    pieces += more
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=0, byte_fallback=False))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    return wrap(tokenizer, ["<unk>", "<s>"], unk_token="<unk>", bos_token="<s>")


def with_merges(more, merges, pattern=True, special=(), *, ignore_merges=False, **names):
    """Byte-level BPE: the bytes, then more tokens."""
    vocabulary = numbered([*sorted(pre_tokenizers.ByteLevel.alphabet()), *more])
    tokenizer = Tokenizer(models.BPE(vocabulary, merges, ignore_merges=ignore_merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=pattern)
    tokenizer.decoder = decoders.ByteLevel()
    return wrap(tokenizer, special, **names)


def byte_level():
    """Llama-3's shape; a chat token with a well-known role and a reserved one without."""
    merges = [("Ġ", "c"), ("a", "n"), ("Ġc", "an"), ("Ġcan", "e"), ("Ã", "¨"), ("Ġ", "Ã¨")]
    specials = ["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>", "<|reserved_0|>"]
    return with_merges(
        [a + b for a, b in merges], merges, True, specials,
        bos_token=specials[0], eos_token=specials[1],
    )  # fmt: skip


def wordpiece():
    model = models.WordPiece(
        numbered(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "cane", "##cane", "ca", "##ne", "##è"]),
        unk_token="[UNK]",
    )
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    names = {name: f"[{name[:3].upper()}]" for name in ("pad_token", "unk_token", "cls_token")}
    return wrap(tokenizer, ["[PAD]", "[UNK]", "[CLS]", "[SEP]"], sep_token="[SEP]", **names)
