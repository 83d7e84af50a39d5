"""What a GGUF says of a model's shape, and how its tensors are called and stored there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from revocab.errors import RevocabError, refuse
from revocab.extensions import found_in
from revocab.heavy_types import Tensor
from revocab.models.folder import ModelFolder
from revocab.models.parameters import head_width

#: A settings key of transformers, the GGUF key, and how its value is stored.
Setting = tuple[str, str, type]
SHAPE: tuple[Setting, ...] = (
    ("max_position_embeddings", "context_length", int),
    ("hidden_size", "embedding_length", int),
    ("num_hidden_layers", "block_count", int),
    ("intermediate_size", "feed_forward_length", int),
    ("num_attention_heads", "attention.head_count", int),
    ("num_key_value_heads", "attention.head_count_kv", int),
    ("rms_norm_eps", "attention.layer_norm_rms_epsilon", float),
)


def shifted_norms(tensor: Tensor, name: str, settings: Any) -> Tensor:
    """Return a tensor; of Gemma's norms, which multiply by one more than their weight, one more."""
    return tensor.float() + 1 if name.endswith("norm.weight") else tensor


def rotations(settings: Any) -> dict[str, Any]:
    return dict(getattr(settings, "rope_parameters", None) or {"rope_theta": 10000.0})


def usual_rotation(settings: Any) -> dict[str, Any]:
    """Return the keys of one rotation for all layers.

    Raises :class:`RevocabError` for a scaling of positions that is not carried over.
    """
    rope = rotations(settings)
    kind = rope.get("rope_type", "default")
    keys: dict[str, Any] = {"rope.freq_base": float(rope["rope_theta"])}
    if kind == "linear":
        keys |= {"rope.scaling.type": "linear", "rope.scaling.factor": float(rope["factor"])}
    elif kind not in ("default", "llama3"):  # of llama3 the factors are a tensor
        raise RevocabError(
            f"config.json: rope_type {kind!r}; only default, linear and llama3 are exported"
        )
    return keys


@dataclass(frozen=True)
class Architecture:
    """One architecture of llama.cpp, and the models of transformers that it computes."""

    name: str
    model_types: tuple[str, ...]
    #: Further settings that are there under another name.
    settings: tuple[Setting, ...] = ()
    #: A tensor as llama.cpp multiplies by it: stored tensor, its name here, settings.
    stored: Callable[[Tensor, str, Any], Tensor] = lambda tensor, name, settings: tensor
    #: Settings that must have one of these values: others change what is computed.
    only: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    #: What else the settings must not say, a line each.
    refuses: Callable[[Any], Iterator[str]] = lambda settings: iter(())
    #: Further keys: of the rotation, and what is not the same for all architectures.
    keys: Callable[[Any], dict[str, Any]] = usual_rotation
    #: Tensors that are no weights here, by their name there.
    tensors: Callable[[Any], dict[str, Tensor]] = lambda settings: {}

    def metadata(self, settings: Any) -> dict[str, Any]:
        """Return the keys of a GGUF that say the model's shape, without the architecture's name."""
        keys = {
            key: kind(value)
            for name, key, kind in (*SHAPE, *self.settings)
            if (value := getattr(settings, name, None)) is not None
        }
        width = head_width(settings)
        widths = ("attention.key_length", "attention.value_length", "rope.dimension_count")
        return keys | dict.fromkeys(widths, width) | self.keys(settings)

    def problems(self, settings: Any) -> Iterator[str]:
        """Yield what llama.cpp would compute otherwise, by the key of ``config.json``."""
        for key, allowed in self.only.items():
            value = getattr(settings, key, None)
            if value is not None and value not in allowed:
                listed = ", ".join(map(str, allowed))
                yield f"{key}: {value}; llama.cpp's {self.name} computes only {listed}"
        yield from self.refuses(settings)


def check_llama3(settings: Any) -> Iterator[str]:
    if rotations(settings).get("rope_type") == "llama3":
        yield "rope_type 'llama3'; only llama.cpp's llama computes it"


@cache
def by_model_type() -> dict[str, Architecture]:
    from revocab.product.export import architectures as package

    known = found_in(package, "ARCHITECTURE").values()
    return {kind: made for made in known for kind in made.model_types}


def architecture_of(folder: ModelFolder) -> tuple[Architecture, Any]:
    """Return a model's architecture and its settings, with every default of transformers.

    Raises :class:`RevocabError` for one that llama.cpp does not compute, or not with these
    settings.
    """
    from transformers import AutoConfig

    kind = folder.config.get("model_type")
    known = by_model_type()
    place = folder.path / "config.json"
    if kind not in known:
        raise RevocabError(
            f"{place}: model_type {kind!r}; only these are exported: {', '.join(sorted(known))}"
        )
    if "quantization_config" in folder.config:
        raise RevocabError(f"{place}: quantised weights; export the model as it was before")
    settings = AutoConfig.from_pretrained(folder.path, trust_remote_code=False).get_text_config()
    refuse(f"{place}: {problem}" for problem in known[kind].problems(settings))
    return known[kind], settings
