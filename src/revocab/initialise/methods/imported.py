"""Rows of a model that has the target tokenizer already, as they are."""

from __future__ import annotations

from revocab.errors import RevocabError
from revocab.heavy_types import Tensor
from revocab.initialise.method import Method, MethodInputs, MethodOptions


def initialise(inputs: MethodInputs, options: MethodOptions) -> Tensor:
    """Return the helper's row of every target token.

    Raises :class:`RevocabError` where its rows are not as wide as the source's.
    """
    theirs, ours = inputs.guide_VX.shape[1], inputs.source_VD.shape[1]
    if theirs != ours:
        raise RevocabError(
            f"method {METHOD.name!r}, {inputs.matrix} matrix: the helper's rows have {theirs}"
            f" numbers, the source's {ours}; take a helper that was made from the source"
        )
    return inputs.guide_VX


METHOD = Method(
    name="imported",
    label="Imported",
    summary="every row of a helper with the target tokenizer, as it is",
    citation="Minixhofer et al. 2024, Zero-Shot Tokenizer Transfer",
    initialise=initialise,
    needs_helper=True,
    takes_helper_rows=True,
    copies_overlap=False,
)
