"""A merge of an adapted chat model with itself before adaptation: outer blocks, special rows.

Training on text without conversations makes a chat model forget how to converse. This puts some of
that back, without any training.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from pydantic import Field

from revocab.errors import RevocabError
from revocab.heavy_types import Tensor
from revocab.limits import Share
from revocab.models.change import Change, Changed, ChangeInputs, ChangeOptions, ModelReference
from revocab.models.change import reference_name as named
from revocab.models.changes.blocks import BLOCK, LAYERS, block_numbers
from revocab.models.finding import some
from revocab.models.operands import Formula, Operands, changed_files
from revocab.models.vocabulary.special_ids import special_counterparts
from revocab.models.weights.files import Part

#: Beyond this cosine an arc is a line: what divides by its sine would only add noise.
_ALIGNED = 0.9995
#: Values read at a time to measure an angle.
_VALUES = 1 << 22


class MergeOptions(ChangeOptions):
    """What of the chat model before adaptation comes back."""

    source: ModelReference = Field(description="the chat model before its adaptation")
    #: Of the source, in the outer blocks: the first and the last, those next to them, and so on.
    shares: list[Share] = Field(default=[0.3, 0.5])
    #: Along the arc between both tensors, each one vector, or along the line.
    interpolation: Literal["slerp", "linear"] = "slerp"
    #: Whether special and added tokens get the source's rows, in embedding and head.
    special_rows: bool = True

    def given_models(self) -> Iterator[tuple[str, ModelReference]]:
        yield "source", self.source

    def problems(self, body: ModelReference | None) -> Iterator[str]:
        if self.source == body:
            yield f"source: {named(self.source)!r} is merged with itself; name another model"
        if not self.shares and not self.special_rows:
            yield "shares: none, and special_rows is false, which changes nothing; give one of them"

    def blocks_after(self, blocks: int) -> int:
        if 2 * len(self.shares) > blocks:
            raise RevocabError(
                f"shares: {len(self.shares)} for either end of {blocks} blocks, so that some would"
                f" have two; give at most {blocks // 2}"
            )
        return blocks

    def share(self, block: int, blocks: int) -> float | None:
        """Return the share of the source in a block, numbered from 0; None: it stays as it is."""
        from_end = min(block, blocks - 1 - block)
        return self.shares[from_end] if from_end < len(self.shares) else None


def weights_of(share: float, cosine: float) -> tuple[float, float]:
    """Return the weights of two tensors whose sum lies ``share`` of the way to the second.

    On the arc at angle θ: sin((1 − t)θ) / sin θ and sin(tθ) / sin θ. Where both point nearly the
    same way, or opposite ways, as on the line: 1 − t and t.
    """
    if abs(cosine) > _ALIGNED:
        return 1 - share, share
    angle = math.acos(cosine)
    sine = math.sin(angle)
    return math.sin((1 - share) * angle) / sine, math.sin(share * angle) / sine


@dataclass(frozen=True)
class Merge:
    """The adapted model, the one before, and what is asked for."""

    operands: Operands
    options: MergeOptions
    blocks: int

    @cached_property
    def name(self) -> str:
        return named(self.options.source)

    def change(self, part: Part) -> Part | str:
        if self.operands.body.stored(part.name) in self.operands.body.vocabulary:
            return self.with_special_rows(part) if self.rows else "no row changes"
        block = BLOCK.fullmatch(part.name)
        share = self.options.share(int(block[1]), self.blocks) if block else None
        if share is None:
            return "no share of the source"
        return self.operands.misfit(part) or self.operands.computed(
            part, lambda: self.between(part, share)
        )

    def between(self, part: Part, share: float) -> Formula:
        linear = self.options.interpolation == "linear"
        own, source = weights_of(share, 1.0 if linear else self.cosine(part))

        def interpolate(body: Tensor, others: Mapping[str, Tensor]) -> Tensor:
            return own * body + source * others[self.name]

        return interpolate

    def cosine(self, part: Part) -> float:
        """Return the cosine between both models' tensors, each as one vector; 1 if one is zero."""
        product = square = source_square = 0.0
        for body, others in self.operands.wide_blocks(part, _VALUES):
            own, source = body.double(), others[self.name].double()
            product += float(own @ source)
            square += float(own @ own)
            source_square += float(source @ source)
        norms = math.sqrt(square * source_square)
        return max(-1.0, min(1.0, product / norms)) if norms else 1.0

    @cached_property
    def rows(self) -> dict[int, int]:
        from revocab.tokenizers.load import load_tokenizer

        if not self.options.special_rows:
            return {}
        folders = self.operands.others[self.name].folder, self.operands.body.folder
        return special_counterparts(*(load_tokenizer(folder.path) for folder in folders))

    def with_special_rows(self, part: Part) -> Part:
        from safetensors import safe_open

        folder, name = self.operands.others[self.name].folder, self.operands.body.stored(part.name)
        with safe_open(folder.path / folder.tensors[name][0], "pt") as handle:
            matrix = handle.get_slice(name)
            return part.with_rows({own: matrix[row : row + 1] for own, row in self.rows.items()})


def apply(inputs: ChangeInputs, options: MergeOptions) -> Changed:
    body, operands = inputs.body, Operands.of(inputs.body, inputs.others)
    where = f"{body.path}: merge of {body.config.get('model_type')!r}"
    blocks, stated = block_numbers(body), body.config.get(LAYERS)
    if blocks != {*range(stated or 0)}:
        raise RevocabError(
            f"{where}: {len(blocks)} blocks model.layers.N, but {LAYERS} = {stated!r} in"
            " config.json; it needs such blocks, as Llama, Mistral and Qwen2 have"
        )
    options.blocks_after(len(blocks))
    if misfits := list(operands.of_other_shape()):
        raise RevocabError(
            f"{where}: {some(misfits)}; take as source the model that this one was adapted from"
        )
    merge = Merge(operands, options, len(blocks))
    files, kept = changed_files(body, merge.change)
    if not files:
        raise RevocabError(
            f"{where}: both tokenizers share no special token, and there are no shares; nothing"
            " changes"
        )
    tokens = [operands.body.tokens[number] for number in sorted(merge.rows)]
    changed = len(body.tensors) - len(kept)
    notes = [
        f"{changed} of {len(body.tensors)} tensors changed",
        f"{len(tokens)} special tokens with the source's rows: {some(tokens)}",
    ]
    facts = {"changed_tensors": changed, "special_tokens": tokens}
    return Changed(files, body.config, facts, tuple(notes))


CHANGE = Change(
    name="merge",
    summary="an adapted chat model whose outer blocks are between its own and those before its"
    " adaptation, with the special tokens' rows from before",
    citation="Yamaguchi et al. 2025, Adapting Chat Language Models Using Only Target Unlabeled"
    " Language Data (ElChat)",
    options=MergeOptions,
    apply=apply,
)
