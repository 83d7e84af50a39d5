"""What commands that read finished results take."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from revocab.closed import Closed, Job


class ResultsFolder(Closed):
    """Finished results."""

    results: Path = Field(description="results folder to read")
    experiment: Path | None = Field(
        default=None, description="default: experiment.json in the results folder"
    )


class ExperimentJob(Job):
    """An experiment with every default, and its runs."""

    experiment: dict[str, Any]
    runs: list[dict[str, Any]] = Field(default_factory=list)
