"""Block expansion: copies of blocks between the blocks, which compute nothing until trained.

A new block is a copy of the one before it whose attention and MLP write zeros to the residual
stream: ``self_attn.o_proj`` and ``mlp.down_proj`` are zero, so that x + 0 + 0 leaves it.

That is tried before any weight is touched, on a small random twin of the model, with all layers and
settings, but narrow, with few tokens and a short window of attention: ways in which architectures
differ (scaled residuals, norms after a branch, settings by a layer's number) show in its logits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from pydantic import Field

from revocab.errors import RevocabError
from revocab.heavy_types import Tensor
from revocab.limits import Share
from revocab.models.change import Change, Changed, ChangeOptions
from revocab.models.folder import ModelFolder
from revocab.models.shape import load_config

LAYERS = "num_hidden_layers"
#: Key of ``config.json``: the numbers of the new blocks, from 0.
ADDED_BLOCKS = "added_blocks"
#: Name of a block's tensor: the block's number, and the tensor in it.
BLOCK = re.compile(r"model\.layers\.(\d+)\.(.+)")
#: What a block writes to the residual stream comes out of these.
WRITING = ("self_attn.o_proj", "mlp.down_proj")
#: Lists of a configuration that are no list by layer, however long.
_NOT_BY_LAYER = re.compile(r"architectures|.*token_ids?")
#: How far a share of blocks may be from a whole number: shares are given to some digits.
_ROUNDING = 0.01
#: Sizes of the twin.
_TOKENS, _HEADS, _WIDTH, _WINDOW = 16, 2, 32, 4
#: Spread of the twin's random weights: norms and biases differ from those of any initialisation.
_DEVIATION = 0.1


class BlockOptions(ChangeOptions):
    """How many blocks are added."""

    share: Share = Field(description="ratio of new blocks to existing ones")

    def blocks_after(self, blocks: int) -> int:
        return len(Expansion.of(blocks, self.share).origin)


@dataclass(frozen=True)
class Expansion:
    """Which block of the body stands behind each block of the expanded model."""

    origin: tuple[int, ...]

    @classmethod
    def of(cls, blocks: int, share: float) -> Expansion:
        """Return the expansion of ``blocks`` blocks: a copy after every (1 / share)-th of them.

        Raises :class:`RevocabError` where that gives no whole number of equal steps.
        """
        wanted = share * blocks
        new = round(wanted)
        if abs(wanted - new) > _ROUNDING or new == 0 or blocks % new:
            allowed = [number for number in range(1, blocks + 1) if blocks % number == 0]
            shares = ", ".join(f"{number / blocks:.4g} ({number} new)" for number in allowed)
            raise RevocabError(
                f"share {share:g} of {blocks} blocks is {wanted:.4g}; new blocks must be a whole"
                f" number that divides {blocks}, so that copies stand at equal distances: {shares}"
            )
        every = blocks // new
        copies = (1 + ((number + 1) % every == 0) for number in range(blocks))
        return cls(tuple(n for n, times in enumerate(copies) for _ in range(times)))

    @cached_property
    def added(self) -> tuple[int, ...]:
        pairs = zip(self.origin, self.origin[1:], strict=False)
        return tuple(n for n, (before, own) in enumerate(pairs, 1) if before == own)

    def places(self, name: str) -> Iterator[tuple[str, bool]]:
        """Yield the names that a tensor of the body gets, and whether it is zero there."""
        block = BLOCK.fullmatch(name)
        if block is None:
            yield name, False
            return
        writes = block[2].startswith(tuple(f"{module}." for module in WRITING))
        for number, origin in enumerate(self.origin):
            if origin == int(block[1]):
                yield f"model.layers.{number}.{block[2]}", writes and number in self.added

    def settings(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        lists = {
            key: [value[number] for number in self.origin]
            for key, value in settings.items()
            if isinstance(value, list)
            and len(value) == settings[LAYERS]
            and not _NOT_BY_LAYER.fullmatch(key)
        }
        return {**lists, LAYERS: len(self.origin)}


def check_form(body: ModelFolder) -> int:
    """Return the number of blocks of a model that can be expanded.

    Raises :class:`RevocabError` unless its blocks are named as Llama's are, and write through an
    ``o_proj`` and a ``down_proj`` each.
    """
    needed = f"blocks model.layers.N with {' and '.join(WRITING)}, as Llama, Mistral and Qwen2 have"
    kind = f"{body.path}: block expansion of {body.config.get('model_type')!r}"
    if "quantization_config" in body.config:
        raise RevocabError(f"{kind}: its weights are quantised; use the unquantised model")
    blocks = body.config.get(LAYERS)
    numbers = {int(block[1]) for block in map(BLOCK.fullmatch, body.tensors) if block}
    if not isinstance(blocks, int) or numbers != {*range(blocks)}:
        raise RevocabError(
            f"{kind}: {len(numbers)} blocks model.layers.N, but {LAYERS} = {blocks!r} in"
            f" config.json; it needs {needed}"
        )
    wanted = (f"model.layers.{n}.{module}.weight" for n in range(blocks) for module in WRITING)
    missing = [name for name in wanted if name not in body.tensors]
    if missing:
        raise RevocabError(f"{kind}: it has no {missing[0]}; it needs {needed}")
    return blocks


def check_identity(body: ModelFolder, expansion: Expansion) -> dict[str, Any]:
    """Return the settings of the expanded model; raise :class:`RevocabError` for an architecture in
    which its new blocks would compute something: it is tried.
    """
    from revocab.models.load import loading

    with loading(body.path):  # with what the architecture adds to config.json
        config = load_config(body.path)
    changed = expansion.settings(config.to_dict())
    try:
        same = keeps_logits(config, changed, expansion)
    # transformers raises many unrelated types: all mean that the expansion cannot be tried.
    except Exception as error:
        reason = " ".join(str(error).split())[:300]
        raise RevocabError(
            f"{body.path}: a change of {config.model_type!r} cannot be tried on a small model"
            f" ({reason})"
        ) from error
    if not same:
        raise RevocabError(
            f"{body.path}: block expansion of {config.model_type!r}: with new blocks whose"
            f" {' and '.join(WRITING)} are zero, a small model of this architecture gives"
            " different logits; it cannot be expanded without changing what it computes"
        )
    return changed


def keeps_logits(config: Any, changed: Mapping[str, Any], expansion: Expansion) -> bool:
    """Tell whether a twin with ``changed`` settings, expanded, gives the logits of one without.

    ``config`` is the large model's, of transformers. Raises whatever transformers does for an
    architecture that no twin can be made of, or that the expansion does not fit.
    """
    import torch
    from transformers import AutoModelForCausalLM

    def twin(settings: Mapping[str, Any]) -> Any:
        own = type(config).from_dict(dict(settings))
        return AutoModelForCausalLM.from_config(own, dtype=torch.float32).eval()

    def logits(model: Any) -> Tensor:
        """Return the logits of a text longer than the window, float32 (1, tokens, vocabulary)."""
        with torch.no_grad():
            return model(torch.arange(_TOKENS)[None], use_cache=False).logits

    settings = config.to_dict()
    width = settings.get("head_dim") or settings["hidden_size"] // settings["num_attention_heads"]
    small = {
        "vocab_size": _TOKENS,
        "hidden_size": _HEADS * width,
        "intermediate_size": _WIDTH,
        "num_attention_heads": _HEADS,
        "num_key_value_heads": _HEADS,
        "sliding_window": _WINDOW,
    }
    settings |= {key: size for key, size in small.items() if isinstance(settings.get(key), int)}
    # A row for padding, and a type to compute in, would be those of the large model.
    settings |= {"pad_token_id": None, "dtype": "float32"}
    with torch.random.fork_rng(devices=[]):
        before, after = twin(settings), twin({**settings, **changed})
    generator = torch.Generator().manual_seed(0)
    for parameter in before.parameters():
        parameter.data.normal_(std=_DEVIATION, generator=generator)
    weights = {
        name: tensor.new_zeros(tensor.shape) if zero else tensor
        for old, tensor in before.state_dict().items()
        for name, zero in expansion.places(old)
    }
    after.load_state_dict(weights)
    return torch.equal(logits(before), logits(after))


def apply(body: ModelFolder, options: BlockOptions) -> Changed:
    blocks = check_form(body)
    try:
        expansion = Expansion.of(blocks, options.share)
    except RevocabError as error:
        raise RevocabError(f"{body.path}: {problem}" for problem in error.problems) from None
    changed = check_identity(body, expansion)
    added = list(expansion.added)
    files = {}
    for file, parts in body.parts.items():
        if any(map(BLOCK.fullmatch, parts)):
            files[file] = [
                replace(part.zeroed() if zero else part, name=name)
                for part in parts.values()
                for name, zero in expansion.places(part.name)
            ]
    note = (
        f"{blocks} blocks have become {len(expansion.origin)}; new, counted from 0:"
        f" {', '.join(map(str, added))}. Until these are trained, the logits do not change"
    )
    return Changed(
        files,
        {**body.config, **changed, ADDED_BLOCKS: added},
        {"blocks": len(expansion.origin), ADDED_BLOCKS: added},
        (note,),
    )


CHANGE = Change(
    name="blocks",
    summary="block expansion: copies of blocks between the blocks, which compute nothing until"
    " they are trained",
    citation="Wu et al. 2024, LLaMA Pro: Progressive LLaMA with Block Expansion; Gosal et al. 2024,"
    " Bilingual Adaptation of Monolingual Foundation Models",
    options=BlockOptions,
    apply=apply,
)
