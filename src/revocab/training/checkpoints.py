"""Exported checkpoints: whole Hugging Face folders in the source's dtype, written atomically.

The best one, that of the lowest held-out loss, has a name of its own, so that what follows can be
planned before anybody knows which step it is. Only corpora that are trained on count, so that a
group of languages is not judged by another's.

Weights that are sharded over processes (FSDP) are exported one whole tensor at a time: a model that
fits no single process is put together for none. The first process writes, and holds the tensor that
it is writing.

What a checkpoint says of itself is ``provenance.json`` and the card made of it. Its history begins
with the base model and has an entry for every vocabulary and every training since. Nothing in it
is a time, a machine or a path: equal trainings have equal bytes.
"""

from __future__ import annotations

import csv
import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from revocab.closed import BEST
from revocab.errors import RevocabError
from revocab.io import write_json, write_text
from revocab.languages import language_label
from revocab.links import copy_present, link_or_copy
from revocab.marker import MARKER
from revocab.models import origin
from revocab.models.findings import broken_rows, tensor_problem
from revocab.models.folder import ModelFolder, files_of
from revocab.models.token_rows import filled
from revocab.models.weights import (
    BLOCK_BYTES,
    FLOATS,
    INDEX,
    WEIGHTS,
    Part,
    read_header,
    tensor_bytes,
    write_parts,
)
from revocab.output import OutputFolder, files_below, remove_own
from revocab.training.records import COLUMNS, HELDOUT
from revocab.vocabulary.tokenizers.file_ids import TEMPLATES

if TYPE_CHECKING:
    import torch

#: What a checkpoint's folder claims to be.
KIND = "checkpoint"
BEST_FOLDER = Path("checkpoints", BEST)
#: Where transformers looks for a tokenizer's chat template before it looks anywhere else.
CHAT_TEMPLATE = "chat_template.jinja"
#: Largest file of weights, in bytes: that of transformers' own folders.
FILE_BYTES = 5 * 10**9
#: What activation checkpointing puts into the names of what it wraps.
WRAPPER = "_checkpoint_wrapped_module."
CARD = "README.md"
TRAINING = "Training"
#: What a card says of the rows of a corpus.
COUNTED = ("rows", "tokens", "bytes", "documents", "passes")
#: What it says of an entry that is no training, where the entry has it.
DESCRIBED = ("name", "method", "change", "options", "architecture", "seed")
CARD_TEMPLATE = Path(__file__).with_name("card.md.j2")


def weight_files(model_folder: Path) -> list[Path]:
    """Return a model folder's safetensors files, sorted; with an index, those that it names.

    Raises :class:`RevocabError` if there are none, and as :class:`ModelFolder` does.
    """
    if not any(model_folder.glob("*.safetensors")):
        raise RevocabError(f"{model_folder}: no *.safetensors; give a folder in safetensors format")
    return [model_folder / name for name in ModelFolder(model_folder).files]


def stored_dtype(model_folder: Path) -> torch.dtype:
    """Return the dtype that most of the weights are stored in, read from the files' headers."""
    import torch

    stored = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}
    sizes: Counter[str] = Counter()
    for file in weight_files(model_folder):
        header, _ = read_header(file)
        for name, entry in header.items():
            if name != "__metadata__":
                begin, end = entry["data_offsets"]
                sizes[entry["dtype"]] += end - begin
    commonest = max(sorted(sizes), key=sizes.__getitem__)
    if commonest not in stored:
        raise RevocabError(
            f"{model_folder}: weights stored as {commonest}; give one of {', '.join(stored)}"
        )
    return getattr(torch, stored[commonest])


def step_folder(out: Path, step: int) -> Path:
    return out / "checkpoints" / f"step-{step:06d}"


def adapter_folder(out: Path, step: int) -> Path:
    return out / "adapters" / step_folder(out, step).name


def not_finite(folder: Path, which: str, dtype: torch.dtype, *, diverged: bool) -> RevocabError:
    reason = f"too large for {dtype}, the source's dtype: save the source in float32"
    if diverged:
        reason = "training diverged: lower learning_rate, or raise warmup_steps"
    return RevocabError(f"{folder}: not exported; not finite: {which}; {reason}")


def write_companions(source: Path, target: Path, texts: Mapping[str, str]) -> None:
    """Copy what makes a folder complete beside the weights, as it is.

    ``texts``, by file, are new or stand in its place; a chat template there is the only one.
    """
    names = files_of(source, "tokenizer", "written", "body")
    if CHAT_TEMPLATE in texts:
        names = [name for name in names if not name.startswith(TEMPLATES)]
    copy_present(source, names, target)
    for name, text in texts.items():
        write_text(target / name, text)


def export(
    model: Any,
    state: dict[str, torch.Tensor],
    dtype: torch.dtype,
    source_folder: Path,
    target_folder: Path,
    texts: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Write ``state``, the weights, cast to ``dtype``, with the companions of ``source_folder``.

    Tied matrices stay one tensor. Configuration and tokenizer are the source's own bytes: training
    changes nothing but weights; ``texts`` are files beside them, such as a card, or a chat template
    that they have learned in place of the source's. Raises :class:`RevocabError`, and writes
    nothing, if a weight is not finite, or is not once it is cast.
    """
    trained = state
    cast: dict[int, torch.Tensor] = {}
    state = {
        name: cast.setdefault(tensor.data_ptr(), tensor.detach().to("cpu", dtype))
        for name, tensor in state.items()
    }
    if problem := tensor_problem(state):
        diverged = bool(tensor_problem(trained))
        raise not_finite(target_folder, problem, dtype, diverged=diverged)
    with OutputFolder(target_folder, KIND, [source_folder]).replaced(part=True) as temporary:
        model.save_pretrained(temporary, state_dict=state)
        write_companions(source_folder, temporary, texts)


def sharded_weights(model: Any) -> dict[str, Any]:
    from torch.distributed.checkpoint.state_dict import get_model_state_dict

    own = [*model.named_parameters(), *model.named_buffers()]
    named = {name.replace(WRAPPER, "") for name, _ in own}
    return {name: shard for name, shard in get_model_state_dict(model).items() if name in named}


def export_sharded(
    weights: Mapping[str, Any],
    dtype: torch.dtype,
    source_folder: Path,
    target_folder: Path,
    *,
    writes: bool,
    file_bytes: int = FILE_BYTES,
    padded: Mapping[str, int] = MappingProxyType({}),
    texts: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Write sharded ``weights`` as :func:`export` writes whole ones.

    The padding of ``padded`` matrices, by name with their rows of tokens, is filled anew
    (:mod:`revocab.models.token_rows`). Every process calls this; the one that ``writes`` makes the
    folder. Raises :class:`RevocabError` in all of them, and writes nothing, if a weight is not
    finite, or is not once it is cast.
    """
    _check_finite(weights, dtype, target_folder)
    files = in_files(weights, dtype, file_bytes, padded)
    if not writes:
        for part in chain(*files.values()):
            for _ in part.blocks(BLOCK_BYTES):
                pass  # a meeting of all processes, at each of which this one hands in its shard
        return
    with OutputFolder(target_folder, KIND, [source_folder]).replaced(part=True) as temporary:
        for name, parts in files.items():
            write_parts(temporary / name, parts, {"format": "pt"})
        if len(files) > 1:
            total = sum(part.size for part in chain(*files.values()))
            places = {part.name: name for name, parts in files.items() for part in parts}
            index = {"metadata": {"total_size": total}, "weight_map": dict(sorted(places.items()))}
            write_json(temporary / INDEX, index)
        write_companions(source_folder, temporary, texts)


def in_files(
    weights: Mapping[str, Any], dtype: torch.dtype, file_bytes: int, padded: Mapping[str, int]
) -> dict[str, list[Part]]:
    groups: list[list[Part]] = [[]]
    size = 0
    for name, tensor in weights.items():
        part = part_of(name, tensor, dtype, padded.get(name))
        if groups[-1] and size + part.size > file_bytes:
            groups.append([])
            size = 0
        groups[-1].append(part)
        size += part.size
    if len(groups) == 1:
        return {WEIGHTS: groups[0]}
    return {
        f"model-{number:05d}-of-{len(groups):05d}.safetensors": parts
        for number, parts in enumerate(groups, 1)
    }


def part_of(name: str, tensor: Any, dtype: torch.dtype, tokens: int | None) -> Part:
    """Return a sharded tensor as a part of a file; its bytes are gathered when they are asked for.

    Rows after the first ``tokens`` are padding, and filled anew.
    All processes must ask for the same parts in the same order.
    """
    stored = dtype if tensor.is_floating_point() else tensor.dtype
    names = {f"torch.{value}": key for key, value in FLOATS.items()}
    known = {**names, "torch.int64": "I64", "torch.int32": "I32", "torch.bool": "BOOL"}
    size = math.prod(tensor.shape) * stored.itemsize

    def blocks(most: int) -> Iterator[memoryview]:
        whole = (tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor).detach()
        if tokens is not None:
            whole = filled(whole, tokens)
        data = tensor_bytes(whole.to("cpu", stored))
        for start in range(0, len(data), most):
            yield data[start : start + most]

    return Part(name, known[str(stored)], list(tensor.shape), size, blocks)


def _check_finite(weights: Mapping[str, Any], dtype: torch.dtype, folder: Path) -> None:
    """Raise :class:`RevocabError` in all processes if the shard of any of them is not finite."""
    import torch

    diverged, too_large = set(), set()
    for name, tensor in weights.items():
        own = (tensor.to_local() if hasattr(tensor, "to_local") else tensor).detach()
        if broken_rows(own):
            diverged.add(name)
        elif own.is_floating_point() and broken_rows(own.to(dtype)):
            too_large.add(name)
    broken: list[Any] = [(diverged, too_large)]
    if torch.distributed.is_initialized():
        broken = [None] * torch.distributed.get_world_size()
        torch.distributed.all_gather_object(broken, (diverged, too_large))
    names = sorted(set[str]().union(*(name for pair in broken for name in pair)))
    if names:
        raise not_finite(folder, ", ".join(names), dtype, diverged=any(rows for rows, _ in broken))


def heldout_means(rows: Iterable[Mapping[str, str]], corpora: Collection[str]) -> dict[int, float]:
    """Return the loss in nats per predicted token over ``corpora`` taken together, by step."""
    sums: dict[int, tuple[float, int]] = {}
    for row in rows:
        if row["corpus"] in corpora:
            loss, tokens = sums.get(int(row["step"]), (0.0, 0))
            size = int(row["tokens"])
            sums[int(row["step"])] = (loss + float(row["loss"]) * size, tokens + size)
    return {step: loss / tokens for step, (loss, tokens) in sums.items()}


def best_step(means: Mapping[int, float], checkpoints: Iterable[int]) -> int:
    """Return the checkpoint with the lowest loss; of equal ones the earliest."""
    return min(sorted(checkpoints), key=lambda step: means.get(step, math.inf))


def keep_best(out: Path, checkpoints: Iterable[int], corpora: Collection[str]) -> dict[str, Any]:
    """Put the best checkpoint beside the others, its files linked; return what a manifest says.

    Losses are those of ``heldout.csv``, in which a resumed training has every step once.
    """
    with (out / HELDOUT).open(encoding="utf-8", newline="") as file:
        means = heldout_means(csv.DictReader(file), corpora)
    step = best_step(means, checkpoints)
    source = step_folder(out, step)
    with OutputFolder(out / BEST_FOLDER, KIND).replaced(part=True) as folder:
        for name in files_below(source):
            if name != Path(MARKER):
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                link_or_copy(source / name, folder / name)
    return {"best": {"step": step, "path": str(BEST_FOLDER), "heldout_loss": means[step]}}


def drop_checkpoints(training: Path, steps: Iterable[int], out: Path) -> None:
    """Remove checkpoints of a training's folder, and write their names to the JSON file ``out``."""
    folders = [step_folder(training, step) for step in steps]
    # Written first: after a kill in the middle, what is missing is known to be missing on purpose.
    write_json(out, {"removed": [folder.as_posix() for folder in folders]})
    for folder in folders:
        hidden = folder.with_name(f".{folder.name}.dropped")  # at no moment half a checkpoint
        if folder.is_dir():
            folder.rename(hidden)
        remove_own(hidden)
        if hidden.is_dir():  # somebody's own files, which stay
            hidden.rename(folder)


def provenance_and_card(
    model: Path,
    settings: Mapping[str, Any],
    packed: Mapping[str, Any],
    checksums: Mapping[str, Any],
    step: int,
    heldout: Iterable[tuple[Any, ...]],
) -> dict[str, str]:
    """Return the texts of a checkpoint's provenance and card, by the names of their files.

    ``model`` is what was trained, ``settings`` and ``packed`` are what the recipe and the manifest
    of the rows say, ``heldout`` rows of ``heldout.csv`` of this ``step``.
    """
    training = {
        "what": TRAINING,
        "model": origin.name_of(model),
        "step": step,
        "tokens": step * settings["batch_size"] * packed["sequence_length"],
        "sequence_length": packed["sequence_length"],
        "recipe": settings,
        "text": {"corpora": packed["corpora"], "languages": sorted(packed.get("languages", {}))},
        "heldout": [dict(zip(COLUMNS[HELDOUT], row, strict=True)) for row in heldout],
        "inputs": checksums,
        "libraries": origin.library_versions(),
    }
    history = [*origin.history_of(model), training]
    return {
        origin.PROVENANCE: json.dumps({"history": history}, indent=2, ensure_ascii=False) + "\n",
        CARD: card(history, origin.licence_of(model)),
    }


def without_steps(recipe: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in recipe.items() if key != "steps"}


def card(history: list[dict[str, Any]], licence: Mapping[str, str]) -> str:
    from jinja2 import Environment

    training = history[-1]
    base = origin.first_name(history) or training["model"]
    head = {
        "base_model": origin.first_id(history),
        "base_model_relation": "finetune",
        "language": training["text"]["languages"],
        **licence,
        "tags": ["vocabulary-adaptation", "revocab"],
        "model-index": _model_index(base, training["heldout"]),
    }
    environment = Environment(trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    environment.filters |= {
        "number": "{:,}".format,
        "language": language_label,
        "plain": _plain,
        "without_steps": without_steps,
    }
    return environment.from_string(CARD_TEMPLATE.read_text(encoding="utf-8")).render(
        head="\n".join(origin.front_matter(head)),
        base=base,
        training=training,
        history=history,
        counted=COUNTED,
        described=DESCRIBED,
        provenance=origin.PROVENANCE,
    )


def _model_index(name: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    from huggingface_hub import EvalResult
    from huggingface_hub.repocard_data import eval_results_to_model_index

    results = [
        EvalResult(
            task_type="text-generation",
            dataset_type=row["corpus"],
            dataset_name=f"{row['corpus']} (held out)",
            metric_type="bits_per_byte",
            metric_value=row["bits_per_byte"],
        )
        for row in rows
    ]
    return eval_results_to_model_index(name, results) if results else []


def _plain(value: Any) -> str:
    """Return a value as one line of Markdown code, or as it is if it is a word or number."""
    if isinstance(value, dict | list):
        return f"`{json.dumps(value, ensure_ascii=False)}`"
    return str(value)
