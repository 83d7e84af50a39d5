"""Tokens and operations of scoring and generation, as far as an experiment's file tells them."""

from __future__ import annotations

from collections.abc import Iterator

from revocab.bill.amounts import Amount, Factor
from revocab.bill.outline import Outline
from revocab.bill.sizes import Sizes
from revocab.config.expand import Run
from revocab.plan.plan import Plan
from revocab.training.machine.operations import operations

#: Tokens of a multiple-choice item, its question with all choices: assumed, no file tells it.
ITEM_TOKENS = 400
#: A quarter of the world's pairs and questions are the test side.
TEST_SHARE = 4


#: Items of a task whose number no file tells.
ITEMS = 1000
#: Keys that bound the items of a task.
LIMIT, TASK_LIMIT = "evaluation.multiple_choice.limit", "evaluation.generation.tasks.TASK.limit"


def choice_items(plan: Plan, sizes: Sizes, task: str) -> int:
    """Return how many items a task has, of which ``limit`` may leave some: stated, known, or
    assumed, which is noted.
    """
    choices = plan.experiment.evaluation.multiple_choice
    entry, world = choices.tasks[task], plan.experiment.world
    number: int | None = None
    if entry.items:
        number = entry.items.number
    elif world and entry.data and entry.data.world:
        number = world.items
    elif entry.harness or (entry.data and entry.data.hub):
        number = sizes.known_number("items", entry.family, LIMIT)
    return counted(sizes, task, number, choices.limit, LIMIT)


def queries(plan: Plan, sizes: Sizes, task: str) -> int:
    """Return how many queries a task has, as :func:`choice_items` does."""
    entry, world = plan.experiment.evaluation.generation.tasks[task], plan.experiment.world
    number: int | None = None
    if entry.items:
        number = entry.items.number
    elif world and (name := entry.test.world):
        kind = name.partition(".")[0]
        made = {"parallel": world.parallel, "questions": world.questions}.get(kind)
        number = made and made // TEST_SHARE
    elif hub := entry.test.hub:
        number = sizes.known_number("rows", f"{hub.id} {hub.split}", TASK_LIMIT)
    return counted(sizes, task, number, entry.limit, TASK_LIMIT)


def counted(sizes: Sizes, task: str, number: int | None, limit: int | None, key: str) -> int:
    if number is None and limit is None:
        sizes.untold[task], number = key, ITEMS
    return min(size for size in (number, limit) if size is not None)


def inference_of(plan: Plan, sizes: Sizes) -> Iterator[tuple[Amount, Amount]]:
    """Yield tokens and operations of the scored runs whose sizes are known, under one name."""
    for run in plan.evaluated():
        config = sizes.run(run)
        if config is None:
            continue
        outline = Outline(config)
        for name, products, length in (scoring(plan, sizes, run), generation(plan, sizes, run)):
            per_token: Factor = (operations(outline).flops(length), "FLOP")
            tokens = Amount(f"{name} of {run.id}", "tokens", products)
            if products:
                yield tokens, Amount(tokens.name, "FLOP", [[(tokens.value, "tokens"), per_token]])


def scoring(plan: Plan, sizes: Sizes, run: Run) -> tuple[str, list[list[Factor]], int]:
    choices = plan.experiment.evaluation.multiple_choice
    steps: Factor = (len(run.select(choices.steps)), "checkpoints")
    products: list[list[Factor]] = []
    for task in plan.choice_tasks(run):
        items, shots = choice_items(plan, sizes, task), choices.tasks[task].shots
        examples = 1 + (choices.shots if shots is None else shots)
        products.append([steps, (items, f"items of {task}"), (ITEM_TOKENS, "tokens"), examples])
    return "scoring", products, ITEM_TOKENS


def generation(plan: Plan, sizes: Sizes, run: Run) -> tuple[str, list[list[Factor]], int]:
    """Return at most how many tokens are read and written: contexts that are full."""
    options = plan.experiment.evaluation.generation
    steps: Factor = (len(run.select(options.steps)), "checkpoints")
    products: list[list[Factor]] = []
    for task in plan.generation_tasks(run):
        full = (options.context_length, "tokens at most")
        products.append([steps, (queries(plan, sizes, task), f"queries of {task}"), full])
    return "generation", products, options.context_length
