"""New rows from the source's rows alone: their mean, or that of the pieces that spell a token."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pydantic import Field, field_validator

from revocab.corpora.scripts import commonest_script, is_written_in, outside
from revocab.heavy_types import Tensor
from revocab.initialise.method import Method, MethodInputs, MethodOptions, RowsOptions
from revocab.initialise.rows.means import column_mean, piece_means
from revocab.initialise.rows.source_weights import SourceWeights, mean_weights, piece_weights


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
            outside((script,))
        return script


def mean_rows(inputs: MethodInputs, options: MethodOptions) -> Tensor:
    return column_mean(inputs.source_VD).float().expand(len(inputs.missing_N), -1).clone()


def vocadt_weights(inputs: MethodInputs) -> Iterator[dict[int, float] | Tensor]:
    """Yield each missing token's weights: of its pieces, or ``u / sum(u)`` over all source rows.

    Han et al. 2024, equations 2 and 3. The first is written over a set of pieces and called their
    average; counts make it the average where a piece repeats.
    """
    import torch

    generator = inputs.generator()
    for token in inputs.missing_N.tolist():
        if inputs.spelt(token):
            yield mean_weights(inputs.pieces(token))
        else:
            drawn_V = torch.rand(len(inputs.source_VD), generator=generator)
            yield drawn_V / drawn_V.sum()


def vocadt_rows(inputs: MethodInputs, options: MethodOptions) -> Tensor:
    """Return FVT's rows bit for bit, and the drawn mixtures in the place of its stand-ins."""
    import torch

    rows_ND = piece_means(inputs, inputs.pieces)
    drawn = 0
    for number, weights in enumerate(vocadt_weights(inputs)):
        if isinstance(weights, torch.Tensor):
            rows_ND[number] = weights.to(rows_ND.device) @ inputs.source_VD
            drawn += 1
    inputs.notes["tokens_drawn"] = drawn
    return rows_ND


def asymmetric_weights(inputs: MethodInputs, options: AsymmetricOptions) -> SourceWeights:
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


METHOD = (
    Method(
        name="mean",
        label="Mean",
        summary="shared rows copied; every new row is the mean source row",
        citation="Hewitt 2021, Initializing New Word Embeddings for Pretrained Language Models",
        initialise=mean_rows,
        mixes_rows=True,
    ),
    Method(
        name="fvt",
        label="FVT",
        colour="#56B4E9",
        summary="shared rows copied; a new row is the mean of its source pieces",
        citation="Gee et al. 2022, Fast Vocabulary Transfer for Language Model Compression",
        initialise=lambda inputs, options: piece_means(inputs, inputs.pieces),
        source_weights=lambda inputs, options: piece_weights(inputs, inputs.pieces),
    ),
    # The marker character of a new token stays in its text.
    Method(
        name="fvt-released",
        label="FVT (released)",
        summary="fvt with the released code's tokenisation, for comparison with published numbers",
        citation="Moroni et al. 2025 (SAVA), released code",
        initialise=lambda inputs, options: piece_means(inputs, inputs.pieces_released),
        source_weights=lambda inputs, options: piece_weights(inputs, inputs.pieces_released),
    ),
    Method(
        name="vocadt",
        label="VocADT",
        colour="#661100",
        summary="fvt, with a random mixture of all source rows where the source cannot spell a"
        " token",
        citation="Han et al. 2024, Adapters for Altering LLM Vocabularies: What Languages Benefit "
        "the Most?",
        initialise=vocadt_rows,
        source_weights=lambda inputs, options: SourceWeights.of(
            vocadt_weights(inputs), len(inputs.source_VD)
        ),
    ),
    Method(
        name="asymmetric",
        label="Asymmetric",
        summary="shared rows copied; a new row is the mean of its source pieces, in the input"
        " embedding of a usual norm, in the head weighted by their characters",
        citation="Beyond Initialization Loss, arXiv 2608.03494, 2026",
        options=AsymmetricOptions,
        source_weights=asymmetric_weights,
    ),
)
