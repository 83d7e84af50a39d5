"""What a model's training takes, from names and shapes of its weights: operations and memory.

The same formulas serve a model, one on the meta device, and an :class:`Outline`.

Operations: for each weight of a matrix 2 in the forward pass, 2 for its own gradient where it is
trained, and 2 for the gradient of its inputs where something before it is trained; attention's two
products and their four gradients in the same way. The lookup of input embeddings is free,
activations computed again do not count, and causal attention is counted whole, as PaLM does
(Chowdhery et al., appendix B). With everything trained this is the usual 6 for each weight, and
12 x width x length.

Memory: AdamW's state, and what autograd keeps of a Llama-like decoder (two RMS norms, grouped-query
attention through torch's fused kernel, a gated MLP). Layers of another kind keep similar amounts;
where that is too little, :mod:`revocab.training.run` halves the micro batch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from revocab.errors import RevocabError
from revocab.models.parameters import weight_shapes
from revocab.models.shape import GPU_CHUNK_ELEMENTS, PLAIN_HEADS, has_plain_head
from revocab.models.token_rows import is_per_layer
from revocab.training.lora import adapter_name, adapter_of, chosen_modules, frozen_linear, layer_of
from revocab.training.run import halved
from revocab.training.stages import matrices_of

if TYPE_CHECKING:
    from revocab.training.run import Settings
    from revocab.training.stages import ParameterGroup, StagePlan

#: Bytes of a number by its type: of the forward pass, or as ``config.json`` says it is stored.
WIDTH = {"float32": 4, "float16": 2, "bfloat16": 2}
FLOAT = WIDTH["float32"]
#: Part of the free memory that is planned for; the rest is for fragments and kernels' workspaces.
USED = 0.9
#: Keys of ``config.json`` that decide a model's shape.
NEEDED = (
    "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "vocab_size",
)  # fmt: skip


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
    """A Llama-like decoder by its ``config.json``, with the LoRA of a training's stages: names and
    shapes of its weights without torch.
    """

    def __init__(self, config: Mapping[str, Any], plan: StagePlan | None = None):
        """Raise :class:`RevocabError` for a configuration whose sizes are missing or unknown."""
        missing = [key for key in NEEDED if not isinstance(config.get(key), int) or config[key] < 1]
        kind = config.get("model_type")
        if missing or kind not in PLAIN_HEADS:
            why = f"without {', '.join(missing)}" if missing else f"of model_type {kind!r}"
            known = ", ".join(sorted(PLAIN_HEADS))
            raise RevocabError(f"a configuration {why}; sizes are counted for {known}")
        heads = config.get("num_key_value_heads") or config["num_attention_heads"]
        tied = config.get("tie_word_embeddings", False)
        self.config = SimpleNamespace(
            **{**config, "num_key_value_heads": heads, "tie_word_embeddings": tied}
        )
        self.weights = {name: Weight(shape) for name, shape in weight_shapes(self.config).items()}
        embedding = self.weights["model.embed_tokens.weight"]
        head = self.weights.get("lm_head.weight", embedding)
        self.embedding = SimpleNamespace(weight=embedding)
        self.lm_head = SimpleNamespace(weight=head, bias=None)
        stored = config.get("dtype") or config.get("torch_dtype")
        #: Bytes of a stored number.
        self.itemsize = WIDTH.get(str(stored).removeprefix("torch."), FLOAT)
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

    def get_input_embeddings(self) -> Any:
        return self.embedding

    def get_output_embeddings(self) -> Any:
        return self.lm_head


def parameters_of(model: Any) -> int:
    """Return the number of a model's parameters; a tied matrix counts once."""
    return sum(weight.numel() for _, weight in model.named_parameters())


def text_settings(config: Any) -> Any:
    """Return what a configuration says of the text model; an outline's says nothing else."""
    return config if isinstance(config, SimpleNamespace) else config.get_text_config()


def layers_of(config: Any) -> list[Any]:
    """Return the configuration of each layer of a text model; they differ in some (Gemma 4)."""
    text = text_settings(config)
    differ = getattr(text, "is_heterogeneous", False)
    numbers = range(text.num_hidden_layers)
    return [text.per_layer_config[number] if differ else text for number in numbers]


def head_width(layer: Any) -> int:
    return getattr(layer, "head_dim", None) or layer.hidden_size // layer.num_attention_heads


def cached_numbers(config: Any) -> int:
    """Return how many numbers a token leaves in the cache of keys and values, in all layers."""
    layers = layers_of(config)
    return sum(2 * layer.num_key_value_heads * head_width(layer) for layer in layers)


def attended(config: Any) -> int:
    """Return the width of all query heads of all layers."""
    return sum(layer.num_attention_heads * head_width(layer) for layer in layers_of(config))


# --- operations -----------------------------------------------------------------------------------

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


def attention_gradients(config: Any, trained: Mapping[str, Place], first: Place) -> int:
    """Return the widths of attention's gradients in all layers, from the first trained weight on.

    In the block of that weight they depend on which of queries, keys and values it changes.
    """
    block, rank = first
    if block == math.inf:
        return 0
    layers = len(layers_of(config))
    number = GRADIENTS * (layers - 1 - int(block))
    if block >= 0 and rank < ATTENTION:
        number += GRADIENTS
    elif block >= 0 and rank < OUTPUT:
        own = {part for name, place in trained.items() if place[0] == block
               for part in name.split(".")}  # fmt: skip
        queries, keys, values = (bool(own & {f"{which}_proj", f"{which}_norm"}) for which in "qkv")
        number += queries + keys + (queries or keys) + values
    return number * attended(config) // layers


def adapters_of(model: Any, settings: Settings, source_rows: int) -> list[tuple[int, int, int]]:
    """Return rows, source rows and width of each vocabulary adapter: of a shared one, the widths of
    both matrices side by side.
    """
    if settings.adapter is None:
        return []
    shapes = [(len(matrix), source_rows, matrix.shape[1]) for _, matrix in matrices_of(model)]
    if settings.adapter.shared:
        return [(shapes[0][0], source_rows, sum(width for *_, width in shapes))]
    return shapes


def adapter_flops(rows: int, source_rows: int, width: int) -> float:
    """Return the operations of a step of one vocabulary adapter, once for a batch: the gradient of
    A, the product with the source's rows, and the norm of the gradient.
    """
    return 4.0 * rows * source_rows * width + 2.0 * rows * width**2


def flops_per_token(
    model: Any,
    groups: Sequence[ParameterGroup],
    settings: Settings,
    length: int,
    *,
    source_rows: int = 0,
) -> float:
    """Return a training's operations of a token, as a mean over all steps; ``source_rows`` are
    those that vocabulary adapters combine.
    """
    plan = settings.plan
    steps = plan.ends[-1]
    own = sum(
        stage.steps * operations(model, groups, number).flops(length)
        for number, stage in enumerate(plan.stages)
    )
    adapted = sum(adapter_flops(*shape) for shape in adapters_of(model, settings, source_rows))
    return own / steps + adapted / (settings.batch_size * length) * plan.ends[0] / steps


# --- memory ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Memory:
    """What decides the memory of a training on one device; results are in bytes."""

    parameters: int
    #: Parameters with a gradient and moments, in the stage that has most of them.
    trained: int
    layers: int
    hidden: int
    intermediate: int
    #: Width of all query heads of a layer.
    queries: int
    vocabulary: int
    #: Tokens of a row.
    length: int
    #: Bytes of a number in the forward pass.
    width: int = FLOAT
    #: Logits are made chunk by chunk (:func:`revocab.models.shape.has_plain_head`).
    chunked_head: bool = True
    #: Numbers in the matrices of vocabulary adapters, which have moments and no gradient.
    adapters: int = 0
    #: Parameters that are held in 16 bits where the forward pass is in bfloat16 and nothing is
    #: sharded (:mod:`revocab.training.lora`).
    frozen: int = 0
    #: Activations are computed again.
    recomputed: bool = False
    #: Processes over which FSDP divides weights, gradients and moments; 1: none.
    shards: int = 1

    @classmethod
    def of(
        cls,
        model: Any,
        groups: Sequence[ParameterGroup],
        settings: Settings,
        length: int,
        itemsize: int,
        *,
        source_rows: int = 0,
        recomputed: bool = False,
        shards: int = 1,
    ) -> Memory:
        """Return it of a model, or an outline, that is stored in numbers of ``itemsize`` bytes."""
        config, stages = text_settings(model.config), len(settings.plan.stages)
        sizes = {name: weight.numel() for name, weight in model.named_parameters()}
        width, hidden = WIDTH[settings.precision], config.hidden_size
        frozen = frozen_linear(model, groups, stages) if itemsize < FLOAT else []
        adapters = adapters_of(model, settings, source_rows)
        return cls(
            parameters=sum(sizes.values()),
            trained=most_trained(groups, stages),
            layers=config.num_hidden_layers,
            hidden=hidden,
            intermediate=getattr(config, "intermediate_size", None) or 4 * hidden,
            queries=attended(config) // config.num_hidden_layers,
            vocabulary=config.vocab_size,
            length=length,
            width=width,
            chunked_head=has_plain_head(model),
            adapters=sum(rows * columns for rows, columns, _ in adapters),
            frozen=sum(sizes[name] for name in frozen),
            recomputed=recomputed,
            shards=shards,
        )

    @property
    def halves(self) -> int:
        """How many weights are held in 16 bits alone."""
        return self.frozen if self.width != FLOAT and self.shards == 1 else 0

    @property
    def states(self) -> int:
        """Weights, gradients, adapters and AdamW's moments; weights are float32, with a copy in the
        forward pass's bfloat16, and of those that never change there are 16 bits alone.
        """
        copy = self.width if self.width != FLOAT else 0
        whole = self.parameters * (FLOAT + copy) + (self.trained + self.adapters) * 3 * FLOAT
        return (whole - FLOAT * self.halves) // self.shards

    @property
    def resume_state(self) -> int:
        """On disk: float32 weights, moments of what is trained, and adapters with theirs."""
        numbers = self.parameters - self.halves + 2 * self.trained + 3 * self.adapters
        return FLOAT * numbers + self.width * self.halves

    @property
    def layer(self) -> int:
        """What one layer keeps of a token for its backward pass.

        Each norm keeps its input and the normalised values in float32, and its output for the
        matrices it feeds: once, or in another precision a copy for each (three for attention, two
        for the MLP). Attention keeps queries, keys and values as the kernel takes them (a key for
        each query), and its output; the MLP the gate before and after its activation, the other
        factor and the product.
        """
        fed = 5 if self.width != FLOAT else 2
        norms = 2 * 2 * FLOAT * self.hidden + fed * self.width * self.hidden
        return norms + 4 * self.width * (self.queries + self.intermediate)

    @property
    def token(self) -> int:
        """What a step needs at its peak for each token of a micro batch.

        With activations computed again: the input of every layer, and one layer in full. The
        backward pass of one layer makes gradients of what it keeps.
        """
        layers = self.layers * self.layer
        if self.recomputed:
            layers = self.layers * FLOAT * self.hidden + self.layer
        head = (2 * FLOAT + 2 * self.width) * self.hidden
        if not self.chunked_head:
            head += (self.width + 2 * FLOAT) * self.vocabulary
        return layers + head + self.layer

    def step(self, rows: int) -> int:
        """Return what a step takes with ``rows`` in a pass: states, tokens, the head's own gradient
        and a chunk of logits with its own.
        """
        tokens = rows * self.length
        head = self.vocabulary * self.hidden * (2 * self.width + FLOAT)
        if self.chunked_head:
            logits = min(GPU_CHUNK_ELEMENTS, tokens * self.vocabulary)
            head += logits * (2 * FLOAT + self.width)
        return self.states + head + tokens * self.token

    def largest(self, free: float, share: int) -> int:
        """Return the largest of ``share``, a process' rows of a step, its half and so on that fits
        into the ``free`` bytes of a device without the model, or 1.
        """
        size: int | None = share
        while size is not None and self.step(size) > USED * free:
            size = halved(size, share)
        return size or 1


def most_trained(groups: Sequence[ParameterGroup], stages: int) -> int:
    return max(
        sum(sum(p.numel() for p in group.parameters) for group in groups if group.rates[stage])
        for stage in range(stages)
    )
