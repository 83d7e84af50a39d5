"""Ids as the files of a folder give them, and the rows that a model beside them has.

Two things come between. The tokenizers library numbers added tokens that are not in the model's
vocabulary from its end, whatever ``tokenizer.json`` says, and closes ids without a token; such
tokens are written into the vocabulary, which keeps its ids, and an id without a token gets one that
no text is cut into. And a tokenizer may have special tokens that the model of its folder has no row
for (Gemma 3's text models: 262,145 tokens, 262,144 rows); they are left out.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from revocab.errors import RevocabError, refuse
from revocab.io import read_json, write_text

TOKENIZER, TOKENIZER_CONFIG = "tokenizer.json", "tokenizer_config.json"
#: Files that name tokens; the configuration says how many rows there are.
_NAMING = (TOKENIZER, TOKENIZER_CONFIG, "special_tokens_map.json", "added_tokens.json")
#: Files of older formats, which a loader might prefer to ``tokenizer.json``.
OTHER_FORMATS = ("vocab.json", "merges.txt", "vocab.txt", "tokenizer.model", "added_tokens.json")
_BESIDE = ("chat_template.jinja", "chat_template.json", "config.json")
TEMPLATES = "additional_chat_templates"
#: Roles without which texts or answers are not as trained; others (pad, mask, image) may go.
_NEEDED = ("bos_token", "eos_token", "unk_token", "cls_token", "sep_token")
#: What is said of an added token.
FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")


@dataclass(frozen=True)
class TokenizerFiles:
    """What the files of a tokenizer's folder say of tokens and ids, by file name."""

    folder: Path
    files: Mapping[str, dict[str, Any]]
    #: Of the model in the same folder; None where there is none.
    rows: int | None

    @classmethod
    def read(cls, folder: Path) -> TokenizerFiles:
        names = (*_NAMING, "config.json")
        files = {name: read_json(folder / name) for name in names if (folder / name).is_file()}
        files = {name: content for name, content in files.items() if isinstance(content, dict)}
        config = files.pop("config.json", {})
        nested = config.get("text_config")
        size = (nested if isinstance(nested, dict) else {}).get("vocab_size")
        size = config.get("vocab_size") if size is None else size
        return cls(folder, files, size if type(size) is int else None)

    @cached_property
    def vocabulary(self) -> dict[str, int]:
        vocabulary = self.files[TOKENIZER]["model"]["vocab"]
        if isinstance(vocabulary, list):  # Unigram: ids by position
            return {piece: number for number, (piece, *_) in enumerate(vocabulary)}
        return dict(vocabulary)

    @cached_property
    def added(self) -> list[dict[str, Any]]:
        """Return the added tokens of ``tokenizer.json`` and, behind them, those of other files.

        Last come those that only a role names, which transformers adds: special ones without an id.
        """
        tokens = list(self.files[TOKENIZER].get("added_tokens") or ())
        none = dict.fromkeys(FLAGS, False)
        decoder = self.files.get(TOKENIZER_CONFIG, {}).get("added_tokens_decoder") or {}
        others = [{**none, **token, "id": int(number)} for number, token in decoder.items()]
        named = self.files.get("added_tokens.json", {}).items()
        others += [{**none, "normalized": True, "content": text, "id": n} for text, n in named]
        known = {token["content"] for token in tokens} | self.vocabulary.keys()
        for token in sorted(others, key=lambda token: token["id"]):
            if token["content"] not in known:
                known.add(token["content"])
                tokens.append(token)
        last = max((token["id"] for token in tokens), default=-1)
        new: dict[str, None] = {}
        for file in (TOKENIZER_CONFIG, "special_tokens_map.json"):
            for key, value in self.files.get(file, {}).items():
                entries: Iterable[Any] = [value] if key.endswith("_token") else ()
                if key.endswith("_special_tokens"):
                    entries = value.values() if isinstance(value, dict) else value or ()
                names = [text for text in map(_spelling, entries) if isinstance(text, str)]
                new.update(dict.fromkeys(name for name in names if name not in known))
        for number, name in enumerate(new, max(last + 1, len(self.vocabulary))):
            tokens.append({**none, "content": name, "id": number, "special": True})
        return tokens

    @cached_property
    def ids(self) -> dict[str, int]:
        return self.vocabulary | {token["content"]: token["id"] for token in self.added}

    @cached_property
    def beyond(self) -> tuple[dict[str, int], dict[str, int]]:
        """Return the tokens with ids beyond the rows: those to leave out, and the others.

        Left out are special tokens that no text, its beginning or end, and no answer's end holds;
        none, where there is another token beyond the rows.
        """
        if self.rows is None:
            return {}, {}
        beyond = {token: number for token, number in self.ids.items() if number >= self.rows}
        named = [self.files.get(name, {}) for name in (TOKENIZER_CONFIG, "special_tokens_map.json")]
        needed = {_spelling(settings.get(role)) for settings in named for role in _NEEDED}
        content = self.files[TOKENIZER]
        needed |= {content["model"].get("unk_token"), *_written(content.get("post_processor"))}
        special = {token["content"] for token in self.added if token["special"]} - needed
        others = {token: number for token, number in beyond.items() if token not in special}
        return ({}, others) if others else (beyond, {})

    @cached_property
    def moved(self) -> dict[str, tuple[int, int]]:
        """Return the added tokens that the library numbers otherwise: the files' id, and its."""
        moved, last = {}, -1
        for token in self.added:
            own = self.vocabulary.get(token["content"])
            number = max(last + 1, len(self.vocabulary)) if own is None else own
            last = max(last, number)
            if number != token["id"]:
                moved[token["content"]] = (token["id"], number)
        return moved

    @cached_property
    def free(self) -> list[int]:
        """Return the ids below the largest that no token has.

        Raises :class:`RevocabError` where they outnumber the tokens.
        """
        taken = {*self.ids.values()}
        last = max(taken, default=-1)
        if last >= 2 * len(taken):
            raise RevocabError(
                f"{self.folder / TOKENIZER}: {len(taken)} tokens but ids up to {last}; give them"
                " the ids of their rows in the model"
            )
        return sorted({*range(last)} - taken)

    def kept_ids_problems(self) -> Iterator[str]:
        """Yield each added token whose id cannot be kept, with both ids."""
        owner: dict[int, set[str]] = {}
        if not self.moved:
            return
        for token, number in [*self.vocabulary.items(), *self.ids.items()]:
            owner.setdefault(number, set()).add(token)
        for token, (number, loaded) in self.moved.items():
            if token in self.vocabulary:
                why = f"its vocabulary says {loaded}"
            elif others := sorted(owner[number] - {token}):
                why = f"that is the id of {others[0]!r}"
            elif isinstance(self.files[TOKENIZER]["model"]["vocab"], list):
                why = "a Unigram vocabulary has no free ids"
            else:
                continue
            yield (
                f"{self.folder / TOKENIZER}: added token {token!r} has id {number}, and"
                f" the tokenizers library gives it {loaded}: {why}; give it an id of its own that"
                " is a row of the model"
            )

    def with_kept_ids(self) -> dict[str, Any]:
        """Return a ``tokenizer.json`` that the library numbers as the files do, without free ids.

        Raises :class:`RevocabError` for ids that cannot be kept.
        """
        content = self.files[TOKENIZER]
        refuse(self.kept_ids_problems())
        if (not self.moved and not self.free) or isinstance(content["model"]["vocab"], list):
            return content
        names = {f"<|free_id_{number}|>": number for number in self.free}
        if taken := names.keys() & self.ids.keys():
            raise RevocabError(f"{self.folder / TOKENIZER}: {min(taken)!r} has another id")
        ids = dict(sorted((self.ids | names).items(), key=lambda pair: pair[1]))
        changed = {
            **content,
            "added_tokens": sorted(self.added, key=lambda token: token["id"]),
            "model": {**content["model"], "vocab": ids},
            "post_processor": deepcopy(content.get("post_processor")),
        }
        renumber(changed["post_processor"], ids)
        return changed

    def without(self, tokens: Collection[str]) -> TokenizerFiles:
        files = {name: _without(name, content, tokens) for name, content in self.files.items()}
        return TokenizerFiles(self.folder, files, self.rows)


def _spelling(value: Any) -> Any:
    return value.get("content") if isinstance(value, dict) else value


def _written(part: Any) -> Iterator[str]:
    """Yield the tokens that a post-processor puts around a text."""
    for inner in (part or {}).get("processors", ()):
        yield from _written(inner)
    yield from (part or {}).get("special_tokens") or {}
    yield from (part[name][0] for name in ("sep", "cls") if name in (part or {}))


def _without(name: str, content: dict[str, Any], tokens: Collection[str]) -> dict[str, Any]:
    """Return one file's settings without some added tokens."""

    def cut(value: Any) -> Any:
        if isinstance(value, list):
            return [entry for entry in value if _spelling(entry) not in tokens]
        if isinstance(value, dict):
            return {key: entry for key, entry in value.items() if _spelling(entry) not in tokens}
        return value

    if name == TOKENIZER:
        model = content["model"]
        vocabulary = model["vocab"]
        if isinstance(vocabulary, dict):
            vocabulary = {token: n for token, n in vocabulary.items() if token not in tokens}
        else:
            vocabulary = [piece for piece in vocabulary if piece[0] not in tokens]
        added = cut(content["added_tokens"])
        return {**content, "added_tokens": added, "model": {**model, "vocab": vocabulary}}
    return {
        key: cut(value)
        for key, value in content.items()
        if key not in tokens and not (isinstance(value, str | dict) and _spelling(value) in tokens)
    }


def renumber(part: Any, ids: Mapping[str, int]) -> None:
    """Put new ids into a post-processor, in place, wherever it names a token with its id."""
    if not part:
        return
    for inner in part.get("processors", ()):
        renumber(inner, ids)
    for named in (part.get("special_tokens") or {}).values():
        named["ids"] = [ids[token] for token in named["tokens"]]
    for name in ("sep", "cls"):  # BERT's and RoBERTa's
        if name in part:
            part[name] = [part[name][0], ids[part[name][0]]]


def changed_files(folder: Path) -> tuple[dict[str, Any], dict[str, int]]:
    """Return the files of a folder that have to be read otherwise, and the tokens left out.

    None for files of older formats, which have no tokens at free ids. Raises
    :class:`RevocabError` for ids that cannot be kept.
    """
    before = TokenizerFiles.read(folder)
    if not isinstance(before.files.get(TOKENIZER, {}).get("model"), dict):
        return {}, {}
    left_out, _ = before.beyond
    after = before.without(left_out) if left_out else before
    content = after.with_kept_ids()
    files: dict[str, Any] = {**after.files, TOKENIZER: content}
    files = {name: new for name, new in files.items() if new != before.files[name]}
    if content is not after.files[TOKENIZER]:
        files |= dict.fromkeys(OTHER_FORMATS)
    return files, left_out


def write_changed(files: Mapping[str, Any], out: Path) -> None:
    """Put :func:`changed_files` in the place of a folder's files, older formats out of it."""
    for name, content in files.items():
        if content is None:
            (out / name).unlink(missing_ok=True)
        else:
            # In one line: Python indents 30 MB in ten seconds.
            write_text(out / name, json.dumps(content, ensure_ascii=False))


def copy_with(folder: Path, files: Mapping[str, Any], out: Path) -> None:
    """Copy what a tokenizer is loaded from into an empty folder, with ``files`` in their place."""
    for name in (*_NAMING, *_BESIDE):
        if name not in files and (folder / name).is_file():
            shutil.copyfile(folder / name, out / name)
    if (folder / TEMPLATES).is_dir():
        shutil.copytree(folder / TEMPLATES, out / TEMPLATES)
    write_changed(files, out)


def new_piece_model() -> Any:
    from transformers.utils import sentencepiece_model_pb2_new

    schema: Any = sentencepiece_model_pb2_new  # its names are there when it is imported
    return schema.ModelProto()


def pieces_of(data: bytes) -> list[str]:
    """Return a model's pieces by id; none of what is no such model."""
    from google.protobuf.message import DecodeError

    model = new_piece_model()
    try:
        model.ParseFromString(data)
    except DecodeError:
        return []
    return [entry.piece for entry in model.pieces]
