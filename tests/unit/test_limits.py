"""Numbers that would take a machine down, and what only looks like a number: one line each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from one_group import changed, of_key
from refusals import problems

from revocab import yaml_file
from revocab.errors import RevocabError
from revocab.experiment import read, validate
from revocab.experiment.schema import Experiment
from revocab.limits import ALL_CHECKPOINTS, RUNS
from revocab.training.recipe import TrainingOptions

REPOSITORY = Path(__file__).parents[2]
HUGE = 10**15


def swept(*names: str, number: int, **more: Any) -> dict[str, Any]:
    """Return a run with a sweep of so many values along each axis; ``more`` has its other keys."""
    axes = {name: of_key(name, range(1, number + 1)) for name in names}
    return {"method": "sava", "evaluate": False, "for": {**axes, **more}}


def recipe(**keys: Any) -> dict[str, Any]:
    return {"sequence_length": 64, "batch_size": 1, "learning_rate": 1e-4, **keys}


SAVA = "runs.mistral.methods.many"
TOO_LARGE: dict[str, tuple[str, Any, str]] = {
    "steps": ("recipes.train.steps", 10**12, "recipes.train.steps:"),
    "tokens": (
        "recipes.long", recipe(tokens=HUGE, checkpoint_every=100),
        "recipes.long: tokens:",
    ),
    "checkpoints": (
        "recipes.long", recipe(steps=10**8, checkpoint_every=1),
        "recipes.long: checkpoint_every: 1 gives 100,000,000 checkpoints",
    ),
    "held-out losses": (
        "recipes.long", recipe(steps=10**8, checkpoint_every=10**8, heldout_every=1),
        "recipes.long: heldout_every: 1 gives",
    ),
    "tokens that a sweep holds": (
        SAVA, swept("anchors", number=2, hold={"world-it": HUGE}), f"{SAVA}.for.hold.world-it:",
    ),
    "steps that follow from what is held": (
        SAVA,
        swept("anchors", number=2, hold={"world-it": 10**13}), f"{SAVA}.for.hold.world-it.steps:",
    ),
    "a sweep": (
        SAVA,
        swept("anchors", "steps", "fit_seed", number=60), f"{SAVA}.for: gives 216",
    ),
    "seeds": (
        SAVA, {"method": "sava", "for": {"seed": [*range(RUNS + 1)]}}, f"{SAVA}.for: gives",
    ),
    "a seed": ("seed", 2**64, "seed:"),
    "documents of the world": ("world.documents", HUGE, "world.documents:"),
    "a vocabulary": (
        "tokenizers.target.train.vocabulary_size", HUGE, "tokenizers.target.train.vocabulary_size:",
    ),
    "layers": (
        "models.mistral.pretrain.architecture.layers", HUGE,
        "models.mistral.pretrain.architecture.layers:",
    ),
    "shots": ("evaluation.multiple_choice.shots", HUGE, "evaluation.multiple_choice.shots:"),
    "items": ("evaluation.multiple_choice.limit", HUGE, "evaluation.multiple_choice.limit:"),
    "rows of a training": ("recipes.train.batch_size", 10**6 * 6, "recipes.train.batch_size: give"),
    "rows of all steps": (
        "recipes.long", recipe(batch_size=10**5, steps=10**4, checkpoint_every=10**4),
        "recipes.long: batch_size: 100,000 over 10,000 steps are 1,000,000,000 rows",
    ),
    "tokens of a step": (
        "recipes.long",
        recipe(sequence_length=10**6, batch_size=10**3, steps=10, checkpoint_every=10),
        "recipes.long: batch_size: 1,000 rows of 1,000,000 tokens",
    ),
    "corpora": (
        "corpora",
        {f"c{n}": {"language": "it", "source": {"world": "documents.it"}} for n in range(1001)},
        "corpora: 1,001 entries; give at most 1,000",
    ),
    "a step of the scores": (
        "evaluation.multiple_choice.steps", [HUGE], "evaluation.multiple_choice.steps.0:",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TOO_LARGE)
def test_a_number_that_nothing_can_hold_is_one_line(case):
    key, value, start = TOO_LARGE[case]
    (line,) = problems(changed({key: value}))
    assert line.startswith(start), line


def test_the_checkpoints_of_all_runs_are_limited():
    values = changed({"recipes.train.steps": 10_000})
    values["recipes"]["train"]["checkpoint_every"] = 1
    values["runs"]["mistral"]["for"] = {"seed": [*range(200)]}
    (line,) = problems(values)
    assert line.startswith("recipes.train.checkpoint_every:") and f"{ALL_CHECKPOINTS:,}" in line


def test_a_truth_value_stays_one():
    values = changed({"recipes.train.shuffle_rows": True})
    assert validate(values).recipes["train"].shuffle_rows is True


@pytest.mark.parametrize(
    ("text", "meant"), [("017", 15), ("-017", -15), ("1:30", 90), ("[1, 010]", 8), ("{010: 1}", 8)]
)
def test_a_number_that_yaml_reads_as_another_is_refused(text, meant, tmp_path):
    (line,) = yaml_file.parse(f"key: {text}")[1]
    assert line.startswith("key") and f"as {meant};" in line
    file = tmp_path / "odd.yaml"
    small = (REPOSITORY / "tests/experiments/small.yaml").read_text(encoding="utf-8")
    file.write_text(f"{small}\nsimilarity: {text}\n")
    with pytest.raises(RevocabError, match=f"similarity.*as {meant}"):
        read(file)


@pytest.mark.parametrize("text", ["17", "0", "0.5", "1_000", "0x10", "'017'", "2024-01-01"])
def test_other_numbers_mean_what_they_seem(text):
    assert yaml_file.parse(f"key: {text}")[1] == []


def test_what_is_at_its_ceiling_is_allowed():
    assert Experiment(experiment="e", title="E", seed=2**32 - 1).seed == 2**32 - 1
    given = {"batch_size": 1, "learning_rate": 1e-4, "checkpoint_every": 10**4}
    assert len(TrainingOptions(steps=10**8, **given).checkpoint_steps) == 10**4
