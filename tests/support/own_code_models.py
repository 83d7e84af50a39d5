"""Repositories of models whose architecture only their own code knows, as Jais-30B's is.

GPT-2's names, an index, three shards: the embedding in the first, blocks in the second, the head,
if it is another matrix, in the third; and code that must never be run.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import torch
from safetensors.torch import save_file

EMBEDDING, HEAD = "transformer.wte.weight", "lm_head.weight"
BLOCK, NORM = "transformer.h.0.attn.c_attn.weight", "transformer.ln_f.weight"
CODE = "raise SystemExit('code of the repository was run')\n"


def shard_name(number: int, ending: str) -> str:
    stem = "pytorch_model" if ending == "bin" else "model"
    return f"{stem}-{number:05}-of-00003.{ending}"


def write_model(
    tokenizer: Path,
    out: Path,
    *,
    width: int = 16,
    rows: int,
    ending: str = "bin",
    tied: bool = False,
) -> dict[str, torch.Tensor]:
    """Write the repository; return its tensors. ``ending`` is ``bin`` or ``safetensors``."""
    random = torch.Generator().manual_seed(7)
    tensors = {
        name: torch.randn(*shape, generator=random)
        for name, shape in {
            EMBEDDING: (rows, width),
            BLOCK: (width, 3 * width),
            NORM: (width,),
            HEAD: (rows, width),
        }.items()
    }
    shards = {1: [EMBEDDING], 2: [BLOCK], 3: [NORM] if tied else [NORM, HEAD]}
    shutil.copytree(tokenizer, out, dirs_exist_ok=True)
    for number, names in shards.items():
        held = {name: tensors[name] for name in names}
        path = out / shard_name(number, ending)
        torch.save(held, path) if ending == "bin" else save_file(held, path)
    whole = "pytorch_model.bin" if ending == "bin" else "model.safetensors"
    placed = {name: shard_name(n, ending) for n, names in shards.items() for name in names}
    index = {"metadata": {"total_size": 0}, "weight_map": placed}
    (out / f"{whole}.index.json").write_text(json.dumps(index), encoding="utf-8")
    config = {
        "architectures": ["OwnCodeModel"],
        "model_type": "own_code",
        "auto_map": {"AutoModelForCausalLM": "modeling.OwnCodeModel"},
        "n_embd": width,
        "vocab_size": rows,
        "bos_token_id": 1,
    }
    (out / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (out / "modeling.py").write_text(CODE, encoding="utf-8")
    return {name: tensors[name] for names in shards.values() for name in names}
