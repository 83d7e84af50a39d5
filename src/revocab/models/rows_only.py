"""Embedding and head of a Hub repository alone: of its shards, those that hold the two matrices.

Nothing of its code is run, so any architecture will do, and a pickle is read as tensors only
(torch's ``weights_only``). What is written is a Llama without blocks that has these matrices:
every reader of a model folder reads it, and none can take it for the model itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from revocab.errors import RevocabError, refuse
from revocab.heavy_types import Tensor
from revocab.io import write_json
from revocab.models.folder import HEADS, read_settings
from revocab.models.hub_or_folder import TOKENIZER_PATTERNS, snapshot
from revocab.models.weights.files import read_tensor, stored_parts
from revocab.models.weights.index import PICKLED, WEIGHTS, index_of, read_index

#: How the names of embeddings end, in the architectures of public models.
EMBEDDINGS = (
    "embed_tokens.weight",
    "wte.weight",
    "word_embeddings.weight",
    "tok_embeddings.weight",
    "embed_in.weight",
)
#: What describes the repository's own model, which is not written.
_NOT_KEPT = (index_of(WEIGHTS), index_of(PICKLED), "generation_config.json")
_DOCUMENTS = (*TOKENIZER_PATTERNS, "README.md", "LICENSE*")


def fetch_rows(name: str, commit: str, folder: Path) -> None:
    """Write the embedding and head of a repository, and its tokenizer, as a model folder.

    Raises :class:`RevocabError` where no weights are there, or where embedding or head are not
    told by their names.
    """
    fetch = partial(snapshot, name, commit, "model", folder)
    fetch(_DOCUMENTS)
    placed = _index(folder)
    if placed is None:
        for single in (WEIGHTS, PICKLED):
            fetch([single])
            if (folder / single).is_file():
                break
        else:
            raise RevocabError(
                f"{name}: has neither {WEIGHTS} nor {PICKLED}, whole or with an index; name another"
                " repository, or convert it"
            )
        whole = folder / single
        names = _unpickled(whole) if single == PICKLED else stored_parts(whole)[0]
        placed = dict.fromkeys(names, single)
    wanted = vocabulary_names(folder, placed)
    shards = sorted({placed[tensor] for tensor in wanted.values()})
    fetch(shards)
    rows = {which: read_rows(folder / placed[tensor], tensor) for which, tensor in wanted.items()}
    for file in (*shards, *_NOT_KEPT):
        (folder / file).unlink(missing_ok=True)
    _write(folder, rows)


def _index(folder: Path) -> dict[str, str] | None:
    for weights in (WEIGHTS, PICKLED):
        path = folder / index_of(weights)
        if path.is_file():
            return read_index(path, Path(weights).suffix)["weight_map"]
    return None


def vocabulary_names(folder: Path, stored: Iterable[str]) -> dict[str, str]:
    """Return the stored names of ``input`` and, where it is another matrix, ``output``.

    Where ``config.json`` does not say that the two are tied, a head that is stored is one.
    """
    names = list(stored)
    named = {"input": list(_ending(names, EMBEDDINGS)), "output": list(_ending(names, HEADS))}
    tied = read_settings(folder / "config.json").get("tie_word_embeddings")
    if tied or (tied is None and not named["output"]):
        del named["output"]
    problems = [
        f"{folder}: {len(places)} tensors ({', '.join(places) or 'none'}) are called as"
        f" {what} matrices are ({', '.join(ends)}), and one is needed; take a model whose"
        " architecture transformers knows, without vocabulary_only"
        for (what, places), ends in zip(named.items(), (EMBEDDINGS, HEADS), strict=False)
        if len(places) != 1
    ]
    refuse(problems)
    return {which: name for which, (name,) in named.items()}


def _ending(names: Iterable[str], ends: tuple[str, ...]) -> Iterator[str]:
    return (name for name in names if f".{name}".endswith(tuple(f".{end}" for end in ends)))


def read_rows(path: Path, name: str) -> Tensor:
    """Return one tensor of a shard, in its stored dtype."""
    if path.suffix == ".safetensors":
        return read_tensor(path, name)
    tensors = _unpickled(path)
    if name not in tensors:
        raise RevocabError(f"{path}: does not hold {name}, which its index has there")
    return tensors[name]


def _unpickled(path: Path) -> dict[str, Any]:
    """Return a shard's tensors, mapped into memory where its layout allows; never other objects."""
    import pickle

    import torch

    try:
        try:
            return torch.load(path, map_location="cpu", weights_only=True, mmap=True)
        except RuntimeError:  # the layout of torch before 1.6, which cannot be mapped
            return torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError, ValueError) as error:
        raise RevocabError(
            f"{path}: not a file of tensors alone ({str(error).splitlines()[0]}); it is not read:"
            " take a repository with safetensors"
        ) from None


def _write(folder: Path, rows: dict[str, Tensor]) -> None:
    """Write matrices as a Llama without blocks: its last norm, which changes no row, is ones."""
    import torch
    from safetensors.torch import save_file

    size, width = rows["input"].shape
    tensors = {
        "model.embed_tokens.weight": rows["input"],
        "model.norm.weight": torch.ones(width, dtype=rows["input"].dtype),
    }
    if "output" in rows:
        tensors["lm_head.weight"] = rows["output"]
    kept = {name: tensor.clone().contiguous() for name, tensor in tensors.items()}
    save_file(kept, folder / WEIGHTS, metadata={"format": "pt"})
    settings = read_settings(folder / "config.json")
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "num_hidden_layers": 0,
        "num_attention_heads": 1,
        "hidden_size": width,
        "intermediate_size": 1,
        "vocab_size": size,
        "tie_word_embeddings": "output" not in rows,
        **{key: value for key, value in settings.items() if key.endswith("_token_id")},
    }
    write_json(folder / "config.json", config)
