"""A small random model of another one's architecture: what a change does is tried on it first.

The twin has all layers of the model and all settings of its configuration, but narrow layers, few
tokens and a short window of attention: a change that misses one of the many ways in which
architectures differ (scaled residuals, norms after a branch, settings by the number of a layer)
shows in its logits, before any weight is touched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revocab.errors import RevocabError

if TYPE_CHECKING:
    import torch
    from transformers import PretrainedConfig, PreTrainedModel

_TOKENS, _HEADS, _WIDTH, _WINDOW = 16, 2, 32, 4
#: Spread of random weights: norms and biases differ from those of any initialisation.
_DEVIATION = 0.1


def read_config(folder: Path) -> PretrainedConfig:
    """Return a folder's configuration, with what its architecture adds to ``config.json``."""
    from transformers import AutoConfig

    from revocab.models.load import loading

    with loading(folder):
        return AutoConfig.from_pretrained(folder, trust_remote_code=False, local_files_only=True)


def narrowed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a configuration with small sizes; layers and heads' width stay."""
    width = settings.get("head_dim") or settings["hidden_size"] // settings["num_attention_heads"]
    small = {
        "vocab_size": _TOKENS,
        "hidden_size": _HEADS * width,
        "intermediate_size": _WIDTH,
        "num_attention_heads": _HEADS,
        "num_key_value_heads": _HEADS,
        "sliding_window": _WINDOW,
    }
    present = {key: size for key, size in small.items() if isinstance(settings.get(key), int)}
    # A row for padding, and a type to compute in, would be those of the large model.
    return {**settings, **present, "pad_token_id": None, "dtype": "float32"}


def keeps_logits(
    config: PretrainedConfig,
    changed: Mapping[str, Any],
    weights: Callable[[Mapping[str, torch.Tensor]], dict[str, torch.Tensor]],
) -> bool:
    """Tell whether a model with ``changed`` settings and ``weights`` gives the same logits.

    ``weights`` makes the changed model's tensors of the model's. Raises :class:`RevocabError` for
    an architecture that no twin can be made of, or that ``weights`` does not fit.
    """
    import torch

    try:
        settings = narrowed(config.to_dict())
        with torch.random.fork_rng(devices=[]):
            before, after = (_build(config, one) for one in (settings, {**settings, **changed}))
        _randomise(before)
        after.load_state_dict(weights(before.state_dict()))
        return torch.equal(_logits(before), _logits(after))
    # transformers raises many unrelated types: all mean that the change cannot be tried.
    except Exception as error:
        reason = " ".join(str(error).split())[:300]
        raise RevocabError(
            f"a change of {config.model_type!r} cannot be tried on a small model ({reason})"
        ) from error


def _build(config: PretrainedConfig, settings: Mapping[str, Any]) -> PreTrainedModel:
    import torch
    from transformers import AutoModelForCausalLM

    own = type(config).from_dict(dict(settings))
    return AutoModelForCausalLM.from_config(own, dtype=torch.float32).eval()


def _randomise(model: PreTrainedModel) -> None:
    import torch

    generator = torch.Generator().manual_seed(0)
    for parameter in model.parameters():
        parameter.data.normal_(std=_DEVIATION, generator=generator)


def _logits(model: PreTrainedModel) -> torch.Tensor:
    """Return the logits of a text longer than the window, float32 (1, tokens, vocabulary)."""
    import torch

    with torch.no_grad():
        return model(torch.arange(_TOKENS)[None], use_cache=False).logits
