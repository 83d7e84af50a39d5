"""What a GGUF says of a model's shape, and how its tensors are called and stored there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from revocab.errors import RevocabError, refuse
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


#: Which heads a projection has, by its name.
TURNED = {"q_proj": "num_attention_heads", "k_proj": "num_key_value_heads"}


def llama_stored(tensor: Tensor, name: str, settings: Any) -> Tensor:
    """Return a tensor; of queries and keys with each head's rows in the order of pairs."""
    heads = TURNED.get(name.split(".")[-2])
    if heads is None:
        return tensor
    count = getattr(settings, heads)
    halves = tensor.reshape(count, 2, tensor.shape[0] // count // 2, *tensor.shape[1:])
    return halves.swapaxes(1, 2).reshape(tensor.shape)


def llama_keys(settings: Any) -> dict[str, Any]:
    """Return the keys; llama.cpp's llama has no window, so the context ends where one would."""
    window = getattr(settings, "sliding_window", None) or settings.max_position_embeddings
    length = min(window, settings.max_position_embeddings)
    return {**usual_rotation(settings), "context_length": length}


def llama_tensors(settings: Any) -> dict[str, Tensor]:
    """Return what Llama 3.1 divides the frequencies of positions by."""
    if rotations(settings).get("rope_type") != "llama3":
        return {}
    import torch
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    scaled, _ = ROPE_INIT_FUNCTIONS["llama3"](settings, torch.device("cpu"))
    exponents = torch.arange(len(scaled), dtype=torch.float32) / len(scaled)
    return {"rope_freqs.weight": rotations(settings)["rope_theta"] ** -exponents / scaled}


def refuses_qwen(settings: Any) -> Iterator[str]:
    yield from check_llama3(settings)
    if getattr(settings, "use_sliding_window", False):
        yield "use_sliding_window: true; llama.cpp's qwen2 and qwen3 see all positions"


#: llama.cpp divides scores by the root of a head's width, but for these many layers.
BY_WIDTH_PER_HEAD = {"gemma2": 46, "gemma3": 62}
#: Of so many layers of Gemma 3 the last sees all positions.
PERIOD = 6


def check_scale(settings: Any, layers: int) -> Iterator[str]:
    """Yield a problem unless attention is scaled as llama.cpp does it, by the number of layers."""
    computed = head_width(settings)
    if settings.num_hidden_layers == layers:
        computed = settings.hidden_size // settings.num_attention_heads
    if settings.query_pre_attn_scalar != computed:
        yield (
            f"query_pre_attn_scalar: {settings.query_pre_attn_scalar}; llama.cpp computes with"
            f" {computed}"
        )


def refuses_gemma2(settings: Any) -> Iterator[str]:
    yield from check_llama3(settings)
    yield from check_scale(settings, BY_WIDTH_PER_HEAD["gemma2"])
    expected = ["sliding_attention", "full_attention"] * settings.num_hidden_layers
    if list(settings.layer_types) != expected[: settings.num_hidden_layers]:
        yield "layer_types: llama.cpp's gemma2 has a window in the first of every two layers"


def both_rotations(settings: Any) -> dict[str, Any]:
    """Return both rotations' keys; :class:`RevocabError` for scalings other than linear."""
    by_layer = rotations(settings)
    whole, window = by_layer["full_attention"], by_layer["sliding_attention"]
    keys: dict[str, Any] = {
        "rope.freq_base": float(whole["rope_theta"]),
        "rope.freq_base_swa": float(window["rope_theta"]),
    }
    kinds = whole.get("rope_type", "default"), window.get("rope_type", "default")
    if kinds[0] == "linear":
        keys |= {"rope.scaling.type": "linear", "rope.scaling.factor": float(whole["factor"])}
    if kinds not in (("default", "default"), ("linear", "default")):
        raise RevocabError(f"config.json: rope_type {kinds}; only default and linear are exported")
    return keys


def refuses_gemma3(settings: Any) -> Iterator[str]:
    yield from check_scale(settings, BY_WIDTH_PER_HEAD["gemma3"])
    expected = [
        "sliding_attention" if (layer + 1) % PERIOD else "full_attention"
        for layer in range(settings.num_hidden_layers)
    ]
    if list(settings.layer_types) != expected:
        yield f"layer_types: llama.cpp's gemma3 has a window in all layers but every {PERIOD}th"


SILU = {"hidden_act": ("silu",)}
TIED = {"tie_word_embeddings": (True,)}
WINDOW: Setting = ("sliding_window", "attention.sliding_window", int)
FINAL_CAP: Setting = ("final_logit_softcapping", "final_logit_softcapping", float)
CAP: Setting = ("attn_logit_softcapping", "attn_logit_softcapping", float)
#: Llama and Mistral turn pairs of a head's dimensions side by side, not halves apart. Gemma's norms
#: are around one; of Gemma 3, which is exported for text, five layers of six have a window and a
#: rotation of their own.
ARCHITECTURES = (
    Architecture(
        "llama", ("llama", "mistral"), stored=llama_stored, only=SILU, keys=llama_keys,
        tensors=llama_tensors,
    ),
    Architecture("qwen2", ("qwen2",), only=SILU, refuses=refuses_qwen),
    Architecture("qwen3", ("qwen3",), only=SILU, refuses=refuses_qwen),
    Architecture("gemma", ("gemma",), stored=shifted_norms, only=TIED, refuses=check_llama3),
    Architecture(
        "gemma2", ("gemma2",), (WINDOW, CAP, FINAL_CAP), shifted_norms, TIED, refuses_gemma2
    ),
    Architecture(
        "gemma3", ("gemma3_text",), (WINDOW, FINAL_CAP), shifted_norms, refuses=refuses_gemma3,
        keys=both_rotations,
    ),
)  # fmt: skip
BY_MODEL_TYPE = {kind: known for known in ARCHITECTURES for kind in known.model_types}


def architecture_of(folder: ModelFolder) -> tuple[Architecture, Any]:
    """Return a model's architecture and its settings, with every default of transformers; raise
    :class:`RevocabError` for one that llama.cpp does not compute, or not with these settings.
    """
    from transformers import AutoConfig

    kind, place = folder.config.get("model_type"), folder.path / "config.json"
    if (known := BY_MODEL_TYPE.get(str(kind))) is None:
        listed = ", ".join(sorted(BY_MODEL_TYPE))
        raise RevocabError(f"{place}: model_type {kind!r}; only these are exported: {listed}")
    if "quantization_config" in folder.config:
        raise RevocabError(f"{place}: quantised weights; export the model as it was before")
    settings = AutoConfig.from_pretrained(folder.path, trust_remote_code=False).get_text_config()
    refuse(f"{place}: {problem}" for problem in known.problems(settings))
    return known, settings
