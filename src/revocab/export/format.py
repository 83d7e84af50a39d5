"""What a format is that a model can be exported to, and the registry of those in ``formats/``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field

from revocab.closed import Closed, OneLine
from revocab.models.folder import ModelFolder
from revocab.progress import Say
from revocab.registry import found_in

Outtype = Literal["auto", "f32", "f16", "bf16", "q8_0"]


class ExportOptions(Closed):
    """The flags of `revocab export`."""

    to: OneLine = Field(default="gguf", description="gguf or sentencepiece")
    out: Path = Field(description="folder to write; also as the word after --to FORMAT")
    outtype: Outtype = Field(
        default="auto", description="type of the matrices in a GGUF; auto: as they are stored"
    )
    lines: Path | None = Field(
        default=None, description="text file; each line must give the same tokens there as here"
    )
    approximate: bool = Field(
        default=False, description="write it even if some lines give other tokens there"
    )


@dataclass(frozen=True)
class Format:
    """One format: ``write(model, options, folder, say)`` fills a folder and tells what is in it."""

    name: str
    summary: str
    write: Callable[[ModelFolder, ExportOptions, Path, Say], list[str]]


@cache
def formats() -> dict[str, Format]:
    from revocab.export import formats as package

    return found_in(package, "FORMAT")
