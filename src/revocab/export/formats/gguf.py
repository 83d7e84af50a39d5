"""GGUF, the format of llama.cpp and of all that is built on it, with a Modelfile for Ollama."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revocab.errors import RevocabError
from revocab.export.architecture import Architecture, architecture_of
from revocab.export.fidelity import Measured, choose, told
from revocab.export.format import ExportOptions, Format
from revocab.export.vocabulary import Vocabulary
from revocab.export.weights import Tensor, stored_type, tensors_of
from revocab.io import write_text
from revocab.models.folder import ModelFolder
from revocab.models.vocabulary.padding import padding_problems
from revocab.progress import Say

if TYPE_CHECKING:
    from gguf import GGUFWriter

FILE = "model.gguf"
FILE_TYPES = {"f32": "ALL_F32", "f16": "MOSTLY_F16", "bf16": "MOSTLY_BF16", "q8_0": "MOSTLY_Q8_0"}
#: Progress is told each time so many bytes are written.
TOLD_BYTES = 1 << 30


def write(model: ModelFolder, options: ExportOptions, out: Path, say: Say) -> list[str]:
    """Write ``model.gguf`` and ``Modelfile``; return what to tell of them."""
    architecture, settings = architecture_of(model)
    if problems := [*padding_problems(model)]:
        raise RevocabError(problems)
    vocabulary = Vocabulary.read(model.path)
    outtype = stored_type(model) if options.outtype == "auto" else options.outtype
    count = len(vocabulary.tokens)
    tensors = [*tensors_of(model, architecture, settings, count, outtype)]
    rows = min(model.tensors[name][1][0] for name in model.vocabulary_tensors.values())
    if rows < count:
        raise RevocabError(
            f"{model.path}: {rows} rows for a tokenizer of {count} tokens; model and tokenizer do"
            " not belong together"
        )
    say(f"comparing tokens of {count:,}")
    measured = choose(vocabulary, model.path, options.lines, options.approximate)
    with room(out / FILE):
        save(out / FILE, model, architecture, settings, vocabulary, measured, tensors, outtype, say)
    write_text(out / "Modelfile", modelfile(vocabulary, model.path))
    return [*told(measured), f"run   llama-cli -m {FILE}, or: ollama create NAME -f Modelfile"]


def save(
    file: Path,
    model: ModelFolder,
    architecture: Architecture,
    settings: Any,
    vocabulary: Vocabulary,
    measured: Measured,
    tensors: list[Tensor],
    outtype: str,
    say: Say,
) -> None:
    import gguf

    writer = gguf.GGUFWriter(file, architecture.name)
    try:
        writer.add_type(gguf.GGUFType.MODEL)
        writer.add_name(model.path.resolve().name)
        writer.add_file_type(gguf.LlamaFileType[FILE_TYPES[outtype]])
        if outtype == "q8_0":
            writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
        keys = {**architecture.metadata(settings), "vocab_size": len(vocabulary.tokens)}
        for key, value in keys.items():
            add(writer, f"{architecture.name}.{key}", value)
        add_vocabulary(writer, vocabulary, measured, vocabulary.end_ids(model.path))
        for tensor in tensors:
            writer.add_tensor_info(
                tensor.name, tensor.shape, _float32(), tensor.bytes, raw_dtype=tensor.kind
            )
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
        total, done, before = sum(tensor.bytes for tensor in tensors), 0, 0
        for tensor in tensors:
            writer.write_tensor_data(tensor.array())
            done += tensor.bytes
            if done - before >= TOLD_BYTES or done == total:
                say(f"{done / 1e9:.2f} of {total / 1e9:.2f} GB")
                before = done
    finally:
        writer.close()


def _float32() -> Any:
    import numpy as np

    return np.dtype(np.float32)


def add(writer: GGUFWriter, key: str, value: Any) -> None:
    """Add a key with the type of its value; numbers are unsigned."""
    from gguf import GGUFValueType

    kinds = {
        bool: GGUFValueType.BOOL,
        int: GGUFValueType.UINT32,
        float: GGUFValueType.FLOAT32,
        str: GGUFValueType.STRING,
        list: GGUFValueType.ARRAY,
    }
    writer.add_key_value(key, value, kinds[type(value)])


def add_vocabulary(
    writer: GGUFWriter, vocabulary: Vocabulary, measured: Measured, ends: list[int]
) -> None:
    from gguf import TokenType

    cutter, tokenizer = measured.cutter, vocabulary.tokenizer
    first, last = vocabulary.frame()
    keys: dict[str, Any] = {f"ggml.{key}": value for key, value in cutter.keys.items()}
    keys |= {"ggml.tokens": vocabulary.tokens}
    keys |= {"ggml.token_type": [int(TokenType[kind.upper()]) for kind in vocabulary.kinds]}
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
    if template := vocabulary.chat_template():
        keys["chat_template"] = template
    for key, value in keys.items():
        add(writer, f"tokenizer.{key}", value)
    add(writer, "revocab.tokens_differ_on", measured.told())
    if measured.notes:
        add(writer, "revocab.tokens_differ_for", list(measured.notes))


def modelfile(vocabulary: Vocabulary, folder: Path) -> str:
    """Return what Ollama reads: the file, and where answers end."""
    ends = [vocabulary.tokens[end] for end in vocabulary.end_ids(folder)]
    return "".join([f"FROM ./{FILE}\n", *(f'PARAMETER stop "{end}"\n' for end in ends)])


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
