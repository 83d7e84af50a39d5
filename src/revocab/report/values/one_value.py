"""One number of a run, as an experiment file chooses it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import model_validator

from revocab.closed import Closed, OneLine, exactly_one
from revocab.report.values.losses import Bytes, FirstStepLoss, HeldoutLoss, StepsTo, Tokens
from revocab.report.values.task_scores import Average
from revocab.report.values.tokenizers import CharactersPerToken, Fertility, Vocabulary

if TYPE_CHECKING:
    from revocab.report.values.run_value import RunValue


class OneValue(Closed):
    """Exactly one number of a run, and what readers see in place of its own header."""

    label: OneLine | None = None
    tokens: Tokens | None = None
    bytes: Bytes | None = None
    heldout: HeldoutLoss | None = None
    steps_to: StepsTo | None = None
    first_step_loss: FirstStepLoss | None = None
    average: Average | None = None
    fertility: Fertility | None = None
    vocabulary: Vocabulary | None = None
    characters_per_token: CharactersPerToken | None = None

    @model_validator(mode="after")
    def _one_value(self) -> OneValue:
        return exactly_one(self, tuple(key for key in OneValue.model_fields if key != "label"))

    @property
    def name(self) -> str:
        return next(key for key, value in self if key != "label" and value is not None)

    @property
    def value(self) -> RunValue:
        return getattr(self, self.name)

    @property
    def header(self) -> str:
        return self.label or self.value.header()
