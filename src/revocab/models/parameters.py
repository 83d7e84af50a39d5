"""Parameter counts from configurations alone: built on the meta device, without weights."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from revocab.errors import RevocabError
from revocab.io import atomic
from revocab.output import check_files

if TYPE_CHECKING:
    from transformers import PretrainedConfig

    from revocab.config.schema import Architecture


def model_config(
    architecture: Architecture, vocabulary_size: int, **keys: object
) -> PretrainedConfig:
    """Return the transformers configuration of an architecture; ``keys`` go through to it."""
    from transformers import LlamaConfig, MistralConfig

    shape = {
        "vocab_size": vocabulary_size,
        "hidden_size": architecture.hidden_size,
        "intermediate_size": architecture.intermediate_size,
        "num_hidden_layers": architecture.layers,
        "num_attention_heads": architecture.heads,
        "num_key_value_heads": architecture.kv_heads,
        "tie_word_embeddings": architecture.tied,
        **keys,
    }
    if architecture.family == "mistral":
        # Full attention, as in Mistral-7B from v0.2 on; contexts here are shorter than the window.
        return MistralConfig(sliding_window=None, **shape)
    return LlamaConfig(**shape)


def count_parameters(architecture: Architecture, vocabulary_size: int) -> int:
    """Return the number of parameters; a tied matrix counts once."""
    import torch
    from transformers import AutoModelForCausalLM

    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(model_config(architecture, vocabulary_size))
        model.tie_weights()
    return sum(parameter.numel() for parameter in model.parameters())


def _problems(error: ValidationError, what: str) -> list[str]:
    return [
        f"{what}, {'.'.join(map(str, one['loc']))} = {one['input']!r}: {one['msg'].lower()}"
        for one in error.errors()
    ]


def check_architecture(values: dict[str, Any]) -> Architecture:
    """Return the architecture; raise :class:`RevocabError` naming every wrong value."""
    from revocab.config.schema import Architecture

    try:
        architecture = Architecture(**values)
    except ValidationError as error:
        raise RevocabError(_problems(error, "architecture")) from None
    if architecture.hidden_size % architecture.heads or architecture.heads % architecture.kv_heads:
        raise RevocabError(
            f"architecture: hidden_size {architecture.hidden_size}, heads {architecture.heads}, "
            f"kv_heads {architecture.kv_heads}: each must be a multiple of the next"
        )
    return architecture


def write_parameters(entries: list[str], out: Path) -> None:
    """Count each entry (JSON of a ``ParameterCount``) and write ``out`` as CSV."""
    from revocab.config.schema import ParameterCount

    check_files(out)
    with atomic(out) as temporary, temporary.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.writer(handle, lineterminator="\n")
        writer.writerow(["label", "vocabulary_size", "family", "parameters"])
        for text in entries:
            try:
                entry = ParameterCount.model_validate_json(text)
            except ValidationError as error:
                raise RevocabError(_problems(error, f"--architecture {text}")) from None
            count = count_parameters(entry.architecture, entry.vocabulary_size)
            writer.writerow([entry.label, entry.vocabulary_size, entry.architecture.family, count])
