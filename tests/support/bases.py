"""Architectures of 2024 to 2026 at pico size, by the model types of transformers: dense models,
mixtures of experts, hybrids with state-space or linear attention, and models that also see.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from sound_models import SHAPE

ROWS = 289
BOTH = {"layer_types": ["sliding_attention", "full_attention"]}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
LINEAR = {
    "linear_num_key_heads": 2, "linear_num_value_heads": 2, "linear_key_head_dim": 8,
    "linear_value_head_dim": 8, "layer_types": ["linear_attention", "full_attention"],
}  # fmt: skip
LATENT = {
    "q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8,
    "v_head_dim": 8, "num_key_value_heads": 4,
}  # fmt: skip
MAMBA = {
    "mamba_n_heads": 8, "mamba_d_head": 8, "mamba_d_state": 8, "mamba_n_groups": 1,
    "mamba_chunk_size": 16,
}  # fmt: skip
NO_TABLE = {"vocab_size_per_layer_input": 0, "hidden_size_per_layer_input": 0}
SIGHT = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1,
         "num_attention_heads": 4}  # fmt: skip
QWEN_SIGHT = {"hidden_size": 32, "intermediate_size": 48, "depth": 1, "num_heads": 4,
              "out_hidden_size": 32}  # fmt: skip
TURNS = {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [1, 1, 2]}}

DENSE: dict[str, dict[str, Any]] = {
    "llama": {}, "mistral": {}, "qwen3": {}, "gemma3_text": BOTH, "gemma4_text": NO_TABLE,
    "olmo3": BOTH, "phi3": {}, "smollm3": {}, "granite": {"logits_scaling": 2.0},
}  # fmt: skip
SPARSE = {
    "mixtral": {"num_local_experts": 4},
    "qwen3_moe": EXPERTS,
    "deepseek_v3": {
        "n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1,
        "moe_intermediate_size": 16, "first_k_dense_replace": 1, **LATENT,
    },
    "gpt_oss": {"num_local_experts": 4, "num_experts_per_tok": 2},
}  # fmt: skip
HYBRID = {
    "nemotron_h": {
        "hybrid_override_pattern": "M*-", "num_hidden_layers": 3, "mamba_num_heads": 4,
        "mamba_head_dim": 8, "ssm_state_size": 8, "n_groups": 2, "chunk_size": 16,
    },
    "qwen3_next": {**EXPERTS, "shared_expert_intermediate_size": 16, **LINEAR},
    "qwen3_5_text": LINEAR,
    "falcon_h1": {**MAMBA, "mamba_d_ssm": 64},
    "granitemoehybrid": {
        **MAMBA, "layer_types": ["mamba", "attention"], "num_local_experts": 2,
        "num_experts_per_tok": 1, "shared_intermediate_size": 16,
    },
}  # fmt: skip
#: Settings of the part that writes, and of the part that sees.
SEEING: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "gemma3": (BOTH, {"image_size": 28, "patch_size": 14, **SIGHT}),
    "gemma4": ({"model_type": "gemma4_text", **NO_TABLE},
               {**SIGHT, "num_key_value_heads": 4, "head_dim": 8}),
    "mistral3": ({"model_type": "mistral"},
                 {"model_type": "pixtral", "image_size": 28, "patch_size": 14, **SIGHT}),
    "qwen2_5_vl": (TURNS, {**QWEN_SIGHT, "fullatt_block_indexes": [0]}),
    "qwen3_vl": (TURNS, {**QWEN_SIGHT, "deepstack_visual_indexes": [0],
                         "num_position_embeddings": 16}),
    "qwen3_5": (LINEAR, {**QWEN_SIGHT, "num_position_embeddings": 16}),
}  # fmt: skip
#: Ids of what stands for pictures and sounds, which settings name.
PLACES = {
    "image_token_id": 280, "image_token_index": 280, "video_token_id": 281,
    "vision_start_token_id": 282, "vision_end_token_id": 283, "boi_token_index": 282,
    "eoi_token_index": 283, "boi_token_id": 282, "eoi_token_id": 283,
}  # fmt: skip
BASES = {**DENSE, **SPARSE, **HYBRID, **SEEING}


def build_base(name: str, tokenizer: Path, out: Path, rows: int = ROWS) -> Path:
    """Write a folder of an architecture, its weights drawn by a seed, with a tokenizer."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText

    ids = {"vocab_size": rows, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    if name in SEEING:
        text, sight = SEEING[name]
        settings = {"text_config": {**SHAPE, **ids, **text}, "vision_config": sight, **PLACES}
        settings |= {"mm_tokens_per_image": 4} if name == "gemma3" else {}
        kind: Any = AutoModelForImageTextToText
    else:
        settings, kind = {**SHAPE, **ids, **BASES[name]}, AutoModelForCausalLM
    torch.manual_seed(3)
    kind.from_config(AutoConfig.for_model(name, **settings)).save_pretrained(out)
    for file in tokenizer.iterdir():
        shutil.copy(file, out / file.name)
    return out
