"""From the grid of an experiment to its runs: one :class:`Run` per model trained or scored."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from revocab.config.schema import Experiment, Recipe, RunGroup, RunMethod, Step


@dataclass(frozen=True)
class Run:
    """One initialised and trained model, or a base model (``trains`` false, step 0 only)."""

    id: str
    group: str
    name: str
    label: str
    method: str
    options: dict[str, Any] = field(hash=False)
    source: str
    source_tokenizer: str
    #: Tokenizer in use: the group's target, or the source's own where the vocabulary is kept.
    target: str
    helper: str | None
    mixture: str | None
    recipe: str | None
    identity: str
    seed: int
    #: 0 (initialised) and every checkpoint, ascending.
    steps: list[int] = field(hash=False)
    evaluate: bool
    trains: bool
    #: Whether tokens are compared in fastText vectors, which are trained for the target tokenizer.
    auxiliary: bool = False
    #: Mixture of every stage, where stages have their own.
    stage_mixtures: dict[str, str] = field(default_factory=dict, hash=False)

    @property
    def keeps_vocabulary(self) -> bool:
        """Return whether the run goes on with the source's own tokenizer."""
        return self.target == self.source_tokenizer

    def scored_steps(self) -> list[int]:
        """Return the steps at which scores are taken: every checkpoint, or 0 for a base model."""
        return self.steps[1:] if self.trains else self.steps

    def select(self, wanted: Iterable[Step]) -> list[int]:
        """Return the scored steps named by ``wanted`` ("first", "last" or a number), ascending."""
        scored = self.scored_steps()
        names = {"first": scored[0], "last": scored[-1]}
        chosen = {names.get(step, step) for step in wanted}
        return [step for step in scored if step in chosen] if self.trains else scored


def checkpoint_steps(recipe: Recipe) -> list[int]:
    """Return the steps at which a recipe exports: every ``checkpoint_every``-th and the last."""
    steps = list(range(recipe.checkpoint_every, recipe.steps + 1, recipe.checkpoint_every))
    return steps if steps and steps[-1] == recipe.steps else [*steps, recipe.steps]


def stage_mixtures(recipe: Recipe, mixture: str) -> dict[str, str]:
    """Return the mixture of every stage by its name; nothing where all stages have ``mixture``.

    ``mixture`` is that of stages which name none. Rows with one mixture throughout are laid out
    without regard to stages.
    """
    named = {stage.name: stage.mixture or mixture for stage in recipe.stages or ()}
    return named if set(named.values()) - {mixture} else {}


def run_id(group: str, name: str) -> str:
    """Return the id of a run: its group's and its own (``check_names`` keeps ids apart)."""
    return f"{group}-{name}"


def method_name(name: str, entry: RunMethod) -> str:
    """Return the method of a run: the one it names, else its own name."""
    return entry.method or name


def expand_group(experiment: Experiment, group_id: str, group: RunGroup) -> list[Run]:
    """Return a group's base run followed by its runs, in the order of the file."""
    from revocab.initialise.method import methods  # the registry reads files

    source_tokenizer = experiment.models[group.source].tokenizer
    shared = {
        "group": group_id,
        "source": group.source,
        "source_tokenizer": source_tokenizer,
        "identity": group.identity,
    }
    base = Run(
        id=run_id(group_id, "base"),
        name="base",
        label=group.label,
        method="base",
        options={},
        target=source_tokenizer,
        helper=None,
        mixture=None,
        recipe=None,
        seed=experiment.seed,
        steps=[0],
        evaluate=True,
        trains=False,
        **shared,
    )
    runs = [base]
    for name, entry in group.methods.items():
        method = methods()[method_name(name, entry)]
        needed = method.needs(method.options(**entry.options))
        recipe = entry.recipe or group.recipe
        runs.append(
            Run(
                id=run_id(group_id, name),
                name=name,
                label=name,
                method=method.name,
                options=entry.options,
                target=source_tokenizer if method.keeps_vocabulary else group.target,
                helper=(entry.helper or group.helper) if needed == "helper" else None,
                auxiliary=needed == "fasttext",
                mixture=group.mixture,
                stage_mixtures=stage_mixtures(experiment.recipes[recipe], group.mixture),
                recipe=recipe,
                seed=experiment.seed if entry.seed is None else entry.seed,
                steps=[0, *checkpoint_steps(experiment.recipes[recipe])],
                evaluate=entry.evaluate,
                trains=True,
                **shared,
            )
        )
    return runs


def expand(experiment: Experiment) -> list[Run]:
    """Return every run of a validated experiment."""
    return [
        run
        for name, group in experiment.runs.items()
        for run in expand_group(experiment, name, group)
    ]


def as_json(experiment: Experiment) -> dict[str, Any]:
    """Return the experiment and its runs as plain data: what ``experiment.json`` holds."""
    runs = [asdict(run) for run in expand(experiment)]
    for run in runs:
        if not run["stage_mixtures"]:
            del run["stage_mixtures"]
    return {"experiment": experiment.model_dump(mode="json"), "runs": runs}
