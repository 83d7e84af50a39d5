"""Items that rounding could decide: which they are, and which batches of the harness they stand in.

Sharing contexts adds the same numbers in another order, so a log-likelihood differs in its last
digits. That changes a score only where an item's best two choices are about as close. Such an item
is left to the harness, in the batches that it would make of all requests: padding and the size of a
batch change the last digits too.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lm_eval.api.instance import Instance
    from lm_eval.api.task import Task

#: What sharing may change in a log-likelihood, in units of the dtype's rounding (2^-23 for float32)
#: of the greater of its magnitude and its number of tokens: the logits of a token that is all but
#: certain are rounded although its log-likelihood is nearly 0. Measured in float32 on real
#: questions (ARC, XCOPA, HellaSwag, MMLU) and the demo's, at most 3 units for random, trained and
#: memorising models of 2 to 24 layers, 9 with an output matrix ten times as large; another batch
#: size changes as much (at most 16 units). Four times the greatest of these, and both choices'
#: errors are added up: none of 6,000 items of the demo's and the benchmark's was that close.
UNITS = 64

Request = tuple[tuple[str, str], list[int], list[int]]


def note_lengths(task: Task) -> None:
    """Write the characters of its choice beside each request of a task that reports acc_norm.

    acc_norm divides by them, and a request's text does not tell them from the delimiter.
    """
    from lm_eval.api.task import ConfigurableTask

    plain = isinstance(task, ConfigurableTask) and task.OUTPUT_TYPE == "multiple_choice"
    if not plain or "acc_norm" not in task.aggregation():
        return
    lengths: dict[int, list[int]] = {}
    for instance in task.instances:
        if instance.doc_id not in lengths:
            lengths[instance.doc_id] = [len(choice) for choice in task.doc_to_choice(instance.doc)]
        own = lengths[instance.doc_id]
        # With acc_mutual_info all choices follow once more, without a context: no choices of ours.
        instance.choice_length = own[instance.idx] if instance.idx < len(own) else None


def near_ties(
    instances: Sequence[Instance],
    requests: Sequence[Request],
    answers: Sequence[tuple[float, bool]],
    rounding: float,
) -> list[list[int]]:
    """Return the request indices of each item whose best choice rounding could change.

    ``requests`` and ``answers`` (log-likelihood, greedy) go with ``instances``; ``rounding`` is the
    dtype's (2^-23 for float32). Requests without ``choice_length`` are compared as they are; those
    that have None there are not compared.
    """
    items: dict[tuple[Any, Any], list[int]] = {}
    for i, instance in enumerate(instances):
        if getattr(instance, "choice_length", 0) is None:
            continue
        items.setdefault((instance.task_name, instance.doc_id), []).append(i)
    near = []
    for indices in items.values():
        # The same text twice has the same score either way: a tie that nothing decides.
        choices = {instances[i].args: i for i in indices}.values()
        bounded = []
        for i in choices:
            score = answers[i][0]
            error = UNITS * rounding * max(abs(score), len(requests[i][2]))
            bounded.append((score, error, getattr(instances[i], "choice_length", 0)))
        if undecided([(score, error) for score, error, _ in bounded]) or undecided(
            [(score / length, error / length) for score, error, length in bounded if length]
        ):
            near.append(indices)
    return near


def undecided(choices: Collection[tuple[float, float]]) -> bool:
    """Return whether errors could make another (value, error) the greatest."""
    if len(choices) < 2:
        return False
    (best, error), *others = sorted(choices, reverse=True)
    return any(best - value <= error + other for value, other in others)


def batch_mates(requests: Sequence[Request], chosen: Collection[int], size: int) -> list[int]:
    """Return the indices of all requests in the harness's batches that hold a ``chosen`` one.

    Given to the harness without the rest, they form the same batches again.
    """
    rows: dict[tuple[int, ...], list[int]] = {}  # what differs in the last token only is run once
    for i, (_, context, choice) in enumerate(requests):
        rows.setdefault((*context, *choice[:-1]), []).append(i)

    def order(indices: list[int]) -> tuple[int, list[int]]:
        _, context, choice = requests[max(indices, key=lambda i: len(requests[i][2]))]
        return -len(context + choice), context + choice

    ordered = sorted(rows.values(), key=order)
    wanted, mates = set(chosen), []
    for start in range(0, len(ordered), size):
        batch = [i for row in ordered[start : start + size] for i in row]
        if wanted.intersection(batch):
            mates += batch
    return sorted(mates)
