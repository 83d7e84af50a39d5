"""Model folders as the field has them, with random weights: each of its makers' shape and ways.

Architectures, special ids, ties, padding and files are those of the models that they are named
after; vocabularies are small.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from revocab.io import read_json, write_json, write_text
from revocab.training.chat.template import read_template

TEXT = (
    "the cat sat on the mat and the dog ran to the house il gatto e il cane sono a casa perché è"
    " così def main(): return 0 12 345 Ciao Мир 世界 don't we'll"
)
#: A size that all architectures take, by the names that they give it.
SHAPE = {
    "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 64,
}  # fmt: skip
GPT2 = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}


def byte_level(special: tuple[str, ...], prefix: bool = False) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    backend.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=300, initial_alphabet=alphabet, special_tokens=[*special], show_progress=False
    )
    backend.train_from_iterator([TEXT] * 3, trainer)
    return backend


#: How Qwen2 cuts words, as its tokenizer.json says it.
QWEN2_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def qwen2(special: tuple[str, ...]) -> Any:
    from tokenizers import Regex, normalizers, pre_tokenizers

    backend = byte_level(special)
    backend.normalizer = normalizers.NFC()
    words = pre_tokenizers.Split(Regex(QWEN2_WORDS), "isolated")
    letters = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.pre_tokenizer = pre_tokenizers.Sequence([words, letters])
    return backend


def pieces(special: tuple[str, ...]) -> Any:
    """Return ``▁`` BPE with bytes: Llama's, Mistral's, Gemma's."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, trainers

    backend = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    backend.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    backend.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    numbers = [f"<0x{byte:02X}>" for byte in range(256)]
    trainer = trainers.BpeTrainer(
        vocab_size=340, special_tokens=[*special, *numbers], show_progress=False
    )
    backend.train_from_iterator(TEXT.split(), trainer)
    content = json.loads(backend.to_str())
    content["added_tokens"] = []  # the bytes are ordinary tokens
    made = Tokenizer.from_str(json.dumps(content))
    made.add_special_tokens([AddedToken(token, special=True) for token in special])
    return made


def unigram(special: tuple[str, ...]) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    backend = Tokenizer(models.Unigram())
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=90, special_tokens=[*special], unk_token="<unk>", show_progress=False
    )
    backend.train_from_iterator([TEXT] * 20, trainer)
    return backend


@dataclass(frozen=True)
class Sound:
    model_type: str
    cut: Callable[[tuple[str, ...]], Any]
    special: tuple[str, ...]
    #: Roles of special tokens.
    roles: dict[str, str]
    tied: bool = False
    #: Rows beyond those of tokens.
    padding: int = 0
    #: Settings of the architecture in place of :data:`SHAPE`, or beside it.
    shape: dict[str, Any] = field(default_factory=lambda: SHAPE)
    more: dict[str, Any] = field(default_factory=dict)
    #: Tokens at which generation stops beside the end of text.
    stops: tuple[str, ...] = ()
    #: A template of the package.
    chat: str | None = None
    #: Files of the slow tokenizer.
    slow: bool = False
    dtype: str = "bfloat16"
    #: Largest size of a weight file, in bytes.
    shard: int | None = None


LLAMA = ("<unk>", "<s>", "</s>")
LLAMA_ROLES = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
END = "<|endoftext|>"
GPT_ROLES = {"bos_token": END, "eos_token": END, "unk_token": END}
CHATML = (END, "<|im_start|>", "<|im_end|>")
LLAMA_3 = ("<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>",
           "<|eot_id|>", "<|eom_id|>", "<|finetune_right_pad_id|>")  # fmt: skip
GEMMA = ("<pad>", "<eos>", "<bos>", "<unk>", "<start_of_turn>", "<end_of_turn>")
GEMMA_ROLES = {"bos_token": "<bos>", "eos_token": "<eos>", "pad_token": "<pad>",
               "unk_token": "<unk>"}  # fmt: skip
SOUND = {
    "llama-2": Sound("llama", pieces, LLAMA, LLAMA_ROLES, dtype="float16"),
    "llama-3-instruct": Sound(
        "llama", byte_level, LLAMA_3,
        {"bos_token": LLAMA_3[0], "eos_token": "<|eot_id|>", "pad_token": LLAMA_3[-1]},
        stops=("<|end_of_text|>", "<|eom_id|>", "<|eot_id|>"), chat="llama-3", tied=True,
    ),
    "llama-sharded": Sound("llama", pieces, LLAMA, LLAMA_ROLES, shard=20_000),
    "mistral-instruct": Sound("mistral", pieces, LLAMA, LLAMA_ROLES, chat="mistral"),
    "mixtral": Sound("mixtral", pieces, LLAMA, LLAMA_ROLES,
                     more={"num_local_experts": 2, "num_experts_per_tok": 1}),
    "qwen2-base": Sound("qwen2", qwen2, CHATML, {"eos_token": END, "pad_token": END},
                        tied=True, padding=37, slow=True),
    "qwen3-chat": Sound("qwen3", byte_level, CHATML,
                        {"eos_token": "<|im_end|>", "pad_token": END}, padding=20,
                        stops=("<|im_end|>", END), chat="chatml", slow=True),
    "gemma": Sound("gemma", pieces, GEMMA, GEMMA_ROLES, tied=True),
    "gemma-2-it": Sound("gemma2", pieces, GEMMA, GEMMA_ROLES, tied=True,
                        stops=("<eos>", "<end_of_turn>")),
    "gemma-3": Sound("gemma3_text", pieces, GEMMA, GEMMA_ROLES, tied=True, padding=2),
    "gpt2": Sound("gpt2", byte_level, (END,), GPT_ROLES, tied=True, shape=GPT2, slow=True,
                  dtype="float32"),
    "pythia": Sound("gpt_neox", byte_level, (END, "<|padding|>"), GPT_ROLES, padding=30,
                    dtype="float16"),
    "phi-2": Sound("phi", byte_level, (END,), GPT_ROLES, padding=63, slow=True, dtype="float16",
                   more={"num_key_value_heads": 4, "partial_rotary_factor": 0.5}),
    "phi-3": Sound("phi3", pieces, (*LLAMA, END, "<|user|>", "<|end|>"),
                   {**LLAMA_ROLES, "eos_token": END, "pad_token": END}, padding=4,
                   stops=(END, "<|end|>")),
    "opt": Sound("opt", byte_level, ("<s>", "<pad>", "</s>", "<unk>"),
                 {"bos_token": "</s>", "eos_token": "</s>", "pad_token": "<pad>",
                  "unk_token": "</s>"}, tied=True, slow=True, dtype="float16",
                 more={"ffn_dim": 48, "word_embed_proj_dim": 32}),
    "bloom": Sound("bloom", byte_level, ("<unk>", "<s>", "</s>", "<pad>"),
                   {**LLAMA_ROLES, "pad_token": "<pad>"}, tied=True, padding=12,
                   shape={"hidden_size": 32, "n_layer": 2, "n_head": 4}),
    "stablelm": Sound("stablelm", byte_level, (END, "<|padding|>"), GPT_ROLES, padding=11,
                      more={"num_key_value_heads": 4, "partial_rotary_factor": 0.5}),
    "falcon": Sound("falcon", byte_level, (">>TITLE<<", END), {"eos_token": END}, tied=True,
                    shape={"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}),
    "mpt": Sound("mpt", byte_level, (END, "<|padding|>"), GPT_ROLES, tied=True, padding=25,
                 shape={"d_model": 32, "n_layers": 2, "n_heads": 4, "max_seq_len": 64}),
    "xglm": Sound("xglm", unigram, ("<s>", "<pad>", "</s>", "<unk>"),
                  {**LLAMA_ROLES, "pad_token": "<pad>"}, tied=True, dtype="float32",
                  shape={"d_model": 32, "num_layers": 2, "attention_heads": 4, "ffn_dim": 48}),
    "olmo-2": Sound("olmo2", byte_level, (END, "<|pad|>"),
                    {"eos_token": END, "pad_token": "<|pad|>"}, dtype="float32"),
    "starcoder2": Sound("starcoder2", byte_level, (END, "<fim_prefix>"), GPT_ROLES, tied=True),
}  # fmt: skip

PER_LAYER = {"hidden_size_per_layer_input": 8, "num_kv_shared_layers": 0}
#: Fewer rows than tokens, and more.
GEMMA_3N = {**PER_LAYER, "vocab_size_per_layer_input": 300, "laurel_rank": 4,
            "activation_sparsity_pattern": [0.0, 0.0]}  # fmt: skip
GEMMA_4 = {**PER_LAYER, "vocab_size_per_layer_input": 346}
#: Models with a table of every layer; those that were published are tied.
WITH_TABLES = {
    name: Sound(model_type, pieces, GEMMA, GEMMA_ROLES, tied=tied, padding=padding, more=more)
    for name, model_type, tied, padding, more in (
        ("gemma-3n", "gemma3n_text", True, 4, GEMMA_3N),
        ("gemma-3n-untied", "gemma3n_text", False, 4, GEMMA_3N),
        ("gemma-4", "gemma4_text", True, 0, GEMMA_4),
        ("gemma-4-untied", "gemma4_text", False, 0, GEMMA_4),
    )
}


def write_sound(sound: Sound, out: Path, tokenizer: Any = None) -> Path:
    """Write the folder; ``tokenizer``: in place of its own."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

    if tokenizer is None:
        backend = sound.cut(sound.special)
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, **sound.roles)
    roles = {f"{role}_token_id": getattr(tokenizer, f"{role}_token_id")
             for role in ("bos", "eos", "pad")}  # fmt: skip
    config = AutoConfig.for_model(
        sound.model_type, **{**sound.shape, **sound.more, **roles},
        vocab_size=len(tokenizer) + sound.padding, tie_word_embeddings=sound.tied,
    )  # fmt: skip
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config).to(getattr(torch, sound.dtype))
    if sound.stops:
        model.generation_config.eos_token_id = tokenizer.convert_tokens_to_ids([*sound.stops])
    model.save_pretrained(out, **({"max_shard_size": sound.shard} if sound.shard else {}))
    tokenizer.save_pretrained(out)
    if sound.chat:
        write_text(out / "chat_template.jinja", read_template(sound.chat))
    if sound.slow:
        write_slow_files(out)
    return out


def write_slow_files(folder: Path) -> None:
    """Write what GPT-2's tokenizer was saved as before there was ``tokenizer.json``."""
    content = read_json(folder / "tokenizer.json")
    added = {token["content"]: token["id"] for token in content["added_tokens"]}
    vocabulary = content["model"]["vocab"]
    write_json(folder / "vocab.json", vocabulary)
    write_json(folder / "added_tokens.json", added)
    merges = [" ".join(pair) for pair in content["model"]["merges"]]
    write_text(folder / "merges.txt", "\n".join(["#version: 0.2", *merges, ""]))
