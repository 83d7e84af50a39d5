"""The outline of a model: the names and shapes of its weights, without torch or any weights.

It answers what :mod:`revocab.training.machine.operations` and :mod:`revocab.training.estimates` ask
of a model, so that one set of formulas serves real models and bills.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from revocab.errors import RevocabError
from revocab.models.parameters import weight_shapes
from revocab.training.adapters.lora import adapter_name, chosen_modules, layer_of
from revocab.training.machine.head import PLAIN_HEADS
from revocab.training.stages import StagePlan

#: Keys of ``config.json`` that decide a model's shape.
NEEDED = (
    "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "vocab_size",
)  # fmt: skip
#: Bytes of a stored number, by the name that a configuration gives its type.
STORED = {"float32": 4, "float16": 2, "bfloat16": 2}


@dataclass(frozen=True, eq=False)
class Weight:
    """A parameter of which only the shape is known."""

    shape: tuple[int, ...]

    def __len__(self) -> int:
        return self.shape[0]

    def dim(self) -> int:
        return len(self.shape)

    def numel(self) -> int:
        return math.prod(self.shape)


class Outline:
    """A Llama-like decoder by its configuration, with the adapters of a training's stages."""

    def __init__(self, config: Mapping[str, Any], plan: StagePlan | None = None):
        """Raise :class:`RevocabError` for a configuration whose sizes are missing or unknown."""
        self.config = SimpleNamespace(**with_defaults(config))
        self.weights = {name: Weight(size) for name, size in weight_shapes(self.config).items()}
        embedding = self.weights["model.embed_tokens.weight"]
        head = self.weights.get("lm_head.weight", embedding)
        self.embedding = SimpleNamespace(weight=embedding)
        self.lm_head = SimpleNamespace(weight=head, bias=None)
        for number, stage in enumerate(plan.stages if plan else ()):
            if stage.lora:
                self._adapt(adapter_name(number), stage.lora)

    def _adapt(self, adapter: str, lora: Any) -> None:
        linear = [
            name.removesuffix(".weight")
            for name, weight in self.weights.items()
            if layer_of(name) is not None and weight.dim() == 2 and ".lora_" not in name
        ]
        modules, _ = chosen_modules(lora.modules, linear)
        count = self.config.num_hidden_layers
        layers = {number % count for number in lora.layers or range(count)}
        for name in linear:
            if name.rpartition(".")[2] in modules and layer_of(name) in layers:
                rows, columns = self.weights[f"{name}.weight"].shape
                self.weights[f"{name}.lora_A.{adapter}.weight"] = Weight((lora.rank, columns))
                self.weights[f"{name}.lora_B.{adapter}.weight"] = Weight((rows, lora.rank))

    def named_parameters(self) -> Iterator[tuple[str, Weight]]:
        yield from self.weights.items()

    def parameters(self) -> Iterator[Weight]:
        yield from self.weights.values()

    def get_input_embeddings(self) -> Any:
        return self.embedding

    def get_output_embeddings(self) -> Any:
        return self.lm_head

    @property
    def itemsize(self) -> int:
        return STORED.get(str(self.config.dtype).removeprefix("torch."), STORED["float32"])


def with_defaults(config: Mapping[str, Any]) -> dict[str, Any]:
    missing = [key for key in NEEDED if not isinstance(config.get(key), int) or config[key] < 1]
    kind = config.get("model_type")
    if missing or kind not in PLAIN_HEADS:
        known = ", ".join(sorted(PLAIN_HEADS))
        why = f"without {', '.join(missing)}" if missing else f"of model_type {kind!r}"
        raise RevocabError(f"a configuration {why}; sizes are counted for {known}")
    heads = config.get("num_key_value_heads") or config["num_attention_heads"]
    return {
        **config,
        "num_key_value_heads": heads,
        "tie_word_embeddings": config.get("tie_word_embeddings", False),
        "dtype": config.get("dtype") or config.get("torch_dtype"),
    }
