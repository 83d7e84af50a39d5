"""How a case of a changed key is written: see ``every_key_cases.py``."""

from __future__ import annotations

from typing import Any

Case = tuple[dict[str, Any], list[str]]

MAIN, SECOND = "adapt_model:main-*", "adapt_model:second-*"
PACK_PRETRAINING = "pack_tokens:source--sized--pretrain"
PACK, PACK_STAGED = (
    "pack_tokens:target--adaptation--adapt",
    "pack_tokens:target--adaptation--staged",
)
PACK_ANSWERS, HELDOUT_ANSWERS = "pack_tokens:hub--chat--answers", "pack_heldout_answers"
FIRST, NEXT = "recipes.staged.stages.0", "recipes.staged.stages.1"
TASKS, TEXT = "evaluation.multiple_choice.tasks", "evaluation.generation.tasks"
PARALLEL = "fertility.parallel.source"
NO_HUB = {f"{PARALLEL}.hub": None}
TRAINED = (
    "main-sava", "main-focus", "main-again", "second-mean", "second-clp", "second-clp-expanded",
    "second-clp-summed",
)  # fmt: skip
OTHER_HELPER = "fetch_model:other-helper"


def one(key: str, value: Any, *jobs: str) -> Case:
    """Return the case of one key that needs no other change."""
    return {key: value}, list(jobs)


def each(prefix: str, jobs: list[str], **values: Any) -> list[Case]:
    """Return a case for every key below ``prefix``; all of them feed the same jobs."""
    return [({f"{prefix}.{key}": value}, jobs) for key, value in values.items()]


def joined(prefix: str, *jobs: str) -> list[Case]:
    """Return the cases of several configurations of the Hub in place of one."""
    names = {f"{prefix}.names.{language}": language for language in ("it", "en")}
    names[f"{prefix}.name"] = None
    return [(names, [*jobs]), ({f"{prefix}.join": "key", **names}, [*jobs])]
