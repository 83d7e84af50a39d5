"""The first vocabulary adapters of a model, and the places of the matrices that they make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from revocab.errors import RevocabError, refuse
from revocab.initialise.rows.source_weights import FILE, read_source_weights
from revocab.models.folder import ModelFolder, Which
from revocab.training.adapters.vocabulary_adapter import Place, VocabularyAdapter, side_by_side
from revocab.training.stages import matrices_of, tables_of

if TYPE_CHECKING:
    from revocab.training.stage import VocabularyAdapters
    from revocab.training.stages import ParameterGroup


def open_adapters(
    model: Any, folder: Path, source: Path, options: VocabularyAdapters
) -> dict[tuple[Which, ...], VocabularyAdapter]:
    """Return the first adapters of a model that was loaded from ``folder``, by their matrices.

    ``source`` is the model whose rows they combine; the auxiliary loss is the mean over all. One
    that both matrices share starts as the input's. Raises :class:`RevocabError` where the folder
    does not say what its rows are made of, or the rows are not made of this source.
    """
    weights, read = read_source_weights(folder), ModelFolder(source)
    matrices = dict(matrices_of(model))
    if tables := tables_of(model.named_parameters()):
        raise RevocabError(
            f"{folder}: a vocabulary adapter makes embedding and head, and would leave"
            f" {', '.join(tables)} as initialised; leave out adapter, so that the stage trains"
            " these rows, too"
        )
    if weights.keys() != matrices.keys():
        raise RevocabError(
            f"{folder}: {FILE} is for {' and '.join(weights)}, but the model has"
            f" {' and '.join(matrices)}; make the model again with 'revocab init'"
        )
    adapters: dict[tuple[Which, ...], VocabularyAdapter] = {}
    problems = []
    for which, own in weights.items():
        source_VD = read.matrix(which, own.source_rows).float()
        adapters[which,] = VocabularyAdapter(own, source_VD, options.auxiliary / len(weights))
        if not _makes(adapters[which,], matrices[which]):
            problems.append(
                f"{folder}: the {which} matrix is not what {FILE} makes of {source}; give as"
                " --source the model that the folder was made from"
            )
    refuse(problems)
    if not options.shared:
        return adapters
    first, *_ = weights.values()
    source_VD = side_by_side([adapter.source_VD for adapter in adapters.values()])
    return {tuple(weights): VocabularyAdapter(first, source_VD, options.auxiliary)}


def placed(
    model: Any,
    groups: Sequence[ParameterGroup],
    adapters: Mapping[tuple[Which, ...], VocabularyAdapter],
) -> dict[tuple[Place, ...], VocabularyAdapter]:
    places = {
        id(parameter): (number, place)
        for number, group in enumerate(groups)
        for place, parameter in enumerate(group.parameters)
    }
    at = {which: places[id(matrix)] for which, matrix in matrices_of(model)} if adapters else {}
    return {tuple(at[which] for which in whichs): adapter for whichs, adapter in adapters.items()}


def _makes(adapter: VocabularyAdapter, parameter: torch.Tensor) -> bool:
    """Return whether a loaded matrix is what the adapter makes of the source, but for rounding.

    Rows that were all zero got another value (:mod:`revocab.initialise.target_matrix`).
    """
    if parameter.shape != (len(adapter.weights), adapter.source_VD.shape[1]):
        return False
    made_ND = adapter.weights.combine(adapter.source_VD, slice(0, len(parameter)))
    kept_N = (made_ND != 0).any(1)
    near_ND = torch.isclose(
        made_ND, parameter.detach(), rtol=2**-7, atol=1e-6 * float(made_ND.abs().max())
    )
    return bool(near_ND[kept_N].all())
