"""`revocab export`: a model in another program's format, which gives the same tokens there."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from revocab.closed import Closed
from revocab.errors import RevocabError
from revocab.models.folder import ModelFolder
from revocab.models.hub_or_folder import local, model_field
from revocab.models.load import ADAPTER
from revocab.output import OutputFolder
from revocab.progress import spoken
from revocab.verb import verb

Outtype = Literal["auto", "f32", "f16", "bf16", "q8_0"]


class ExportOptions(Closed):
    """The flags of `revocab export`."""

    to: Literal["gguf", "sentencepiece", "adapter"] = Field(default="gguf", description="format")
    outtype: Outtype = Field(
        default="auto", description="type of the matrices in a GGUF; auto: as they are stored"
    )
    lines: Path | None = Field(
        default=None, description="text file; each line must give the same tokens there as here"
    )
    approximate: bool = Field(
        default=False, description="write it even if some lines give other tokens there"
    )
    base: str | None = Field(
        default=None,
        description="model that MODEL was made from, for --to adapter: folder or Hub id",
    )


@verb()
def export(
    model: str = model_field("model to write"),
    out: Path = Field(description="folder to write"),
    *,
    options: ExportOptions,
) -> str:
    """Write a model for another program.

    The folder OUT gets model.gguf, for llama.cpp and what is built on it, and a Modelfile for
    Ollama; or with --to sentencepiece a tokenizer.model. Text gives the same tokens there as
    here. If it does not, nothing is written, and the message gives the share of lines.
    With --to adapter --base BASE it gets what PEFT adds to BASE: new rows, and a run's LoRA.
    """
    if (options.to == "adapter") != (options.base is not None):
        raise RevocabError(
            f"--base: {options.base or 'not given'} with --to {options.to}; --to adapter needs the"
            " model that MODEL was made from, and other formats take none"
        )
    if options.lines is not None and not options.lines.is_file():
        raise RevocabError(f"--lines {options.lines}: no such file; give a text file")
    folder = local(Path(model), "model")
    if (folder / ADAPTER).is_file():
        raise RevocabError(f"{folder}: a LoRA adapter; export the model that it was merged into")
    source = ModelFolder(folder)
    base = None if options.base is None else Path(options.base)
    output = OutputFolder(out, f"export to {options.to}", [folder, options.lines, base])
    say = spoken()
    if options.to == "gguf":
        from revocab.product.export.gguf import write
    elif options.to == "adapter":
        from revocab.product.export.adapter import write
    else:
        from revocab.product.export.sentencepiece import write
    with output.replaced() as part:
        notes = write(source, options, part, say)
        files = sorted(path for path in part.iterdir() if not path.name.startswith("."))
        sizes = [f"{out / path.name}  {path.stat().st_size:,} bytes" for path in files]
    return "\n".join([*sizes, *notes])
