"""How alike two embedding spaces are: relative representations on shared anchors.

Moroni et al. 2025, section 6 (Table 7, Figure 8), after Moschella et al. 2023: each token is
described by its projection on anchor tokens, which can be compared across models of any width.
Suffixes: A anchors, T compared tokens.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from itertools import chain, permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from revocab.closed import Closed, Id, Job
from revocab.errors import RevocabError
from revocab.io import write_csv, write_json
from revocab.limits import Seed, Size, StepNumber
from revocab.models.findings import broken_rows
from revocab.models.folder import ModelFolder
from revocab.models.origin import library_versions
from revocab.output import OutputFolder

if TYPE_CHECKING:
    import torch

    from revocab.vocabulary.tokenizers.canonical import CanonicalToken

Relative = Literal["dot", "cosine"]
ANCHOR_KINDS = ("word_start", "continuation")
#: What the folder claims to be.
KIND = "similarities"
COLUMNS = ("kind", "group", "run", "other", "step", "similarity")


class EmbeddingSimilarityOptions(Closed):
    """Anchors of each kind, and how rows are projected on them."""

    anchors: Size = Field(default=128, description="anchors of each of the two kinds")
    #: How rows are compared with those of the anchors.
    relative: Relative = "dot"


class EmbeddingSimilarityJob(EmbeddingSimilarityOptions, Job):
    """One group to compare."""

    group: Id
    helper: Id | None = Field(
        default=None, description="id of the helper; default: compare runs only"
    )
    first_step: StepNumber = 0
    last_step: StepNumber
    seed: Seed


@dataclass(frozen=True)
class Anchors:
    """Which tokens describe (``anchor_ids``), which are described (``token_ids``); both sorted."""

    anchor_ids: list[int]
    token_ids: list[int]
    #: Anchors per kind: fewer than wanted where the vocabulary has fewer.
    numbers: dict[str, int]


def choose_anchors(
    vocabulary: list[CanonicalToken], per_kind: int, seed: int, known: Container[int] | None = None
) -> Anchors:
    """Draw ``per_kind`` word-start and as many continuation tokens; compare all text tokens.

    Byte and special tokens are left out by kind, wherever their ids lie, and so are tokens that are
    not ``known`` (none: all are). Raises :class:`RevocabError` where no token is left.
    """
    import torch

    generator = torch.Generator().manual_seed(seed)
    allowed = range(len(vocabulary)) if known is None else known
    of_kind: dict[str, list[int]] = {kind: [] for kind in ANCHOR_KINDS}
    for number, token in enumerate(vocabulary):
        if number in allowed and token.kind in of_kind:
            of_kind[token.kind].append(number)
    chosen = {
        kind: [ids[at] for at in torch.randperm(len(ids), generator=generator)[:per_kind]]
        for kind, ids in of_kind.items()
    }
    anchor_ids, token_ids = (sorted(chain(*ids.values())) for ids in (chosen, of_kind))
    if not anchor_ids:
        where = "the target vocabulary has" if known is None else "helper and target share"
        raise RevocabError(f"similarity: {where} no text token to use as anchor")
    return Anchors(anchor_ids, token_ids, {kind: len(ids) for kind, ids in chosen.items()})


def relative_representation(
    matrix_VD: torch.Tensor, anchors: Anchors, relative: Relative
) -> torch.Tensor:
    """Return each compared token's products with the anchors, as unit rows (float32, [T, A]), since
    only cosines between them are compared; zero rows stay zero.

    ``dot``: raw products, as the released code; ``cosine``: as Moschella et al.
    """
    import torch

    # The compared rows only: A products each, never a V by V matrix.
    rows_TD = matrix_VD[anchors.token_ids].float()
    anchors_AD = matrix_VD[anchors.anchor_ids].float()
    if relative == "cosine":
        rows_TD = torch.nn.functional.normalize(rows_TD, dim=1)
        anchors_AD = torch.nn.functional.normalize(anchors_AD, dim=1)
    return torch.nn.functional.normalize(rows_TD @ anchors_AD.T, dim=1)


def similarity(first_TA: torch.Tensor, second_TA: torch.Tensor) -> float:
    """Return the mean cosine of two models' relative representations (unit rows), in -1 … 1."""
    return float((first_TA * second_TA).sum(dim=1).double().mean())


@dataclass(frozen=True)
class RunModels:
    """A run's id and its model folders before and after training."""

    run: str
    first: Path
    last: Path


def measure(
    job: EmbeddingSimilarityJob,
    runs: list[RunModels],
    target_tokenizer: Path,
    helper: Path | None,
    pairs: Path | None = None,
) -> tuple[list[dict[str, Any]], Anchors, Anchors]:
    """Return the rows of ``similarity.csv`` for one group, the anchors between runs, the helper's.

    Input embeddings are compared: each run with the helper (if there is one; ``pairs`` is what it
    shares with the target, none: found here) at both steps, then each run with each other one (both
    orders) at the last step. With a helper of another tokenizer runs are compared over the tokens
    that it shares with the target, anchors included. Raises :class:`RevocabError` naming rows that
    are not finite.
    """
    from revocab.initialise.reading.helper import Helper
    from revocab.vocabulary.tokenizers.canonical import canonical_vocabulary
    from revocab.vocabulary.tokenizers.load import load_tokenizer

    tokenizer = load_tokenizer(target_tokenizer)
    vocabulary = canonical_vocabulary(tokenizer)
    anchors = of_helper = choose_anchors(vocabulary, job.anchors, job.seed)

    def represent(folder: Path, matrix_VD: torch.Tensor, chosen: Anchors) -> torch.Tensor:
        if broken := broken_rows(matrix_VD):
            raise RevocabError(
                f"{folder}: {len(broken)} embeddings are NaN or infinite (rows"
                f" {', '.join(map(str, broken[:8]))}); compare another checkpoint"
            )
        return relative_representation(matrix_VD, chosen, job.relative)

    def of_run(folder: Path, chosen: Anchors) -> torch.Tensor:
        return represent(folder, ModelFolder(folder).matrix("input", len(vocabulary)), chosen)

    rows, last = [], {run.run: of_run(run.last, anchors) for run in runs}
    if helper is not None:
        opened = Helper.open(helper, tokenizer, pairs=pairs)
        if opened.pairs is not None:
            shared = {*opened.pairs.target_ids.tolist()}
            of_helper = choose_anchors(vocabulary, job.anchors, job.seed, shared)
        helper_TA = represent(helper, opened.matrix("input"), of_helper)
        for run in runs:
            first_TA = of_run(run.first, of_helper)
            last_TA = last[run.run] if of_helper is anchors else of_run(run.last, of_helper)
            for step, run_TA in ((job.first_step, first_TA), (job.last_step, last_TA)):
                row = (job.helper, step, similarity(run_TA, helper_TA))
                rows.append(("helper", job.group, run.run, *row))
    for first, second in permutations(last, 2):
        row = (second, job.last_step, similarity(last[first], last[second]))
        rows.append(("between", job.group, first, *row))
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows], anchors, of_helper


def measure_to(
    out: Path,
    job: EmbeddingSimilarityJob,
    runs: list[RunModels],
    tokenizer: Path,
    helper: Path | None = None,
    pairs: Path | None = None,
) -> None:
    models = [folder for run in runs for folder in (run.first, run.last)]
    output = OutputFolder(out, KIND, [tokenizer, helper, pairs, *models])
    rows, anchors, of_helper = measure(job, runs, tokenizer, helper if job.helper else None, pairs)
    described = {key: getattr(job, key) for key in ("group", "helper", "relative", "seed")}
    described |= {"anchors_wanted": job.anchors, "anchors": anchors.numbers}
    described |= {"tokens_compared": len(anchors.token_ids), "libraries": library_versions()}
    if of_helper is not anchors:
        described["helper_anchors"] = of_helper.numbers
        described["helper_tokens_compared"] = len(of_helper.token_ids)
    with output.replaced() as folder:
        write_csv(folder / "similarity.csv", COLUMNS, rows)
        write_json(folder / "manifest.json", described)
