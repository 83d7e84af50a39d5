"""Held-out loss of a model on the windows that ``pack_heldout`` wrote."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from revocab import io
from revocab.errors import RevocabError, refuse
from revocab.marker import HELDOUT_TOKENS, read_manifest
from revocab.output import check_files
from revocab.training.data.packed_rows import misfits
from revocab.training.loss import summed_loss
from revocab.training.records import COLUMNS, HELDOUT
from revocab.vocabulary.tokenizers.identity import foreign_ids

#: Tokens (with padding) put through the model at once.
CPU_BATCH_TOKENS = 8192
GPU_BATCH_TOKENS = 65536
OUT_OF_MEMORY = (
    "out of memory with a single window of held-out text beside weights and moments; use a device"
    " with more memory, or fsdp on several, or shorter windows (sequence_length of the recipe)"
)


@dataclass(frozen=True)
class HeldoutCorpus:
    """Windows of one corpus, longest first: ``input_ids`` [W, L], ``lengths`` [W], int32.

    Of conversations also ``answers`` [W, L], booleans: the tokens that count.
    """

    name: str
    language: str
    bytes: int
    tokens: int
    input_ids: torch.Tensor
    lengths: torch.Tensor
    answers: torch.Tensor | None = None


def open_heldout(folder: str | Path) -> tuple[list[HeldoutCorpus], dict[str, Any]]:
    """Load a held-out folder: its corpora in manifest order, and the manifest.

    Windows are sorted by length, so that batches carry little padding. Raises
    :class:`RevocabError` if a file is damaged.
    """
    folder = Path(folder)
    keys = ("corpora", "sequence_length")
    manifest = read_manifest(folder, HELDOUT_TOKENS, keys, "revocab pack_heldout")
    corpora = []
    for name, described in manifest["corpora"].items():
        file = folder / f"{name}.safetensors"
        if not file.is_file() or io.sha256(file) != described["sha256"]:
            raise RevocabError(
                f"{file}: missing, or its checksum differs from the manifest; delete {folder} and"
                " pack again"
            )
        arrays = load_file(file)
        order = torch.argsort(arrays["lengths"], descending=True, stable=True)
        windows: dict[str, Any] = {key: rows[order] for key, rows in arrays.items()}
        sizes = {key: described[key] for key in ("language", "bytes", "tokens")}
        corpora.append(HeldoutCorpus(name, **sizes, **windows))
    return corpora, manifest


def heldout_losses(
    model: Any, corpora: list[HeldoutCorpus], *, through_forward: bool = False
) -> list[float]:
    """Return each corpus's summed loss in nats, computed in float32 for every precision.

    Of several processes (torch.distributed) each computes every n-th batch; all return the same
    sums, added in the order of one process. ``through_forward`` calls the model itself, whose
    forward is :func:`revocab.training.loss.next_token_loss`: sharded weights (FSDP) are put
    together by that call only, in the precision of their training. All processes then make equally
    many calls, since each is a meeting.
    """
    device = next(model.parameters()).device
    budget = CPU_BATCH_TOKENS if device.type == "cpu" else GPU_BATCH_TOKENS
    work: list[tuple[int, HeldoutCorpus, slice]] = []
    for number, corpus in enumerate(corpora):
        begin = 0
        while begin < len(corpus.lengths):
            end = begin + max(1, budget // int(corpus.lengths[begin]))
            end = min(end, len(corpus.lengths))
            work.append((number, corpus, slice(begin, end)))
            begin = end
    rank, processes = 0, 1
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        rank, processes = torch.distributed.get_rank(), torch.distributed.get_world_size()
    rounds = -(-len(work) // processes)  # the last one is filled up with batches done already
    mine = [work[(turn * processes + rank) % len(work)] for turn in range(rounds)]
    training = model.training
    model.eval()
    sums = torch.zeros(len(mine), dtype=torch.float64, device=device)
    for place, (_, corpus, batch) in enumerate(mine):
        if through_forward:
            with torch.no_grad():
                ids, lengths, learned = windows(corpus, batch, device)
                sums[place] = model(input_ids=ids, lengths=lengths, learned=learned)
        else:
            sums[place] = batch_loss(model, corpus, batch.start, batch.stop)
    model.train(training)
    # The first value of every process, then the second of each, and so on.
    ordered = sums.tolist()
    if processes > 1:
        everyone = [torch.zeros_like(sums) for _ in range(processes)]
        torch.distributed.all_gather(everyone, sums)
        ordered = torch.stack(everyone, dim=1).flatten().tolist()[: len(work)]
    totals = [0.0] * len(corpora)
    for (number, _, _), value in zip(work, ordered, strict=True):
        totals[number] += value
    return totals


def windows(
    corpus: HeldoutCorpus, batch: slice, device: torch.device
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
    """Return ids, lengths and answers of some windows, cut to the longest of them."""
    width = int(corpus.lengths[batch].max())
    ids = corpus.input_ids[batch, :width].to(device, torch.int64)
    learned = None if corpus.answers is None else corpus.answers[batch, :width].to(device)
    return ids, corpus.lengths[batch].to(device), learned


def batch_loss(model: Any, corpus: HeldoutCorpus, begin: int, end: int) -> torch.Tensor:
    """Return the summed loss of windows ``begin`` to ``end``, half by half where memory ends.

    The sum of two halves is that of the whole but for rounding. Raises :class:`RevocabError` where
    a single window is too much.
    """
    device = next(model.parameters()).device
    try:
        return summed_loss(model, *windows(corpus, slice(begin, end), device))
    except torch.OutOfMemoryError as error:
        if end - begin == 1:
            raise RevocabError(OUT_OF_MEMORY) from error
    # Here, since what the error holds of the failed pass is free only outside of that block.
    torch.cuda.empty_cache()
    middle = (begin + end) // 2
    return batch_loss(model, corpus, begin, middle) + batch_loss(model, corpus, middle, end)


def check_heldout(rows: list[tuple[Any, ...]]) -> None:
    """Raise :class:`RevocabError` if a loss in rows of :func:`heldout_rows` is not finite."""
    broken = [name for _, name, _, loss, *_ in rows if not math.isfinite(loss)]
    if broken:
        step = rows[0][0]
        raise RevocabError(
            f"step {step}: held-out loss of {', '.join(broken)} is not finite, though the weights"
            + (
                " are: the model overflows on this text; take another checkpoint"
                if step == 0
                else " at the start were: training diverged; lower learning_rate, or raise"
                " warmup_steps; checkpoints and state of earlier steps are kept"
            )
        )


def heldout_rows(
    model: Any, corpora: list[HeldoutCorpus], step: int, *, through_forward: bool = False
) -> list[tuple[Any, ...]]:
    """Return the rows of ``heldout.csv`` for ``step``: loss per token (nats) and bits per byte."""
    sums = heldout_losses(model, corpora, through_forward=through_forward)
    rows = []
    for corpus, nats in zip(corpora, sums, strict=True):
        losses = (nats / corpus.tokens, nats / (corpus.bytes * math.log(2)))
        rows.append((step, corpus.name, corpus.language, *losses, corpus.tokens, corpus.bytes))
    return rows


def measure_heldout(
    models: Mapping[int, Path], heldout: Path, out: Path, device: str = "auto", gpus: int = 1
) -> None:
    """Write the table of held-out losses of finished models, as training writes it of its own.

    ``models`` are folders by step, loaded one after the other in float32. Raises
    :class:`RevocabError` for damaged folders, for windows that do not suit a model, and for losses
    that are not finite.
    """
    from transformers import AutoConfig

    from revocab.device import choose_device
    from revocab.models.load import load_causal_lm

    check_files(out, inputs=[heldout, *models.values()])
    corpora, manifest = open_heldout(heldout)
    configs: dict[int, Any] = {}
    problems: list[str] = []
    for step, folder in sorted(models.items()):
        configs[step] = AutoConfig.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False
        )
        problems += foreign_ids(folder, {heldout: ("held-out windows", manifest)})
        problems += misfits("held-out windows", manifest, configs[step], folder)
    refuse(problems)
    where = choose_device(device)
    rows: list[tuple[Any, ...]] = []
    for step, config in configs.items():
        model = load_causal_lm(
            models[step], dtype=torch.float32, config=config, device=where, gpus=gpus
        )
        of_step = heldout_rows(model, corpora, step)
        check_heldout(of_step)
        rows += of_step
    columns = COLUMNS[HELDOUT]
    io.write_csv(out, columns, [dict(zip(columns, row, strict=True)) for row in rows])
