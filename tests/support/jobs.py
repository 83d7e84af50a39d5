"""Jobs of kinds as Python writes them: ``job_of(PromptJob, kind="copying", …)``."""

from __future__ import annotations

from typing import Any

from revocab.closed import checked


def job_of(model: type, /, **options: Any) -> Any:
    return checked(model, options)
