"""Write the golden loss curve of every recipe in src/revocab/training/recipes/, at pico size.

    python tests/golden/make_loss_curves.py [RECIPE ...]

A curve is the loss table of 24 steps of the recipe on the pico model and data of
``tests/support/training_pico.py``, in float32, its rates scaled so that the highest is 1e-2 (the
published ones would hardly move a pico model) and its decay scaled the other way, so that a step
decays as published. Run it, and look at the difference, when training is meant to change.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
STEPS, PEAK = 24, 1e-2


def recipe_names() -> list[str]:
    """Return the names of the recipes that come with the project."""
    return sorted(
        path.stem for path in (REPOSITORY / "src/revocab/training/recipes").glob("*.yaml")
    )


def pico_settings(name: str) -> dict:
    """Return the settings of recipe ``name`` at pico size, as keywords of ``Settings``."""
    import yaml

    from revocab.training.named_recipes import laid_over
    from revocab.training.recipe import Recipe
    from revocab.training.stages import Stage

    values = yaml.safe_load((REPOSITORY / f"src/revocab/training/recipes/{name}.yaml").read_text())
    pico = {"steps": STEPS, "sequence_length": 16, "batch_size": 4, "checkpoint_every": STEPS,
            "precision": "float32"}  # fmt: skip
    recipe = Recipe.model_validate(laid_over(values, pico))
    scale = PEAK / max([s.learning_rate for s in recipe.stages or ()] or [recipe.learning_rate])
    kept = {"steps", "batch_size", "checkpoint_every", "warmup_steps", "schedule", "precision",
            "final_learning_rate_share", "adam_beta1", "adam_beta2", "adam_epsilon",
            "gradient_clip"}  # fmt: skip
    stages = [
        Stage(**{
            **stage.model_dump(exclude={"tokens", "share", "warmup_share", "mixture"}),
            "learning_rate": stage.learning_rate * scale,
            "weight_decay": stage.weight_decay / scale,
        })
        for stage in recipe.stages or ()
    ]  # fmt: skip
    return {
        **recipe.model_dump(include=kept),
        "learning_rate": recipe.learning_rate * scale,
        "weight_decay": recipe.weight_decay / scale,
        "stages": stages or None,
        "seed": 17,
    }


def make(name: str, inputs: Path, out: Path) -> Path:
    """Train recipe ``name`` in ``out``; return its loss table."""
    from training_pico import run_of

    from revocab.training.train import train

    train(run_of(inputs, out, **pico_settings(name)))
    return out / "losses.csv"


def main() -> None:
    """Write the curves asked for, or all."""
    import torch

    sys.path.insert(0, str(REPOSITORY / "tests/support"))
    from training_pico import write_inputs

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        inputs = write_inputs(Path(folder) / "inputs")
        for name in sys.argv[1:] or recipe_names():
            curve = make(name, inputs, Path(folder) / name)
            shutil.copyfile(curve, HERE / f"losses-{name}.csv")


if __name__ == "__main__":
    main()
