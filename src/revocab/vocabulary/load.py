"""Load a tokenizer folder, and tell which family its vocabulary belongs to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from revocab.errors import RevocabError
from revocab.io import read_json, write_json

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

#: ``byte_fallback``: marker ``▁`` and ``<0xNN>`` tokens (BPE or Unigram); ``marker``: without them.
Style = Literal["byte_fallback", "marker", "byte_level", "wordpiece"]


def load_tokenizer(folder: str | Path, revision: str | None = None) -> PreTrainedTokenizerFast:
    """Load a fast tokenizer from a folder, or by Hub id; code that comes with it is never run.

    Raises :class:`RevocabError` when there is none, or none backed by the ``tokenizers`` library.
    """
    from transformers import AutoTokenizer

    name = str(folder)
    local = isinstance(folder, Path) or name.startswith((".", "/", "~"))
    if local and not Path(name).is_dir():
        raise RevocabError(f"{folder}: no such folder; give a folder with a tokenizer.json")
    try:
        tokenizer = AutoTokenizer.from_pretrained(name, revision=revision, trust_remote_code=False)
    # The loader raises many unrelated types: all mean that there is no usable tokenizer here.
    except Exception as error:
        reason = str(error).strip().split("\n")[0]
        raise RevocabError(
            f"{name}: no tokenizer could be loaded ({type(error).__name__}: {reason}); give a"
            " folder with tokenizer.json and tokenizer_config.json, or a Hub id and revision"
        ) from error
    if not getattr(tokenizer, "is_fast", False):
        raise RevocabError(
            f"{name}: a tokenizer without tokenizer.json ({type(tokenizer).__name__});"
            " convert it to the fast format first"
        )
    return tokenizer


def write_tokenizer(tokenizer: PreTrainedTokenizerFast, folder: str | Path) -> None:
    """Save a tokenizer so that transformers 4 and 5, vLLM and llama.cpp's converter all load it.

    Transformers 5 writes a class name that version 4 does not know, and where it was loaded from.
    """
    tokenizer.save_pretrained(str(folder))
    path = Path(folder) / "tokenizer_config.json"
    config = read_json(path)
    if config.get("tokenizer_class") == "TokenizersBackend":
        config["tokenizer_class"] = "PreTrainedTokenizerFast"
    for name in ("is_local", "local_files_only"):
        config.pop(name, None)
    write_json(path, config)


def _components(part: Any) -> list[dict[str, Any]]:
    """Return a pipeline part (normaliser, pre-tokeniser, decoder) as a flat list of its steps."""
    if part is None:
        return []
    state = json.loads(part.__getstate__())
    steps = [state]
    for name in ("normalizers", "pretokenizers", "decoders"):
        steps += state.get(name, [])
    return steps


def tokenizer_style(tokenizer: PreTrainedTokenizerFast) -> Style:
    """Return the family of a tokenizer's vocabulary, told from its pipeline, not from its name.

    Raises :class:`RevocabError` for a pipeline whose tokens do not say which bytes they stand for.
    """
    backend = tokenizer.backend_tokenizer
    model = type(backend.model).__name__
    steps = [
        step
        for part in (backend.normalizer, backend.pre_tokenizer, backend.decoder)
        for step in _components(part)
    ]
    kinds = {step["type"] for step in steps}
    if model == "WordPiece":
        return "wordpiece"
    if "ByteLevel" in kinds:
        return "byte_level"
    if "ByteFallback" in kinds or getattr(backend.model, "byte_fallback", False):
        return "byte_fallback"
    if "Metaspace" in kinds or any("▁" in str(step.get("content", "")) for step in steps):
        return "marker"
    raise RevocabError(
        f"tokenizer {tokenizer.name_or_path}: model {model} with {', '.join(sorted(kinds)) or 'no'}"
        " steps is not supported; allowed are byte-level BPE, SentencePiece BPE or Unigram,"
        " WordPiece"
    )
