"""Budgets, warm-ups and what stages inherit, resolved to steps; schedules as formulas of these."""

from __future__ import annotations

import math
from typing import Any, Literal

from revocab.limits import TEXT_TOKENS

#: Keys that a stage takes from its recipe where it does not give them itself.
INHERITED = ("learning_rate", "schedule", "final_learning_rate_share", "weight_decay")
#: Ways to say how long something goes on; one of each is given.
BUDGETS = ("steps", "tokens", "share")
WARMUPS = ("warmup_steps", "warmup_share")
#: What a recipe or stage may name.
Schedule = Literal["constant", "cosine", "linear", "inverse_sqrt"]
#: Updates over which a rate of ``inverse_sqrt`` without a warm-up keeps near its peak.
TIMESCALE = 10_000


def steps_of(tokens: int, per_step: int) -> int:
    """Return the steps that cover ``tokens``; ``ValueError`` if these are too many."""
    try:
        TEXT_TOKENS.func(tokens)  # type: ignore[call-arg]
    except ValueError as error:
        raise ValueError(f"tokens: {error}, received {tokens}") from None
    return -(-tokens // per_step)


def is_share(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def with_warmup(values: dict[str, Any], where: str) -> dict[str, Any]:
    share, steps = values.get("warmup_share"), values.get("steps")
    if share is None or not is_share(share) or share == 1 or not isinstance(steps, int):
        return values
    if values.get("warmup_steps"):
        raise ValueError(
            f"{where}warmup_steps and warmup_share are both given; give one of {', '.join(WARMUPS)}"
        )
    rest = {key: value for key, value in values.items() if key != "warmup_share"}
    return {**rest, "warmup_steps": math.ceil(share * steps - 1e-9)}


def resolved(values: dict[str, Any]) -> dict[str, Any]:
    """Return a recipe's values with every budget in steps; ``ValueError`` if they contradict.

    What has the wrong type is left for the schema to report.
    """
    values = {key: value for key, value in values.items() if value is not None}
    per_step = 0
    if isinstance(values.get("sequence_length"), int) and isinstance(values.get("batch_size"), int):
        per_step = values["sequence_length"] * values["batch_size"]
    if "steps" in values and "tokens" in values:
        raise ValueError("steps and tokens are both given; give one")
    if isinstance(values.get("tokens"), int) and per_step > 0:
        values["steps"] = steps_of(values.pop("tokens"), per_step)
    stages = values.get("stages")
    if isinstance(stages, list) and stages and all(isinstance(stage, dict) for stage in stages):
        values["stages"] = stages = resolved_stages(values, stages, per_step)
        if "learning_rate" not in values and "learning_rate" in stages[0]:
            values["learning_rate"] = stages[0]["learning_rate"]
        if "steps" not in values and all("steps" in stage for stage in stages):
            values["steps"] = sum(stage["steps"] for stage in stages)
        for key in WARMUPS:
            values.pop(key, None)
    return with_warmup(values, "")


def resolved_stages(
    recipe: dict[str, Any], stages: list[dict[str, Any]], per_step: int
) -> list[dict[str, Any]]:
    total = recipe.get("steps")
    resolved = []
    for number, asked in enumerate(stages):
        where = f"stages.{number}: "
        stage_steps = {key: value for key, value in asked.items() if value is not None}
        stage = {key: recipe[key] for key in INHERITED if key in recipe}
        if not any(key in stage_steps for key in WARMUPS):
            stage |= {key: recipe[key] for key in WARMUPS if key in recipe}
        stage |= stage_steps
        budgets = [key for key in BUDGETS if key in stage]
        if len(budgets) != 1:
            raise ValueError(
                f"{where}exactly one of {', '.join(BUDGETS)} must be given, received "
                f"{', '.join(budgets) or 'none'}"
            )
        if isinstance(stage.get("tokens"), int) and per_step > 0:
            stage["steps"] = steps_of(stage.pop("tokens"), per_step)
        resolved.append(stage)
    shares = [stage["share"] for stage in resolved if "share" in stage]
    if not all(map(is_share, shares)):
        return resolved
    if shares:
        if not isinstance(total, int):
            raise ValueError("stages: a share needs the recipe's own steps or tokens")
        if len(shares) < len(resolved) or abs(sum(shares) - 1) > 1e-6:
            raise ValueError(
                f"stages: shares {shares} sum to {sum(shares):g}; every stage needs"
                " one, and they must sum to 1"
            )
        ends = [round(sum(shares[: number + 1]) * total) for number in range(len(shares))]
        for stage, begin, end in zip(resolved, [0, *ends], ends, strict=False):
            del stage["share"]
            stage["steps"] = end - begin
    elif isinstance(total, int) and all(isinstance(stage.get("steps"), int) for stage in resolved):
        stage_steps = sum(stage["steps"] for stage in resolved)
        if stage_steps != total:
            raise ValueError(f"stages: {stage_steps} steps in all, but the recipe gives {total}")
    return [with_warmup(stage, f"stages.{n}: ") for n, stage in enumerate(resolved)]


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
