"""Learning-rate schedules as closed formulas of the step."""

from __future__ import annotations

import math
from typing import Literal

#: What a recipe or stage may name.
Schedule = Literal["constant", "cosine", "linear", "inverse_sqrt"]
#: Updates over which a rate of ``inverse_sqrt`` without a warm-up keeps near its peak.
TIMESCALE = 10_000


def learning_rate_factor(
    step: int, *, schedule: Schedule, steps: int, warmup_steps: int, final_share: float
) -> float:
    """Return the multiple of the peak learning rate used by the update after ``step`` updates.

    Linear warm-up ``step / warmup_steps`` from 0, then 1 (``constant``) or, with
    ``tau = (step - warmup_steps) / (steps - warmup_steps)`` and ``f = final_share``,
    ``f + (1 - f) (1 + cos(pi tau)) / 2`` (``cosine``), the released SAVA recipe (llm-foundry's
    ``cosine_with_warmup``), or ``f + (1 - f) (1 - tau)`` (``linear``). As there, the first update
    of a warm-up has rate 0. ``inverse_sqrt`` knows neither end nor floor: with ``t`` the steps of
    the warm-up, or :data:`TIMESCALE` where there is none, it is ``sqrt(t / (step - warmup_steps +
    t))``, as in transformers' ``get_inverse_sqrt_schedule``.
    """
    if step < warmup_steps:
        return step / warmup_steps
    if schedule == "constant":
        return 1.0
    if schedule == "inverse_sqrt":
        timescale = warmup_steps or TIMESCALE
        return math.sqrt(timescale / (step - warmup_steps + timescale))
    progress = min(1.0, (step - warmup_steps) / max(1, steps - warmup_steps))
    if schedule == "linear":
        return final_share + (1.0 - final_share) * (1.0 - progress)
    return final_share + (1.0 - final_share) * (1.0 + math.cos(math.pi * progress)) / 2.0
