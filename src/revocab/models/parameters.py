"""Shapes of models: sizes from configurations alone, and random models of a given shape."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, model_validator

from revocab.closed import Closed, Job, OneLine
from revocab.io import write_csv, write_json
from revocab.limits import WIDTH, Layers, Positions, Seed, Size, Width
from revocab.models.folder import copy_tokenizer
from revocab.models.origin import library_versions, tokenizer_hash
from revocab.models.special_ids import config_ids, special_ids
from revocab.output import OutputFolder, check_files

if TYPE_CHECKING:
    from transformers import PretrainedConfig


class Architecture(Closed):
    """The shape of a decoder-only model."""

    #: Whose architecture it has.
    family: Literal["mistral", "llama"]
    #: Width.
    hidden_size: Annotated[int, Field(ge=8), WIDTH]
    #: Width of the MLP.
    intermediate_size: Annotated[int, Field(ge=8), WIDTH]
    #: Decoder layers.
    layers: Layers
    #: Attention heads.
    heads: Width
    #: Heads of keys and values.
    kv_heads: Width
    tied: bool = Field(default=False, description="embedding and LM head are one matrix")

    @model_validator(mode="after")
    def _divides(self) -> Architecture:
        if self.hidden_size % self.heads or self.heads % self.kv_heads:
            raise ValueError(
                f"hidden_size {self.hidden_size}, heads {self.heads}, kv_heads {self.kv_heads}: "
                "each must be a multiple of the next"
            )
        if self.hidden_size // self.heads % 2:
            raise ValueError(
                f"hidden_size {self.hidden_size}, heads {self.heads}: a head is"
                f" {self.hidden_size // self.heads} wide, and must be even: positions turn pairs"
            )
        return self


class StandInJob(Architecture, Job):
    """A random model to build."""

    context_length: Positions = Field(description="context length in tokens")
    seed: Seed

    def architecture(self) -> Architecture:
        return Architecture(**self.model_dump(include=set(Architecture.model_fields)))


class ParameterCount(Closed):
    """One row of Table 1, counted on the meta device."""

    #: Its name in the table.
    label: OneLine
    #: Tokens of its vocabulary.
    vocabulary_size: Size
    architecture: Architecture


class ParametersJob(Job):
    """The models to count, one row each."""

    models: list[ParameterCount] = Field(
        default_factory=list, description="label, size and shape of each model"
    )


def model_config(architecture: Architecture, vocabulary_size: int, **keys: Any) -> PretrainedConfig:
    from transformers import LlamaConfig, MistralConfig

    shape = {**config_keys(architecture, vocabulary_size), **keys}
    if architecture.family == "mistral":
        # Full attention, as in Mistral-7B from v0.2 on; contexts here are shorter than the window.
        return MistralConfig(sliding_window=None, **shape)
    return LlamaConfig(**shape)


def weight_shapes(config: Any) -> dict[str, tuple[int, ...]]:
    """Return the parameters of a Llama-like decoder (also Qwen's) by name, without building it."""
    hidden, inner, rows = config.hidden_size, config.intermediate_size, config.vocab_size
    head = getattr(config, "head_dim", None) or hidden // config.num_attention_heads
    queries, keys = config.num_attention_heads * head, config.num_key_value_heads * head
    block: dict[str, tuple[int, ...]] = {
        "self_attn.q_proj.weight": (queries, hidden),
        "self_attn.k_proj.weight": (keys, hidden),
        "self_attn.v_proj.weight": (keys, hidden),
        "self_attn.o_proj.weight": (hidden, queries),
        "mlp.gate_proj.weight": (inner, hidden),
        "mlp.up_proj.weight": (inner, hidden),
        "mlp.down_proj.weight": (hidden, inner),
        "input_layernorm.weight": (hidden,),
        "post_attention_layernorm.weight": (hidden,),
    }
    if config.model_type == "qwen2":
        block |= {f"self_attn.{which}_proj.bias": block[f"self_attn.{which}_proj.weight"][:1]
                  for which in "qkv"}  # fmt: skip
    if config.model_type == "qwen3":
        block |= {f"self_attn.{which}_norm.weight": (head,) for which in "qk"}
    layers = range(config.num_hidden_layers)
    return {
        "model.embed_tokens.weight": (rows, hidden),
        **{f"model.layers.{n}.{name}": shape for n in layers for name, shape in block.items()},
        "model.norm.weight": (hidden,),
        **({} if config.tie_word_embeddings else {"lm_head.weight": (rows, hidden)}),
    }


def config_keys(architecture: Architecture, vocabulary_size: int) -> dict[str, Any]:
    """Return the shape of a model as ``config.json`` names it."""
    return {
        "vocab_size": vocabulary_size,
        "hidden_size": architecture.hidden_size,
        "intermediate_size": architecture.intermediate_size,
        "num_hidden_layers": architecture.layers,
        "num_attention_heads": architecture.heads,
        "num_key_value_heads": architecture.kv_heads,
        "tie_word_embeddings": architecture.tied,
    }


def config_parameters(config: PretrainedConfig) -> int:
    """Return the number of parameters of a configuration's model; a tied matrix counts once."""
    from revocab.models.shape import shape_of

    return sum(parameter.numel() for parameter in shape_of(config).parameters())


def write_parameters(entries: list[ParameterCount], out: Path) -> None:
    check_files(out)
    rows = []
    for entry in entries:
        size, shape = entry.vocabulary_size, entry.architecture
        count = config_parameters(model_config(shape, size))
        row = {"label": entry.label, "vocabulary_size": size, "family": shape.family}
        rows.append({**row, "parameters": count})
    write_csv(out, ("label", "vocabulary_size", "family", "parameters"), rows)


def head_width(config: Any) -> int:
    text = config.get_text_config()
    return getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads


def cache_bytes_per_token(config: Any, dtype: str) -> int:
    """Return the bytes of keys and values that one token takes in all layers, in a torch ``dtype``,
    or ``auto``: the one that the configuration stores.
    """
    import torch

    text = config.get_text_config()
    heads = getattr(text, "num_key_value_heads", None) or text.num_attention_heads
    stored = dtype if dtype != "auto" else str(text.dtype or "float32").removeprefix("torch.")
    size = getattr(torch, stored).itemsize
    return 2 * text.num_hidden_layers * heads * head_width(config) * size


def build_stand_in(
    tokenizer: Path, architecture: Architecture, context_length: int, seed: int, out: Path
) -> None:
    """Write a model folder with seeded random float32 weights, as transformers initialises them."""
    import torch
    from transformers import AutoModelForCausalLM, GenerationConfig

    from revocab.vocabulary.tokenizers.load import load_tokenizer

    output = OutputFolder(out, "untrained model", [tokenizer])
    loaded = load_tokenizer(tokenizer)
    ids = special_ids(loaded)
    keys = {"max_position_embeddings": context_length, "dtype": "float32", **config_ids(ids)}
    config = model_config(architecture, len(loaded), **keys)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
        # The row of padding_idx starts at zero: a source model's rows should all be alike.
        rows_VD = model.get_input_embeddings().weight.data
        zero_V = (rows_VD == 0).all(dim=1)
        rows_VD[zero_V] = torch.randn(int(zero_V.sum()), rows_VD.shape[1]) * 0.02
    del ids["unk_token_id"]  # generation knows no unknown token
    model.generation_config = GenerationConfig(**ids)
    facts = {
        "architecture": architecture.model_dump(),
        "context_length": context_length,
        "seed": seed,
        "vocabulary_size": len(loaded),
        "parameters": model.num_parameters(),
        "tokenizer": tokenizer_hash(tokenizer),
        "libraries": library_versions(),
    }
    with output.replaced() as folder:
        model.save_pretrained(folder)
        copy_tokenizer(tokenizer, folder)
        write_json(folder / "manifest.json", facts)
