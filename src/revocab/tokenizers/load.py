"""Load a tokenizer folder, and tell which family its vocabulary belongs to."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from revocab.errors import RevocabError, refuse
from revocab.heavy_types import PreTrainedTokenizerFast
from revocab.io import not_folder, read_json, write_json
from revocab.tokenizers.tiktoken import load_tiktoken, tiktoken_file

#: ``byte_fallback``: marker ``▁`` and ``<0xNN>`` tokens (BPE or Unigram); ``marker``: without them.
Style = Literal["byte_fallback", "marker", "byte_level", "wordpiece"]

#: Names in ``tokenizer_config.json`` of the class that adds nothing to ``tokenizer.json``.
PLAIN_CLASSES = ("PreTrainedTokenizerFast", "TokenizersBackend")
#: The parts of a pipeline beside the vocabulary, as ``tokenizer.json`` and its library name them.
PIPELINE = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
#: Folders of which it was said in this process that AutoTokenizer reads them otherwise.
_TOLD: set[tuple[str, int]] = set()


def load_tokenizer(
    folder: str | Path, revision: str | None = None, *, tell: bool = True
) -> PreTrainedTokenizerFast:
    """Load a fast tokenizer from a folder, or by Hub id; code that comes with it is never run.

    **What ``tokenizer.json`` says counts**, in every verb: how text is cut, which tokens are added
    to it, and how ids become text. ``tokenizer_config.json`` says which tokens have a role, and the
    chat template; a token that it alone has is added behind those of the file. The class that it or
    ``config.json`` names counts where there is no ``tokenizer.json``. transformers 5, and vLLM with
    it, build the pipeline of some classes anew whatever the file says: where that gives other ids,
    a line on standard error says so, unless ``tell`` is off.

    A folder with a ``.tiktoken`` file in place of ``tokenizer.json``, or that file itself, loads as
    byte-level BPE (:mod:`revocab.tokenizers.tiktoken`). ``truncation`` and ``padding`` that a
    ``tokenizer.json`` asks for are off: a text gives the tokens of the whole text and no others,
    wherever it is measured, packed, scored or continued. Raises :class:`RevocabError` when there is
    no tokenizer, none backed by the ``tokenizers`` library, or one whose file is broken.
    """
    from transformers import AutoTokenizer, PreTrainedTokenizerFast
    from transformers.utils import cached_file

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
    try:
        problems = list(file_problems(Path(name, "tokenizer.json")))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        problems = []  # a file of another kind, which the loader refuses
    refuse(problems)
    try:
        optional = {"_raise_exceptions_for_missing_entries": False}
        file = cached_file(name, "tokenizer.json", revision=revision, **optional)
        loader: Any = PreTrainedTokenizerFast if file else AutoTokenizer
        tokenizer: Any = loader.from_pretrained(name, revision=revision, trust_remote_code=False)
        if file:
            follow_file(tokenizer, file)
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
    if tell and file and Path(name).is_dir():
        tell_other_class(Path(name), tokenizer)
    return tokenizer


def follow_file(tokenizer: Any, file: str) -> None:
    """Put back what transformers changed of a ``tokenizer.json`` (:func:`load_tokenizer`)."""
    from tokenizers import Tokenizer

    content = read_json(Path(file))
    loaded = tokenizer.backend_tokenizer
    added = loaded.get_added_tokens_decoder()
    own = {token["content"]: token for token in content.get("added_tokens") or ()}
    flags = ("lstrip", "normalized", "rstrip", "single_word", "special")
    if any(
        {flag: getattr(token, flag) for flag in flags}
        != {flag: own[token.content].get(flag) for flag in flags}
        for token in added.values()
        if token.content in own
    ):
        whole = Tokenizer.from_file(file)
        whole.add_tokens([added[n] for n in sorted(added) if added[n].content not in own])
        tokenizer._tokenizer = loaded = whole
    empty = {"type": "WordLevel", "vocab": {"": 0}, "unk_token": ""}
    parts = Tokenizer.from_str(json.dumps({**content, "model": empty, "added_tokens": []}))
    for part in PIPELINE:
        setattr(loaded, part, getattr(parts, part))
    tokenizer.split_special_tokens = loaded.encode_special_tokens = False


def other_class(folder: Path, tokenizer: PreTrainedTokenizerFast) -> str | None:
    """Return which texts AutoTokenizer gives other ids than ``tokenizer.json``; None where none.

    ``tokenizer``: that of :func:`load_tokenizer`. Raises what transformers raises.
    """
    from transformers import AutoTokenizer

    from revocab.tokenizers.golden_ids import chat_texts, fixed_texts

    _TOLD.add(_version(folder))
    auto: Any = AutoTokenizer.from_pretrained(
        folder, trust_remote_code=False, local_files_only=True
    )
    made = type(auto).__name__
    if not getattr(auto, "is_fast", False):
        return f"transformers' AutoTokenizer makes a {made}, which does not read tokenizer.json"
    theirs, ours = auto.backend_tokenizer, tokenizer.backend_tokenizer
    theirs.no_truncation()
    theirs.no_padding()
    texts = [*fixed_texts(), *chat_texts(tokenizer)]
    pairs = zip(texts, theirs.encode_batch(texts), ours.encode_batch(texts), strict=True)
    others = [(text, their, our) for text, their, our in pairs if their.ids != our.ids]
    if not others:
        return None
    # The first place of the first text that differs says more than all of its tokens.
    text, their, our = others[0]
    differing = (n for n, (a, b) in enumerate(zip(their.ids, our.ids, strict=False)) if a != b)
    start = next(differing, min(len(their.ids), len(our.ids)))
    first, second = ((encoded.tokens[start : start + 3] or "nothing") for encoded in (their, our))
    return (
        f"transformers' AutoTokenizer makes a {made}, which gives {len(others)} of {len(texts)}"
        f" texts other ids than tokenizer.json, such as {text[:60]!r} ({first} in place of"
        f" {second})"
    )


def _version(folder: Path) -> tuple[str, int]:
    file = folder / "tokenizer.json"
    return str(file.resolve()), file.stat().st_mtime_ns


def tell_other_class(folder: Path, tokenizer: PreTrainedTokenizerFast) -> None:
    """Say once in a process that AutoTokenizer would read a folder otherwise than is done here."""
    from transformers.utils import logging

    path = folder / "tokenizer_config.json"
    settings = read_json(path) if path.is_file() else None
    plain = isinstance(settings, dict) and settings.get("tokenizer_class") in PLAIN_CLASSES
    if plain and not (folder / "config.json").is_file():
        return
    if _version(folder) in _TOLD:
        return
    level = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        other = other_class(folder, tokenizer)
    except Exception:  # no AutoTokenizer, for any reason: `check` says which
        return
    finally:
        logging.set_verbosity(level)
    if other:
        print(f"warning: {folder}: {other}; here tokenizer.json counts", file=sys.stderr)


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
