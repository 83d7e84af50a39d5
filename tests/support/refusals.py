"""What an experiment is refused for."""

from __future__ import annotations

from typing import Any

import pytest

from revocab.errors import RevocabError
from revocab.experiment import validate


def problems(values: dict[str, Any]) -> list[str]:
    """Return the problems of an experiment's values; an experiment without one fails the test."""
    with pytest.raises(RevocabError) as caught:
        validate(values)
    return caught.value.problems
