"""Models and tokenizers as people name them: a folder here, or a repository on the Hub."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import Field

from revocab.closed import HUB_NAME, Closed
from revocab.errors import RevocabError
from revocab.hub import explain, offline, resolve
from revocab.links import link_or_copy
from revocab.marker import MARKER

What = Literal["model", "tokenizer"]
#: ``owner/name`` or ``owner/name@revision``.
REPOSITORY = re.compile(rf"{HUB_NAME}/{HUB_NAME}(@[^@]+)?")
#: No pickles, no code. Some repositories hold a second copy of the weights in another layout.
TOKENIZER_PATTERNS = ("*.json", "*.jinja", "*.txt", "*.model", "*.tiktoken")
PATTERNS = {
    "model": (*TOKENIZER_PATTERNS, "*.safetensors", "README.md", "LICENSE*"),
    "tokenizer": TOKENIZER_PATTERNS,
}
#: A repository that was filled from here holds a claim, which is not that of the copy.
IGNORED = ("consolidated*", "original/*", "*/*", MARKER)


def _field(what: What, description: str, **options: Any) -> Any:
    return Field(description=description, json_schema_extra={"hub": what}, **options)


#: The field of an input that is a model, or a tokenizer: a folder or, by hand, a Hub id.
model_field, tokenizer_field = partial(_field, "model"), partial(_field, "tokenizer")


def fetch_inputs(inputs: Closed) -> Any:
    """Return a command's inputs with every Hub id replaced by the folder of its snapshot.

    Raises :class:`RevocabError` for what is neither a folder here nor a repository there.
    """
    folders: dict[str, Any] = {}
    for name, field in type(inputs).model_fields.items():
        extra, value = field.json_schema_extra, getattr(inputs, name)
        what = cast("What | None", extra.get("hub")) if isinstance(extra, dict) else None
        if what is None or value is None:
            continue
        if isinstance(value, dict):
            folders[name] = {key: local(path, what) for key, path in value.items()}
        elif isinstance(value, list):
            folders[name] = [local(path, what) for path in value]
        else:
            folders[name] = local(value, what)
    return inputs.model_copy(update=folders)


def local(place: Path, what: What) -> Path:
    text = place.as_posix()
    if place.exists() or not REPOSITORY.fullmatch(text):
        return place
    name, _, revision = text.partition("@")
    try:
        commit = resolve(name, revision or None, "model")["commit"]
    except RevocabError as error:
        raise RevocabError(
            f"{place}: no such folder here, and {problem}" for problem in error.problems
        ) from None
    return Path(snapshot(name, commit, what))


def snapshot(
    name: str,
    commit: str,
    what: What,
    folder: Path | None = None,
    patterns: Iterable[str] | None = None,
) -> str:
    """Download a repository at a commit, but for what is there of it; return where it is."""
    from huggingface_hub import snapshot_download

    chosen = list(PATTERNS[what] if patterns is None else patterns)
    fetch = partial(
        snapshot_download,
        name,
        revision=commit,
        allow_patterns=chosen,
        ignore_patterns=list(IGNORED),
    )
    try:
        if folder is None or not offline():
            return fetch(local_dir=folder)
        lay_chosen(Path(fetch()), chosen, folder)
        return str(folder)
    # The client raises many unrelated types: all mean that the files did not all arrive.
    except Exception as error:
        reason = explain(error, name, "model")
        raise RevocabError(f"{reason}; run again; what was downloaded is kept") from error


def lay_chosen(cached: Path, patterns: list[str], folder: Path) -> None:
    """Lay the files of a cached snapshot that fit the patterns in a folder."""
    from huggingface_hub.utils._paths import filter_repo_objects

    paths = sorted(path for path in cached.rglob("*") if path.is_file())
    names = [path.relative_to(cached).as_posix() for path in paths]
    ignored = list(IGNORED)
    for name in filter_repo_objects(names, allow_patterns=patterns, ignore_patterns=ignored):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).unlink(missing_ok=True)
        link_or_copy(cached / name, folder / name)
