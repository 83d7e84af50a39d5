"""Helpers whose tokenizer is not the target's: the same in another order, or of another family."""

from __future__ import annotations

import shutil
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from revocab.io import read_json, write_json

VOCABULARY_MATRICES = ("model.embed_tokens.weight", "lm_head.weight")


def permuted(model: Path, out: Path, seed: int = 0) -> Path:
    """Copy a model folder with its tokens and their rows in another order."""
    shutil.copytree(model, out)
    content = read_json(out / "tokenizer.json")
    vocabulary = content["model"]["vocab"]
    order = torch.randperm(len(vocabulary), generator=torch.Generator().manual_seed(seed)).tolist()
    content["model"]["vocab"] = {token: order[number] for token, number in vocabulary.items()}
    for token in content["added_tokens"]:
        token["id"] = order[token["id"]]
    content["added_tokens"].sort(key=lambda token: token["id"])
    write_json(out / "tokenizer.json", content)
    change_matrices(out, lambda name, matrix: matrix[torch.tensor(order).argsort()])
    return out


def change_matrices(folder: Path, change) -> None:
    """Pass the vocabulary matrices of a one-file model through ``change(name, matrix)``."""
    tensors = load_file(folder / "model.safetensors")
    for name in VOCABULARY_MATRICES:
        if name in tensors:
            tensors[name] = change(name, tensors[name]).contiguous()
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})


def build_byte_level(words: list[str], merges: int, out: Path) -> Path:
    """Write a byte-level BPE tokenizer folder trained on a few words, specials at the end."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=256 + merges, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(words, trainer)
    tokenizer.add_special_tokens(["<|begin|>", "<|end|>"])
    names = {"bos_token": "<|begin|>", "eos_token": "<|end|>"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(out)
    return out


def token_bytes(folder: Path) -> list[bytes | None]:
    """Return what each token stands for, by id, read from the spellings; None for special ones."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    specials = {*tokenizer.all_special_tokens}
    byte_level = any(token.startswith("Ġ") for token in tokenizer.get_vocab())
    found = []
    for token in tokenizer.convert_ids_to_tokens(range(len(tokenizer))):
        if token in specials:
            found.append(None)
        elif byte_level:
            found.append(_from_byte_level(token))
        elif token.startswith("<0x"):
            found.append(bytes([int(token[3:5], 16)]))
        else:
            found.append(token.replace("▁", " ").encode())
    return found


def _from_byte_level(token: str) -> bytes:
    """Return the bytes of a token in GPT-2's alphabet: printable bytes stand for themselves."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    table = {chr(byte): byte for byte in plain}
    table |= {chr(256 + place): byte for place, byte in enumerate(others)}
    return bytes(table[character] for character in token)
