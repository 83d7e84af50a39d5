"""Small tokenizers and models for the tests of initialisation, stand-ins and similarity."""

from __future__ import annotations

import json
from pathlib import Path

SOURCE_TEXT = "the cat sat on the mat and the dog ran to the house"
TARGET_TEXT = "il gatto e il cane sono a casa the cat sat on the mat perché è così"
SOURCE_WORDS, TARGET_WORDS = SOURCE_TEXT.split(), TARGET_TEXT.split()


def build_tokenizer(words: list[str], merges: int, out: Path) -> Path:
    from tokenizers import Tokenizer, decoders, models, normalizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    special = ["<unk>", "<s>", "</s>"]
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
    trainer = trainers.BpeTrainer(
        vocab_size=259 + merges, special_tokens=[*special, *bytes_], show_progress=False
    )
    tokenizer.train_from_iterator(words, trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="<unk>", bos_token="<s>", eos_token="</s>"
    )
    fast.pad_token = "<unk>"
    fast.save_pretrained(out)
    # Byte tokens were declared special to fix their ids; they are ordinary tokens.
    state = json.loads((out / "tokenizer.json").read_text(encoding="utf-8"))
    state["added_tokens"] = [token for token in state["added_tokens"] if token["id"] < 3]
    (out / "tokenizer.json").write_text(json.dumps(state), encoding="utf-8")
    return out


def build_model(tokenizer: Path, out: Path, *, seed: int = 1, **changes: object) -> Path:
    from revocab.models.parameters import Architecture, build_stand_in

    shape = {
        "family": "mistral",
        "hidden_size": 32,
        "intermediate_size": 48,
        "layers": 2,
        "heads": 4,
        "kv_heads": 2,
    }
    build_stand_in(tokenizer, Architecture(**{**shape, **changes}), 64, seed, out)
    return out


def build_old_and_new(folder: Path) -> tuple[Path, Path]:
    """Write a model, and another whose vocabulary knows words that the first spells in pieces."""
    source = build_tokenizer(SOURCE_WORDS, 30, folder / "source-tokenizer")
    target = build_tokenizer(TARGET_WORDS, 45, folder / "target-tokenizer")
    return build_model(source, folder / "old", seed=1), build_model(target, folder / "new", seed=2)


def build_toys(folder: Path) -> Path:
    source = build_tokenizer(SOURCE_WORDS, 30, folder / "source-tokenizer")
    target = build_tokenizer(TARGET_WORDS, 45, folder / "target-tokenizer")
    build_model(source, folder / "untied", seed=1)
    build_model(source, folder / "tied", seed=2, tied=True, family="llama")
    build_model(target, folder / "helper", seed=3, hidden_size=24, tied=True)
    return folder
