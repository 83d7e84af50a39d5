"""Rows as they are: of the source model, which keeps its vocabulary, or of a helper."""

from __future__ import annotations

from revocab.errors import RevocabError
from revocab.heavy_types import Tensor
from revocab.initialise.method import Method, MethodInputs, MethodOptions


def imported_rows(inputs: MethodInputs, options: MethodOptions) -> Tensor:
    """Return the helper's row of every target token.

    Raises :class:`RevocabError` where its rows are not as wide as the source's.
    """
    theirs, ours = inputs.guide_VX.shape[1], inputs.source_VD.shape[1]
    if theirs != ours:
        raise RevocabError(
            f"method 'imported', {inputs.matrix} matrix: the helper's rows have {theirs}"
            f" numbers, the source's {ours}; take a helper that was made from the source"
        )
    return inputs.guide_VX


METHOD = (
    # The reference of every comparison.
    Method(
        name="base",
        label="Base model",
        colour="#444444",
        dash=(0, (5, 3)),
        summary="the source model as it is",
        citation="",
        options=MethodOptions,
        keeps_vocabulary=True,
        trains=False,
    ),
    # Of another's making, scored beside the runs of a group.
    Method(
        name="reference",
        label="Reference model",
        dash=(0, (1, 2)),
        summary="a finished model as it is",
        citation="",
        options=MethodOptions,
        keeps_vocabulary=True,
        trains=False,
    ),
    # Language-adaptive pretraining.
    Method(
        name="lapt",
        label="LAPT",
        colour="#D55E00",
        dash=(0, (4, 1.5, 1, 1.5)),
        summary="no new vocabulary: the source model continues training",
        citation="Chau et al. 2020, Parsing with Multilingual BERT, a Small Corpus, and a Small "
        "Treebank",
        options=MethodOptions,
        keeps_vocabulary=True,
    ),
    Method(
        name="imported",
        label="Imported",
        summary="every row of a helper with the target tokenizer, as it is",
        citation="Minixhofer et al. 2024, Zero-Shot Tokenizer Transfer",
        initialise=imported_rows,
        needs_helper=True,
        takes_helper_rows=True,
        copies_overlap=False,
    ),
)
