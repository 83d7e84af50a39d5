"""Weights that no stage trains: where the forward pass is in bfloat16 they are held in 16 bits.

Only what changes no value: weights of linear modules of the decoder's layers, which autocast
rounds to bfloat16 in every forward pass anyway, and of these only those that 16 bits hold exactly,
as they do all that a model of 16 bits was loaded with. In float32 they are 28 GB of an 8B model.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from revocab.training.adapters.lora import adapter_name, adapter_of, layer_of, plain_name

if TYPE_CHECKING:
    import torch

    from revocab.training.stages import ParameterGroup


def frozen_linear(model: Any, groups: Iterable[ParameterGroup], stages: int) -> list[str]:
    """Return the names of the matrices in the layers of a model, or an outline, that never change.

    What an adapter of an earlier stage is merged into does change.
    """
    trained = {name for group in groups for name in group.names}
    named = {
        name: weight for name, weight in model.named_parameters() if layer_of(name) is not None
    }
    merged = {adapter_name(stage) for stage in range(stages - 1)}
    changed = {name.partition(".lora_")[0] for name in named if adapter_of(name) in merged}
    return [
        name
        for name, weight in named.items()
        if name not in trained
        and weight.dim() == 2
        and plain_name(name).removesuffix(".weight") not in changed
    ]


def hold_in_16_bits(model: Any, names: Iterable[str]) -> None:
    """Hold those of these matrices that linear modules have in 16 bits, where it is exact."""
    import torch

    for name in names:
        module = model.get_submodule(name.rpartition(".")[0])
        if not isinstance(module, torch.nn.Linear):
            continue
        for dtype in (torch.bfloat16, torch.float16):
            half = module.weight.detach().to(dtype)
            if torch.equal(half.to(module.weight.dtype), module.weight):
                module.weight = torch.nn.Parameter(half, requires_grad=False)
                module.forward = partial(_product, module)  # type: ignore[method-assign]
                break


def _product(module: torch.nn.Linear, inputs: torch.Tensor) -> torch.Tensor:
    """Return the product as the weight's float32 copy gives it: held-out losses are in float32."""
    import torch

    autocast = torch.is_autocast_enabled(inputs.device.type)
    weight = module.weight if autocast else module.weight.to(inputs.dtype)
    return torch.nn.functional.linear(inputs, weight, module.bias)
