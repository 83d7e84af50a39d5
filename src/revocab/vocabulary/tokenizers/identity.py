"""Whether two tokenizers give the same ids: texts that show where they differ, and a hash.

The texts are ``golden_texts.yaml`` and, of each tokenizer, its own added tokens and chat turns. Two
tokenizers have the same hash where they have the same vocabulary, merges or scores, added tokens,
normaliser, splitter and places of bos and eos, however their files are written. What is put around
a text, decoding, chat templates and padding are left out.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from revocab import yaml_file
from revocab.heavy_types import PreTrainedTokenizerFast, Tokenizer
from revocab.io import sha256
from revocab.vocabulary.tokenizers.load import load_tokenizer, tokenizer_file

#: Added tokens that get a string of their own: so many from the first, and from the last.
_ADDED = 8
_TURNS = [
    {"role": "user", "content": "Perché 2 + 2 = 4?\nSpiega."},
    {"role": "assistant", "content": "Because it is **four**. 🙂"},
    {"role": "user", "content": "Спасибо!"},
]


def golden_texts(tokenizer: PreTrainedTokenizerFast) -> Iterator[tuple[str, bool]]:
    """Yield all strings, and whether the tokenizer adds its own tokens to them."""
    texts = [*fixed_texts()]
    # Tokens that are found in text before it is cut: special ones, tags.
    added = tokenizer.backend_tokenizer.get_added_tokens_decoder()
    tokens = [added[number].content for number in sorted(added)]
    sample = tokens if len(tokens) <= 2 * _ADDED else tokens[:_ADDED] + tokens[-_ADDED:]
    texts += [f"a {token} b{token}c\n{token}" for token in sample]
    texts += ["".join(sample)] if sample else []
    for text in texts:
        yield text, True
    for text in chat_texts(tokenizer):
        yield text, False


@cache
def fixed_texts() -> tuple[str, ...]:
    content, _ = yaml_file.read(Path(__file__).with_name("golden_texts.yaml"))
    return (*content["sentences"].values(), *content["others"])


def chat_texts(tokenizer: PreTrainedTokenizerFast) -> Iterator[str]:
    """Yield rendered conversations; none where the template fails, or writes today's date."""
    template = str(tokenizer.chat_template or "")
    if not template or "strftime_now" in template:
        return
    for turns, asks in ((_TURNS[:1], True), (_TURNS[:2], False), (_TURNS, True)):
        try:
            yield str(
                tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=asks)
            )
        except Exception:  # a template may fail in any way that Python code can
            return


_PARTS = ("added_tokens", "normalizer", "pre_tokenizer")
#: Hashes by those of the files: checkpoints of a run share a tokenizer.
_known: dict[tuple[str, ...], str] = {}


def ids_hash(backend: Tokenizer, start_id: int | None, end_id: int | None) -> str:
    """Return the SHA-256 of what decides the ids of text and of its beginning and end."""
    state = json.loads(backend.to_str())
    # What is off is left out: a library of another version may write it or not.
    model = {key: value for key, value in state["model"].items() if value not in (None, False, "")}
    parts = {**{key: state[key] for key in _PARTS}, "model": model, "ends": [start_id, end_id]}
    text = json.dumps(parts, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def folder_hash(folder: Path) -> str | None:
    """Return the hash of a model folder's tokenizer; None where it has none."""
    from revocab.models.folder import files_of

    if not tokenizer_file(folder).is_file():
        return None
    files = [tokenizer_file(folder), *(folder / name for name in files_of(folder, "tokenizer"))]
    key = tuple(sha256(path) if path.is_file() else "" for path in files)
    if key not in _known:
        tokenizer = load_tokenizer(folder)
        ends = tokenizer.bos_token_id, tokenizer.eos_token_id
        _known[key] = ids_hash(tokenizer.backend_tokenizer, *ends)
    return _known[key]


def foreign_ids(
    model: Path, folders: Mapping[Path, tuple[str, Mapping[str, Any]]]
) -> Iterator[str]:
    """Yield the folders whose tokens are of another tokenizer than a model's.

    ``folders`` says of each what it holds, and its manifest. Nothing is known of a model folder
    without a tokenizer, and of tokens that an earlier version wrote.
    """
    ours = folder_hash(model)
    for folder, (what, manifest) in folders.items():
        theirs = manifest.get("tokenizer")
        if ours is not None and theirs is not None and theirs != ours:
            yield (
                f"{folder}: {what} of another tokenizer (SHA-256 {theirs[:12]}…) than that of"
                f" {model} ({ours[:12]}…), so that ids are other tokens; pack with the model's own"
            )
