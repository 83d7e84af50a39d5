"""`revocab export`: a model in another program's format, which gives the same tokens there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from revocab.closed import look_up
from revocab.command import of_flags
from revocab.errors import RevocabError
from revocab.export.format import ExportOptions, formats
from revocab.flags import leading, values_of
from revocab.models.folder import ModelFolder
from revocab.models.hub_or_folder import local
from revocab.output import OutputFolder
from revocab.progress import spoken

NAME = "revocab export MODEL --to FORMAT OUT"
ABOUT = """Write a model for another program: revocab export MODEL --to gguf OUT

The folder OUT gets model.gguf, for llama.cpp and what is built on it, and a Modelfile for Ollama;
or with --to sentencepiece a tokenizer.model. Text gives the same tokens there as here. If it
does not, nothing is written, and the message gives the share of lines."""


def export(words: Sequence[str]) -> str:
    """Return what was written, after writing it; or raise :class:`RevocabError`."""
    named, flags = leading(words, 1)
    values = values_of([ExportOptions], NAME, ABOUT, placed(flags))
    if not named:
        raise RevocabError(f"MODEL comes first, a folder or a Hub id: {NAME}")
    options = of_flags(ExportOptions, values)
    kind = look_up("--to", options.to, formats(), "format")
    if options.lines is not None and not options.lines.is_file():
        raise RevocabError(f"--lines {options.lines}: no such file; give a text file")
    folder = local(Path(named[0]), "model")
    if (folder / "adapter_config.json").is_file():
        raise RevocabError(f"{folder}: a LoRA adapter; export the model that it was merged into")
    model = ModelFolder(folder)
    out = OutputFolder(options.out, f"export to {kind.name}", [folder, options.lines])
    say = spoken()
    with out.replaced(keeps_job=False) as part:
        notes = kind.write(model, options, part, say)
        files = sorted(path for path in part.iterdir() if not path.name.startswith("."))
        sizes = [f"{options.out / path.name}  {path.stat().st_size:,} bytes" for path in files]
    return "\n".join([*sizes, *notes])


def placed(flags: Sequence[str]) -> list[str]:
    """Return the flags with ``--out`` before the word that follows ``--to FORMAT``."""
    words = [*flags]
    after = next((place + 2 for place, word in enumerate(words) if word == "--to"), len(words))
    if after < len(words) and not words[after].startswith("-"):
        words.insert(after, "--out")
    return words
