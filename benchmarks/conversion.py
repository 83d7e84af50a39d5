"""Convert a synthetic checkpoint of Mistral-7B-v0.1's shape, and print time and peak memory.

The checkpoint (14.5 GB of bfloat16 in three shards) and a helper of Minerva's width are made on the
spot; only their vocabulary matrices hold distinct values. Each conversion is a process of its own,
so that its peak is its own. Needs about 27 GB of disk; everything made is removed at the end.

    python benchmarks/conversion.py --source-tokenizer TOKENIZER --target-tokenizer TOKENIZER \
        --work FOLDER
"""

from __future__ import annotations

import argparse
import json
import struct
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support.measure import measure

from revocab.cli import run

REPOSITORY = Path(__file__).resolve().parent.parent
METHODS = {
    "fvt": ["fvt"],
    "clp": ["clp"],
    "sava-lstsq": ["sava", "--solver", "lstsq"],
}
SHAPES = {
    "mistral-7b": {
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
    },
    "small": {
        "hidden_size": 256,
        "intermediate_size": 512,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
    },
}
HELPER_WIDTH = {"mistral-7b": 2560, "small": 128}


def helper_shape(width: int) -> dict[str, int]:
    """Return an untied helper of one layer: only its vocabulary counts."""
    return {
        "hidden_size": width,
        "intermediate_size": width,
        "num_hidden_layers": 1,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
    }


def layer_shapes(shape: dict[str, Any]) -> dict[str, list[int]]:
    hidden, wide = shape["hidden_size"], shape["intermediate_size"]
    kv = hidden // shape["num_attention_heads"] * shape["num_key_value_heads"]
    return {
        "input_layernorm.weight": [hidden],
        "mlp.down_proj.weight": [hidden, wide],
        "mlp.gate_proj.weight": [wide, hidden],
        "mlp.up_proj.weight": [wide, hidden],
        "post_attention_layernorm.weight": [hidden],
        "self_attn.k_proj.weight": [kv, hidden],
        "self_attn.o_proj.weight": [hidden, hidden],
        "self_attn.q_proj.weight": [hidden, hidden],
        "self_attn.v_proj.weight": [kv, hidden],
    }


def tensor_shapes(shape: dict[str, Any], rows: int) -> list[tuple[str, list[int]]]:
    hidden = shape["hidden_size"]
    layers = [
        (f"model.layers.{layer}.{name}", size)
        for layer in range(shape["num_hidden_layers"])
        for name, size in layer_shapes(shape).items()
    ]
    return [
        ("model.embed_tokens.weight", [rows, hidden]),
        *layers,
        ("model.norm.weight", [hidden]),
        ("lm_head.weight", [rows, hidden]),
    ]


def size_of(size: list[int]) -> int:
    count = 2
    for one in size:
        count *= one
    return count


def shards(
    tensors: list[tuple[str, list[int]]], count: int
) -> Iterator[list[tuple[str, list[int]]]]:
    """Yield the tensors in order, cut into ``count`` files of about equal size."""
    share = sum(size_of(size) for _, size in tensors) / count
    found: list[list[tuple[str, list[int]]]] = [[] for _ in range(count)]
    position = 0
    for name, size in tensors:
        middle = position + size_of(size) / 2
        found[min(count - 1, int(middle / share))].append((name, size))
        position += size_of(size)
    yield from found


def random_bytes(rows: int, width: int, seed: int) -> memoryview:
    """Return N(0, 0.02) in bfloat16."""
    import torch

    from revocab.initialise.cost_at_scale import random_matrix

    matrix_VD = random_matrix(rows, width, seed).bfloat16()
    return memoryview(matrix_VD.flatten().view(torch.uint8).numpy())


def write_model(
    folder: Path, tokenizer: Path, shape: dict[str, Any], files: int, seed: int = 0
) -> None:
    """Write the checkpoint tensor by tensor; other than vocabulary tensors repeat one block."""
    from revocab.models.folder import copy_tokenizer
    from revocab.vocabulary.tokenizers.load import load_tokenizer

    rows = len(load_tokenizer(tokenizer))
    folder.mkdir(parents=True)
    copy_tokenizer(tokenizer, folder)
    config = {
        "architectures": ["MistralForCausalLM"],
        "model_type": "mistral",
        "vocab_size": rows,
        "tie_word_embeddings": False,
        "dtype": "bfloat16",
        **shape,
    }
    (folder / "config.json").write_text(json.dumps(config))
    block = random_bytes(4096, 2048, 0)
    weight_map = {}
    for number, tensors in enumerate(shards(tensor_shapes(shape, rows), files), 1):
        file = f"model-{number:05d}-of-{files:05d}.safetensors"
        header, position = {}, 0
        for name, size in tensors:
            end = position + size_of(size)
            header[name] = {"dtype": "BF16", "shape": size, "data_offsets": [position, end]}
            weight_map[name] = file
            position = end
        text = json.dumps(header).encode()
        with (folder / file).open("wb") as handle:
            handle.write(struct.pack("<Q", len(text)) + text)
            for name, size in tensors:
                if size[0] == rows:
                    handle.write(random_bytes(*size, seed=seed + len(name)))
                    continue
                left = size_of(size)
                while left:
                    left -= handle.write(block[: min(left, len(block))])
    index = {
        "metadata": {"total_size": sum(size_of(size) for _, size in tensor_shapes(shape, rows))},
        "weight_map": weight_map,
    }
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def folder_size(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.iterdir()) / 1e9


def measure_init(name: str, out: Path, flags: list[str]) -> None:
    """Make a model in ``out`` by ``revocab init``, print what it took, and remove it."""
    from revocab.output import remove_own

    script = REPOSITORY / "scripts" / "init_embeddings.py"
    seconds, processor, peak = measure([sys.executable, str(script), "--out", str(out), *flags])
    print(
        f"{name:12} {seconds:7.1f} s  {processor:7.1f} s of CPU time  {peak:5.2f} GiB "
        f"peak  ({folder_size(out):.2f} GB written)",
        flush=True,
    )
    remove_own(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--source-tokenizer", type=Path, required=True)
    parser.add_argument("--target-tokenizer", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="folder for the models")
    parser.add_argument("--shape", choices=list(SHAPES), default="mistral-7b")
    parser.add_argument("--shards", type=int, default=3)
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--keep", action="store_true", help="keep source and helper")
    arguments = parser.parse_args()

    from revocab.output import ResumableFolder, remove_own

    tokenizers = [arguments.source_tokenizer, arguments.target_tokenizer]
    names = ("source/*", "helper/*")
    work = ResumableFolder(arguments.work, "conversion benchmark", tokenizers, names=names)
    work.hold()
    source, helper = arguments.work / "source", arguments.work / "helper"
    started = time.perf_counter()
    if not source.is_dir():
        write_model(source, arguments.source_tokenizer, SHAPES[arguments.shape], arguments.shards)
        width = HELPER_WIDTH[arguments.shape]
        write_model(helper, arguments.target_tokenizer, helper_shape(width), 1)
    print(
        f"source {folder_size(source):.2f} GB in {arguments.shards} shards, "
        f"made in {time.perf_counter() - started:.0f} s",
        flush=True,
    )
    try:
        for name in arguments.methods:
            flags = [*METHODS[name], "--source", str(source), "--helper", str(helper)]
            flags += ["--target-tokenizer", str(arguments.target_tokenizer)]
            measure_init(name, arguments.work / f"adapted-{name}", flags)
    finally:
        if not arguments.keep:
            remove_own(arguments.work)


if __name__ == "__main__":
    run(main)
