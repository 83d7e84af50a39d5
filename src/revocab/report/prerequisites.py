"""Files that several kinds of tables and figures read beside the scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from revocab.plan import Plan
    from revocab.report.kind import KindOptions


def fertility_report(plan: Plan, options: KindOptions) -> list[str]:
    """Return the manifest of the report on tokenizers."""
    return [manifest(plan.paths.fertility)]


def manifest(folder: str) -> str:
    """Return the file that says that a folder is whole."""
    return f"{folder}/manifest.json"
