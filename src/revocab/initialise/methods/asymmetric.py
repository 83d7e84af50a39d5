"""Asymmetric: input rows as long as those of the script's tokens, head rows by pieces' lengths."""

from __future__ import annotations

from dataclasses import replace

from pydantic import Field, field_validator

from revocab.corpora.scripts import commonest_script, is_written_in, others
from revocab.initialise.method import Method, MethodInputs, RowsOptions
from revocab.initialise.rows.source_weights import SourceWeights, piece_weights


class AsymmetricOptions(RowsOptions):
    """Whose norm new input rows get."""

    script: str | None = Field(
        default=None,
        description="new input rows are as long as the median row of the source's tokens in this"
        " script (Unicode's name); default: the script of most letters of new tokens",
    )

    @field_validator("script")
    @classmethod
    def _is_a_script(cls, script: str | None) -> str | None:
        if script is not None:
            others((script,))
        return script


def source_weights(inputs: MethodInputs, options: AsymmetricOptions) -> SourceWeights:
    """Return the weights of a mean: by characters in the head, scaled to one norm in the input."""
    # A tied matrix is a head, too: a row scaled to an input's norm would win its logits.
    if inputs.matrix == "output" or inputs.tied:
        # ASSUME: the space that begins a word is one of its characters.
        return piece_weights(
            inputs, inputs.pieces, lambda ids: [max(1, len(inputs.source_text(i))) for i in ids]
        )
    weights = piece_weights(inputs, inputs.pieces)
    norms_N = weights.combine(inputs.source_VD).norm(dim=1)
    norm = usual_norm(inputs, options.script)
    scale_N = (norm / norms_N).where((norms_N > 0) & (norm > 0), 1.0).cpu()
    scaled_K = weights.weight_K * scale_N.repeat_interleave(weights.starts_N.diff())
    return replace(weights, weight_K=scaled_K)


def usual_norm(inputs: MethodInputs, script: str | None) -> float:
    """Return, and note, the median norm of source rows in a script; without any, of all."""
    import torch

    script = script or commonest_script(map(inputs.target_text, inputs.missing_N.tolist()))
    rows = range(len(inputs.source_VD))
    ids = [row for row in rows if script and is_written_in(inputs.source_text(row), script)]
    norms_V = inputs.source_VD.norm(dim=1)
    median = torch.quantile(norms_V[ids or [*rows]].double(), 0.5).item()
    inputs.notes.update(script=script, rows_in_script=len(ids), norm=median)
    return median


METHOD = Method(
    name="asymmetric",
    label="Asymmetric",
    summary="shared rows copied; a new row is the mean of its source pieces, in the input embedding"
    " of a usual norm, in the head weighted by their characters",
    citation="Beyond Initialization Loss, arXiv 2608.03494, 2026",
    options=AsymmetricOptions,
    source_weights=source_weights,
)
