"""What of a model folder is uploaded: only what is known to belong there; the rest stays."""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from revocab.errors import RevocabError, refuse
from revocab.initialise.diagnostics import NAME as DIAGNOSTICS
from revocab.model_check.kind import look_at
from revocab.models.folder import OWN_FILES, TOKENIZER_FILES, ModelFolder
from revocab.models.links import link_problems
from revocab.models.origin import PROVENANCE
from revocab.models.weights.index import INDEX

CARD = "README.md"
#: What is uploaded beside weights, tokenizer and the pictures of the card.
DOCUMENTS = ("config.json", "generation_config.json", CARD, "LICENSE*", "NOTICE*", "USE_POLICY*")
#: Uploaded only when asked for: the card names them, but they tell of the author's corpora.
HISTORY = (PROVENANCE, f"{DIAGNOSTICS}.json")
PICTURE = re.compile(r"!\[[^\]]*\]\(([\w.-]+\.(?:png|svg|jpg))\)")


@dataclass
class Contents:
    """Files by their name on the Hub, as bytes where they are made for it, and what stays."""

    folder: Path
    card: Any
    files: dict[str, Path | bytes] = field(default_factory=dict)
    stays: dict[str, str] = field(default_factory=dict)


def check_folder(folder: Path) -> None:
    """Raise :class:`RevocabError` unless a model may be published: the one place that decides."""
    errors = [finding for finding in look_at(folder) if finding.severity == "error"]
    if errors:
        raise RevocabError(finding.line(folder) for finding in errors)


def contents_of(folder: Path, *, history: bool = False) -> Contents:
    """Return what is uploaded of a folder that passed :func:`check_folder`."""
    model, card = ModelFolder(folder), read_card(folder)
    contents = Contents(folder, card)
    may_go = {*model.files, INDEX, *TOKENIZER_FILES, *DOCUMENTS, *PICTURE.findall(card.text)}
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            contents.stays[f"{path.name}/"] = "a folder"
        elif path.name in OWN_FILES and not (history and path.name in HISTORY):
            named = "; --history uploads it" if path.name in HISTORY else ""
            contents.stays[path.name] = f"describes this folder only{named}"
        elif path.name in HISTORY or any(fnmatch.fnmatch(path.name, name) for name in may_go):
            contents.files[path.name] = path
        else:
            contents.stays[path.name] = "no model, tokenizer, card or licence file"
    refuse(link_problems(folder, contents.files))
    return contents


def read_card(folder: Path) -> Any:
    """Return a folder's card as the Hub's client reads it; :class:`RevocabError` if it cannot."""
    from huggingface_hub import ModelCard

    card = folder / CARD
    if not card.is_file():
        raise RevocabError(
            f"{folder}: no {CARD}, which is the page on the Hub; write one that begins with at"
            " least license and language between two lines of ---"
        )
    try:
        return ModelCard(card.read_text(encoding="utf-8"))
    # The client raises many unrelated types for YAML that it cannot read.
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise RevocabError(f"{card}: its head cannot be read ({reason}); correct it") from error
