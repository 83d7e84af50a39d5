"""Fetch a model: a snapshot of a Hub repository, a copy of a local folder, or a GGUF's folder.

Of a helper, embedding and head alone may be fetched: of its shards, those that hold the two. No
code is run, so any architecture will do, and a pickle is read as tensors only (``weights_only``).
What is written is a Llama without blocks: every reader reads it, and none takes it for the model.
"""

from __future__ import annotations

import pickle
import shutil
import sys
from collections import Counter
from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import Field

from revocab.closed import HubId, Job, Revision
from revocab.errors import RevocabError, refuse
from revocab.heavy_types import Tensor
from revocab.hub import resolve
from revocab.io import sha256, write_json
from revocab.links import link_or_copy
from revocab.marker import is_whole, mark_file, read_marker
from revocab.models.folder import (
    HEADS,
    ModelFolder,
    copy_documents,
    files_of,
    link_weights,
    read_settings,
)
from revocab.models.hub_or_folder import TOKENIZER_PATTERNS, snapshot
from revocab.models.weights import PICKLED, WEIGHTS, read_index, read_tensor, stored_parts
from revocab.output import OutputFolder, check_files
from revocab.vocabulary.tokenizers.alphabets import LLAMA_CPP_SPLITTERS, LlamaSplitter

#: How the names of embeddings end, in the architectures of public models.
EMBEDDINGS = (
    "embed_tokens.weight",
    "wte.weight",
    "word_embeddings.weight",
    "tok_embeddings.weight",
    "embed_in.weight",
)


def origin_of_gguf(file: Path) -> dict[str, Any]:
    """Return a GGUF's name, hash, how many of its tensors are of each type, and by which name
    llama.cpp knows how its byte-level vocabulary splits text; None for another vocabulary.

    Raises :class:`RevocabError` for what is no GGUF, or is cut short.
    """
    from gguf import GGUFReader

    with file.open("rb") as opened:
        if opened.read(4) != b"GGUF":
            raise RevocabError(f"{file}: not a GGUF file")
    try:
        reader = GGUFReader(file)
        types = Counter(tensor.tensor_type.name for tensor in reader.tensors)
        model, splitter = (
            field.contents() if (field := reader.get_field(f"tokenizer.ggml.{key}")) else None
            for key in ("model", "pre")
        )
    except Exception as error:  # the reader checks nothing: a damaged file fails anywhere
        reason = " ".join(str(error).split())[:200]
        raise RevocabError(f"{file}: a damaged GGUF ({type(error).__name__}: {reason})") from error
    return {
        "gguf": file.name,
        "sha256": sha256(file),
        "quantisation": dict(sorted(types.items())),
        "splitter": splitter if model == "gpt2" else None,
    }


def unpack_gguf(file: Path, splitter: LlamaSplitter | None, out: Path) -> None:
    """Write config, tokenizer and bfloat16 weights of a GGUF into the folder ``out``.

    Text is split as ``splitter`` does, if there is one: transformers takes GPT-2's words for every
    byte-level vocabulary. Raises :class:`RevocabError` for a file that transformers does not read.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    place: dict[str, Any] = {"pretrained_model_name_or_path": file.parent, "gguf_file": file.name}
    try:
        tokenizer = AutoTokenizer.from_pretrained(**place, trust_remote_code=False)
        model: Any = AutoModelForCausalLM.from_pretrained(
            **place,
            trust_remote_code=False,
            dtype=torch.bfloat16,
            quantization_config=GgufConfig(dequantize=True),
        )
    except Exception as error:  # an architecture or a tokenizer that it does not know
        reason = " ".join(str(error).split())[:300]
        raise RevocabError(
            f"{file}: transformers does not read this GGUF ({type(error).__name__}: {reason});"
            " take the model's safetensors instead"
        ) from error
    model.hf_quantizer, model.is_quantized = None, False  # all is unpacked, to be written so
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.config.architectures = [type(model).__name__]
    model.save_pretrained(out)
    if splitter is not None:
        backend = tokenizer.backend_tokenizer
        backend.pre_tokenizer = splitter.pre_tokenizer()
        backend.model.ignore_merges = splitter.takes_words
    tokenizer.save_pretrained(out)


def fetch_rows(name: str, commit: str, folder: Path) -> None:
    """Write the embedding and head of a repository, and its tokenizer, as a model folder.

    Raises :class:`RevocabError` where no weights are there, or where embedding or head are not
    told by their names.
    """
    fetch = partial(snapshot, name, commit, "model", folder)
    fetch([*TOKENIZER_PATTERNS, "README.md", "LICENSE*"])
    indices = {folder / f"{weights}.index.json": weights for weights in (WEIGHTS, PICKLED)}
    index = next((path for path in indices if path.is_file()), None)
    if index is not None:
        placed = read_index(index, Path(indices[index]).suffix)["weight_map"]
    else:
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
    # The indices and settings are those of the repository's own model, which is not written.
    for file in (*shards, *indices, "generation_config.json"):
        (folder / file).unlink(missing_ok=True)
    _write_rows(folder, rows)


def vocabulary_names(folder: Path, stored: Collection[str]) -> dict[str, str]:
    """Return the stored names of ``input`` and, where it is another matrix, ``output``.

    Where ``config.json`` does not say that the two are tied, a head that is stored is one.
    """
    ends = {"input": EMBEDDINGS, "output": HEADS}
    named = {
        which: [n for n in stored if f".{n}".endswith(tuple(f".{end}" for end in own))]
        for which, own in ends.items()
    }
    tied = read_settings(folder / "config.json").get("tie_word_embeddings")
    if tied or (tied is None and not named["output"]):
        del named["output"]
    refuse(
        f"{folder}: {len(names)} tensors ({', '.join(names) or 'none'}) are called as {which}"
        f" matrices are ({', '.join(ends[which])}), and one is needed; take a model whose"
        " architecture transformers knows, without vocabulary_only"
        for which, names in named.items()
        if len(names) != 1
    )
    return {which: name for which, (name,) in named.items()}


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


def _write_rows(folder: Path, rows: dict[str, Tensor]) -> None:
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
    tensors = {name: tensor.clone().contiguous() for name, tensor in tensors.items()}
    save_file(tensors, folder / WEIGHTS, metadata={"format": "pt"})
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


class FetchJob(Job):
    """A model on the Hub; nothing where it is a local folder."""

    hub: HubId | None = Field(default=None, description="Hub repository")
    revision: Revision | None = Field(default=None, description="Hub branch, tag or commit")
    vocabulary_only: bool = Field(
        default=False,
        exclude_if=lambda value: not value,
        description="fetch embedding, head and tokenizer alone, of whatever architecture, for a "
        "helper: of its shards, those that hold the two",
    )


def _from_hub(origin: dict[str, Any], output: OutputFolder, only: dict[str, bool]) -> None:
    """Download a snapshot unless it is there, whole, at the same commit."""
    model = {"hub": origin["hub"], "commit": origin["commit"], **only}
    marker = read_marker(output.path)
    files = marker.files if marker is not None and marker.of == model else {}
    if files and is_whole(output.path):
        return
    there = [name for name in files if (output.path / name).is_file()]
    with output.replaced(of=model, resume=True) as folder:
        for name in there:
            if not (folder / name).exists():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                link_or_copy(output.path / name, folder / name)
        if only:
            fetch_rows(origin["hub"], origin["commit"], folder)
        else:
            snapshot(origin["hub"], origin["commit"], "model", folder)
        check_snapshot(folder, folder)
        shutil.rmtree(folder / ".cache", ignore_errors=True)  # of the Hub's client, with times


def _from_gguf(file: Path, output: OutputFolder) -> dict[str, Any]:
    """Write the folder of a GGUF unless it is there, whole; return where it is from."""
    origin = origin_of_gguf(file)
    marker = read_marker(output.path)
    if marker is None or marker.of != origin or not is_whole(output.path):
        splitter = next((s for s in LLAMA_CPP_SPLITTERS if s.name == origin["splitter"]), None)
        with output.replaced(of=origin) as folder:
            unpack_gguf(file, splitter, folder)
            check_snapshot(folder, output.path)
        if splitter is None:
            print(
                f"{output.path}: transformers rebuilt its tokenizer of the GGUF's tokens; to see if"
                f" it cuts text as llama.cpp does: revocab verify {output.path} --gguf {file}",
                file=sys.stderr,
            )
    return origin


def check_snapshot(folder: Path, named: Path) -> None:
    """Raise :class:`RevocabError`, about ``named``, unless ``folder`` is a whole model."""
    model = ModelFolder(folder)
    missing = sorted(name for name in model.files if not (folder / name).is_file())
    if missing:
        raise RevocabError(
            f"{named}: {', '.join(missing)} was not downloaded; run the same command again"
        )
    _ = model.tensors  # raises where shards are damaged, or not those of the index
    if not files_of(folder, "tokenizer"):
        raise RevocabError(f"{named}: the model comes without a tokenizer; choose another one")


def fetch_model(snapshot: Path, job: FetchJob, path: Path | None = None) -> None:
    """Fill ``snapshot``, then write ``manifest.json`` beside it; refuse what is not safetensors.

    Raises :class:`RevocabError` for all that :class:`ModelFolder` refuses, for weights that are
    damaged or did not all arrive, for a model without a tokenizer, and where another folder's
    manifest, or the user's, stands beside the snapshot.
    """
    output = OutputFolder(snapshot, "model snapshot", [path])
    manifest = snapshot.parent / "manifest.json"
    check_files(manifest)
    if manifest.exists() and read_marker(snapshot) is None:
        raise RevocabError(
            f"{manifest}: exists, but the snapshot that it describes, {snapshot}, does not; remove"
            " it, or give a snapshot in another folder"
        )
    if (job.hub is None) == (path is None):
        raise RevocabError("give one of --hub (a Hub id) and --path (a folder, or a GGUF file)")
    if path is not None:
        if job.vocabulary_only:
            raise RevocabError("--vocabulary-only is for --hub; a folder is taken whole")
        origin: dict[str, Any] = {"path": path.name}
        if path.suffix == ".gguf" and path.is_file():
            origin = _from_gguf(path, output)
        else:
            source = ModelFolder(path)
            _ = source.tensors  # raises where shards are missing, damaged, or not the index's
            with output.replaced() as folder:
                copy_documents(source, folder)
                link_weights(source, folder)
                check_snapshot(folder, output.path)
    else:
        only = {"vocabulary_only": True} if job.vocabulary_only else {}
        origin = {**resolve(job.hub, job.revision, "model"), **only}
        _from_hub(origin, output, only)
    model = ModelFolder(snapshot)
    sizes = {name: (snapshot / name).stat().st_size for name in model.files}
    config = sha256(snapshot / "config.json")
    write_json(manifest, {**origin, "config": config, "files": sizes})
    mark_file(manifest)  # which no marker of the snapshot has
