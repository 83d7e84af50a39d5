"""GGUF, the format of llama.cpp and of all that is built on it, with a Modelfile for Ollama."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from revocab.chat.template import own_template
from revocab.export.architecture import architecture_of
from revocab.export.export import ExportOptions, Format
from revocab.export.fidelity import Measured, choose, told
from revocab.export.vocabulary import Vocabulary
from revocab.export.weights import Tensor, stored_type, tensors_of
from revocab.io import write_text
from revocab.models.folder import ModelFolder
from revocab.models.load import check_model
from revocab.progress import Say

FILE = "model.gguf"
FILE_TYPES = {"f32": "ALL_F32", "f16": "MOSTLY_F16", "bf16": "MOSTLY_BF16", "q8_0": "MOSTLY_Q8_0"}
#: Progress is told each time so many bytes are written.
TOLD_BYTES = 1 << 30


def write(model: ModelFolder, options: ExportOptions, out: Path, say: Say) -> list[str]:
    import gguf

    architecture, settings = architecture_of(model)
    check_model(model.path)
    vocabulary = Vocabulary.read(model.path)
    outtype = stored_type(model) if options.outtype == "auto" else options.outtype
    count = len(vocabulary.tokens)
    tensors = [*tensors_of(model, architecture, settings, count, outtype)]
    say(f"comparing tokens of {count:,}")
    measured = choose(vocabulary, model.path, options.lines, options.approximate)
    ends = vocabulary.end_ids(model.path)
    keys: dict[str, Any] = {
        "general.type": "model",
        "general.name": model.path.resolve().name,
        "general.file_type": int(gguf.LlamaFileType[FILE_TYPES[outtype]]),
        "general.quantization_version": gguf.GGML_QUANT_VERSION,
        f"{architecture.name}.vocab_size": count,
        **{f"{architecture.name}.{key}": v for key, v in architecture.metadata(settings).items()},
        **{f"tokenizer.{key}": v for key, v in vocabulary_keys(vocabulary, measured, ends).items()},
        "revocab.tokens_differ_on": measured.told(),
        "revocab.tokens_differ_for": list(measured.notes),
    }
    with room(out / FILE):
        save(out / FILE, architecture.name, keys, tensors, say)
    stops = [f'PARAMETER stop "{vocabulary.tokens[end]}"\n' for end in ends]
    write_text(out / "Modelfile", "".join([f"FROM ./{FILE}\n", *stops]))
    return [*told(measured), f"run   llama-cli -m {FILE}, or: ollama create NAME -f Modelfile"]


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


@contextmanager
def room(file: Path) -> Iterator[None]:
    """Say where a disk is full: NumPy tells neither the file nor the reason."""
    try:
        yield
    except OSError as error:
        if error.errno is not None:
            raise
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(file)) from error


FORMAT = Format("gguf", "one file for llama.cpp, Ollama and LM Studio", write)
