"""Vocabulary adapters (Han et al. 2024): a matrix A is trained, and the model has ``A E_source``.

    E_new = A E_source        A [N, V], E_source [V, D] fixed, E_new [N, D] the model's own weight

A stays out of autograd, in the optimizer. The model collects the gradient G of E_new over all micro
batches, and once a step the optimizer makes of it, in blocks of rows, the gradient of A:

    dA = G E_source' + alpha / |O| (A_w - A0_w) / |A_w - A0_w|    the second in the rows w in O

with O the shared tokens, whose rows of A were one-hot (A0). It is clipped, AdamW makes a step on A,
and ``A E_source`` is written back. Autograd through the product would do the same, but it would
make the product for every micro batch, and hold a gradient of A's size. The norm that clipping
needs first comes from G: ``|G E_source'|^2 = tr(G (E_source' E_source) G')``, and what the rows in
O add.

One adapter may make both embedding and head (``shared``): with their source rows side by side, and
their gradients too, the same formulas hold, and the products with both add up in dA.

Suffixes: N target tokens, V source tokens, D width (of both matrices, where they share an adapter),
S shared tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.distributed.tensor import DTensor
from torch.optim.adamw import adamw

from revocab.errors import RevocabError, refuse
from revocab.initialise.rows.means import blocks
from revocab.initialise.rows.source_weights import FILE, SourceWeights, read_source_weights
from revocab.models.folder import ModelFolder, Which
from revocab.training.resume_state import STATE_KEPT
from revocab.training.stages import matrices_of, tables_of

if TYPE_CHECKING:
    from revocab.training.stages import ParameterGroup, VocabularyAdapters

#: The number of a group of parameters, and a parameter's place in it.
Place = tuple[int, int]

OUT_OF_MEMORY = (
    "out of memory in the optimizer's step, which holds weights, gradients and moments; a smaller"
    " micro_batch will not help: shard them over several devices (fsdp), train fewer parameters"
    " (stages, lora), or use a device with more memory, and run the same command again;"
    f" {STATE_KEPT}"
)
#: Numbers of A that are worked on at once: 64 MiB, and as much again for each passing copy.
BLOCK_ELEMENTS = 1 << 24


def own_part(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def own_rows(parameter: Any) -> slice:
    rows = len(parameter)
    for dimension, placement in enumerate(getattr(parameter, "placements", ())):
        if placement.is_shard():
            mesh = parameter.device_mesh
            each = -(-rows // mesh.size(dimension))
            first = min(rows, each * mesh.get_local_rank(dimension))
            return slice(first, min(rows, first + each))
    return slice(0, rows)


def drop_other_rows(parameters: Iterable[torch.Tensor], new_V: torch.Tensor) -> None:
    """Make the gradient of all rows zero but of the new ones, in each process of its own part.

    A row whose gradient is zero from the first step on has moments of zero, and AdamW moves it by
    zero; without decay, which new rows have none of, nothing else touches it.
    """
    for parameter in parameters:
        if parameter.grad is not None:
            others_N = ~new_V[own_rows(parameter)].to(parameter.device)
            own_part(parameter.grad)[others_N] = 0


@contextmanager
def exact_products() -> Iterator[None]:
    """Multiply float32 matrices in float32: fewer bits would not even copy a one-hot row."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def side_by_side(parts_ND: Sequence[torch.Tensor]) -> torch.Tensor:
    return parts_ND[0] if len(parts_ND) == 1 else torch.cat([*parts_ND], dim=1)


@dataclass
class VocabularyAdapter:
    """Matrices of the model, one or both, as combinations of source rows by one A; its step."""

    #: A0, a row per target token.
    weights: SourceWeights
    #: E_source, float32; those of two matrices side by side.
    source_VD: torch.Tensor
    #: Weight of this adapter's auxiliary loss, the mean over O of ``|A_w - A0_w|``.
    auxiliary: float = 0.0

    @cached_property
    def gram_DD(self) -> torch.Tensor:
        """Return ``E_source' E_source``, summed in float64."""
        width = self.source_VD.shape[1]
        gram_DD = self.source_VD.new_zeros(width, width, dtype=torch.float64)
        for part in blocks(len(self.source_VD), width, BLOCK_ELEMENTS):
            rows_ND = self.source_VD[part].double()
            gram_DD.addmm_(rows_ND.T, rows_ND)
        return gram_DD.float()

    @cached_property
    def _source_of_shared_S(self) -> torch.Tensor:
        return self.weights.source_of_shared()

    def sources(self, matrices: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        return self.source_VD.split([matrix.shape[1] for matrix in matrices], dim=1)

    def begin(self, matrices: Sequence[torch.Tensor]) -> None:
        """Write ``A0 E_source`` into the model's matrices, in float32."""
        self.source_VD = self.source_VD.to(matrices[0].device)
        for parameter, source_VD in zip(matrices, self.sources(matrices), strict=True):
            rows = own_rows(parameter)
            own_part(parameter).copy_(self.weights.combine(source_VD, rows))

    def release(self) -> None:
        """Free the source's rows, which no further step reads."""
        self.source_VD = self.source_VD.new_empty(0, 0)
        self.__dict__.pop("gram_DD", None)

    def new_state(self, parameter: Any) -> dict[str, torch.Tensor]:
        """Return A0 and no moments: what AdamW keeps, under its own names, and A beside it."""
        self.source_VD = self.source_VD.to(parameter.device)
        own_NV = self.weights.dense(own_rows(parameter), parameter.device)
        matrices = {
            "adapter": own_NV,
            "exp_avg": torch.zeros_like(own_NV),
            "exp_avg_sq": torch.zeros_like(own_NV),
        }
        if hasattr(parameter, "to_local"):  # each process has its rows of the parameter
            shape = torch.Size((len(parameter), own_NV.shape[1]))
            mesh, placements = parameter.device_mesh, parameter.placements
            matrices = {
                name: DTensor.from_local(
                    matrix, mesh, placements, shape=shape, stride=(shape[1], 1)
                )
                for name, matrix in matrices.items()
            }
        return {"step": torch.zeros((), device=parameter.device), **matrices}

    def departure(self, own_NV: torch.Tensor, part: slice, first: int) -> tuple[torch.Tensor, ...]:
        """Return how far the shared rows in a block of A are from where they began: rows of the
        block, source ids of their tokens, ``A_w - A0_w`` [S, V] and its norm [S].

        ``own_NV`` are the rows of A from ``first`` on, and ``part`` the block in them.
        """
        shared_S, edges = self.weights.shared_S, torch.tensor([part.start, part.stop]) + first
        here = slice(*torch.searchsorted(shared_S, edges).tolist())
        row_S = (shared_S[here] - first - part.start).to(own_NV.device)
        source_S = self._source_of_shared_S[here].to(own_NV.device)
        change_SV = own_NV[part][row_S]
        change_SV[torch.arange(len(row_S), device=own_NV.device), source_S] -= 1
        return row_S, source_S, change_SV, change_SV.norm(dim=1)

    def pull(self, norm_S: torch.Tensor) -> torch.Tensor:
        """Return what the auxiliary gradient multiplies changes of these norms by; 0 at A0."""
        each = self.auxiliary / max(1, len(self.weights.shared_S))
        return torch.where(norm_S > 0, each / norm_S, 0.0)

    def measures(
        self,
        matrices: Sequence[torch.Tensor],
        gradients: Sequence[torch.Tensor],
        state: Mapping[str, torch.Tensor],
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return ``|dA|^2`` and the mean norm of the shared rows' change, over all processes."""
        parameter: Any = matrices[0]
        own, gradients_ND = [*map(own_part, matrices)], [*map(own_part, gradients)]
        own_NV, first = own_part(state["adapter"]), own_rows(parameter).start
        sums = torch.zeros(2, dtype=torch.float64, device=own_NV.device)
        for part in blocks(len(own_NV), len(self.source_VD), BLOCK_ELEMENTS):
            g_ND = side_by_side([matrix[part] for matrix in gradients_ND])
            sums[0] += ((g_ND @ self.gram_DD) * g_ND).sum(dtype=torch.float64)
            row_S, source_S, _, norm_S = self.departure(own_NV, part, first)
            sums[1] += norm_S.sum(dtype=torch.float64)
            if self.auxiliary:
                pull_S = self.pull(norm_S)
                matrix_SD = side_by_side([matrix[part][row_S] for matrix in own])
                moved_SD = matrix_SD - self.source_VD[source_S]
                cross_S = pull_S * (g_ND[row_S] * moved_SD).sum(1)
                sums[0] += (2 * cross_S + (pull_S * norm_S) ** 2).sum(dtype=torch.float64)
        for dimension, placement in enumerate(getattr(parameter, "placements", ())):
            if placement.is_shard():  # among the processes that share the rows
                group = parameter.device_mesh.get_group(dimension)
                torch.distributed.all_reduce(sums, group=group)
        square, total = sums
        return square.clamp(min=0), total / max(1, len(self.weights.shared_S))

    def step(
        self,
        matrices: Sequence[torch.Tensor],
        gradients: Sequence[torch.Tensor],
        state: dict[str, torch.Tensor],
        group: Mapping[str, Any],
        scale: torch.Tensor,
    ) -> None:
        """Make AdamW's step on A with its gradient times ``scale``, and write the matrices anew.

        At a rate of 0 moments change, but A does not, and the matrices are left alone.
        """
        parameter, gradients_ND = matrices[0], [*map(own_part, gradients)]
        own_NV, first = own_part(state["adapter"]), own_rows(parameter).start
        moments = own_part(state["exp_avg"]), own_part(state["exp_avg_sq"])
        beta1, beta2 = group["betas"]
        for part in blocks(len(own_NV), len(self.source_VD), BLOCK_ELEMENTS):
            gradient_ND = side_by_side([matrix[part] for matrix in gradients_ND])
            gradient_NV = (gradient_ND * scale) @ self.source_VD.T
            if self.auxiliary:
                row_S, _, change_SV, norm_S = self.departure(own_NV, part, first)
                change_SV *= (self.pull(norm_S) * scale)[:, None]
                gradient_NV.index_add_(0, row_S, change_SV)
            adamw(
                [own_NV[part]],
                [gradient_NV],
                [moments[0][part]],
                [moments[1][part]],
                [],
                [state["step"].clone()],
                fused=True,
                amsgrad=False,
                beta1=beta1,
                beta2=beta2,
                lr=group["lr"],
                weight_decay=group["weight_decay"],
                eps=group["eps"],
                maximize=False,
            )
            if group["lr"]:
                for matrix, source_VD in zip(matrices, self.sources(matrices), strict=True):
                    torch.mm(own_NV[part], source_VD, out=own_part(matrix)[part])
        state["step"] += 1


class AdapterAdamW(torch.optim.AdamW):
    """AdamW that makes the step of some matrices on their adapters, while it is ``adapting``.

    An adapter and its moments are in the state of the (first) matrix that it makes, so that they
    are saved and loaded as any optimizer's state is.
    """

    def __init__(
        self,
        groups: Iterable[dict[str, Any]],
        adapters: Mapping[tuple[Place, ...], VocabularyAdapter],
        **options: Any,
    ):
        """Each of ``adapters`` has the places of the matrices that it makes, which have the same
        rates.
        """
        super().__init__(groups, **options)
        self.adapters = dict(adapters)
        self.adapting = False
        self._scale: torch.Tensor | None = None

    def adapted(self) -> Iterator[tuple[dict[str, Any], list[torch.Tensor], VocabularyAdapter]]:
        for places, adapter in self.adapters.items():
            matrices = [self.param_groups[group]["params"][place] for group, place in places]
            yield self.param_groups[places[0][0]], matrices, adapter

    @torch.no_grad()
    def adapt(self, adapting: bool, *, begin: bool) -> None:
        """Make coming steps on adapters, or on all parameters themselves.

        With ``begin`` every matrix becomes that of its first adapter.
        """
        self.adapting = adapting
        if not adapting:
            for adapter in self.adapters.values():
                adapter.release()
            self.adapters.clear()
        for _, matrices, adapter in self.adapted() if begin else ():
            adapter.begin(matrices)

    def _adapter_state(
        self, matrices: Sequence[Any], adapter: VocabularyAdapter
    ) -> dict[str, torch.Tensor]:
        first, *others = matrices
        if not self.state[first]:
            self.state[first] = adapter.new_state(first)
        for matrix in others:  # sharded states are saved of every parameter that is trained
            self.state[matrix] = {"step": self.state[first]["step"]}
        return self.state[first]

    @torch.no_grad()
    def clip(self, most: float) -> tuple[torch.Tensor, torch.Tensor]:
        """Clip the adapters' gradients in the coming step to the norm ``most``.

        Return their norm, the auxiliary loss's gradient included, and that loss before its weight:
        the mean over the adapters.
        """
        with exact_products():
            measured = [
                adapter.measures(matrices, gradients, self._adapter_state(matrices, adapter))
                for _, matrices, adapter in self.adapted()
                if (gradients := gradients_of(matrices))
            ]
        norm = torch.stack([square for square, _ in measured]).sum().sqrt().float()
        self._scale = (most / (norm + 1e-6)).clamp(max=1.0)
        return norm, torch.stack([loss for _, loss in measured]).mean().float()

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        held = []
        for group, matrices, adapter in self.adapted() if self.adapting else ():
            if gradients := gradients_of(matrices):
                held.append((group, matrices, adapter, gradients))
            for parameter in matrices:
                parameter.grad = None
        try:
            loss = super().step(closure)
            with exact_products():
                for group, matrices, adapter, gradients in held:
                    scale = torch.ones(()) if self._scale is None else self._scale
                    state = self._adapter_state(matrices, adapter)
                    adapter.step(matrices, gradients, state, group, scale.to(gradients[0].device))
        except torch.OutOfMemoryError as error:
            raise RevocabError(OUT_OF_MEMORY) from error
        self._scale = None
        return loss


def gradients_of(matrices: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    gradients = [matrix.grad for matrix in matrices if matrix.grad is not None]
    return gradients if len(gradients) == len(matrices) else []


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
    atol = 1e-6 * float(made_ND.abs().max())
    near_ND = torch.isclose(made_ND, parameter.detach(), rtol=2**-7, atol=atol)
    return bool(near_ND[kept_N].all())
