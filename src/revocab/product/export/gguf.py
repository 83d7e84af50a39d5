"""GGUF, the format of llama.cpp and of all that is built on it, with a Modelfile for Ollama."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from revocab.errors import RevocabError, refuse
from revocab.io import read_json, write_text
from revocab.models.folder import ModelFolder
from revocab.models.load import check_model
from revocab.product.export.architecture import Architecture, architecture_of
from revocab.product.export.cutters import Measured, choose
from revocab.product.export.export import ExportOptions
from revocab.product.export.vocabulary import Vocabulary
from revocab.progress import Say
from revocab.training.chat.template import own_template

if TYPE_CHECKING:
    import torch
    from gguf import GGMLQuantizationType


#: Buffers of older checkpoints, which are computed again.
BUFFERS = ("rotary_emb.inv_freq", "attn.bias", "attn.masked_bias")
#: Values that a block of q8_0 holds.
BLOCK = 32
STORED = {"F64": "f32", "F32": "f32", "F16": "f16", "BF16": "bf16"}


@dataclass(frozen=True)
class Tensor:
    """One tensor of a GGUF."""

    name: str
    shape: tuple[int, ...]
    kind: GGMLQuantizationType
    read: Callable[[], torch.Tensor]

    @property
    def bytes(self) -> int:
        from gguf.constants import GGML_QUANT_SIZES

        values, size = GGML_QUANT_SIZES[self.kind]
        return int(np.prod(self.shape)) // values * size

    def array(self) -> Any:
        from gguf import GGMLQuantizationType, quantize

        values = self.read().float().contiguous().numpy()
        if self.kind == GGMLQuantizationType.F32:
            return values
        # NumPy warns of what the next line refuses.
        with np.errstate(over="ignore"):
            stored = quantize(values, self.kind)
        if self.kind == GGMLQuantizationType.F16 and np.isinf(stored).any():
            raise RevocabError(
                f"{self.name}: holds {np.abs(values).max():.3g}, which float16 does not; give"
                " --outtype bf16"
            )
        return stored


def tensors_of(
    folder: ModelFolder, architecture: Architecture, settings: Any, tokens: int, outtype: str
) -> Iterator[Tensor]:
    """Yield the tensors, embedding first, then the layers.

    Raises :class:`RevocabError` with all tensors that llama.cpp's architecture does not have.
    """
    import gguf

    types = gguf.GGMLQuantizationType
    kind = types[outtype.upper()]
    number = next(key for key, name in gguf.MODEL_ARCH_NAMES.items() if name == architecture.name)
    names = gguf.get_tensor_name_map(number, settings.num_hidden_layers)
    matrices = {*folder.vocabulary_tensors.values()}
    placed: dict[str, str] = {}
    unknown = []
    for name in folder.tensors:
        if name in folder.tied_copies or name.endswith(BUFFERS):
            continue
        there = names.get_name(name, try_suffixes=(".weight", ".bias"))
        if there is None:
            unknown.append(name)
        else:
            placed[there] = name
    refuse(
        f"{folder.path}: {name}: llama.cpp's {architecture.name} has no such tensor"
        for name in sorted(unknown)
    )

    def stored(there: str, name: str) -> Tensor:
        _, shape = folder.tensors[name]
        rows = min(tokens, shape[0]) if name in matrices else shape[0]
        full = (rows, *shape[1:])

        def read() -> torch.Tensor:
            return architecture.stored(folder.read(name)[:rows], name, settings)

        fits = kind != types.Q8_0 or shape[-1] % BLOCK == 0
        matrix = kind if fits else types.F16
        return Tensor(there, full, matrix if len(shape) > 1 else types.F32, read)

    for there, tensor in architecture.tensors(settings).items():
        yield Tensor(there, tuple(tensor.shape), types.F32, tensor.float)

    def in_order(there: str) -> tuple[int, str]:
        layer = re.match(r"blk\.(\d+)\.", there)
        return (int(layer[1]) if layer else -1, there)

    for there in sorted(placed, key=in_order):
        yield stored(there, placed[there])


FILE = "model.gguf"
FILE_TYPES = {"f32": "ALL_F32", "f16": "MOSTLY_F16", "bf16": "MOSTLY_BF16", "q8_0": "MOSTLY_Q8_0"}
#: Progress is told each time so many bytes are written.
TOLD_BYTES = 1 << 30


def write(model: ModelFolder, options: ExportOptions, out: Path, say: Say) -> list[str]:
    import gguf

    architecture, settings = architecture_of(model)
    check_model(model.path)
    vocabulary = Vocabulary.read(model.path)
    outtype: str = options.outtype
    if outtype == "auto":  # that of the embedding
        name = model.vocabulary_tensors["input"]
        dtype = model.parts[model.tensors[name][0]][name].dtype
        if dtype not in STORED:
            raise RevocabError(
                f"{model.path}: {name} is stored as {dtype}; allowed are F16, BF16, F32"
            )
        outtype = STORED[dtype]
    count = len(vocabulary.tokens)
    tensors = [*tensors_of(model, architecture, settings, count, outtype)]
    say(f"comparing tokens of {count:,}")
    measured = choose(vocabulary, model.path, options.lines, options.approximate)
    # What ends an answer: the tokenizer's end, then those of the model.
    named = [vocabulary.tokenizer.eos_token_id]
    for settings_file in ("generation_config.json", "config.json"):
        path = model.path / settings_file
        own = read_json(path).get("eos_token_id") if path.is_file() else None
        named += own if isinstance(own, list) else [own]
    ends = [end for end in dict.fromkeys(named) if end is not None and end < count]
    keys: dict[str, Any] = {
        "general.type": "model",
        "general.name": model.path.resolve().name,
        "general.file_type": int(gguf.LlamaFileType[FILE_TYPES[outtype]]),
        "general.quantization_version": gguf.GGML_QUANT_VERSION,
        f"{architecture.name}.vocab_size": count,
        **{f"{architecture.name}.{key}": v for key, v in architecture.metadata(settings).items()},
        **{f"tokenizer.{key}": v for key, v in vocabulary_keys(vocabulary, measured, ends).items()},
        "revocab.tokens_differ_on": measured.counts(),
        "revocab.tokens_differ_for": list(measured.notes),
    }
    try:
        save(out / FILE, architecture.name, keys, tensors, say)
    except OSError as error:  # NumPy tells neither the file nor that the disk is full
        if error.errno is not None:
            raise
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(out / FILE)) from error
    stops = [f'PARAMETER stop "{vocabulary.tokens[end]}"\n' for end in ends]
    write_text(out / "Modelfile", "".join([f"FROM ./{FILE}\n", *stops]))
    return [*measured.report(), f"run   llama-cli -m {FILE}, or: ollama create NAME -f Modelfile"]


def vocabulary_keys(
    vocabulary: Vocabulary, measured: Measured, ends: Sequence[int]
) -> dict[str, Any]:
    from gguf import TokenType

    cutter, tokenizer = measured.cutter, vocabulary.tokenizer
    first, last = vocabulary.frame()
    keys: dict[str, Any] = {f"ggml.{key}": value for key, value in cutter.keys.items()}
    keys["ggml.tokens"] = vocabulary.tokens
    keys["ggml.token_type"] = [int(TokenType[kind.upper()]) for kind in vocabulary.kinds]
    if cutter.scores is not None:
        keys["ggml.scores"] = cutter.scores
    if cutter.merges:
        keys["ggml.merges"] = [f"{left} {right}" for left, right in vocabulary.plain.merges]
    special = {
        "bos": tokenizer.bos_token_id,
        "unknown": tokenizer.unk_token_id,
        "padding": tokenizer.pad_token_id,
        # Beside the usual end llama.cpp knows one of a turn and one of a message.
        **dict(zip(("eos", "eot", "eom"), ends, strict=False)),
    }
    keys |= {f"ggml.{role}_token_id": id for role, id in special.items() if id is not None}
    keys |= {"ggml.add_bos_token": first, "ggml.add_eos_token": last}
    if template := own_template(tokenizer):
        keys["chat_template"] = template
    return keys


def save(
    file: Path, architecture: str, keys: dict[str, Any], tensors: list[Tensor], say: Say
) -> None:
    """Write a GGUF; of the tensors one is in memory at a time."""
    from gguf import GGUFValueType, GGUFWriter

    kinds = {
        bool: GGUFValueType.BOOL,
        int: GGUFValueType.UINT32,
        float: GGUFValueType.FLOAT32,
        str: GGUFValueType.STRING,
        list: GGUFValueType.ARRAY,
    }
    writer = GGUFWriter(file, architecture)
    try:
        for key, value in keys.items():
            if value != []:  # which has no type
                writer.add_key_value(key, value, kinds[type(value)])
        for tensor in tensors:
            writer.add_tensor_info(
                tensor.name, tensor.shape, np.dtype(np.float32), tensor.bytes, tensor.kind
            )
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
        total, done, before = sum(tensor.bytes for tensor in tensors), 0, 0
        for tensor in tensors:
            writer.write_tensor_data(tensor.array())
            done += tensor.bytes
            if done - before >= TOLD_BYTES or done == total:
                say(f"{done / 1e6:,.1f} of {total / 1e6:,.1f} MB")
                before = done
    finally:
        writer.close()
