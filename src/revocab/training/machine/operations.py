"""Floating-point operations of a token, from names and shapes of weights.

For each weight of a matrix 2 in the forward pass, 2 for its own gradient where it is trained, and
2 for the gradient of its inputs where something before it is trained; attention's two products and
their four gradients in the same way. The lookup of input embeddings is free, activations computed
again do not count, and causal attention is counted whole, as PaLM does (Chowdhery et al., appendix
B). With everything trained this is the usual 6 for each weight, and 12 x width x length.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from revocab.models.vocabulary.per_token_tensors import is_per_layer
from revocab.training.adapters.lora import adapter_name, adapter_of, layer_of

if TYPE_CHECKING:
    from revocab.training.stages import ParameterGroup

#: Modules of a Llama-like block, in the order in which a token passes them.
BLOCK = (
    ("input_layernorm",), ("q_proj", "k_proj", "v_proj"), ("q_norm", "k_norm"), ("o_proj",),
    ("post_attention_layernorm",), ("gate_proj", "up_proj"), ("down_proj",),
)  # fmt: skip
RANKS = {module: rank for rank, modules in enumerate(BLOCK) for module in modules}
ATTENTION, OUTPUT = RANKS["q_proj"], RANKS["o_proj"]
#: Gradients of attention's two products, each with two factors.
GRADIENTS = 4

#: Where a weight stands: its block, and its rank there.
Place = tuple[float, float]
FRONT: Place = (-1, 0)
BEHIND: Place = (math.inf, 0)
LAST: Place = (math.inf, 1)
NOWHERE: Place = (math.inf, 2)


@dataclass(frozen=True)
class Operations:
    """What a token meets in a stage, at 2 operations each; attention's widths at each position."""

    forward: int
    #: Weights whose inputs need a gradient, and those that are trained.
    passed: int
    trained: int
    #: Width of all query heads of all layers, and of those that a gradient takes, once for each.
    width: int
    gradients: int

    def flops(self, length: int) -> float:
        weights = self.forward + self.passed + self.trained
        return 2.0 * weights + (4.0 * self.width + 2.0 * self.gradients) * length


def operations(model: Any, groups: Sequence[ParameterGroup] = (), stage: int = 0) -> Operations:
    """Return the operations of a model or outline in ``stage``; without groups nothing is trained.

    Of a block whose modules have other names than a Llama's, all inputs are taken to need a
    gradient as soon as one of its weights is trained.
    """
    lookup = model.get_input_embeddings().weight
    head = model.get_output_embeddings()
    last = None if head is None else head.weight
    own = {id(p) for group in groups if group.rates[stage] is not None for p in group.parameters}
    active = (None, adapter_name(stage))
    named = [(name, p) for name, p in model.named_parameters() if adapter_of(name) in active]
    trained = {
        name: LAST if p is last and p is not lookup else place_of(name, 0)
        for name, p in named
        if id(p) in own
    }
    first = min(trained.values(), default=NOWHERE)
    matrices = [
        (place_of(name, len(BLOCK)), p)
        for name, p in named
        if p.dim() == 2 and p is not lookup and p is not last and not is_per_layer(name)
    ]
    matrices += [] if last is None else [(LAST, last)]  # which may be the lookup
    return Operations(
        forward=sum(p.numel() for _, p in matrices),
        passed=sum(p.numel() for place, p in matrices if place > first),
        trained=sum(p.numel() for _, p in matrices if id(p) in own),
        width=attended(model.config),
        gradients=attention_gradients(model.config, trained, first),
    )


def place_of(name: str, unknown: int) -> Place:
    """Return where a weight below the head stands; ``unknown`` is the rank of other names."""
    block = layer_of(name)
    if block is None:
        return BEHIND if "norm" in name else FRONT
    rank = next((RANKS[part] for part in name.split(".") if part in RANKS), unknown)
    return block, rank + (0.5 if ".lora_B." in name else 0)


def attention_gradients(config: Any, trained: dict[str, Place], first: Place) -> int:
    """Return the widths of attention's gradients in all layers, from the first trained weight on.

    In the block of that weight they depend on which of queries, keys and values it changes.
    """
    block, rank = first
    if block == math.inf:
        return 0
    layers = int(config.num_hidden_layers)
    number = GRADIENTS * (layers - 1 - int(block))
    if block >= 0 and rank < ATTENTION:
        number += GRADIENTS
    elif block >= 0 and rank < OUTPUT:
        own = {part for name, place in trained.items() if place[0] == block
               for part in name.split(".")}  # fmt: skip
        queries, keys, values = (bool(own & {f"{which}_proj", f"{which}_norm"}) for which in "qkv")
        number += queries + keys + (queries or keys) + values
    return number * attended(config) // layers


def attended(config: Any) -> int:
    """Return the width of all query heads of all layers."""
    heads = config.num_attention_heads
    width = heads * (getattr(config, "head_dim", None) or config.hidden_size // heads)
    return int(config.num_hidden_layers * width)
