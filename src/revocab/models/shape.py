"""What is known of a model without its weights: layers, shapes, and whether its head is plain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from revocab.errors import RevocabError

#: Logits held at once (elements). 512 Ki floats are 2 MiB: about a CPU core's second-level cache.
CPU_CHUNK_ELEMENTS = 1 << 19
#: A GPU wants large products: 64 Mi floats are 256 MiB.
GPU_CHUNK_ELEMENTS = 1 << 26
#: Architectures whose logits are exactly ``hidden @ lm_head.weight.T`` (no bias, cap or scale).
PLAIN_HEADS = frozenset({"llama", "mistral", "qwen2", "qwen3"})


def load_config(folder: str | Path) -> Any:
    """Return a folder's configuration as transformers reads it, without names of code to run.

    Which code computes attention and experts is never the folder's choice: of a name with a slash
    in ``config.json`` transformers would fetch a kernel from the Hub and run it.
    """
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    return with_own_code(config)


def with_own_code(config: Any) -> Any:
    """Let transformers choose what computes attention and experts, in all parts, in place."""
    config._attn_implementation = config._experts_implementation = None
    return config


def context_length(config: Any, unknown: int = 2**31) -> int:
    """Return the longest sequence that a model takes; ``unknown`` where it does not say."""
    return int(getattr(config.get_text_config(), "max_position_embeddings", None) or unknown)


def model_class(config: Any) -> Any:
    """Return what loads a model for text: of one that sees, and has no such class, the whole.

    Raises :class:`RevocabError` where there is neither, as of encoders.
    """
    import torch  # noqa: F401  # without it, transformers' tables of models are placeholders
    from transformers import (
        MODEL_FOR_CAUSAL_LM_MAPPING,
        MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING,
        AutoModelForCausalLM,
        AutoModelForImageTextToText,
    )

    if type(config) in MODEL_FOR_CAUSAL_LM_MAPPING:
        return AutoModelForCausalLM
    if type(config) in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING:
        return AutoModelForImageTextToText
    raise RevocabError(
        f"{config.name_or_path or 'configuration'}: transformers has no causal language model of"
        f" model_type {config.model_type!r}; choose a model that continues text"
    )


def own_class(config: Any) -> Any:
    """Return what loads a model as it is stored: also encoders, with or without a head for masked
    tokens, and models of sequences to sequences; of all others :func:`model_class`.
    """
    import torch  # noqa: F401  # as above
    from transformers import (
        AutoModel,
        AutoModelForMaskedLM,
        AutoModelForPreTraining,
        AutoModelForSeq2SeqLM,
        AutoModelForTextEncoding,
    )

    known, stored = type(config), config.architectures or ()
    heads: tuple[Any, ...] = (AutoModelForMaskedLM, AutoModelForSeq2SeqLM)
    if any(known in head._model_mapping for head in heads):
        for auto in (*heads, AutoModelForPreTraining, AutoModelForTextEncoding, AutoModel):
            kind = auto._model_mapping.get(known, None)
            if kind is not None and kind.__name__ in stored:
                return auto
    return model_class(config)


def check_causal(config: Any, folder: Path) -> None:
    """Raise :class:`RevocabError` for the configuration of a model that does not continue text."""
    if own_class(config) is not model_class(config):
        raise RevocabError(
            f"{folder}: {', '.join(config.architectures)} does not continue text; only revocab trim"
            " and check take such models"
        )


def load_shape(folder: str | Path) -> Any:
    """Return a folder's model on the meta device: its shapes, without weights."""
    return shape_of(load_config(folder))


def shape_of(config: Any) -> Any:
    import torch

    with torch.device("meta"):
        shape = own_class(config).from_config(with_own_code(config))
        shape.tie_weights()
    return shape


def names_in_model(model: Any, stored: Iterable[str]) -> dict[str, str]:
    """Return the names of a model's parameters in the model, by their stored names: transformers
    renames what it reads (``language_model.model.norm``: ``model.language_model.norm``).
    """
    from transformers.conversion_mapping import get_model_conversion_mapping
    from transformers.core_model_loading import WeightRenaming, rename_source_key

    mapping = get_model_conversion_mapping(model)
    renamings = [each for each in mapping if isinstance(each, WeightRenaming)]
    state, prefix = model.state_dict(), model.base_model_prefix
    return {name: rename_source_key(name, renamings, [], prefix, state)[0] for name in stored}


def has_plain_head(model: Any) -> bool:
    """Say whether ``model`` may be trained with chunks of logits
    (:func:`revocab.training.loss.linear_cross_entropy`).
    """
    head = getattr(model, "lm_head", None)
    return model.config.model_type in PLAIN_HEADS and getattr(head, "bias", head) is None


def layer_map(model: Any, devices: Sequence[str]) -> dict[str, str]:
    """Return on which device each module of a decoder lies: its layers in equal groups, in order.

    What stands before the layers is on the first device, as is a head that is the embedding; the
    norm and any other head behind them on the last.
    """
    from torch.nn import ModuleList

    named = dict(model.named_modules())
    listed = {name: len(module) for name, module in named.items() if isinstance(module, ModuleList)}
    longest = max(listed, key=lambda name: listed[name])
    head, lookup = model.get_output_embeddings(), model.get_input_embeddings()
    tied = head is not None and head.weight is lookup.weight
    placed: dict[str, str] = {}

    def place(name: str) -> None:
        inside = f"{name}." if name else ""
        if name == longest:
            for number in range(listed[name]):
                placed[f"{inside}{number}"] = devices[number * len(devices) // listed[name]]
        elif longest.startswith(inside):
            for child, _ in named[name].named_children():
                place(f"{inside}{child}")
        else:
            module = named[name]
            first = not any(True for _ in module.parameters()) or (tied and module is head)
            behind = any(key.startswith(f"{longest}.") for key in placed)
            placed[name] = devices[-1 if behind and not first else 0]

    place("")
    return placed
