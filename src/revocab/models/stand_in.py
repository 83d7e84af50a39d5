"""Random models of a given shape: what a demo, a test or a benchmark adapts or pretrains."""

from __future__ import annotations

from pathlib import Path

from revocab.io import write_json
from revocab.models.folder import copy_tokenizer
from revocab.models.origin import library_versions, tokenizer_hash
from revocab.models.parameters import Architecture, model_config
from revocab.models.vocabulary.special_ids import config_ids, special_ids
from revocab.output import OutputFolder
from revocab.tokenizers.golden_ids import keep_golden_ids


def build_stand_in(
    tokenizer: Path, architecture: Architecture, context_length: int, seed: int, out: Path
) -> None:
    """Write a model folder with seeded random float32 weights, as transformers initialises them."""
    import torch
    from transformers import AutoModelForCausalLM, GenerationConfig

    from revocab.tokenizers.load import load_tokenizer

    output = OutputFolder(out, "untrained model", [tokenizer])
    loaded = load_tokenizer(tokenizer)
    ids = special_ids(loaded)
    config = model_config(
        architecture,
        len(loaded),
        max_position_embeddings=context_length,
        dtype="float32",
        **config_ids(ids),
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
        # The row of padding_idx starts at zero: a source model's rows should all be alike.
        rows_VD = model.get_input_embeddings().weight.data
        zero_V = (rows_VD == 0).all(dim=1)
        rows_VD[zero_V] = torch.randn(int(zero_V.sum()), rows_VD.shape[1]) * 0.02
    del ids["unk_token_id"]  # generation knows no unknown token
    model.generation_config = GenerationConfig(**ids)
    with output.replaced() as folder:
        model.save_pretrained(folder)
        copy_tokenizer(tokenizer, folder)
        keep_golden_ids(folder)
        write_json(
            folder / "manifest.json",
            {
                "architecture": architecture.model_dump(),
                "context_length": context_length,
                "seed": seed,
                "vocabulary_size": len(loaded),
                "parameters": model.num_parameters(),
                "tokenizer": tokenizer_hash(tokenizer),
                "libraries": library_versions(),
            },
        )
