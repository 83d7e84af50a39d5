"""Load a tokenizer folder, and tell which family its vocabulary belongs to."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from revocab.errors import RevocabError, all_of, refuse
from revocab.heavy_types import PreTrainedTokenizerFast, Tokenizer
from revocab.io import not_folder, read_json, write_json
from revocab.limits import LARGEST_VOCABULARY
from revocab.links import check_documents
from revocab.vocabulary.tokenizers.file_ids import FLAGS, changed_files, copy_with
from revocab.vocabulary.tokenizers.tiktoken import load_tiktoken, tiktoken_file

#: ``byte_fallback``: marker ``▁`` and ``<0xNN>`` tokens (BPE or Unigram); ``marker``: without them.
Style = Literal["byte_fallback", "marker", "byte_level", "wordpiece"]

#: Names in ``tokenizer_config.json`` of the class that adds nothing to ``tokenizer.json``.
PLAIN_CLASSES = ("PreTrainedTokenizerFast", "TokenizersBackend")
_FILES = ("tokenizer.json", "tokenizer_config.json")
#: The parts of a pipeline beside the vocabulary.
_PIPELINE = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
#: What reading a file of another kind raises, which the loader refuses.
ANOTHER_KIND = (AttributeError, IndexError, KeyError, TypeError, ValueError)
#: Folders of which it was said in this process that AutoTokenizer reads them otherwise.
_TOLD: set[tuple[str, int]] = set()
#: Folders of which it was said that tokens are left out.
_LEFT_OUT: set[str] = set()


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
    byte-level BPE (``tiktoken.py``). ``truncation`` and ``padding`` that a
    ``tokenizer.json`` asks for are off: a text gives the tokens of the whole text and no others,
    wherever it is measured, packed, scored or continued. Every token has the id that the files say;
    special tokens beyond the rows of the folder's model are left out, which is said on stderr
    (``file_ids.py``). Raises :class:`RevocabError` when there is no tokenizer,
    none backed by the ``tokenizers`` library, or one whose file is broken or whose ids cannot be
    kept.
    """
    from transformers.utils.hub import cached_file

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
    check_tokenizer_file(Path(name))
    changed: dict[str, Any] = {}
    with suppress(*ANOTHER_KIND):
        changed, left_out = changed_files(Path(name))
    if changed:
        tell_left_out(Path(name), left_out)
        with TemporaryDirectory() as temporary:
            copy_with(Path(name), changed, Path(temporary))
            tokenizer = load_tokenizer(Path(temporary), tell=False)
        tokenizer.name_or_path = name
        return tokenizer
    try:
        options = {"revision": revision, "_raise_exceptions_for_missing_entries": False}
        file, config = (
            None if path is None else Path(path)
            for path in (cached_file(name, f, **options) for f in _FILES)
        )
        content = None if config is None else read_json(config)
        settings: dict[str, Any] = content if isinstance(content, dict) else {}
        tokenizer = _as_transformers(name, revision, file, settings)
        theirs = None if file is None else follow_file(tokenizer, file, settings)
        tokenizer("a")  # what is wrong with settings shows where they are used
        if not isinstance(tokenizer.chat_template, str | dict | None):
            raise TypeError(f"chat_template is {tokenizer.chat_template!r}")
    # The loader raises many unrelated types: all mean that there is no usable tokenizer here.
    except BaseException as error:  # that of a panic in the library is no Exception
        if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError):
            raise
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
    if tell and file is not None:
        _tell_other_ids(Path(name), file, tokenizer, theirs)
    return tokenizer


def load_tokenizers(folders: Mapping[str, Path]) -> dict[str, PreTrainedTokenizerFast]:
    """Return tokenizers by id; raise the problems of all at once."""
    loaded = all_of(partial(load_tokenizer, folder) for folder in folders.values())
    return dict(zip(folders, loaded, strict=True))


def check_tokenizer_file(folder: Path) -> None:
    """Raise :class:`RevocabError` for links out of a folder, and what :func:`file_problems` says of
    its tokenizer.
    """
    check_documents(folder)
    problems: list[str] = []
    with suppress(*ANOTHER_KIND):
        problems = list(file_problems(folder / "tokenizer.json"))
    refuse(problems)


def tell_left_out(folder: Path, tokens: dict[str, int]) -> None:
    """Say, once in a process, which special tokens of a folder its model has no row for."""
    if tokens and str(folder) not in _LEFT_OUT:
        _LEFT_OUT.add(str(folder))
        listed = some(f"{number} {token}" for token, number in tokens.items())
        print(
            f"warning: {folder}: {len(tokens)} special tokens have no row in the model and are left"
            f" out: {listed}",
            file=sys.stderr,
        )


def _as_transformers(
    name: str, revision: str | None, file: Path | None, settings: Mapping[str, Any]
) -> Any:
    """Return what transformers makes of a folder: of a class of its own also roles and defaults."""
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    options: dict[str, Any] = {"revision": revision, "trust_remote_code": False}
    if file is None:
        return AutoTokenizer.from_pretrained(name, **options)
    if settings.get("tokenizer_class") not in PLAIN_CLASSES:
        try:
            auto: Any = AutoTokenizer.from_pretrained(name, **options)
        except Exception:  # a class that only code in the folder knows, say: the file is enough
            auto = None
        if getattr(auto, "is_fast", False):
            return auto
    # Of some model types AutoTokenizer builds its own tokenizer, whatever the folder says.
    return PreTrainedTokenizerFast.from_pretrained(name, **options)


def follow_file(tokenizer: Any, file: Path, settings: Mapping[str, Any]) -> Tokenizer | None:
    """Put back what transformers changed of a ``tokenizer.json`` (:func:`load_tokenizer`).

    ``settings``: those of ``tokenizer_config.json``. Returns the pipeline that a class of its own
    had built in the file's place.
    """
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    content = read_json(file)
    loaded = tokenizer.backend_tokenizer
    added = loaded.get_added_tokens_decoder()
    own = {token["content"]: token for token in content.get("added_tokens") or ()}
    built = type(tokenizer) is not PreTrainedTokenizerFast
    tokenizer.split_special_tokens = False
    if not built and all(
        getattr(token, flag) == own[token.content].get(flag)
        for token in added.values()
        if token.content in own
        for flag in FLAGS
    ):
        empty = {"type": "WordLevel", "vocab": {"": 0}, "unk_token": ""}
        parts = Tokenizer.from_str(json.dumps({**content, "model": empty, "added_tokens": []}))
        for part in _PIPELINE:
            setattr(loaded, part, getattr(parts, part))
        loaded.encode_special_tokens = False
        return None
    whole = Tokenizer.from_file(str(file))
    if built:  # tokens that are a class's default alone are none of this vocabulary
        vocabulary = whole.get_vocab(with_added_tokens=True)
        for role, token in tokenizer.special_tokens_map.items():
            if isinstance(token, str) and token not in vocabulary and role not in settings:
                setattr(tokenizer, role, None)
                added = {n: other for n, other in added.items() if other.content != token}
    whole.add_tokens([added[n] for n in sorted(added) if added[n].content not in own])
    tokenizer._tokenizer = whole
    return loaded if built else None


def other_class(folder: Path, tokenizer: PreTrainedTokenizerFast) -> str | None:
    """Return which texts AutoTokenizer gives other ids than ``tokenizer.json``; None where none.

    ``tokenizer``: that of :func:`load_tokenizer`. Raises what transformers raises.
    """
    from transformers import AutoTokenizer

    _TOLD.add(_version(folder / "tokenizer.json"))
    options = {"trust_remote_code": False, "local_files_only": True}
    auto: Any = AutoTokenizer.from_pretrained(folder, **options)
    kind = type(auto).__name__
    if not getattr(auto, "is_fast", False):
        return f"transformers' AutoTokenizer makes a {kind}, which does not read tokenizer.json"
    return _other_ids(kind, auto.backend_tokenizer, tokenizer)


def _other_ids(kind: str, theirs: Tokenizer, tokenizer: PreTrainedTokenizerFast) -> str | None:
    from revocab.vocabulary.tokenizers.identity import chat_texts, fixed_texts

    theirs.no_truncation()
    theirs.no_padding()
    texts = [*fixed_texts(), *chat_texts(tokenizer)]
    ours = tokenizer.backend_tokenizer.encode_batch(texts)
    pairs = zip(texts, theirs.encode_batch(texts), ours, strict=True)
    others = [(text, their, our) for text, their, our in pairs if their.ids != our.ids]
    if not others:
        return None
    # The first place of the first text that differs says more than all of its tokens.
    text, their, our = others[0]
    differing = (n for n, (a, b) in enumerate(zip(their.ids, our.ids, strict=False)) if a != b)
    start = next(differing, min(len(their.ids), len(our.ids)))
    first, second = ((encoded.tokens[start : start + 3] or "nothing") for encoded in (their, our))
    return (
        f"transformers' AutoTokenizer makes a {kind}, which gives {len(others)} of {len(texts)}"
        f" texts other ids than tokenizer.json, such as {text[:60]!r} ({first} in place of"
        f" {second})"
    )


def _version(file: Path) -> tuple[str, int]:
    return str(file.resolve()), file.stat().st_mtime_ns


def _tell_other_ids(
    folder: Path, file: Path, tokenizer: PreTrainedTokenizerFast, theirs: Tokenizer | None
) -> None:
    """Say once in a process that AutoTokenizer would read a folder otherwise than is done here."""
    if _version(file) in _TOLD:
        return
    _TOLD.add(_version(file))
    try:
        if theirs is not None:
            other = _other_ids(type(tokenizer).__name__, theirs, tokenizer)
        else:  # a model's type counts more for AutoTokenizer than the class that a folder names
            other = other_class(folder, tokenizer) if (folder / "config.json").is_file() else None
    except Exception:  # no AutoTokenizer, for any reason: `check` says which
        return
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
    yield from id_problems(path, vocabulary, content.get("added_tokens"))
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
            joined = pair[0] + pair[1].removeprefix(prefix)
            for token in (*pair, joined):  # a plain loop: there are 60,000 merges and more
                if token not in vocabulary:
                    missing[token] = None
    if missing:
        yield (
            f"{path}: {len(missing)} tokens that merges name are not in the vocabulary:"
            f" {some(map(repr, missing))}; add them, or remove those merges"
        )


def id_problems(path: Path, vocabulary: Any, added: Any) -> Iterator[str]:
    """Yield what is wrong with the number of tokens and their ids: lists of all ids are made."""
    tokens = dict(vocabulary) if isinstance(vocabulary, dict) else {}
    tokens |= {token["content"]: token["id"] for token in added or ()}
    if not vocabulary and not tokens:
        yield f"{path}: has no token; give the tokenizer.json of a trained tokenizer"
    far = {
        token: n for token, n in tokens.items() if isinstance(n, int) and n >= LARGEST_VOCABULARY
    }
    if far or len(vocabulary) > LARGEST_VOCABULARY:
        listed = some(f"{number:,} ({token!r})" for token, number in far.items())
        yield (
            f"{path}: ids of tokens beyond {LARGEST_VOCABULARY:,}: {listed or 'more tokens'}; no"
            " vocabulary is as large"
        )


def some(values: Any, most: int = 10) -> str:
    listed = [str(value) for value in values]
    return ", ".join(listed[:most]) + (" …" if len(listed) > most else "")


def write_tokenizer(tokenizer: PreTrainedTokenizerFast, folder: str | Path) -> None:
    """Save a tokenizer so that transformers 4 and 5, vLLM and llama.cpp's converter all load it.

    Transformers 5 writes a class name that version 4 does not know, a list of special tokens where
    it knows a mapping, and where the tokenizer was loaded from.
    """
    tokenizer.save_pretrained(str(folder))
    path = Path(folder) / "tokenizer_config.json"
    config = read_json(path)
    if config.get("tokenizer_class") not in PLAIN_CLASSES:
        # Other classes build their own pipeline, and bring their own names of a model's inputs.
        config["model_input_names"] = list(tokenizer.model_input_names)
    config["tokenizer_class"] = "PreTrainedTokenizerFast"
    if isinstance(config.get("extra_special_tokens"), list):
        config["additional_special_tokens"] = config.pop("extra_special_tokens")
    for name in ("is_local", "local_files_only"):
        config.pop(name, None)
    write_json(path, config)


def tokenizer_style(tokenizer: PreTrainedTokenizerFast) -> Style:
    """Return the family of a tokenizer's vocabulary, told from its pipeline, not from its name.

    Raises :class:`RevocabError` for a pipeline whose tokens do not say which bytes they stand for.
    """
    backend = tokenizer.backend_tokenizer
    model = type(backend.model).__name__
    parts = (backend.normalizer, backend.pre_tokenizer, backend.decoder)
    steps = [json.loads(part.__getstate__()) for part in parts if part is not None]
    for name in ("normalizers", "pretokenizers", "decoders"):
        steps += [inner for step in steps for inner in step.get(name, ())]
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
