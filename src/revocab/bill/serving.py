"""Memory of jobs that run a model and train none, and among how many devices it is divided."""

from __future__ import annotations

from collections.abc import Iterator

from revocab.bill.amounts import Amount, Factor
from revocab.bill.outline import Outline
from revocab.bill.sizes import Sizes
from revocab.plan.plan import Plan, find_rule
from revocab.training.estimates import FLOAT, USED

#: Texts whose keys and values are counted; engines that batch by themselves fill what is left.
TEXTS = 8
#: Device memory where nothing says what a device has: that of the machines that papers use.
USUAL = 80e9
#: Rules that load a run's checkpoints, and those that load a model for a corpus.
OF_RUNS = ("score_multiple_choice", "generate_text", "measure_efficiency", "measure_heldout")
OF_CORPORA = ("answer_prompts", "judge_answers")


def memory_of(plan: Plan, sizes: Sizes, rule: str, name: str) -> Amount | None:
    """Return the bytes that a rule's job holds at once: weights as stored, or in float32 for
    held-out losses, and the keys and values of some full contexts. None: sizes are not known.
    """
    context = plan.experiment.evaluation.generation.context_length
    if rule in OF_RUNS:
        config = sizes.run(plan.runs[name])
    else:
        answers = plan.experiment.corpora[name].answers
        assert answers is not None  # or there is no such job
        model = answers.model if rule == "answer_prompts" else answers.judge_model
        config, context = sizes.referred(model) if model else None, answers.context_length
    if config is None:
        return None
    outline = Outline(config)
    width: Factor = (FLOAT if rule == "measure_heldout" else outline.itemsize, "B")
    weights = sum(weight.numel() for weight in outline.parameters())
    settings = outline.config
    head = getattr(settings, "head_dim", None) or (
        settings.hidden_size // settings.num_attention_heads
    )
    cached = 2 * settings.num_hidden_layers * settings.num_key_value_heads * head
    products: list[list[Factor]] = [[(weights, "weights"), width]]
    if rule != "measure_heldout":
        products.append([TEXTS, (context, "positions"), (cached, "numbers"), width])
    return Amount(f"memory of {rule}: {name}", "B", products)


def devices_for(memory: Amount | None, each: float) -> int:
    """Return among how many devices of ``each`` bytes a model is divided.

    A power of two, since heads are divided evenly; 1 where the memory is not known.
    """
    count = 1
    while memory is not None and memory.value > USED * each * count:
        count *= 2
    return count


def serving_of(plan: Plan, sizes: Sizes) -> Iterator[Amount]:
    """Yield the memory of every job of inference whose model's sizes are known."""
    for rule in (*OF_RUNS, *OF_CORPORA):
        for (name,) in find_rule(rule).known(plan):
            if memory := memory_of(plan, sizes, rule, name):
                yield memory
