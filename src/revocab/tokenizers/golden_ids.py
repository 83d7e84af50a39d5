"""Golden ids: strings and the ids that they have here, in ``token_ids.json`` beside a tokenizer.

Whoever loads the folder elsewhere can see whether text becomes the same tokens there; ``revocab
verify`` does (docs/ship.md). The strings are the same for every folder, but for its own special
tokens and chat template, so that the file can travel from folder to folder with the tokenizer.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from revocab import yaml_file
from revocab.errors import RevocabError
from revocab.heavy_types import PreTrainedTokenizerFast
from revocab.io import read_json, sha256, write_text

GOLDEN_IDS = "token_ids.json"
#: Files on which ids depend, and the text of chat turns.
_READ = ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja")
#: Added tokens that get a string of their own: so many from the first, and from the last.
_ADDED = 8
_TURNS = [
    {"role": "user", "content": "Perché 2 + 2 = 4?\nSpiega."},
    {"role": "assistant", "content": "Because it is **four**. 🙂"},
    {"role": "user", "content": "Спасибо!"},
]


@dataclass(frozen=True)
class GoldenText:
    """A string with its ids, and the text that they decode to without special tokens."""

    text: str
    ids: list[int]
    decoded: str
    #: Whether the tokenizer adds its own tokens (bos); chat templates write these themselves.
    special: bool = True


@dataclass(frozen=True)
class GoldenIds:
    """A folder's strings, and the hashes of the files that they were encoded with."""

    files: dict[str, str]
    texts: list[GoldenText]


def keep_golden_ids(folder: Path, tokenizer: PreTrainedTokenizerFast | None = None) -> None:
    """Write a folder's golden ids, unless those in it are of these very files.

    A tokenizer that does not load gets a warning: what is written beside it may have taken days.
    """
    path = folder / GOLDEN_IDS
    try:
        golden = read_golden_ids(folder)
    except RevocabError:
        golden = None  # somebody else's file of this name
    if golden is not None and golden.files == file_hashes(folder):
        return
    path.unlink(missing_ok=True)
    if not (folder / "tokenizer.json").is_file():
        return
    from revocab.tokenizers.load import load_tokenizer

    try:
        texts = encoded(tokenizer or load_tokenizer(folder))
    except RevocabError as error:
        print(f"warning: no {GOLDEN_IDS}: {'; '.join(error.problems)}", file=sys.stderr)
        return
    lines = [json.dumps(asdict(text), ensure_ascii=False) for text in texts]
    head = json.dumps(file_hashes(folder), indent=2).replace("\n", "\n  ")
    body = ",\n    ".join(lines)
    write_text(path, f'{{\n  "files": {head},\n  "texts": [\n    {body}\n  ]\n}}\n')


def read_golden_ids(folder: Path) -> GoldenIds | None:
    """Return what is written beside a tokenizer, None where nothing is.

    Raises :class:`RevocabError` for a file that holds something else.
    """
    path = folder / GOLDEN_IDS
    if not path.is_file():
        return None
    content = read_json(path)
    try:
        texts = [GoldenText(**entry) for entry in content["texts"]]
        files = {str(name): str(digest) for name, digest in content["files"].items()}
    except (AttributeError, KeyError, TypeError):
        texts, files = [], {}
    if not files or not all(_is_sound(text) for text in texts):
        raise RevocabError(f"{path}: not golden ids as revocab writes them; remove it")
    return GoldenIds(files, texts)


def _is_sound(entry: GoldenText) -> bool:
    ids: Any = entry.ids  # as somebody's file has them
    types = [type(value) for value in (entry.text, ids, entry.decoded, entry.special)]
    return types == [str, list, str, bool] and all(
        type(token) is int and 0 <= token < 2**31 for token in ids
    )


def file_hashes(folder: Path) -> dict[str, str]:
    return {name: sha256(folder / name) for name in _READ if (folder / name).is_file()}


def encoded(tokenizer: PreTrainedTokenizerFast) -> list[GoldenText]:
    golden = []
    for text, special in golden_texts(tokenizer):
        ids: Any = tokenizer(text, add_special_tokens=special)["input_ids"]
        decoded: Any = tokenizer.decode(ids, skip_special_tokens=True)
        golden.append(GoldenText(text, ids, decoded, special))
    return golden


def golden_texts(tokenizer: PreTrainedTokenizerFast) -> Iterator[tuple[str, bool]]:
    """Yield all strings, and whether the tokenizer adds its own tokens to them."""
    for text in (*fixed_texts(), *added_texts(tokenizer)):
        yield text, True
    for text in chat_texts(tokenizer):
        yield text, False


@cache
def fixed_texts() -> tuple[str, ...]:
    content, _ = yaml_file.read(Path(__file__).with_name("golden_texts.yaml"))
    return (*content["sentences"].values(), *content["others"])


def added_texts(tokenizer: PreTrainedTokenizerFast) -> Iterator[str]:
    """Yield a string for each token that is found in text before it is cut: special ones, tags."""
    added = tokenizer.backend_tokenizer.get_added_tokens_decoder()
    tokens = [added[number].content for number in sorted(added)]
    shown = tokens if len(tokens) <= 2 * _ADDED else tokens[:_ADDED] + tokens[-_ADDED:]
    yield from (f"a {token} b{token}c\n{token}" for token in shown)
    if shown:
        yield "".join(shown)


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
