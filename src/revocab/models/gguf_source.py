"""A model that exists only as a GGUF file: a folder of it, by transformers.

Its weights were quantised once and are written in bfloat16, so they are not those of the model that
the file was made of to the last digit; ``manifest.json`` says through which types they went.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from revocab.errors import RevocabError
from revocab.io import sha256
from revocab.tokenizers.splitter import LLAMA_CPP_SPLITTERS, LlamaSplitter

SUFFIX = ".gguf"
MAGIC = b"GGUF"


def origin_of(file: Path) -> dict[str, Any]:
    """Return a GGUF's name, hash, how many of its tensors are of each type, and by which name
    llama.cpp knows how its byte-level vocabulary splits text; None for another vocabulary.

    Raises :class:`RevocabError` for what is no GGUF, or is cut short.
    """
    from gguf import GGUFReader

    with file.open("rb") as opened:
        if opened.read(4) != MAGIC:
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


def known_splitter(name: str | None) -> LlamaSplitter | None:
    return next((known for known in LLAMA_CPP_SPLITTERS if known.name == name), None)


def write_folder(file: Path, splitter: LlamaSplitter | None, out: Path) -> None:
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
