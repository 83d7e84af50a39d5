"""Which corpora of an experiment hold text, and which conversations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from revocab.config.schema import Experiment


def text_corpora(experiment: Experiment, corpora: Iterable[str]) -> list[str]:
    return [one for one in corpora if not holds_conversations(experiment, one)]


def holds_conversations(experiment: Experiment, corpus: str) -> bool:
    """Return whether a corpus keeps messages; one that is not there does not."""
    given = experiment.corpora.get(corpus)
    return given is not None and given.holds_conversations
