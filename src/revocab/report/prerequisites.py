"""Files that several kinds of tables and figures read beside the scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from revocab.config.layout import Layout
    from revocab.report.kind import KindOptions


def fertility_report(layout: Layout, options: KindOptions) -> list[str]:
    """Return the manifest of the report on tokenizers."""
    return [manifest(layout.paths.fertility)]


def manifest(folder: str) -> str:
    """Return the file that says that a folder is whole."""
    return f"{folder}/manifest.json"
