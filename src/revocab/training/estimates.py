"""What a training will take, from its settings and the shape of its model: nothing is run.

Memory: counted are what autograd keeps of a Llama-like decoder (two RMS norms, grouped-query
attention through torch's fused kernel, a gated MLP) and AdamW's state. Layers of another kind keep
similar amounts; where the estimate is too low, the micro batch is halved
(:mod:`revocab.training.machine.micro_batch`).

Disk and time: every number of the model is stored as its folder stores it; a resume state holds
float32 weights, two moments of what is trained, and vocabulary adapters with theirs; three states
stand on the disk while the oldest is being replaced; arithmetic is counted as in
:mod:`revocab.training.machine.costs`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from revocab.training.machine.costs import (
    adapter_flops,
    mean_flops_per_token,
    mean_teacher_flops,
)
from revocab.training.machine.frozen import frozen_linear
from revocab.training.machine.head import GPU_CHUNK_ELEMENTS, has_plain_head
from revocab.training.machine.micro_batch import halved
from revocab.training.outputs.resume_state import KEPT
from revocab.training.stages import matrices_of

if TYPE_CHECKING:
    from revocab.training.loop.trainer import RecipeTrainer
    from revocab.training.run import Settings, TrainingRun
    from revocab.training.stage import VocabularyAdapters
    from revocab.training.stages import ParameterGroup

#: Bytes of a float32 number, and of one in the precision of the forward pass.
FLOAT = 4
WIDTH = {"float32": 4, "bfloat16": 2}
#: Part of the free memory that is planned for; the rest is for fragments and kernels' workspaces.
USED = 0.9


@dataclass(frozen=True)
class ModelShape:
    """What of a model decides the memory of training it; widths are numbers per token."""

    parameters: int
    #: Parameters with a gradient and moments, in the stage that has most of them.
    trained: int
    layers: int
    hidden: int
    intermediate: int
    #: Of all query heads.
    queries: int
    vocabulary: int
    #: Logits are made chunk by chunk (:func:`revocab.training.machine.head.has_plain_head`).
    chunked_head: bool = True
    #: Numbers in the matrices of vocabulary adapters, which have moments and no gradient.
    adapters: int = 0
    #: Parameters that are held in 16 bits where the forward pass is in bfloat16 and nothing is
    #: sharded (:mod:`revocab.training.machine.frozen`).
    frozen: int = 0

    @classmethod
    def of(
        cls,
        config: Any,
        parameters: int,
        trained: int,
        *,
        chunked_head: bool = True,
        adapters: int = 0,
        frozen: int = 0,
    ) -> ModelShape:
        heads, hidden = config.num_attention_heads, config.hidden_size
        head = getattr(config, "head_dim", None) or hidden // heads
        return cls(
            parameters=parameters,
            trained=trained,
            layers=config.num_hidden_layers,
            hidden=hidden,
            intermediate=getattr(config, "intermediate_size", None) or 4 * hidden,
            queries=heads * head,
            vocabulary=config.vocab_size,
            chunked_head=chunked_head,
            adapters=adapters,
            frozen=frozen,
        )


def shape_of(
    model: Any, groups: Sequence[ParameterGroup], stages: int, itemsize: int, adapters: int = 0
) -> ModelShape:
    """Return the shape of a model that is stored in numbers of ``itemsize`` bytes."""
    frozen = frozen_linear(model, groups, stages) if itemsize < FLOAT else []
    sizes = {name: parameter.numel() for name, parameter in model.named_parameters()}
    return ModelShape.of(
        model.config,
        sum(sizes.values()),
        most_trained(groups, stages),
        chunked_head=has_plain_head(model),
        adapters=adapters,
        frozen=sum(sizes[name] for name in frozen),
    )


def most_trained(groups: Iterable[ParameterGroup], stages: int) -> int:
    listed = list(groups)
    return max(
        sum(sum(p.numel() for p in group.parameters) for group in listed if group.rates[stage])
        for stage in range(stages)
    )


@dataclass(frozen=True)
class StepOptions:
    """What of a recipe and a machine decides the memory of a step."""

    sequence_length: int
    precision: str = "float32"
    activation_checkpointing: bool = False
    #: Processes over which FSDP divides weights, gradients and moments; 1: none.
    sharded_over: int = 1

    @property
    def width(self) -> int:
        return WIDTH[self.precision]


def state_bytes(shape: ModelShape, options: StepOptions) -> int:
    """Return the bytes of weights, gradients, adapters and AdamW's moments on one device.

    Weights are float32, with a copy in bfloat16 where that is the precision of the forward pass;
    of those that never change there are 16 bits alone.
    """
    copy = options.width if options.width != FLOAT else 0
    whole = shape.parameters * (FLOAT + copy) + (shape.trained + shape.adapters) * 3 * FLOAT
    return (whole - FLOAT * halves(shape, options)) // options.sharded_over


def halves(shape: ModelShape, options: StepOptions) -> int:
    """Return how many weights are held in 16 bits alone."""
    return shape.frozen if options.width != FLOAT and options.sharded_over == 1 else 0


def layer_bytes(shape: ModelShape, options: StepOptions) -> int:
    """Return the bytes per token that one layer keeps for its backward pass.

    Each norm keeps its input and the normalised values in float32, and its output for the matrices
    it feeds: once, or in another precision a copy for each (three for attention, two for the MLP).
    Attention keeps queries, keys and values as the kernel takes them (a key for each query), and
    its output; the MLP the gate before and after its activation, the other factor and the product.
    """
    width, fed = options.width, 5 if options.width != FLOAT else 2
    norms = 2 * 2 * FLOAT * shape.hidden + fed * width * shape.hidden
    attention = 4 * width * shape.queries
    return norms + attention + 4 * width * shape.intermediate


def token_bytes(shape: ModelShape, options: StepOptions) -> int:
    """Return the bytes per token of a micro batch that a step needs at its peak.

    With activation checkpointing: the input of every layer, and one layer in full.
    """
    layer = layer_bytes(shape, options)
    layers = shape.layers * layer
    if options.activation_checkpointing:
        layers = shape.layers * FLOAT * shape.hidden + layer
    head = (2 * FLOAT + 2 * options.width) * shape.hidden
    if not shape.chunked_head:
        head += (options.width + 2 * FLOAT) * shape.vocabulary
    # The backward pass of one layer makes gradients of what it keeps.
    return layers + head + layer


def head_bytes(shape: ModelShape, options: StepOptions, tokens: int) -> int:
    """Return the bytes of the head's own gradient, and of a chunk of logits with its own."""
    gradient = shape.vocabulary * shape.hidden * (2 * options.width + FLOAT)
    if not shape.chunked_head:
        return gradient
    logits = min(GPU_CHUNK_ELEMENTS, tokens * shape.vocabulary)
    return gradient + logits * (2 * FLOAT + options.width)


def step_bytes(shape: ModelShape, options: StepOptions, micro_batch: int) -> int:
    """Return the bytes that training takes on one device with ``micro_batch`` sequences a pass."""
    tokens = micro_batch * options.sequence_length
    fixed = state_bytes(shape, options) + head_bytes(shape, options, tokens)
    return fixed + tokens * token_bytes(shape, options)


def teacher_bytes(teacher: Any, settings: Settings) -> int:
    """Return the bytes of the source model's weights beside a training that learns from it.

    Each device has all of them, in the precision of the forward pass.
    """
    if teacher is None or not settings.distils:
        return 0
    return WIDTH[settings.precision] * sum(weight.numel() for weight in teacher.parameters())


def starting_micro_batch(
    free: int, shape: ModelShape, options: StepOptions, share: int, beside: int = 0
) -> int:
    """Return the largest of ``share``, its half and so on that fits into ``free`` bytes, or 1.

    ``share`` is a process' sequences of a step. ``free`` is what a device has before the model is
    on it, of which ``beside`` is taken.
    """
    size: int | None = share
    while size is not None and step_bytes(shape, options, size) + beside > USED * free:
        size = halved(size, share)
    return size or 1


class NumberType(Protocol):
    """What a number is stored as: a dtype of torch's, or any that knows its bytes."""

    @property
    def itemsize(self) -> int: ...


@dataclass(frozen=True)
class TrainingEstimate:
    """What one training takes; sizes in bytes."""

    tokens: int
    flops: float
    #: On each device.
    memory: int
    micro_batch: int
    checkpoints: int
    states: int

    @property
    def disk(self) -> int:
        return self.checkpoints + self.states

    def seconds(self, flops_per_second: float) -> float:
        return self.flops / flops_per_second


def estimate(
    model: Any,
    stored: NumberType,
    settings: Settings,
    length: int,
    machine: Mapping[str, Any],
    processes: int = 1,
    free: int | None = None,
    source: Any = None,
) -> TrainingEstimate:
    """Return the estimate of a training on rows of ``length`` tokens.

    ``model`` may be on the meta device, or an :class:`~revocab.bill.outline.Outline`; adapters are
    its own already. ``machine`` are the machine options of ``train_model``. ``free`` are the bytes
    of a device; without them and without a ``micro_batch`` the whole share of a step is taken at
    once. ``source`` is the model, or its outline, whose rows vocabulary adapters combine, and from
    which stages learn: it is taken to read as many tokens as the student does, though before a new
    vocabulary it reads more.
    """
    plan = settings.plan
    source_rows = 0 if source is None else len(source.get_input_embeddings().weight)
    beside = teacher_bytes(source, settings)
    groups = plan.groups(model)
    adapted = adapted_shapes(model, settings.adapter)
    adapters = sum(rows * source_rows for rows, _ in adapted)
    shape = shape_of(model, groups, len(plan.stages), stored.itemsize, adapters)
    recomputed = bool(machine.get("activation_checkpointing"))
    shards = processes if machine.get("fsdp") else 1
    options = StepOptions(length, settings.precision, recomputed, shards)
    size, passes = settings.micro_batch(machine.get("micro_batch"), processes)
    if free is not None and not machine.get("micro_batch"):
        size = starting_micro_batch(free, shape, options, size * passes, beside)
    tokens = settings.steps * settings.batch_size * length
    own = plan.ends[0] * sum(adapter_flops(rows, source_rows, width) for rows, width in adapted)
    each = mean_flops_per_token(model, groups, plan, length)
    if settings.distils and source is not None:
        each += mean_teacher_flops(source, plan, length, lambda stage: 1.0)
    return TrainingEstimate(
        tokens=tokens,
        flops=tokens * each + own,
        memory=step_bytes(shape, options, size) + beside,
        micro_batch=size,
        checkpoints=len(settings.checkpoint_steps) * shape.parameters * stored.itemsize,
        states=(KEPT + 1)
        * (
            FLOAT * (shape.parameters + 2 * shape.trained + 3 * shape.adapters)
            - (FLOAT - options.width) * halves(shape, options)
        ),
    )


def adapted_shapes(model: Any, options: VocabularyAdapters | None) -> list[tuple[int, int]]:
    """Return rows and width of what each adapter makes: of a shared one, of both side by side."""
    shapes = [(len(matrix), matrix.shape[1]) for _, matrix in matrices_of(model)] if options else []
    if options and options.shared:
        return [(shapes[0][0], sum(width for _, width in shapes))]
    return shapes


def probed_micro_batch(trainer: RecipeTrainer, run: TrainingRun) -> int | None:
    import torch

    if trainer.args.device.type != "cuda":
        return None
    args = trainer.args
    adapted = (adapter.weights for adapter in trainer.vocabulary_adapters.values())
    adapters = sum(len(weights) * weights.source_rows for weights in adapted)
    itemsize = trainer.work.inputs.dtype.itemsize
    shape = shape_of(trainer.model, trainer.groups, len(trainer.plan.stages), itemsize, adapters)
    length, shards = trainer.packed.sequence_length, args.world_size if args.fsdp else 1
    precision = trainer.settings.precision
    options = StepOptions(length, precision, run.activation_checkpointing, shards)
    # As if the model, which may be on the device already, were not there.
    free = torch.cuda.mem_get_info(args.device)[0] + torch.cuda.memory_reserved(args.device)
    beside = teacher_bytes(trainer.teacher.shape(), trainer.settings)
    return starting_micro_batch(free, shape, options, trainer.micro.share, beside)
