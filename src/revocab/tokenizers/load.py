"""Load a tokenizer folder, and tell which family its vocabulary belongs to."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from revocab.errors import RevocabError, refuse
from revocab.heavy_types import PreTrainedTokenizerFast
from revocab.io import not_folder, read_json, write_json
from revocab.tokenizers.file_ids import changed_files, copy_with
from revocab.tokenizers.tiktoken import load_tiktoken, tiktoken_file

#: ``byte_fallback``: marker ``▁`` and ``<0xNN>`` tokens (BPE or Unigram); ``marker``: without them.
Style = Literal["byte_fallback", "marker", "byte_level", "wordpiece"]

#: Names in ``tokenizer_config.json`` of the class that adds nothing to ``tokenizer.json``.
PLAIN_CLASSES = ("PreTrainedTokenizerFast", "TokenizersBackend")
#: Folders of which it was said that tokens are left out.
_TOLD: set[str] = set()


def load_tokenizer(folder: str | Path, revision: str | None = None) -> PreTrainedTokenizerFast:
    """Load a fast tokenizer from a folder, or by Hub id; code that comes with it is never run.

    A folder with a ``.tiktoken`` file in place of ``tokenizer.json``, or that file itself, loads as
    byte-level BPE (:mod:`revocab.tokenizers.tiktoken`). ``truncation`` and ``padding`` that a
    ``tokenizer.json`` asks for are off: a text gives the tokens of the whole text and no others,
    wherever it is measured, packed, scored or continued. Every token has the id that the files say;
    special tokens beyond the rows of the folder's model are left out, which is said on stderr
    (:mod:`revocab.tokenizers.file_ids`). Raises :class:`RevocabError` when there is no tokenizer,
    none backed by the ``tokenizers`` library, or one whose file is broken or whose ids cannot be
    kept.
    """
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    name = str(folder)
    ranks = tiktoken_file(name)
    if ranks is not None:
        return load_tiktoken(ranks)
    local = isinstance(folder, Path) or name.startswith((".", "/", "~"))
    if local and not Path(name).is_dir():
        raise RevocabError(
            f"{folder}: {not_folder(folder)}; give a folder with a tokenizer.json, or a .tiktoken"
            " file"
        )
    tokenizer: Any
    changed: dict[str, Any] = {}
    try:
        refuse(list(file_problems(Path(name, "tokenizer.json"))))
        changed, left_out = changed_files(Path(name))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        pass  # a file of another kind, which the loader refuses
    if changed:
        tell_left_out(Path(name), left_out)
        with TemporaryDirectory() as temporary:
            copy_with(Path(name), changed, Path(temporary))
            tokenizer = load_tokenizer(Path(temporary))
        tokenizer.name_or_path = name
        return tokenizer
    # Of some model types AutoTokenizer builds its own tokenizer, whatever the folder says.
    loader: Any = PreTrainedTokenizerFast if says_plain(Path(name)) else AutoTokenizer
    try:
        tokenizer = loader.from_pretrained(name, revision=revision, trust_remote_code=False)
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
    tokenizer.backend_tokenizer.no_truncation()
    tokenizer.backend_tokenizer.no_padding()
    return tokenizer


def tell_left_out(folder: Path, tokens: dict[str, int]) -> None:
    """Say, once in a process, which special tokens of a folder its model has no row for."""
    if tokens and str(folder) not in _TOLD:
        _TOLD.add(str(folder))
        listed = some(f"{number} {token}" for token, number in tokens.items())
        print(
            f"warning: {folder}: {len(tokens)} special tokens have no row in the model and are left"
            f" out: {listed}",
            file=sys.stderr,
        )


def says_plain(folder: Path) -> bool:
    """Return whether a folder says that its tokenizer is just what ``tokenizer.json`` holds."""
    path = folder / "tokenizer_config.json"
    settings = read_json(path) if path.is_file() else None
    return isinstance(settings, dict) and settings.get("tokenizer_class") in PLAIN_CLASSES


def tokenizer_file(folder: str | Path) -> Path:
    """Return the file that holds a local tokenizer's vocabulary; its checksum identifies it."""
    return tiktoken_file(folder) or Path(folder) / "tokenizer.json"


def file_problems(path: Path) -> Iterator[str]:
    """Yield what is wrong with a ``tokenizer.json`` (nothing where there is no such file).

    Ids with two tokens, pieces listed twice, merges of tokens or into tokens that are not there:
    the library loses the first two silently and names only the first of the others.
    """
    if not path.is_file():
        return
    content = read_json(path)
    model = content.get("model") if isinstance(content, dict) else None
    if not isinstance(model, dict):
        yield f"{path}: no 'model' in it; give the tokenizer.json of the tokenizers library"
        return
    vocabulary = model.get("vocab")
    if isinstance(vocabulary, list):  # Unigram: pieces with scores, ids by position
        pieces = [entry[0] for entry in vocabulary]
        if len(set(pieces)) < len(pieces):
            twice = sorted({piece for piece in pieces if pieces.count(piece) > 1})
            yield f"{path}: pieces listed twice: {some(twice)}; list each once"
        return
    if not isinstance(vocabulary, dict):
        return
    if len(set(vocabulary.values())) < len(vocabulary):
        by_id: dict[int, list[str]] = {}
        for token, number in vocabulary.items():
            by_id.setdefault(number, []).append(token)
        twice = [f"{n} ({', '.join(map(repr, t))})" for n, t in by_id.items() if len(t) > 1]
        yield f"{path}: ids with two tokens: {some(twice)}; give each token its own id"
    prefix = model.get("continuing_subword_prefix") or ""
    missing: dict[str, None] = {}
    for merge in model.get("merges") or ():
        pair = merge.split(" ") if isinstance(merge, str) else merge
        if len(pair) == 2:
            made = pair[0] + pair[1].removeprefix(prefix)
            for token in (*pair, made):  # a plain loop: there are 60,000 merges and more
                if token not in vocabulary:
                    missing[token] = None
    if missing:
        yield (
            f"{path}: {len(missing)} tokens that merges name are not in the vocabulary:"
            f" {some(map(repr, missing))}; add them, or remove those merges"
        )


def some(values: Any, shown: int = 10) -> str:
    listed = [str(value) for value in values]
    return ", ".join(listed[:shown]) + (" …" if len(listed) > shown else "")


def write_tokenizer(tokenizer: PreTrainedTokenizerFast, folder: str | Path) -> None:
    """Save a tokenizer so that transformers 4 and 5, vLLM and llama.cpp's converter all load it.

    Transformers 5 writes a class name that version 4 does not know, a list of special tokens where
    it knows a mapping, and where the tokenizer was loaded from.
    """
    tokenizer.save_pretrained(str(folder))
    path = Path(folder) / "tokenizer_config.json"
    config = read_json(path)
    if config.get("tokenizer_class") == "TokenizersBackend":
        config["tokenizer_class"] = "PreTrainedTokenizerFast"
    if isinstance(config.get("extra_special_tokens"), list):
        config["additional_special_tokens"] = config.pop("extra_special_tokens")
    for name in ("is_local", "local_files_only"):
        config.pop(name, None)
    write_json(path, config)


def _components(part: Any) -> list[dict[str, Any]]:
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
