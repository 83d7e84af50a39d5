"""Carry embeddings over with LEP at Llama-3-8B's shape, and print time and peak memory by map.

Tokenizers are made on the spot: byte-level BPE with 128,256 tokens, and the same with 174,816, as
the paper's extended one. Base, instruct and adapted model hold random bfloat16 rows of width 4096,
embedding and head apart, and by default a single layer: a method reads and writes vocabulary
matrices only, other weights are checked for NaN and copied. Each map is a process of its own, so
that its peak is its own. Needs about 16 GB of disk; everything made is removed at the end.

    python benchmarks/lep.py --work FOLDER
"""

from __future__ import annotations

import argparse
import itertools
import string
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from conversion import folder_size, measure_init, write_model

from revocab.cli import run

MAPS = ("swap", "overlap", "conversion")
#: Tokens such as Llama 3's ``<|begin_of_text|>``, and reserved ones.
SPECIAL = 256
MODELS = {"base": ("source", 1), "instruct": ("source", 2), "adapted": ("target", 3)}


@dataclass(frozen=True)
class Size:
    """Tokens of both vocabularies, and the model's dimensions."""

    source_tokens: int
    target_tokens: int
    shape: dict[str, int]


#: What a configuration says beside the dimensions.
FAMILY = {"architectures": ["LlamaForCausalLM"], "model_type": "llama"}


SIZES = {
    "llama-3-8b": Size(
        128_256,
        174_816,
        {
            "hidden_size": 4096,
            "intermediate_size": 14336,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
        },
    ),
    "small": Size(
        4_256,
        6_000,
        {
            "hidden_size": 256,
            "intermediate_size": 512,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
        },
    ),
}


def merged_words() -> Iterator[tuple[str, str]]:
    """Yield merges without end in sight: all words of two letters, of three, then of four."""
    letters = string.ascii_letters
    pairs = ["".join(two) for two in itertools.product(letters, repeat=2)]
    yield from map(tuple, pairs)
    yield from itertools.product(pairs, string.ascii_lowercase)
    yield from itertools.product(pairs, pairs)


def write_tokenizer(folder: Path, tokens: int) -> None:
    """Write a byte-level BPE tokenizer; one of more tokens begins with the same ones."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = list(itertools.islice(merged_words(), tokens - SPECIAL - len(alphabet)))
    words = [*alphabet, *("".join(merge) for merge in merges)]
    backend = Tokenizer(models.BPE({word: n for n, word in enumerate(words)}, merges))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    special = ["<|bos|>", "<|eos|>", *(f"<|reserved_{n}|>" for n in range(SPECIAL - 2))]
    backend.add_special_tokens([AddedToken(one, special=True) for one in special])
    PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token=special[0], eos_token=special[1]
    ).save_pretrained(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--work", type=Path, required=True, help="folder for the models")
    parser.add_argument("--size", choices=list(SIZES), default="llama-3-8b")
    parser.add_argument("--layers", type=int, default=1)
    parser.add_argument("--maps", nargs="+", choices=MAPS, default=list(MAPS))
    parser.add_argument("--keep", action="store_true", help="keep tokenizers and models")
    arguments = parser.parse_args()

    from revocab.output import ResumableFolder, remove_own

    size = SIZES[arguments.size]
    shape = {**size.shape, "num_hidden_layers": arguments.layers, **FAMILY}
    tokenizers = {"source": size.source_tokens, "target": size.target_tokens}
    names = tuple(f"{one}/*" for one in (*tokenizers, *MODELS))
    work = ResumableFolder(arguments.work, "LEP benchmark", [], names=names)
    work.hold()
    folders = {name: arguments.work / name for name in (*tokenizers, *MODELS)}
    started = time.perf_counter()
    if not folders["adapted"].is_dir():
        for name, tokens in tokenizers.items():
            write_tokenizer(folders[name], tokens)
        for name, (tokenizer, seed) in MODELS.items():
            write_model(folders[name], folders[tokenizer], shape, 1, seed=100 * seed)
    print(
        f"{size.source_tokens:,} and {size.target_tokens:,} tokens, width {shape['hidden_size']}, "
        f"layers: {arguments.layers}; {sum(map(folder_size, folders.values())):.2f} GB made in "
        f"{time.perf_counter() - started:.0f} s",
        flush=True,
    )
    try:
        for name in arguments.maps:
            flags = ["lep", "--map", name, "--source", str(folders["instruct"])]
            flags += ["--base", str(folders["base"])]
            flags += ["--adapted", str(folders["adapted"])]
            flags += ["--target-tokenizer", str(folders["target"])]
            measure_init(name, arguments.work / f"carried-{name}", flags)
    finally:
        if not arguments.keep:
            remove_own(arguments.work)


if __name__ == "__main__":
    run(main)
