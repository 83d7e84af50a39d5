"""What becomes of each file of a model folder when the model gets another vocabulary.

One table for every verb that writes a folder from a folder. A file that it does not name is the
body's, and is copied where it is a document (:attr:`revocab.models.folder.ModelFolder.documents`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Literal

#: ``tokenizer``: that of the new tokenizer, or none; ``written``: written anew for the new ids;
#: ``body``: copied, though a training's checkpoints leave out other documents; ``stale``: names
#: tokens or rows of the old vocabulary in a way that is not rewritten, so it is left out.
Fate = Literal["tokenizer", "written", "body", "stale"]
#: By name, or by pattern within the folder.
FATES: Mapping[str, Fate] = {
    "tokenizer.json": "tokenizer",
    "tokenizer_config.json": "tokenizer",
    "special_tokens_map.json": "tokenizer",
    "added_tokens.json": "tokenizer",
    "chat_template.jinja": "tokenizer",
    "chat_template.json": "tokenizer",
    "additional_chat_templates/*.jinja": "tokenizer",
    "token_ids.json": "stale",  # of earlier versions of revocab
    # Older formats, which a loader might prefer to tokenizer.json, and those of other programs.
    "merges.txt": "tokenizer",
    "vocab.json": "tokenizer",
    "vocab.txt": "tokenizer",
    "tokenizer.model": "tokenizer",
    "tokenizer.model.v*": "tokenizer",
    "spiece.model": "tokenizer",
    "sentencepiece*.model": "tokenizer",
    "*.tiktoken": "tokenizer",
    "tiktoken.json": "tokenizer",
    "tekken.json": "tokenizer",
    "config.json": "written",
    "generation_config.json": "written",
    "preprocessor_config.json": "body",
    "processor_config.json": "body",
    "video_preprocessor_config.json": "body",
    "params.json": "stale",  # Mistral's own format: vocab_size
    "encoder.json": "stale",
    "vocab.bpe": "stale",
    "lang2id.json": "stale",
}


def fate(name: str) -> Fate | None:
    return next((fate for pattern, fate in FATES.items() if fnmatch(name, pattern)), None)


def files_of(folder: Path, *fates: Fate) -> list[str]:
    """Return the files of a folder with one of some fates, by their paths within it, sorted."""
    patterns = [pattern for pattern, own in FATES.items() if own in fates]
    return sorted(
        {
            str(path.relative_to(folder))
            for pattern in patterns
            for path in folder.glob(pattern)
            if path.is_file() or path.is_symlink()  # also one that leads nowhere
        }
    )


def tell_left_out(source: Path, out: Path) -> None:
    """Say on stderr which files of ``source`` are of its old vocabulary and not in ``out``."""
    names = files_of(source, "tokenizer", "stale")
    left_out = [name for name in names if not (out / name).exists()]
    if left_out:
        print(
            f"note: {source}: left out, as of the old tokenizer: {', '.join(left_out)}",
            file=sys.stderr,
        )


def without(names: Iterable[str], *fates: Fate) -> list[str]:
    return [name for name in names if fate(name) not in fates]
