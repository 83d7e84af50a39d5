"""What commands that read finished results take."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.closed import Closed


class ResultsFolder(Closed):
    """Finished results."""

    results: Path = Field(description="results folder to read")
    experiment: Path | None = Field(
        default=None, description="none: experiment.json in the results folder"
    )


class ResultsAndResources(ResultsFolder):
    """Finished results, and where their corpora and world lie."""

    resources: Path | None = Field(
        default=None, description="none: resources/EXPERIMENT beside the results"
    )
