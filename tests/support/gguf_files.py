"""Small GGUF files of Llama-like toys with a ``▁`` vocabulary, sound or with a planted fault."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import gguf
import numpy as np
from safetensors.numpy import load_file

from revocab.io import read_json

NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6
#: What llama.cpp's own converter gives every token of a vocabulary without a tokenizer.model.
PLACEHOLDER = -1000.0
NAMES = {
    "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}  # fmt: skip
OUTER = {
    "model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight",
    "lm_head.weight": "output.weight",
}  # fmt: skip


def write_gguf(
    folder: Path,
    out: Path,
    *,
    ranked: bool = True,
    adds_bos: bool = True,
    bos: int = 1,
    ordinary: Sequence[str] = (),
    scaled: float = 1.0,
) -> Path:
    """Write a model folder as GGUF. ``ranked``: with scores from the ranks of merges. ``ordinary``
    are special tokens that are said to be none; ``scaled`` multiplies one matrix.
    """
    config = read_json(folder / "config.json")
    state = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    merges = ["".join(merge) for merge in state["model"]["merges"]]
    vocabulary = {
        **state["model"]["vocab"],
        **{a["content"]: a["id"] for a in state["added_tokens"]},
    }
    tokens = sorted(vocabulary, key=vocabulary.__getitem__)
    special = {a["id"] for a in state["added_tokens"] if a["content"] not in ordinary}
    types = [
        (UNKNOWN if number == 0 else CONTROL) if number in special
        else BYTE if token.startswith("<0x") else NORMAL
        for number, token in enumerate(tokens)
    ]  # fmt: skip
    ranks = {token: -float(rank) for rank, token in enumerate(merges)}
    writer = gguf.GGUFWriter(out, "llama")
    writer.add_file_type(0)
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([ranks.get(t, -1e5) if ranked else PLACEHOLDER for t in tokens])
    writer.add_token_types(types)
    writer.add_bos_token_id(bos)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(adds_bos)
    writer.add_add_eos_token(False)
    writer.add_add_space_prefix(True)
    heads = {"q_proj": config["num_attention_heads"], "k_proj": config["num_key_value_heads"]}
    for name, tensor in load_file(folder / "model.safetensors").items():
        rows = tensor.astype(np.float32)
        for projection, count in heads.items():
            if projection in name:  # rotated in pairs of neighbours, not of halves
                halves = rows.reshape(count, 2, -1, rows.shape[1])
                rows = np.ascontiguousarray(halves.swapaxes(1, 2).reshape(rows.shape))
        writer.add_tensor(tensor_name(name), rows * (scaled if "layers.1.mlp.up" in name else 1))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return out


def tensor_name(name: str) -> str:
    if name in OUTER:
        return OUTER[name]
    _, _, layer, *inner, _ = name.split(".")
    return f"blk.{layer}.{NAMES['.'.join(inner)]}.weight"
